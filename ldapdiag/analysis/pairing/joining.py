"""Joining one direction with the tables of the host that owns the client's address (DESIGN, pairing, rules 3 and 4)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds, probes_unanswered, seconds_since_received
from ldapdiag.analysis.pairing.absence_reasons import HALF
from ldapdiag.analysis.pairing.classification import Classified, Virtual, classify
from ldapdiag.analysis.pairing.direction import Direction, Join, PathKind, UnjoinedDirection
from ldapdiag.analysis.pairing.drop_style import outlived, told_by
from ldapdiag.analysis.pairing.skew import (
    Survivors,
    Turnover,
    at_least,
    neighbours,
    opened_meanwhile,
    seconds_apart,
    survivors,
)
from ldapdiag.analysis.pairing.snapshot_order import is_before, judged_by_looks, persistent, preceding
from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.flows import Relay

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.analysis.pairing.flow_tables import Box
    from ldapdiag.analysis.pairing.socket_index import ClientIndex, ClientSnapshots


def join(
    ends: UnjoinedDirection,
    server: Host,
    client: ClientSnapshots,
    boxes: Sequence[Box],
    strays: Collection[int] = (),
    shared: Collection[int] = (),
    inner: Collection[int] = (),
) -> Direction:
    """Join one direction, and claim only what neither skew nor blindness can explain.

    `shared` are the client's ports that another server of the same address has; `inner` those that other network
    namespaces of the client's machine have open to this server, which does not show them.
    """
    look, table = ends.look, ends.look.sockets
    views = nearest(client, look)
    near = views[0]
    outside = [box for box in boxes if box.relay is Relay.PROXY or box.host != client.host.host]
    rows = classify(ends, views, outside, client.host, strays, tracked=len(outside) < len(boxes))
    living = {port: row for port, row in near.established(ends.way).items() if port not in shared}
    turn = turn_of(ends, near, rows, living)
    stranded = stranded_of(ends, views, rows, living, turn)
    lost = lost_of(ends, server, views, rows, turn, told=client.host.description is not None)
    lost = _without_inner(lost, client.host.host, sum(port not in rows.spared for port in inner))
    ghosts = _with(lost, [row for row, _ in rows.leftover])
    past = told_by(client.host)
    return Direction(
        client=ends.client,
        server_address=ends.server_address,
        server_port=ends.server_port,
        client_hosts=(client.host.host,),
        server_count=len(ends.rows),
        client_count=len(living) + near.unnamed.get(ends.way, 0) + (rows.virtual.count if rows.virtual else 0),
        matched=len(rows.matched),
        join=Join.CLIENT_ENDPOINT if rows.virtual else Join.FOUR_TUPLE,
        path=_path(rows),
        translated_by=rows.virtual.endpoint if rows.virtual else None,
        ghosts=ghosts.count,
        ghost_ports=_ports(table.remote_port, ghosts),
        stranded=stranded.count,
        stranded_ports=_ports(near.table.local_port, stranded),
        closing=rows.closing,
        unproven=dict(sorted((rows.unproven + Counter(lost.unproven)).items())),
        unproven_stranded=stranded.unproven,
        skew_excluded=lost.because,
        boxes=tuple(box.host for box in rows.on_path),
        box_lacks=sum(row in rows.lacked for row in ghosts.rows or ()),
        probing=sum(probes_unanswered(table, row) for row in lost.rows or ()),
        leftovers=len(rows.leftover),
        outlived=outlived(look, lost.rows or (), past.booted),
        client_host=past,
        namespaces_read=shows_all_namespaces(client.host),
        rests=turn.rests,
        retransmitting_for=_first_unanswered(near, rows),
        selected=look.headerless or near.look.headerless,
        partial=not near.table.shows_all_programs,
        unreadable=near.look.unreadable,
        origins=tuple(sorted({*look.origins, *near.look.origins, *(o for box in rows.on_path for o in box.origins)})),
    )


def _without_inner(lost: Survivors, client: str, inner: int) -> Survivors:
    """Return the lost ones without as many as other namespaces of the client's machine have, under ports of their own.

    Their address was translated there, and to which ports only that machine's connection tracking tells.
    """
    if not (inner and lost.count):
        return lost
    spared = min(inner, lost.count)
    reason = f"{client} has {inner} connections in other network namespaces, whose ports it translates (conntrack -L)"
    unproven = lost.unproven | {reason: spared}
    left = lost.count - spared
    return Survivors(count=left, rows=None if left else (), unproven=unproven, because=lost.because if left else ())


def shows_all_namespaces(host: Host) -> bool:
    """Tell whether every network namespace of a host's machine was read."""
    return host.description is not None and host.description.namespaces_unread == 0


