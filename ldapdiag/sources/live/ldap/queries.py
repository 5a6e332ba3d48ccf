"""The queries for each directory product, as a table; the attribute names are those that the readers use.

Queries request attribute lists, never a whole cn=config, which contains passwords; only cn=Monitor of OpenLDAP is
requested whole. Queries of constant cost come first, then the list of connections, and last what an incident report
can do without: the indexes and the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ldapdiag.evidence.configuration import active_directory, ds389, openldap
from ldapdiag.evidence.configuration import opends_settings as opendj
from ldapdiag.evidence.configuration.opends_settings import PERSONAL_LIMIT
from ldapdiag.evidence.family import Family, ServerIdentity, identify
from ldapdiag.evidence.indexes import ds389 as ds389_indexes
from ldapdiag.evidence.indexes import (
    ds389_internal_searches,
    entry_count,
    explanations,
    index_status,
    index_tasks,
    opends,
)
from ldapdiag.evidence.indexes import opends as searchers
from ldapdiag.evidence.indexes import openldap as openldap_indexes
from ldapdiag.evidence.monitor import connection_table, ibm, opends_subtree
from ldapdiag.evidence.schema import ldif as schema
from ldapdiag.evidence.storage import ds389_settings as ds389_storage
from ldapdiag.evidence.storage import opends_settings as opends_storage
from ldapdiag.evidence.storage import slapd_settings as openldap_storage

RootDse = Mapping[str, tuple[str, ...]]
"""Attribute names in lower case, with their values."""

ROOT_DSE, MONITOR, CONFIG = "root-dse.ldif", "cn-monitor.ldif", "cn-config.ldif"
INDEXES, SCHEMA = "indexes.ldif", "schema.ldif"

POLICY = "CN=Default Query Policy,CN=Query-Policies,CN=Directory Service,CN=Windows NT,CN=Services"


class Scope(StrEnum):
    """Search scopes, by their names in ldap3."""

    BASE = "BASE"
    SUBTREE = "SUBTREE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One search, and the file for its answer."""

    file: str
    base: str
    """May contain an attribute of the root DSE in braces: `{configContext}`."""
    attributes: tuple[str, ...]
    scope: Scope = Scope.BASE
    filter: str = "(objectClass=*)"
    lists_connections: bool = False
    """The answer grows with the connections, and may be hidden although the counters are visible."""
    required: bool = True
    """An empty answer is a gap. False: it is a fact, too (no replication is configured)."""
    size_limit: int = 0
    """Entries; 0: the server's limit."""
    time_limit: int = 0
    """Seconds; 0: the server's limit."""
    how: str = ""
    """Advice when the account may not see the answer."""


ROOT_DSE_QUERY = Query(
    file=ROOT_DSE,
    base="",
    attributes=(
        "objectClass",
        "vendorName",
        "vendorVersion",
        "namingContexts",
        "monitorContext",
        "configContext",
        "subschemaSubentry",
        "supportedExtension",
        "supportedSASLMechanisms",
        "dnsHostName",
        "ibmdirectoryversion",
        "isGlobalCatalogReady",
        "dsServiceName",
        "configurationNamingContext",
        "domainControllerFunctionality",
    ),
)

AS_MANAGER = (
    "bind as Directory Manager (-D 'cn=Directory Manager' -W), or on the server itself as root with ldapi:// and "
    "-Y EXTERNAL where autobind is on"
)
MANAGER_LISTS = f"{AS_MANAGER}: only that account may list the connections"
MANAGER_CONFIG = f"{AS_MANAGER}; or name a file with the output of ldapsearch -b cn=config -s base by that account"
SLAPD_MONITOR = (
    "bind as an account with read access to cn=Monitor (olcAccess of 'database monitor'; without that database there "
    "is no cn=Monitor), or on the server itself as root with ldapi:// and -Y EXTERNAL"
)
SLAPD_CONFIG = (
    "use ldapi:// and -Y EXTERNAL as root on the server itself; or name a file with the output of slapcat -n0"
)
JAVA_MONITOR = "bind as an account with the privilege monitor-read, or as Directory Manager"
JAVA_CONFIG = (
    "bind as an account with the privilege config-read, or as Directory Manager; "
    "or name a file with the output of dsconfig get-global-configuration-prop"
)

SUBSCHEMA = ("objectClass", *schema.ATTRIBUTES)

