"""Proxy legs: connections to the server that a proxy keeps although their client is gone, or does not close.

A proxied session has a client-side and a server-side leg. When a client disappears without a FIN, the proxy keeps both.
When the proxy has closed the client-side leg and the client's application has not, it keeps both, too. Its session
table shows which two legs belong together.

Proxy sessions: the sessions that a proxy carries to the server, by the state of their client-side legs.

Unclosed legs: sessions whose client-side leg a proxy has closed and the client's application has not.

A proxy that closes towards the client first (HAProxy with a `timeout server` below its `timeout client`) keeps the
server-side leg until the client closes, too, or until its own timeout for that (HAProxy: timeout client-fin, else
timeout client). Meanwhile the client-side leg is in FIN-WAIT-2 at the proxy and in CLOSE-WAIT at the client.
Measured with HAProxy 2.6.12: timeout client 1h, timeout server 3s.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds
from ldapdiag.analysis.hosts.snapshots import Snapshot
from ldapdiag.analysis.pairing.carriers import FEWER_LEGS, SEVERAL_LEGS
from ldapdiag.analysis.pairing.direction import HalfOpen, ProxyLegs, UnclosedLegs
from ldapdiag.analysis.pairing.skew import ChurnEvidence, count_opened, exclude_churn, minimum_age_seconds
from ldapdiag.analysis.pairing.snapshot_order import (
    are_apart,
    in_earlier_snapshot,
    is_same_socket,
    lasts,
    nearest_first,
    seconds_between,
)
from ldapdiag.analysis.pairing.socket_index import ServerIndex
from ldapdiag.evidence.addresses import UNKNOWN_PORT, is_loopback
from ldapdiag.evidence.sockets import TcpState
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.skew import AbsentRows
    from ldapdiag.analysis.pairing.socket_index import ClientIndex, ClientSnapshots, DirectionKey, Sockets
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
    from ldapdiag.evidence.sockets import Key


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
    holders = [client for client in clients if client.host.host in {each.host for each in unclosed}]
    nearest = [table.snapshots[0] for table in tables.values()] + [holder.latest.snapshot for holder in holders]
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
    tables = {client.host.host: LegTable.of_client(client, unjoined) for client in clients if client.host.host in names}
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


KEPT = frozenset({TcpState.ESTABLISHED, TcpState.FIN_WAIT_1, TcpState.FIN_WAIT_2})
"""States in which a proxy still expects the client's end of a leg."""

USED_SECONDS = 10.0
"""What arrived through a forwarding program since then came from a client."""

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
    unclosed: dict[tuple[str, str], list[tuple[int, bool]]] = field(default_factory=lambda: defaultdict(list))
    """By client address and program: the server rows of sessions that the application does not close, and whether both
    ends of the client-side leg show that."""


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


def classify_sessions(
    unjoined: UnjoinedDirection,
    middlebox: Middlebox,
    clients: Sequence[ClientSnapshots],
    proxy: ClientSnapshots | None,
) -> Sessions:
    """Classify the sessions that the proxy carries to the server by the state of their client-side legs."""
    owners = {address: client for client in clients for address in client.host.addresses}
    accepted = [ServerIndex(index.snapshot) for index in proxy.indexes] if proxy else []
    sessions = Sessions()
    for row, key in zip(unjoined.rows, unjoined.keys(), strict=True):
        if not middlebox.carries(key):
            if not middlebox.whole and key not in middlebox.flows:
                sessions.count += 1
                sessions.unproven[f"not in the session table of {middlebox.host}, which is cut or a selection"] += 1
            continue
        sessions.count += 1
        leg = middlebox.flows[key].client
        absent_at_proxy = bool(accepted) and not _is_accepted(accepted[-1], leg)
        client = proxy if is_loopback(leg[0]) else owners.get(leg[0])
        name = client.host.host if client else UNREAD
        of_client = sessions.by_client[name]
        of_client.endpoints.add((leg[2], leg[3]))
        of_client.ports.add(leg[1])
        state = _state_at_client(client, leg) if client else None
        if (unclosed := unclosed_leg(leg, client, accepted)) is not None:
            of_client.unclosed[leg[0], unclosed.program].append((row, unclosed.at_both))
        elif client is None and not absent_at_proxy:
            _count_unread(sessions, middlebox, leg, column_seconds(unjoined.table.last_received, row))
        elif state is TcpState.ESTABLISHED:
            sessions.live += 1
        elif state is not None:
            sessions.unproven[f"closing or opening at {name}"] += 1
        else:
            of_client.absent.append(row)
            sessions.absent_at_proxy.update([row] if absent_at_proxy else [])
    return sessions


