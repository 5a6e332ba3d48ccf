"""Held: connections to the server that a proxy keeps although their client is gone.

A proxy has a leg to either end. Where a client goes without a FIN, the proxy believes in that leg, and keeps the one to
the server. Its session table says which two legs belong together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.analysis.pairing.direction import ProxyLegs
from ldapdiag.analysis.pairing.joining import nearest
from ldapdiag.analysis.pairing.skew import Turnover, at_least, opened_meanwhile, seconds_apart, survivors
from ldapdiag.analysis.pairing.snapshot_order import persistent
from ldapdiag.analysis.pairing.socket_index import ServerIndex
from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.analysis.pairing.direction import UnjoinedDirection
    from ldapdiag.analysis.pairing.flow_tables import Box
    from ldapdiag.analysis.pairing.skew import Survivors
    from ldapdiag.analysis.pairing.socket_index import ClientIndex, ClientSnapshots, Sockets, Way
    from ldapdiag.evidence.sockets import Key


UNREAD = ""
"""Stands for all clients whose table was not read."""


@dataclass(slots=True)
class Heard:
    """What the sessions of a client's host say of it."""

    dialled: set[tuple[str, int]] = field(default_factory=set)
    ports: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Table:
    """The table that lacks legs, the nearest look first: the client's, or the proxy's own."""

    host: str
    looks: tuple[Snapshot, ...]
    sockets: Sockets
    closed: Mapping[Way, int]

    @classmethod
    def of_client(cls, client: ClientSnapshots, ends: UnjoinedDirection) -> Table:
        """Return the legs as the client has them."""
        near, *others = nearest(client, ends.look)
        return cls(client.host.host, (near.look, *(view.look for view in others)), near.sockets, near.closed)

    @classmethod
    def of_proxy(cls, proxy: ClientSnapshots) -> Table:
        """Return the legs as the proxy's own sockets have them."""
        shown = ServerIndex(proxy.latest.look)
        return cls(proxy.host.host, (shown.look,), shown.sockets, shown.closed)


@dataclass(slots=True)
class Legs:
    """The sessions of a direction, by what is left of their clients' legs."""

    sessions: int = 0
    living: int = 0
    gone: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Server rows by the client's host whose table lacks the leg; UNREAD where only the proxy's own table says so."""
    gone_at_proxy: set[int] = field(default_factory=set)
    """Those of them that the proxy's own socket table does not have established either."""
    heard: dict[str, Heard] = field(default_factory=lambda: defaultdict(Heard))
    unproven: Counter[str] = field(default_factory=Counter)


def held_legs(
    ends: UnjoinedDirection, server: Host, box: Box, clients: Sequence[ClientSnapshots], proxy: ClientSnapshots | None
) -> ProxyLegs:
    """Return which of a proxy's connections to the server have no client any more.

    `proxy` is the host that owns the proxy's address, where its own socket table was read.
    """
    legs = _sorted(ends, box, clients, proxy)
    rows: list[int] = []
    exact, excluded = True, []
    count = 0
    tables = {client.host.host: Table.of_client(client, ends) for client in clients if client.host.host in legs.gone}
    if proxy is not None and UNREAD in legs.gone:
        tables[UNREAD] = Table.of_proxy(proxy)
    for name in sorted(tables):
        lost = _lost(ends, server, box, tables[name], legs.heard[name], legs.gone[name])
        count += lost.count
        rows += lost.rows or ()
        exact = exact and lost.rows is not None
        excluded += [f"of those by {tables[name].host}, {because}" for because in lost.because]
        legs.unproven += Counter(lost.unproven)
    hosts = tuple(sorted({table.host for table in tables.values()}))
    ports = ends.look.sockets.remote_port
    looks = [table.looks[0] for table in tables.values()]
    return ProxyLegs(
        proxy=box.host,
        sessions=legs.sessions,
        living=legs.living,
        count=count,
        ports=tuple(sorted(ports[row] for row in rows)) if exact else None,
        clients=hosts,
        at_proxy=exact and bool(rows) and legs.gone_at_proxy.issuperset(rows),
        selected=ends.look.headerless or any(look.headerless for look in looks),
        unproven=dict(sorted(legs.unproven.items())),
        because=tuple(excluded),
        origins=tuple(sorted({*ends.look.origins, *box.origins, *(path for look in looks for path in look.origins)})),
    )


