"""What IBM Directory Server is asked over LDAP."""

from __future__ import annotations

from ldapdiag.evidence.monitor import ibm
from ldapdiag.servers.queries import MONITOR, LiveQueries, Query

QUERIES = (
    Query(file=MONITOR, base=ibm.ROOT, attributes=ibm.ATTRIBUTES, how="bind as the administrator (-D cn=root -W)"),
    Query(
        file=MONITOR,
        base=ibm.LIST,
        attributes=("connection",),
        lists_connections=True,
        how="bind as the administrator (-D cn=root -W)",
    ),
)
LIVE = LiveQueries(each=QUERIES[:1], listing=QUERIES, often=1_000, rarely=5_000)