OF_389 = (
    Query(file=MONITOR, base="cn=monitor", attributes=connection_table.ATTRIBUTES, how=AS_MANAGER),
    Query(file=CONFIG, base="cn=config", attributes=(*ds389.ATTRIBUTES, *ds389_storage.OF_CONFIG), how=MANAGER_CONFIG),
    Query(
        file=CONFIG,
        base="cn=mapping tree,cn=config",
        attributes=ds389.REPLICATION,
        scope=Scope.SUBTREE,
        filter="(|(nsDS5ReplicaBindDN=*)(nsDS5ReplicaBindDNGroup=*))",
        required=False,
    ),
    Query(
        file=MONITOR, base="cn=monitor", attributes=(connection_table.LIST,), lists_connections=True, how=MANAGER_LISTS
    ),
    Query(
        file=INDEXES,
        base=ds389_indexes.DATABASES,
        attributes=(*ds389_indexes.ATTRIBUTES, *ds389_storage.ATTRIBUTES),
        scope=Scope.SUBTREE,
        filter=ds389_indexes.FILTER,
        required=False,
    ),
    Query(
        file=INDEXES,
        base="cn=config",
        attributes=(*ds389_internal_searches.PLUGIN_ATTRIBUTES, ds389_storage.CHANGELOG),
        scope=Scope.SUBTREE,
        filter=f"(|{ds389_internal_searches.PLUGIN_FILTER}({ds389_storage.CHANGELOG}=*))",
        required=False,
    ),
    Query(
        file=INDEXES,
        base=index_tasks.TASKS,
        attributes=index_tasks.ATTRIBUTES,
        scope=Scope.SUBTREE,
        filter=index_tasks.FILTER,
        required=False,
    ),
    Query(file=SCHEMA, base="cn=schema", attributes=SUBSCHEMA, required=False),
    Query(
        file=INDEXES,
        base="",  # every suffix at once; the index of objectClass is used
        attributes=ds389_internal_searches.COS_ATTRIBUTES,
        scope=Scope.SUBTREE,
        filter=ds389_internal_searches.COS_FILTER,
        required=False,
    ),
)
"""Also for DSEE, which has the same entries."""

OF_OPENLDAP = (
    Query(
        file=MONITOR,
        base="{monitorContext}",
        attributes=("*", "+"),
        scope=Scope.SUBTREE,
        filter="(!(objectClass=monitorConnection))",
        how=SLAPD_MONITOR,
    ),
    Query(
        file=CONFIG,
        base="{configContext}",
        attributes=(*openldap.ATTRIBUTES, *openldap_indexes.GLOBALS, openldap_storage.LOG_FILE),
        how=SLAPD_CONFIG,
    ),
    Query(
        file=CONFIG,  # the lengths of substring keys, in the entry above, belong to the same facts
        base="{configContext}",
        attributes=(
            *openldap_indexes.ATTRIBUTES,
            *openldap_storage.OF_DATABASES,
            openldap_storage.MARK,
            openldap.UPDATE_DN,
            openldap.SYNCREPL,
        ),
        scope=Scope.SUBTREE,
        filter=openldap_indexes.FILTER,
        required=False,
    ),
    Query(
        file=MONITOR,
        base="cn=Connections,{monitorContext}",
        attributes=("*", "+"),
        scope=Scope.SUBTREE,
        filter="(objectClass=monitorConnection)",
        lists_connections=True,
        how=SLAPD_MONITOR,
    ),
    Query(file=SCHEMA, base="{subschemaSubentry}", attributes=SUBSCHEMA, required=False),
)

JAVA_SETTINGS = (
    "objectClass",
    "cn",
    "ds-cfg-enabled",
    "ds-cfg-java-class",
    opends.ATTRIBUTE,
    opends.TYPE,
    opends.LIMIT,
    opends.LENGTH,
    opends.RULES,
    opends.PATTERN,
    opends.SUFFIX,
    *opends.NAMES,
    *opends.PING_SETTINGS,
    *(setting for setting, _ in searchers.SEARCHERS.values()),
    searchers.MATCH_BASE,
    searchers.VIRTUAL_TYPE,
    *opends_storage.ATTRIBUTES,
)
JAVA_CLASSES = (*opends.INDEX_CLASSES, opends.COMPOSITE, *searchers.SEARCHERS)
JAVA_INDEXES = (
    f"(|{''.join(f'(objectClass={name})' for name in JAVA_CLASSES)}(cn=Index)({opends.SUFFIX}=*)"
    f"{opends_storage.FILTER}"
    f"(&(objectClass=ds-cfg-virtual-attribute)(!({searchers.VIRTUAL_TYPE}={PERSONAL_LIMIT}))))"
)
"""Indexes, backends, access logs, plug-ins that search, and virtual attributes, without the idle limit: the
configuration query requests it, and a second file with it would be read as a second configuration."""
OF_BACKENDS = (entry_count.COUNT, entry_count.PRIVATE, explanations.USE, index_status.NEED_REINDEX)
"""Attributes on entries and indexes in the monitor entries of backends."""

