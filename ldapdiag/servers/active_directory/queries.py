"""What a domain controller, or an instance of AD LDS, is asked over LDAP: it has no list of its connections."""

from __future__ import annotations

from ldapdiag.evidence.configuration import active_directory
from ldapdiag.servers.queries import CONFIG, Query

POLICY = "CN=Default Query Policy,CN=Query-Policies,CN=Directory Service,CN=Windows NT,CN=Services"

QUERIES = (
    Query(
        file=CONFIG,
        base=f"{POLICY},{{configurationNamingContext}}",
        attributes=("objectClass", active_directory.LIMITS),
        how="bind as an account of the domain: only those may read its configuration",
    ),
    Query(
        file=CONFIG,
        base="{dsServiceName}",
        attributes=("objectClass", active_directory.POINTER),
        filter=f"({active_directory.POINTER}=*)",
        required=False,
    ),
)