def _sorted(
    ends: UnjoinedDirection, box: Box, clients: Sequence[ClientSnapshots], proxy: ClientSnapshots | None
) -> Legs:
    owners = {address: client for client in clients for address in client.host.addresses}
    accepted = ServerIndex(proxy.latest.look) if proxy else None
    legs = Legs()
    for row, key in zip(ends.rows, ends.keys(), strict=True):
        if not box.carries(key):
            continue
        legs.sessions += 1
        leg = box.flows[key].client
        at_proxy = accepted is not None and not _established(accepted, leg)
        client = owners.get(leg[0])
        name = client.host.host if client else UNREAD
        legs.heard[name].dialled.add((leg[2], leg[3]))
        legs.heard[name].ports.add(leg[1])
        state = _at_client(client, leg) if client else None
        if client is None and not at_proxy:
            legs.unproven[f"of {leg[0]}, whose table was not read"] += 1
        elif state is TcpState.ESTABLISHED:
            legs.living += 1
        elif state is not None:
            legs.unproven[f"closing or opening at {name} just then"] += 1
        else:
            legs.gone[name].append(row)
            legs.gone_at_proxy.update([row] if at_proxy else [])
    return legs


def _established(accepted: ServerIndex, leg: Key) -> bool:
    """Tell whether the proxy's own table has a client's leg established; what it does not tell is taken for yes."""
    address, port, dialled, dialled_port = leg
    if dialled_port == UNKNOWN_PORT:
        return True
    row = accepted.sockets.get((dialled, dialled_port, address), {}).get(port)
    return row is not None and accepted.look.sockets.state[row] is TcpState.ESTABLISHED


def _at_client(client: ClientSnapshots, leg: Key) -> TcpState | None:
    """Return the state of a leg at its client, ESTABLISHED if any look says so; None when no look has it."""
    found = None
    for view in client.views:
        row = _row(view, leg)
        if row is not None:
            found = view.table.state[row]
            if found is TcpState.ESTABLISHED:
                break
    return found


def _row(view: ClientIndex, leg: Key) -> int | None:
    address, port, dialled, dialled_port = leg
    if dialled_port != UNKNOWN_PORT:
        return view.sockets.get((dialled, dialled_port, address), {}).get(port)
    return next((rows[port] for way, rows in view.sockets.items() if way[2] == address and port in rows), None)


def _lost(ends: UnjoinedDirection, server: Host, box: Box, table: Table, heard: Heard, absent: list[int]) -> Survivors:
    """Return those of the absent legs that connections coming and going cannot explain."""
    look = table.looks[0]
    ways = [way for way in table.sockets if way[:2] in heard.dialled]
    states = look.sockets.state
    new = sum(
        states[row] is TcpState.ESTABLISHED and port not in heard.ports
        for way in ways
        for port, row in table.sockets[way].items()
    )
    at_box = box.nearest(look.taken)
    since_box = look.taken.seconds_apart(at_box) if look.taken and at_box else None
    apart = [seconds for seconds in (seconds_apart(ends.look, look), since_box) if seconds is not None]
    return survivors(
        absent,
        ends.look.sockets.last_received,
        persistent(ends, server, table.looks),
        Turnover(
            reverse=new,
            time_wait=sum(table.closed.get(way, 0) for way in ways) if look.sockets.shows_time_wait else None,
            apart=max(apart) if len(apart) == 2 else None,
            opened=opened_meanwhile(ends.shown.monitor, ends.client, ends.look.taken, look.taken),
        ),
        least=at_least(ends.look.taken, look.taken, ()),
    )