def _count_unread(sessions: Sessions, middlebox: Middlebox, leg: Key, idle_seconds: float | None) -> None:
    """Count a session of an unread client: through a forwarding program, one that was just used is live."""
    if leg == FEWER_LEGS:
        sessions.unproven[
            f"{middlebox.program} has fewer established client-side sockets in {middlebox.host}'s table"
        ] += 1
    elif middlebox.program and idle_seconds is not None and idle_seconds <= USED_SECONDS:
        sessions.live += 1
    elif leg == SEVERAL_LEGS:
        sessions.unproven[f"{middlebox.program} on {middlebox.host} has several client-side sockets"] += 1
    else:
        sessions.unproven[f"of {leg[0]}, whose table was not read"] += 1


def _is_accepted(accepted: ServerIndex, leg: Key) -> bool:
    """Return whether the proxy's own table has a client-side leg that is open at its end, or of unknown port."""
    row = accepted_row(accepted, leg)
    return leg[3] == UNKNOWN_PORT or (row is not None and accepted.snapshot.sockets.state[row] in KEPT)


def _state_at_client(client: ClientSnapshots, leg: Key) -> TcpState | None:
    """Return the state of a leg at its client, ESTABLISHED if any snapshot shows it; None when none has it."""
    found = None
    for index in client.indexes:
        row = leg_row(index, leg)
        if row is not None:
            found = index.table.state[row]
            if found is TcpState.ESTABLISHED:
                break
    return found


LONG_SECONDS = 1.0
"""A program that reads an end of file closes at once; a socket that waits this long after the FIN waits for it."""

Socket = tuple[Snapshot, int]


@dataclass(frozen=True, slots=True)
class UnclosedLeg:
    """How one session's client-side leg is seen half-closed."""

    program: str
    """Of the client's socket; empty: unknown."""
    at_both: bool
    """Both the client's table and the proxy's show it."""


def unclosed_leg(leg: Key, client: ClientSnapshots | None, accepted: Sequence[ServerIndex]) -> UnclosedLeg | None:
    """Return how a leg is half-closed; None if it is not, or not for longer than any close takes.

    `accepted` are the proxy's own snapshots. The state must have lasted for LONG_SECONDS, by an age or two snapshots:
    both ends of one that is just closing show it as well.
    """
    at_client = [] if client is None else _of_one_socket(_at_client(client, leg))
    at_proxy = _of_one_socket(_at_proxy(accepted, leg))
    if client is not None and not (at_client and at_client[-1][0] is client.latest.snapshot):
        return None
    if not lasts(at_client + at_proxy, LONG_SECONDS):
        return None
    owners = [one.sockets.owner[row] for one, row in at_client if one.sockets.owner]
    return UnclosedLeg(program=owners[-1] if owners else "", at_both=bool(at_client and at_proxy))


def leg_row(index: ClientIndex, leg: Key) -> int | None:
    """Return the row of a leg in a client's table; the proxy's address may be unknown (`show sess` without `all`)."""
    address, port, destination, destination_port = leg
    if destination_port != UNKNOWN_PORT:
        return index.sockets.get((destination, destination_port, address), {}).get(port)
    return next((rows[port] for key, rows in index.sockets.items() if key[2] == address and port in rows), None)


def accepted_row(index: ServerIndex, leg: Key) -> int | None:
    """Return the row of a leg in the proxy's own table."""
    address, port, destination, destination_port = leg
    return index.sockets.get((destination, destination_port, address), {}).get(port)


def _at_client(client: ClientSnapshots, leg: Key) -> Iterator[Socket]:
    for index in client.indexes:
        row = leg_row(index, leg)
        if row is not None and index.table.state[row] is TcpState.CLOSE_WAIT:
            yield index.snapshot, row


def _at_proxy(accepted: Sequence[ServerIndex], leg: Key) -> Iterator[Socket]:
    for index in accepted:
        row, snapshot = accepted_row(index, leg), index.snapshot
        if row is not None and snapshot.sockets.state[row] is TcpState.FIN_WAIT_2:
            yield snapshot, row


def _of_one_socket(sockets: Iterable[Socket]) -> list[Socket]:
    """Return those that are the same socket as the last one; a port may have been used again."""
    found = list(sockets)
    return [one for one in found if is_same_socket(*one, *found[-1])]