def _path(rows: Classified) -> PathKind:
    """Return what stands between; the sockets of a proxy's own end are joined as any client's."""
    if rows.virtual:
        return PathKind.NAT
    return PathKind.PROXY if any(box.relay is Relay.PROXY for box in rows.on_path) else PathKind.DIRECT


def nearest(client: ClientSnapshots, look: Snapshot) -> list[ClientIndex]:
    """Return the client's views around a look of the server, the nearest first."""
    around = neighbours([view.look for view in client.views], look)
    views = (view for view in client.views if view.look in around)
    return sorted(views, key=lambda view: seconds_apart(look, view.look) or 0.0)


@dataclass(frozen=True, slots=True)
class Turn:
    """What is known of connections coming and going between the two ends of one direction."""

    apart: float | None
    """Seconds between the server's table and the client's nearest."""
    time_wait: int | None
    elsewhere: int
    """Of the client's connections to a virtual address, those that do not end at this server."""
    new: list[int]
    """The client's ports of connections that the server does not show at all."""
    turned: int
    """Connections that the client has established and the server has in another state."""
    unnamed_here: int
    unnamed_there: int
    rests: tuple[float, ...]
    """Seconds that living connections have rested."""


def turn_of(ends: UnjoinedDirection, near: ClientIndex, rows: Classified, living: Mapping[int, int]) -> Turn:
    """Return what the two tables tell of coming and going."""
    new, turned = client_only(ends, living)
    return Turn(
        apart=seconds_apart(ends.look, near.look),
        time_wait=closed_lately(ends, near, rows.virtual),
        elsewhere=rows.virtual.count - rows.virtual.matched if rows.virtual else 0,
        new=new,
        turned=turned,
        unnamed_here=ends.shown.unnamed.get(ends.way, 0),
        unnamed_there=near.unnamed.get(ends.way, 0),
        rests=_rests(ends, near, rows),
    )


def lost_of(
    ends: UnjoinedDirection,
    server: Host,
    views: Sequence[ClientIndex],
    rows: Classified,
    turn: Turn,
    *,
    told: bool = False,
) -> Survivors:
    """Return what the client lacks of the server's rows, after churn is taken off.

    `told`: the client's host was asked by ldapdiag itself, which then looks before and after, if nobody stops it.
    """
    look, near = ends.look, views[0]
    seen = persistent(ends, server, [view.look for view in views]) | preceding(ends, views) if rows.absent else set()
    return survivors(
        rows.absent,
        look.sockets.last_received,
        seen - rows.proven,
        Turnover(
            reverse=len(turn.new) + turn.turned + turn.elsewhere,
            time_wait=turn.time_wait,
            apart=turn.apart,
            opened=opened_meanwhile(ends.shown.monitor, ends.client, look.taken, near.look.taken),
            unnamed=max(0, turn.unnamed_there - turn.unnamed_here),
        ),
        least=at_least(look.taken, near.look.taken, turn.rests),
        bracketed=told or judged_by_looks(ends, server, views),
    )


