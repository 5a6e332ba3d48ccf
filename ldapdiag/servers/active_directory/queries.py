"""What a domain controller, or an instance of AD LDS, is asked over LDAP: it has no list of its connections."""

from __future__ import annotations

from ldapdiag.evidence.configuration import active_directory
from ldapdiag.evidence.indexes import active_directory as schema
from ldapdiag.servers.queries import CONFIG, INDEXES, Query, Scope

SERVICE = "CN=Directory Service,CN=Windows NT,CN=Services,{configurationNamingContext}"
MAY_READ = "bind as an account of the domain: only those may read its configuration"
POINTS = f"({active_directory.POINTER}=*)"
PAGE = 1000
"""MaxPageSize by default; a schema has 1,500 attributes."""

QUERIES = (
    Query(
        file=CONFIG,
        base=SERVICE,
        scope=Scope.SUBTREE,
        filter=f"(|(objectClass=queryPolicy)({active_directory.HEURISTICS}=*))",
        attributes=("objectClass", active_directory.LIMITS, active_directory.HEURISTICS),
        how=MAY_READ,
    ),
    Query(file=CONFIG, base="{dsServiceName}", attributes=("objectClass", active_directory.POINTER), how=MAY_READ),
    Query(
        file=CONFIG,
        base="CN=Sites,{configurationNamingContext}",
        scope=Scope.SUBTREE,
        filter=f"(&(objectClass=nTDSSiteSettings){POINTS})",
        attributes=("objectClass", active_directory.POINTER),
        required=False,
    ),
    Query(file=CONFIG, base="", attributes=("objectClass", *active_directory.OF_ROOT), required=False),
    Query(
        file=INDEXES,
        base="{schemaNamingContext}",
        scope=Scope.SUBTREE,
        filter="(objectClass=attributeSchema)",
        attributes=("objectClass", *schema.ATTRIBUTES),
        required=False,
        page_entries=PAGE,
    ),
)
