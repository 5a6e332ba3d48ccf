"""What 389-ds is asked over LDAP, and DSEE, which has the same entries."""

from __future__ import annotations

from ldapdiag.evidence.configuration import ds389
from ldapdiag.evidence.indexes import ds389 as ds389_indexes
from ldapdiag.evidence.indexes import ds389_internal_searches, index_tasks
from ldapdiag.evidence.monitor import connection_table, snmp
from ldapdiag.evidence.storage import ds389_settings as ds389_storage
from ldapdiag.servers.queries import CONFIG, INDEXES, MONITOR, SCHEMA, SUBSCHEMA, LiveQueries, Query, Scope

AS_MANAGER = (
    "bind as Directory Manager (-D 'cn=Directory Manager' -W), or where it has a local socket and autobind is on, as "
    "root on the server itself, ldapi:// and -Y EXTERNAL"
)
MANAGER_LISTS = f"{AS_MANAGER}: only that account may list the connections"
MANAGER_CONFIG = f"{AS_MANAGER}; or name a file with the output of ldapsearch -b cn=config -s base by that account"
QUERIES = (
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
        attributes=(
            *ds389_internal_searches.PLUGIN_ATTRIBUTES,
            ds389_storage.CHANGELOG,
            ds389_indexes.TIME_LIMIT,
        ),
        scope=Scope.SUBTREE,
        filter=f"(|{ds389_internal_searches.PLUGIN_FILTER}({ds389_storage.CHANGELOG}=*)({ds389_indexes.TIME_LIMIT}=*))",
        required=False,
    ),
    Query(
        file=INDEXES,
        base="cn=plugins,cn=config",
        attributes=ds389_internal_searches.FOREIGN_ATTRIBUTES,
        scope=Scope.SUBTREE,
        filter=ds389_internal_searches.FOREIGN_FILTER,
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
        attributes=ds389_internal_searches.DEFINITIONS,
        scope=Scope.SUBTREE,
        filter=ds389_internal_searches.DEFINITIONS_FILTER,
        required=False,
    ),
)
LIVE = LiveQueries(
    each=(Query(file=MONITOR, base="cn=snmp,cn=monitor", attributes=snmp.ATTRIBUTES, how=AS_MANAGER),),
    # cn=monitor makes its list whether that is asked for or not, so one request has both.
    listing=(
        Query(
            file=MONITOR,
            base="cn=monitor",
            attributes=(*connection_table.ATTRIBUTES, connection_table.LIST),
            lists_connections=True,
            how=MANAGER_LISTS,
        ),
    ),
    often=2_000,
    rarely=10_000,
)
"""Measured with 2.3.1: `cn=snmp` 0.6 ms of CPU at 1,000 connections and 6 to 9 at 9,000, the list 34 to 43."""
