"""Proxy legs: connections to the server that a proxy keeps although their client is gone, or does not close.

A proxied session has a client-side and a server-side leg. When a client disappears without a FIN, the proxy keeps both.
When the proxy has closed the client-side leg and the client's application has not, it keeps both, too. Its session
table shows which two legs belong together.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.analysis.pairing.direction import HalfOpen, ProxyLegs, UnclosedLegs
from ldapdiag.analysis.pairing.proxy_sessions import UNREAD, ClientSessions, Sessions, classify_sessions
from ldapdiag.analysis.pairing.skew import ChurnEvidence, count_opened, exclude_churn, minimum_age_seconds
from ldapdiag.analysis.pairing.snapshot_order import are_apart, in_earlier_snapshot, nearest_first, seconds_between
from ldapdiag.analysis.pairing.socket_index import ServerIndex
from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.skew import AbsentRows
    from ldapdiag.analysis.pairing.socket_index import ClientSnapshots, DirectionKey, Sockets
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection


@dataclass(frozen=True, slots=True)
class LegTable:
    """The table in which client-side legs are looked up: the client's, or the proxy's own."""

    host: str
    snapshots: tuple[Snapshot, ...]
    """The nearest first."""
    sockets: Sockets
    time_wait: Mapping[DirectionKey, int]

    @classmethod
    def of_client(cls, client: ClientSnapshots, unjoined: UnjoinedDirection) -> LegTable:
        """Return the client's table."""
        near, *others = nearest_first(client, unjoined.snapshot)
        snapshots = (near.snapshot, *(index.snapshot for index in others))
        return cls(client.host.host, snapshots, near.sockets, near.time_wait)

    @classmethod
    def of_proxy(cls, proxy: ClientSnapshots) -> LegTable:
        """Return the proxy's own table, which has the legs from the accepting end."""
        index = ServerIndex(proxy.latest.snapshot)
        return cls(proxy.host.host, (index.snapshot,), index.sockets, index.time_wait)


def match_legs(
    unjoined: UnjoinedDirection,
    server: Host,
    middlebox: Middlebox,
    clients: Sequence[ClientSnapshots],
    proxy: ClientSnapshots | None,
) -> ProxyLegs:
    """Return which of a proxy's connections to the server no longer have a client.

    `proxy` is the host that owns the proxy's address, where its own socket table was read.
    """
    sessions = classify_sessions(unjoined, middlebox, clients, proxy)
    tables = _leg_tables(unjoined, sessions, clients, proxy)
    absent = {
        name: _without_churn(unjoined, server, middlebox, table, sessions.by_client[name])
        for name, table in tables.items()
    }
    unclosed = tuple(_unclosed(unjoined, sessions))
    holders = [one for one in clients if one.host.host in {each.host for each in unclosed}]
    nearest = [table.snapshots[0] for table in tables.values()] + [one.latest.snapshot for one in holders]
    orphaned, rows = _orphaned(unjoined, sessions, tables, absent)
    origins = {path for snapshot in nearest for path in snapshot.origins}
    return ProxyLegs(
        proxy=middlebox.host,
        program=middlebox.program,
        sessions=sessions.count,
        live=sessions.live,
        orphaned=orphaned,
        clients=tuple(sorted({table.host for table in tables.values()})),
        unclosed=unclosed,
        absent_at_proxy=orphaned.ports is not None and bool(rows) and sessions.absent_at_proxy.issuperset(rows),
        headerless=unjoined.snapshot.headerless or any(snapshot.headerless for snapshot in nearest),
        origins=tuple(sorted({*unjoined.snapshot.origins, *middlebox.origins, *origins})),
    )


def _unclosed(unjoined: UnjoinedDirection, sessions: Sessions) -> Iterator[UnclosedLegs]:
    """Yield the sessions that an application does not close, by application."""
    ports = unjoined.table.remote_port
    for host, of_client in sorted(sessions.by_client.items()):
        for (address, program), rows in sorted(of_client.unclosed.items()):
            yield UnclosedLegs(
                address=address,
                host=host,
                program=program,
                ports=tuple(sorted(ports[row] for row, _ in rows)),
                at_both=all(at_both for _, at_both in rows),
            )


def _leg_tables(
    unjoined: UnjoinedDirection,
    sessions: Sessions,
    clients: Sequence[ClientSnapshots],
    proxy: ClientSnapshots | None,
) -> dict[str, LegTable]:
    """Return the tables in which client-side legs are absent, by client's host, in order of names."""
    names = {name for name, one in sessions.by_client.items() if one.absent}
    tables = {one.host.host: LegTable.of_client(one, unjoined) for one in clients if one.host.host in names}
    if proxy is not None and UNREAD in names:
        tables[UNREAD] = LegTable.of_proxy(proxy)
    return dict(sorted(tables.items()))


def _orphaned(
    unjoined: UnjoinedDirection,
    sessions: Sessions,
    tables: Mapping[str, LegTable],
    absent: Mapping[str, AbsentRows],
) -> tuple[HalfOpen, list[int]]:
    """Return the orphaned sessions of all clients, and their server rows as far as they are known."""
    ports, rows = unjoined.table.remote_port, [row for one in absent.values() for row in one.rows or ()]
    exact = all(one.rows is not None for one in absent.values())
    unproven = sum((Counter(one.unproven) for one in absent.values()), sessions.unproven)
    orphaned = HalfOpen(
        count=sum(one.count for one in absent.values()),
        ports=tuple(sorted(ports[row] for row in rows)) if exact else None,
        unproven=dict(sorted(unproven.items())),
        reasons=tuple(
            f"of those absent at {tables[name].host}, {reason}"
            for name, one in absent.items()
            for reason in one.reasons
        ),
    )
    return orphaned, rows


def _without_churn(
    unjoined: UnjoinedDirection, server: Host, middlebox: Middlebox, table: LegTable, sessions: ClientSessions
) -> AbsentRows:
    """Return the rows of absent legs that churn cannot explain."""
    near, server_snapshot = table.snapshots[0], unjoined.snapshot
    directions = [key for key in table.sockets if key[:2] in sessions.endpoints]
    states = near.sockets.state
    new = sum(
        states[row] is TcpState.ESTABLISHED and port not in sessions.ports
        for direction in directions
        for port, row in table.sockets[direction].items()
    )
    time_wait = sum(table.time_wait.get(direction, 0) for direction in directions)
    is_apart = are_apart(server_snapshot, near)
    opened = None if is_apart else count_opened(*unjoined.monitored, server_snapshot.taken, near.taken)
    return exclude_churn(
        sessions.absent,
        unjoined.table.last_received,
        in_earlier_snapshot(unjoined, server, table.snapshots),
        ChurnEvidence(
            reverse=new,
            time_wait=time_wait if near.sockets.shows_time_wait else None,
            interval_seconds=_longest_interval(server_snapshot, middlebox, near),
            opened=opened,
        ),
        minimum_age=minimum_age_seconds(server_snapshot.taken, near.taken, ()),
    )


def _longest_interval(server: Snapshot, middlebox: Middlebox, client: Snapshot) -> float | None:
    """Return the longest time between the client's table and the two others, in seconds; None if one is unknown."""
    at_middlebox = middlebox.nearest_time(client.taken)
    since_middlebox = client.taken.seconds_apart(at_middlebox) if client.taken and at_middlebox else None
    since_server = seconds_between(server, client)
    return None if since_middlebox is None or since_server is None else max(since_middlebox, since_server)
