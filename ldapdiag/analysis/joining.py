"""Joining one direction with the tables of the host that owns the client's address (DESIGN, pairing, rules 3 and 4)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.analysis.ages import idle_seconds, probes_unanswered, seconds
from ldapdiag.analysis.direction import Direction, Ends, Join, PathKind
from ldapdiag.analysis.skew import Survivors, Turnover, neighbours, seconds_apart, survivors
from ldapdiag.evidence.addresses import endpoint
from ldapdiag.evidence.sockets import Key, TcpState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ldapdiag.analysis.boxes import Box
    from ldapdiag.analysis.hosts import Host
    from ldapdiag.analysis.looks import Look
    from ldapdiag.analysis.views import Client, View

EPHEMERAL_PORTS = 28232
"""Linux net.ipv4.ip_local_port_range 32768-60999: how likely two connections share a port by chance."""

VIRTUAL_SHARE = 0.05
"""A virtual address is believed when at least this share of the client's connections to it end at the server."""

CLOSING = frozenset({TcpState.FIN_WAIT_1, TcpState.LAST_ACK, TcpState.CLOSING})
"""States in which the client has sent its FIN and waits for the ACK."""


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


def join(ends: Ends, server: Host, client: Client, boxes: Sequence[Box], strays: Collection[int] = ()) -> Direction:
    """Join one direction, and claim only what neither skew nor blindness can explain."""
    look, table = ends.look, ends.look.sockets
    looks = neighbours([view.look for view in client.views], look)
    views = sorted(
        (view for view in client.views if view.look in looks), key=lambda view: seconds_apart(look, view.look) or 0.0
    )
    near = views[0]
    rows = sort_rows(ends, views)
    virtual = match_by_endpoint(ends, rows, near)
    on_path = [box for box in boxes if any(map(box.carries, ends.keys()))]
    lately = _judge_lately(ends, rows, on_path)
    _spare_carried(ends, rows, boxes, client.host)
    _spare_wavering(ends, rows)
    _spare_strays(ends, rows, strays)
    _spare_unreadable(rows, near)

    living = near.established(ends.way)
    new, turned = ([], 0) if virtual else client_only(ends, living)
    lasting = [living[port] for port in new if all(view.holds((*ends.way, port)) for view in views[1:])]
    apart = seconds_apart(look, near.look)
    time_wait = closed_lately(ends, near)
    missing = survivors(
        rows.absent,
        table.last_received,
        _persistent(ends, server, looks) - lately if rows.absent else (),
        Turnover(reverse=len(new) + turned, time_wait=time_wait, apart=apart),
    )
    stranded = survivors(
        lasting,
        near.table.last_received,
        (),
        Turnover(reverse=len(rows.absent) + rows.closing, time_wait=time_wait, apart=apart),
    )
    fleeting = {"not in every look at the client: opened or closed between them": len(new) - len(lasting)}
    ghosts = _with(missing, [row for row, _ in rows.leftover])
    rest = idle_seconds(table, (row for row, _ in rows.matched)) or idle_seconds(
        near.table, (row for _, row in rows.matched if row is not None)
    )
    return Direction(
        client=ends.client,
        server_address=ends.server_address,
        server_port=ends.server_port,
        client_hosts=(client.host.host,),
        server_count=len(ends.rows),
        client_count=virtual.count if virtual else len(living),
        matched=len(rows.matched),
        join=Join.CLIENT_ENDPOINT if virtual else Join.FOUR_TUPLE,
        path=PathKind.NAT if virtual else PathKind.DIRECT,
        translated_by=virtual.endpoint if virtual else None,
        ghosts=ghosts.count,
        ghost_ports=_ports(table.remote_port, ghosts),
        stranded=stranded.count,
        stranded_ports=_ports(near.table.local_port, stranded),
        closing=rows.closing,
        unproven=dict(sorted((rows.unproven + Counter(missing.unproven)).items())),
        unproven_stranded=stranded.unproven | (fleeting if len(new) > len(lasting) else {}),
        skew_excluded=missing.because,
        boxes=tuple(box.host for box in on_path),
        box_lacks=_lacked(ends, ghosts, on_path),
        probing=sum(probes_unanswered(table, row) for row in missing.rows or ()),
        leftovers=len(rows.leftover),
        rests=tuple(rest),
        youngest_ghost=min(idle_seconds(table, ghosts.rows or ()), default=None),
        retransmitting_for=_first_unanswered(near, rows),
        selected=look.selected or near.look.selected,
        partial=not near.table.shows_all_programs,
        unreadable=near.look.unreadable,
        origins=tuple(sorted({*look.origins, *near.look.origins, *(o for box in on_path for o in box.origins)})),
    )


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