OF_OPENDS = (
    Query(
        file=MONITOR,
        base="cn=monitor",
        attributes=(*opends_subtree.ATTRIBUTES, *OF_BACKENDS),
        scope=Scope.SUBTREE,
        filter="(!(cn=Client Connections))",  # without its values that entry would be read as an empty list
        how=JAVA_MONITOR,
    ),
    Query(
        file=CONFIG,
        base="cn=config",
        attributes=opendj.ATTRIBUTES,
        scope=Scope.SUBTREE,
        filter="(|(objectClass=ds-cfg-root-config)(objectClass=ds-cfg-ldap-connection-handler)(cn=Work Queue)"
        "(ds-cfg-attribute-type=ds-rlim-idle-time-limit)(ds-cfg-maximum-idle-connection-duration=*))",
        how=JAVA_CONFIG,
    ),
    Query(
        file=MONITOR,
        base="cn=monitor",
        attributes=("objectClass", *opends_subtree.LISTS),
        scope=Scope.SUBTREE,
        filter="(|(connection=*)(ds-connectionhandler-connection=*)(ds-mon-connection=*))",
        lists_connections=True,
        how=JAVA_MONITOR,
    ),
    Query(
        file=INDEXES,
        base="cn=config",
        attributes=JAVA_SETTINGS,
        scope=Scope.SUBTREE,
        filter=JAVA_INDEXES,
        required=False,
    ),
    Query(file=SCHEMA, base="cn=schema", attributes=SUBSCHEMA, required=False),
)
"""OpenDJ, its relatives and PingDirectory."""

OF_ACTIVE_DIRECTORY = (
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
"""Active Directory publishes no list of its connections."""

OF_IBM = (
    Query(file=MONITOR, base=ibm.ROOT, attributes=ibm.ATTRIBUTES, how="bind as the administrator (-D cn=root -W)"),
    Query(
        file=MONITOR,
        base=ibm.LIST,
        attributes=("connection",),
        lists_connections=True,
        how="bind as the administrator (-D cn=root -W)",
    ),
)

QUERIES: dict[Family, tuple[Query, ...]] = {
    Family.DS389: OF_389,
    Family.DSEE: OF_389,
    Family.OPENLDAP: OF_OPENLDAP,
    Family.OPENDJ: OF_OPENDS,
    Family.PING: OF_OPENDS,
    Family.AD: OF_ACTIVE_DIRECTORY,
    Family.IBM: OF_IBM,
}

CONTEXTS = {"monitorContext": "cn=Monitor", "configContext": "cn=config", "subschemaSubentry": "cn=Subschema"}
"""Default values, for a root DSE without these attributes."""


def product_of(root: RootDse) -> ServerIdentity | None:
    """Return the product that a root DSE identifies; None for an unknown one."""
    for name in ("vendorversion", "vendorname"):
        if identity := identify(" ".join(root.get(name, ()))):
            return identity
    classes = {value.lower() for value in root.get("objectclass", ())}
    if "openldaprootdse" in classes or "monitorcontext" in root:
        return ServerIdentity(family=Family.OPENLDAP)
    if "isglobalcatalogready" in root or "domaincontrollerfunctionality" in root:
        return ServerIdentity(family=Family.AD)
    if "ibmdirectoryversion" in root:
        return ServerIdentity(family=Family.IBM)
    return None


def base_of(query: Query, root: RootDse) -> str | None:
    """Return the search base; None when the root DSE lacks an attribute that it contains."""
    base = query.base
    for name in CONTEXTS.keys() | {"configurationNamingContext", "dsServiceName"}:
        if f"{{{name}}}" in base:
            value = next(iter(root.get(name.lower(), ())), "") or CONTEXTS.get(name, "")
            if not value:
                return None
            base = base.replace(f"{{{name}}}", value)
    return base
