"""Proxy legs: connections to the server that a proxy keeps although their client is gone.

A proxied session has a client-side and a server-side leg. When a client disappears without a FIN, the proxy keeps both.
Its session table shows which two legs belong together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.analysis.pairing.direction import HalfOpen, ProxyLegs
from ldapdiag.analysis.pairing.skew import ChurnEvidence, count_opened, exclude_churn, minimum_age_seconds
from ldapdiag.analysis.pairing.snapshot_order import in_earlier_snapshot, nearest_first, seconds_between
from ldapdiag.analysis.pairing.socket_index import ServerIndex
from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.skew import AbsentRows
    from ldapdiag.analysis.pairing.socket_index import ClientIndex, ClientSnapshots, DirectionKey, Sockets
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
    from ldapdiag.evidence.sockets import Key


UNREAD = ""
"""Stands for all clients whose table was not read."""


@dataclass(slots=True)
class ClientSessions:
    """The sessions of one client's host."""

    endpoints: set[tuple[str, int]] = field(default_factory=set)
    """The proxy's addresses and ports to which the client connects."""
    ports: set[int] = field(default_factory=set)
    """The client's ports."""
    absent: list[int] = field(default_factory=list)
    """Server rows of sessions whose client-side leg is absent."""


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


@dataclass(slots=True)
class Sessions:
    """The sessions of a direction, by the state of their client-side legs."""

    count: int = 0
    live: int = 0
    by_client: dict[str, ClientSessions] = field(default_factory=lambda: defaultdict(ClientSessions))
    """By the client's host; UNREAD where only the proxy's own table was read."""
    absent_at_proxy: set[int] = field(default_factory=set)
    """Server rows whose client-side leg is absent at the client, and not established in the proxy's table either."""
    unproven: Counter[str] = field(default_factory=Counter)


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
    sessions = _classify_sessions(unjoined, middlebox, clients, proxy)
    tables = _leg_tables(unjoined, sessions, clients, proxy)
    absent = {
        name: _without_churn(unjoined, server, middlebox, table, sessions.by_client[name])
        for name, table in tables.items()
    }
    nearest = [table.snapshots[0] for table in tables.values()]
    orphaned, rows = _orphaned(unjoined, sessions, tables, absent)
    origins = {path for snapshot in nearest for path in snapshot.origins}
    return ProxyLegs(
        proxy=middlebox.host,
        sessions=sessions.count,
        live=sessions.live,
        orphaned=orphaned,
        clients=tuple(sorted({table.host for table in tables.values()})),
        absent_at_proxy=orphaned.ports is not None and bool(rows) and sessions.absent_at_proxy.issuperset(rows),
        headerless=unjoined.snapshot.headerless or any(snapshot.headerless for snapshot in nearest),
        origins=tuple(sorted({*unjoined.snapshot.origins, *middlebox.origins, *origins})),
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


def _classify_sessions(
    unjoined: UnjoinedDirection,
    middlebox: Middlebox,
    clients: Sequence[ClientSnapshots],
    proxy: ClientSnapshots | None,
) -> Sessions:
    """Classify the sessions that the proxy carries to the server by the state of their client-side legs."""
    owners = {address: client for client in clients for address in client.host.addresses}
    accepted = ServerIndex(proxy.latest.snapshot) if proxy else None
    sessions = Sessions()
    for row, key in zip(unjoined.rows, unjoined.keys(), strict=True):
        if not middlebox.carries(key):
            continue
        sessions.count += 1
        leg = middlebox.flows[key].client
        absent_at_proxy = accepted is not None and not _is_accepted(accepted, leg)
        client = owners.get(leg[0])
        name = client.host.host if client else UNREAD
        of_client = sessions.by_client[name]
        of_client.endpoints.add((leg[2], leg[3]))
        of_client.ports.add(leg[1])
        state = _state_at_client(client, leg) if client else None
        if client is None and not absent_at_proxy:
            sessions.unproven[f"of {leg[0]}, whose table was not read"] += 1
        elif state is TcpState.ESTABLISHED:
            sessions.live += 1
        elif state is not None:
            sessions.unproven[f"closing or opening at {name}"] += 1
        else:
            of_client.absent.append(row)
            sessions.absent_at_proxy.update([row] if absent_at_proxy else [])
    return sessions


def _is_accepted(accepted: ServerIndex, leg: Key) -> bool:
    """Return whether the proxy's own table has a client-side leg established; true where its port is unknown."""
    address, port, destination, destination_port = leg
    if destination_port == UNKNOWN_PORT:
        return True
    row = accepted.sockets.get((destination, destination_port, address), {}).get(port)
    return row is not None and accepted.snapshot.sockets.state[row] is TcpState.ESTABLISHED


def _state_at_client(client: ClientSnapshots, leg: Key) -> TcpState | None:
    """Return the state of a leg at its client, ESTABLISHED if any snapshot shows it; None when none has it."""
    found = None
    for index in client.indexes:
        row = _leg_row(index, leg)
        if row is not None:
            found = index.table.state[row]
            if found is TcpState.ESTABLISHED:
                break
    return found


def _leg_row(index: ClientIndex, leg: Key) -> int | None:
    address, port, destination, destination_port = leg
    if destination_port != UNKNOWN_PORT:
        return index.sockets.get((destination, destination_port, address), {}).get(port)
    return next((rows[port] for key, rows in index.sockets.items() if key[2] == address and port in rows), None)


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
    opened = count_opened(unjoined.server_index.monitor, unjoined.client, server_snapshot.taken, near.taken)
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