@dataclass(frozen=True, slots=True)
class Virtual:
    """A virtual address the client dials instead of the server's own."""

    endpoint: str
    count: int
    """The client's established connections to it."""


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


def client_only(ends: Ends, living: Mapping[int, int]) -> tuple[list[int], int]:
    """Return the ports the client has established and the server lacks, and how many it has in another state."""
    ports = ends.look.sockets.remote_port
    known = {ports[row] for row in ends.rows}
    unknown = [port for port in living if port not in known]
    new = ends.shown.lacks(ends.way, unknown) if unknown else []
    return new, len(unknown) - len(new)


def closed_lately(ends: Ends, near: View) -> int | None:
    """Return how many connections of a direction are in TIME-WAIT at either end; None if a table would not show it."""
    if not (ends.look.sockets.shows_time_wait and near.table.shows_time_wait):
        return None
    return ends.shown.closed.get(ends.way, 0) + near.closed.get(ends.way, 0)


def _judge_lately(ends: Ends, rows: Sorted, on_path: Sequence[Box]) -> set[int]:
    """Take what the client had before the server's look, and has not after it, for absent if a box or probes say so."""
    if not rows.lately:
        return set()
    table = ends.look.sockets
    keys = dict(zip(ends.rows, ends.keys(), strict=True))
    dead = {
        row
        for row in rows.lately
        if probes_unanswered(table, row) or any(keys[row] not in box.flows for box in on_path)
    }
    if spared := len(rows.lately) - len(dead):
        reason = "at the client before the server's table was taken and gone after it: may have closed in between"
        rows.unproven[reason] += spared
    rows.absent = sorted({*rows.absent, *dead})
    return dead


def _spare_carried(ends: Ends, rows: Sorted, boxes: Iterable[Box], client: Host) -> None:
    """Spare rows that a box still holds: they live where the client's table does not look, or are just closing."""
    absent = []
    for row in rows.absent:
        key = (ends.server_address, ends.server_port, ends.client, ends.look.sockets.remote_port[row])
        holders = [box for box in boxes if key in box.flows]
        if any(box.carries(key) for box in holders):
            rows.unproven[
                f"{holders[0].host} still carries them, so they may live where {client.host}'s table does not look "
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


def _persistent(ends: Ends, server: Host, looks: Sequence[Look]) -> set[int]:
    """Return rows that an earlier look at the server shows, too, with a look at the client in between."""
    now = ends.look.taken
    between = [look.taken for look in looks if look.taken and now and look.taken.end <= now.start]
    earlier = [look for look in server.looks if look.taken and any(look.taken.end <= span.start for span in between)]
    keys = dict(zip(ends.keys(), ends.rows, strict=True)) if earlier else {}
    return {
        keys[key]
        for look in earlier
        for key, state in zip(look.sockets.keys(), look.sockets.state, strict=True)
        if state is TcpState.ESTABLISHED and key in keys
    }


def _with(missing: Survivors, leftovers: list[int]) -> Survivors:
    rows = None if missing.rows is None else (*missing.rows, *leftovers)
    return Survivors(
        count=missing.count + len(leftovers), rows=rows, unproven=missing.unproven, because=missing.because
    )


def _ports(column: Sequence[int], found: Survivors) -> tuple[int, ...] | None:
    return None if found.rows is None else tuple(sorted(column[row] for row in found.rows))


def _lacked(ends: Ends, ghosts: Survivors, on_path: Sequence[Box]) -> int:
    if not on_path:
        return 0
    if ghosts.rows is None:
        return 0
    ports = ends.look.sockets.remote_port
    keys: Iterable[Key] = ((ends.server_address, ends.server_port, ends.client, ports[row]) for row in ghosts.rows)
    return sum(any(key not in box.flows for box in on_path) for key in keys)


def _first_unanswered(near: View, rows: Sorted) -> tuple[float, ...]:
    """Return for how long connections had been idle when their first unanswered packet left (lastrcv - busy)."""
    idle: list[float] = []
    if near.table.retransmits is None:
        return ()
    for _, row in (*rows.leftover, *rows.matched):
        if row is None or not near.retransmits(row):
            continue
        received, busy = seconds(near.table.last_received, row), seconds(near.table.busy, row)
        if received is not None and busy:
            idle.append(round(received - busy, 3))
    return tuple(sorted(idle))
