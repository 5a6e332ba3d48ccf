"""Sorting the server's rows of one direction by what the client's end, and the boxes between, say of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from ldapdiag.analysis.ages import probes_unanswered
from ldapdiag.analysis.boxes import Box
from ldapdiag.analysis.direction import Ends
from ldapdiag.analysis.views import View
from ldapdiag.evidence.addresses import UNKNOWN_PORT, endpoint
from ldapdiag.evidence.sockets import TcpState

EPHEMERAL_PORTS = 28232
"""Linux net.ipv4.ip_local_port_range 32768-60999: how likely two connections share a port by chance."""

VIRTUAL_SHARE = 0.05
"""A virtual address is believed when at least this share of the client's connections to it end at the server."""

CLOSING = frozenset({TcpState.FIN_WAIT_1, TcpState.LAST_ACK, TcpState.CLOSING})
"""States in which the client has sent its FIN and waits for the ACK."""


@dataclass(frozen=True, slots=True)
class Virtual:
    """A virtual address the client dials instead of the server's own."""

    endpoint: str
    count: int
    """The client's established connections to it."""


@dataclass(slots=True)
class Sorted:
    """The server's rows of a direction, by what the client's end says of them."""

    matched: list[tuple[int, int | None]] = field(default_factory=list)
    """(server row, client row in the nearest view)"""
    leftover: list[tuple[int, int]] = field(default_factory=list)
    absent: list[int] = field(default_factory=list)
    lately: list[int] = field(default_factory=list)
    """At the client in a look before the server's, and no longer in the one after."""
    closing: int = 0
    unproven: Counter[str] = field(default_factory=Counter)
    virtual: Virtual | None = None
    on_path: tuple[Box, ...] = ()
    """The boxes whose tables hold connections of this direction."""
    proven: set[int] = field(default_factory=set)
    """Absent rows that a box or unanswered probes prove dead, although an earlier look at the client has them."""


def sort_out(ends: Ends, views: Sequence[View], boxes: Iterable[Box], client: str, strays: Collection[int]) -> Sorted:
    """Sort the rows, the nearest view first, and spare every absent one that something else explains."""
    boxes = tuple(boxes)
    rows = sort_rows(ends, views)
    rows.virtual = match_by_endpoint(ends, rows, views[0])
    rows.on_path = tuple(box for box in boxes if box.whole and any(map(box.carries, ends.keys())))
    rows.proven = _judge_lately(ends, rows)
    _spare_carried(ends, rows, boxes, client)
    _spare_wavering(ends, rows)
    _spare_strays(ends, rows, strays)
    _spare_unreadable(rows, views[0])
    _spare_cut(ends, rows, views[0])
    return rows


def sort_rows(ends: Ends, views: Sequence[View]) -> Sorted:
    """Sort the server's rows by the client's nearest view, and let any other view speak for a living one.

    A view that lies wholly before the server's look speaks for what was, not for what is, unless it is the nearest.
    """
    near, now = views[0], ends.look.taken
    before = [view for view in views[1:] if now and view.look.taken and view.look.taken.end <= now.start]
    others = [view for view in views[1:] if view not in before]
    row_of, states, ports = near.sockets.get(ends.way, {}), near.table.state, ends.look.sockets.remote_port
    rows = Sorted()
    for row in ends.rows:
        port = ports[row]
        if port == UNKNOWN_PORT:
            rows.unproven[
                "the server's table shows their port cut, or a name for it (take it with -n, without -A)"
            ] += 1
            continue
        found = row_of.get(port)
        if found is not None and states[found] is TcpState.ESTABLISHED:
            rows.matched.append((row, found))
        elif any(view.holds((*ends.way, port)) for view in others):
            rows.matched.append((row, None))
        elif found is None:
            (rows.lately if any(view.holds((*ends.way, port)) for view in before) else rows.absent).append(row)
        elif states[found] in CLOSING and near.retransmits(found):
            rows.leftover.append((row, found))
        elif states[found] is TcpState.UNKNOWN:
            rows.unproven["in a table of the client that shows no states"] += 1
        else:
            rows.closing += 1
    return rows


