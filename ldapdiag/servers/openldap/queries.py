"""What slapd is asked over LDAP."""

from __future__ import annotations

from ldapdiag.evidence.configuration import openldap
from ldapdiag.evidence.indexes import openldap as openldap_indexes
from ldapdiag.evidence.storage import slapd_settings as openldap_storage
from ldapdiag.servers.queries import CONFIG, MONITOR, SCHEMA, SUBSCHEMA, LiveQueries, Query, Scope

SLAPD_MONITOR = (
    "bind as an account with read access to cn=Monitor (olcAccess of 'database monitor'; without that database there "
    "is no cn=Monitor), or where it has a local socket, as root on the server itself, ldapi:// and -Y EXTERNAL"
)
SLAPD_CONFIG = (
    "where it has a local socket, use ldapi:// and -Y EXTERNAL as root on the server itself; or name a file with the "
    "output of slapcat -n0"
)
QUERIES = (
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
COUNTERS = (
    ("cn=Current,cn=Connections", Scope.BASE),
    ("cn=Total,cn=Connections", Scope.BASE),
    ("cn=Max File Descriptors,cn=Connections", Scope.BASE),
    ("cn=Operations", Scope.BASE),
    ("cn=Threads", Scope.SUBTREE),
    ("cn=Time", Scope.SUBTREE),
)
"""Entries whose searches cost the same whatever the connections: a filter on all of cn=Monitor would make each of them
(2.5.13, 10,000 connections: 1.1 ms of CPU for these, 165 for that)."""
LIVE = LiveQueries(
    each=tuple(
        Query(file=MONITOR, base=f"{name},{{monitorContext}}", attributes=("*", "+"), scope=scope, how=SLAPD_MONITOR)
        for name, scope in COUNTERS
    ),
    listing=(
        Query(
            file=MONITOR,
            base="cn=Connections,{monitorContext}",
            attributes=(
                "monitorConnectionAuthzDN",
                "monitorConnectionPeerAddress",
                "monitorConnectionLocalAddress",
                "monitorConnectionStartTime",
                "monitorConnectionActivityTime",
                "monitorConnectionOpsReceived",
                "monitorConnectionOpsCompleted",
            ),
            scope=Scope.SUBTREE,
            filter="(objectClass=monitorConnection)",
            lists_connections=True,
            how=SLAPD_MONITOR,
        ),
    ),
    often=1_000,
    rarely=5_000,
)
