"""Joining a direction whose client address belongs to a box that translates: through the box's own flow table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import probes_unanswered, seconds_since_received
from ldapdiag.analysis.hosts.host import inner_addresses
from ldapdiag.analysis.pairing.classification import CUT_OR_NAMED
from ldapdiag.analysis.pairing.direction import Direction, Join, PathKind, UnjoinedDirection
from ldapdiag.analysis.pairing.drop_style import NOTHING_TOLD, told_by
from ldapdiag.analysis.pairing.skew import Turnover, at_least, opened_meanwhile, survivors
from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.flows import Relay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.pairing.flow_tables import Box, Flow
    from ldapdiag.analysis.pairing.socket_index import ClientSnapshots


@dataclass(slots=True)
class Followed:
    """The server's rows of a direction, by where the box's flows lead."""

    matched: list[int] = field(default_factory=list)
    absent: list[int] = field(default_factory=list)
    unproven: Counter[str] = field(default_factory=Counter)
    hosts: set[str] = field(default_factory=set)
    closing: int = 0

    @property
    def count(self) -> int:
        """Return how many rows were followed."""
        return len(self.matched) + len(self.absent) + self.unproven.total() + self.closing

    def match(self, row: int, client: ClientSnapshots | None) -> None:
        """Take a row whose other end lives, at this host if it is known."""
        self.matched.append(row)
        if client is not None:
            self.hosts.add(client.host.host)


def join_through(
    ends: UnjoinedDirection, box: Box, clients: Sequence[ClientSnapshots], owner: ClientSnapshots | None = None
) -> Direction:
    """Join by the box: a flow it holds leads to its client's socket; a socket it holds no flow for is a ghost.

    The owner of the address has connections of its own, which a list of translated flows alone does not hold.
    """
    table, proxy = ends.look.sockets, box.relay is Relay.PROXY
    rows = follow(ends, box, clients, owner)
    if rows.absent and (blind := _blind(ends, box)):
        rows.unproven[blind] += len(rows.absent)
        rows.absent = []
    rests = tuple(seconds_since_received(table, rows.matched))
    least = at_least(ends.look.taken, box.nearest(ends.look.taken), rests)
    lost = survivors(rows.absent, table.last_received, (), _turnover(ends, box), least=least)
    return Direction(
        client=ends.client,
        server_address=ends.server_address,
        server_port=ends.server_port,
        client_hosts=tuple(sorted(rows.hosts)),
        server_count=len(ends.rows),
        client_count=len(rows.matched) if rows.hosts or proxy else None,
        matched=len(rows.matched),
        join=Join.BOX_TABLE,
        path=PathKind.PROXY if proxy else PathKind.NAT,
        translated_by=box.host,
        ghosts=lost.count,
        ghost_ports=None if lost.rows is None else tuple(sorted(table.remote_port[row] for row in lost.rows)),
        closing=rows.closing,
        unproven=dict(sorted((rows.unproven + Counter(lost.unproven)).items())),
        skew_excluded=lost.because,
        boxes=(box.host,),
        box_lacks=lost.count,
        client_host=told_by(owner.host) if owner is not None else NOTHING_TOLD,
        probing=sum(probes_unanswered(table, row) for row in lost.rows or ()),
        rests=rests,
        selected=ends.look.headerless,
        origins=tuple(sorted({*ends.look.origins, *box.origins})),
    )


def follow(
    ends: UnjoinedDirection, box: Box, clients: Sequence[ClientSnapshots], owner: ClientSnapshots | None
) -> Followed:
    """Follow every row of the server through the box to its client."""
    owners = owners_behind(box, clients)
    strays = _strays(ends, box, clients)
    rows = Followed()
    for row, key in zip(ends.rows, ends.keys(), strict=True):
        flow = box.flows.get(key)
        if key[3] == UNKNOWN_PORT:
            rows.unproven[CUT_OR_NAMED] += 1
        elif flow is not None:
            _follow_flow(rows, row, flow, box, owners.get(flow.client[0]), carried=box.carries(key))
        elif owner is not None and any(view.holds(key) for view in owner.views):
            rows.match(row, owner)
        elif key[3] in strays:
            rows.unproven[f"open at another host from the same ports, which {box.host} does not show at all"] += 1
        else:
            rows.absent.append(row)
    return rows


def owners_behind(box: Box, clients: Sequence[ClientSnapshots]) -> dict[str, ClientSnapshots]:
    """Return the hosts by their addresses; a container's, which any machine may have, counts on the box's own."""
    machine = next((machine_of(client) for client in clients if client.host.host == box.host), "")
    owners = {address: client for client in clients for address in client.host.addresses}
    for client in clients:
        if machine and machine_of(client) == machine:
            owners |= dict.fromkeys(inner_addresses(client.host) - owners.keys(), client)
    return owners


def machine_of(client: ClientSnapshots) -> str:
    """Return the machine a host runs on; empty where that is not known."""
    return client.host.description.machine if client.host.description else ""


def _follow_flow(
    rows: Followed, row: int, flow: Flow, box: Box, client: ClientSnapshots | None, *, carried: bool
) -> None:
    address, port, dialled, dialled_port = flow.client
    if carried and box.relay is Relay.PROXY:
        rows.match(row, client)  # its own leg lives; what became of the client's is held.py's
    elif client is None:
        rows.unproven[f"carried by {box.host} for {address}, whose table was not read"] += 1
    elif any(view.holds((dialled, dialled_port, address, port)) for view in client.views):
        rows.match(row, client)
    elif carried:
        rows.hosts.add(client.host.host)
        rows.unproven[f"carried by {box.host}, but not in the table of {client.host.host} (a container, or churn)"] += 1
    else:
        rows.closing += 1


def _turnover(ends: UnjoinedDirection, box: Box) -> Turnover:
    look = ends.look
    taken = box.nearest(look.taken)
    return Turnover(
        reverse=_new(ends, box),
        time_wait=_closed(ends, box),
        apart=look.taken.seconds_apart(taken) if look.taken and taken else None,
        opened=opened_meanwhile(ends.shown.monitor, ends.client, look.taken, taken),
    )


def _blind(ends: UnjoinedDirection, box: Box) -> str | None:
    """Return why the box's table may lack flows that the box has; None when it shows all of this direction."""
    if not box.whole:
        return f"the text of {box.host}'s table is not whole: they may be in what was cut"
    if not box.serves(ends.way):
        return f"the table of {box.host} holds no connection of this direction: it may be a selection, or no box of it"
    return None


def _strays(ends: UnjoinedDirection, box: Box, clients: Sequence[ClientSnapshots]) -> set[int]:
    """Return the ports of clients' connections to the server that the box lacks: its table is a selection."""
    endpoint = ends.server_address, ends.server_port
    return {
        port
        for client in clients
        for way in client.ways_to(*endpoint)
        for port in client.latest.established(way)
        if (way[2], port, *endpoint) not in box.clients
    }


def _new(ends: UnjoinedDirection, box: Box) -> int:
    """Return how many connections of the direction the box carries that the server does not have (yet)."""
    known = set(ends.keys())
    return sum(key not in known and box.carries(key) for key in box.by_way.get(ends.way, ()))


def _closed(ends: UnjoinedDirection, box: Box) -> int | None:
    """Return how many connections of the direction closed lately, by the server's TIME-WAIT and by the box's."""
    if not ends.look.sockets.shows_time_wait:
        return None
    at_box = sum(not box.carries(key) for key in box.by_way.get(ends.way, ()))
    return ends.shown.closed.get(ends.way, 0) + at_box