def match_by_endpoint(ends: Ends, rows: Sorted, near: View) -> Virtual | None:
    """Match absent rows by the client's own address and port alone, where it dials a virtual address (VIP, DNAT)."""
    if not rows.absent or rows.matched:
        return None
    wanted = {ends.look.sockets.remote_port[row]: row for row in rows.absent}
    found: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for way in near.sockets:
        if way[2] == ends.client and (
            pairs := [(wanted[port], row) for port, row in near.established(way).items() if port in wanted]
        ):
            found[way[:2]] = pairs
    if not found:
        return None
    dialled, pairs = max(found.items(), key=lambda item: (len(item[1]), item[0]))
    count = len(near.established((*dialled, ends.client)))
    by_chance = 3 * len(ends.rows) / EPHEMERAL_PORTS
    if len(pairs) < max(VIRTUAL_SHARE, by_chance) * count or not all(near.table.local_port[row] for _, row in pairs):
        return None
    rows.matched.extend(pairs)
    taken = {row for row, _ in pairs}
    rows.absent = [row for row in rows.absent if row not in taken]
    return Virtual(endpoint(*dialled), count)


def _judge_lately(ends: Ends, rows: Sorted) -> set[int]:
    """Take what the client had before the server's look, and has not after it, for absent if a box or probes say so."""
    if not rows.lately:
        return set()
    table = ends.look.sockets
    keys = dict(zip(ends.rows, ends.keys(), strict=True))
    dead = {
        row
        for row in rows.lately
        if probes_unanswered(table, row) or any(keys[row] not in box.flows for box in rows.on_path)
    }
    if spared := len(rows.lately) - len(dead):
        reason = "at the client before the server's table was taken and gone after it: may have closed in between"
        rows.unproven[reason] += spared
    rows.absent = sorted({*rows.absent, *dead})
    return dead


def _spare_carried(ends: Ends, rows: Sorted, boxes: Iterable[Box], client: str) -> None:
    """Spare rows that a box still holds: they live where the client's table does not look, or are just closing."""
    absent = []
    for row in rows.absent:
        key = (ends.server_address, ends.server_port, ends.client, ends.look.sockets.remote_port[row])
        holders = [box for box in boxes if key in box.flows]
        if any(box.carries(key) for box in holders):
            rows.unproven[
                f"{holders[0].host} still carries them, so they may live where {client}'s table does not look "
                "(a container, a zone)"
            ] += 1
        elif holders:
            rows.closing += 1
        else:
            absent.append(row)
    rows.absent = absent


def _spare_wavering(ends: Ends, rows: Sorted) -> None:
    """Spare rows that one telling of the server's table shows and another does not."""
    if not (wavering := ends.look.wavering):
        return
    keys = dict(zip(ends.rows, ends.keys(), strict=True))
    steady = [row for row in rows.absent if keys[row] not in wavering]
    if spared := len(rows.absent) - len(steady):
        rows.unproven["not in every telling of the server's table: opened or closed while it was taken"] += spared
    rows.absent = steady


def _spare_strays(ends: Ends, rows: Sorted, strays: Collection[int]) -> None:
    """Spare rows whose port another host has open towards the server, under an address that the server does not see."""
    ports = ends.look.sockets.remote_port
    kept = [row for row in rows.absent if ports[row] not in strays]
    if spared := len(rows.absent) - len(kept):
        rows.unproven[f"another host has them open from the same ports, so {ends.client} may stand in for it"] += spared
    rows.absent = kept


def _spare_unreadable(rows: Sorted, near: View) -> None:
    """Spare absent rows when the client's table has as many lines that nobody could read."""
    if 0 < len(rows.absent) <= near.look.unreadable:
        reason = f"{near.look.unreadable} lines of the client's table could not be read: they may be there"
        rows.unproven[reason] += len(rows.absent)
        rows.absent = []


def _spare_cut(ends: Ends, rows: Sorted, near: View) -> None:
    """Spare absent rows when the client's table cuts ports of connections to this server: they may be there."""
    if not near.table.cuts_ports or not rows.absent:
        return
    address, _, client = ends.way
    if UNKNOWN_PORT in near.sockets.get(ends.way, {}) or (address, UNKNOWN_PORT, client) in near.sockets:
        rows.unproven["the client's table cuts ports (take it without -A): they may be there"] += len(rows.absent)
        rows.absent = []