def stranded_of(
    ends: UnjoinedDirection, views: Sequence[ClientIndex], rows: Classified, living: Mapping[int, int], turn: Turn
) -> Survivors:
    """Return what the server lacks of the client's connections, after churn is taken off."""
    look, near = ends.look, views[0]
    lasting = [living[port] for port in turn.new if all(view.holds((*ends.way, port)) for view in views[1:])]
    around = any(is_before(view.look, look) for view in views) and any(is_before(look, view.look) for view in views)
    stranded = survivors(
        lasting,
        near.table.last_received,
        lasting if around else (),
        Turnover(
            reverse=len(rows.absent) + rows.closing,
            time_wait=turn.time_wait,
            apart=turn.apart,
            opened=opened_meanwhile(None, ends.client, near.look.taken, look.taken),
            unnamed=max(0, turn.unnamed_here - turn.unnamed_there),
        ),
        least=at_least(near.look.taken, look.taken, turn.rests),
    )
    return _spared(stranded, ends, rows, turn, fleeting=len(turn.new) - len(lasting))


def _spared(stranded: Survivors, ends: UnjoinedDirection, rows: Classified, turn: Turn, *, fleeting: int) -> Survivors:
    """Return the stranded ones without those that another reason than a loss explains."""
    look = ends.look
    if stranded.count and any(look.sockets.remote_port[row] == UNKNOWN_PORT for row in ends.rows):
        reason = "the server's table shows some of its ports cut, or names for them: they may be there"
        stranded = Survivors(count=0, rows=(), unproven=stranded.unproven | {reason: stranded.count}, because=())
    if rows.virtual and turn.elsewhere:
        reason = f"to {rows.virtual.endpoint}, behind which another server may have them"
        stranded = replace(stranded, unproven=stranded.unproven | {reason: turn.elsewhere})
    if not ends.rows and not look.covers(ends.server_address):
        return Survivors(count=0, rows=(), unproven={f"{HALF} of the server": len(turn.new)}, because=())
    if fleeting:
        reason = "not in every look at the client: opened or closed between them"
        stranded = replace(stranded, unproven=stranded.unproven | {reason: fleeting})
    return stranded


def _rests(ends: UnjoinedDirection, near: ClientIndex, rows: Classified) -> tuple[float, ...]:
    """Return for how long the matched connections have rested, by the server's ages, else by the client's."""
    at_server = seconds_since_received(ends.look.sockets, (row for row, _ in rows.matched))
    return tuple(at_server or seconds_since_received(near.table, (row for _, row in rows.matched if row is not None)))


def client_only(ends: UnjoinedDirection, living: Mapping[int, int]) -> tuple[list[int], int]:
    """Return the ports the client has established and the server lacks, and how many it has in another state."""
    ports = ends.look.sockets.remote_port
    known = {ports[row] for row in ends.rows}
    unknown = [port for port in living if port not in known and port != UNKNOWN_PORT]
    new = ends.shown.lacks(ends.way, unknown) if unknown else []
    return new, len(unknown) - len(new)


def closed_lately(ends: UnjoinedDirection, near: ClientIndex, virtual: Virtual | None = None) -> int | None:
    """Return how many connections of a direction are in TIME-WAIT at either end; None if a table would not show it."""
    if not (ends.look.sockets.shows_time_wait and near.table.shows_time_wait):
        return None
    ways = (ends.way, *(virtual.ways if virtual else ()))
    return ends.shown.closed.get(ends.way, 0) + sum(near.closed.get(way, 0) for way in ways)


def _with(missing: Survivors, leftovers: list[int]) -> Survivors:
    rows = None if missing.rows is None else (*missing.rows, *leftovers)
    return replace(missing, count=missing.count + len(leftovers), rows=rows)


def _ports(column: Sequence[int], found: Survivors) -> tuple[int, ...] | None:
    return None if found.rows is None else tuple(sorted(column[row] for row in found.rows))


def _first_unanswered(near: ClientIndex, rows: Classified) -> tuple[float, ...]:
    """Return for how long connections had been idle when their first unanswered packet left (lastrcv - busy)."""
    idle: list[float] = []
    if near.table.retransmits is None:
        return ()
    for _, row in (*rows.leftover, *rows.matched):
        if row is None or not near.retransmits(row):
            continue
        received, busy = column_seconds(near.table.last_received, row), column_seconds(near.table.busy, row)
        if received is not None and busy:
            idle.append(round(received - busy, 3))
    return tuple(sorted(idle))
