"""What OpenDJ, its relatives and PingDirectory are asked over LDAP."""

from __future__ import annotations

from ldapdiag.evidence.configuration import opends_settings as opendj
from ldapdiag.evidence.configuration.opends_settings import PERSONAL_LIMIT
from ldapdiag.evidence.indexes import entry_count, explanations, index_status, opends
from ldapdiag.evidence.indexes import opends as searchers
from ldapdiag.evidence.monitor import opends_subtree
from ldapdiag.evidence.storage import opends_settings as opends_storage
from ldapdiag.servers.queries import CONFIG, INDEXES, MONITOR, SCHEMA, SUBSCHEMA, LiveQueries, Query, Scope

JAVA_MONITOR = "bind as an account with the privilege monitor-read, or as Directory Manager"
JAVA_CONFIG = (
    "bind as an account with the privilege config-read, or as Directory Manager; "
    "or name a file with the output of dsconfig get-global-configuration-prop"
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
    *(setting for setting, *_ in searchers.SEARCHERS.values()),
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

QUERIES = (
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
COUNTERS = tuple(
    Query(file=MONITOR, base=base, attributes=opends_subtree.ATTRIBUTES, how=JAVA_MONITOR)
    for base in ("cn=monitor", "cn=Work Queue,cn=monitor")
)
LIVE = LiveQueries(
    each=COUNTERS,
    listing=(
        COUNTERS[0],
        *(
            Query(
                file=MONITOR,
                base=base,
                attributes=("objectClass", *opends_subtree.LISTS),
                lists_connections=True,
                how=JAVA_MONITOR,
            )
            for base in ("cn=Client Connections,cn=monitor", "cn=LDAP,cn=connection handlers,cn=monitor")
        ),
    ),
    often=1_000,
    rarely=5_000,
)
