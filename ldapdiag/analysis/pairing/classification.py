"""Sorting the server's rows of one direction by what the client's end, and the boxes between, say of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import probes_unanswered
from ldapdiag.analysis.pairing import absence_reasons
from ldapdiag.analysis.pairing.direction import UnjoinedDirection
from ldapdiag.analysis.pairing.flow_tables import Box
from ldapdiag.analysis.pairing.missing_flows import lacked_by
from ldapdiag.analysis.pairing.snapshot_order import bracketing, is_before
from ldapdiag.analysis.pairing.socket_index import CLOSING, ClientIndex, Way
from ldapdiag.evidence.addresses import LDAP_PORTS, UNKNOWN_PORT, endpoint
from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from ldapdiag.analysis.hosts.host import Host

EPHEMERAL_PORTS = 28232
"""Linux net.ipv4.ip_local_port_range 32768-60999: how likely two connections share a port by chance."""

CUT_OR_NAMED = "the server's table shows their port cut, or a name for it (take it with -n, without -A)"

VIRTUAL_SHARE = 0.05
"""A virtual address is believed when at least this share of the client's connections to it end at the server."""

VIRTUAL_PAIRS = 3
"""Beside other matches, or on a port that is not LDAP's, fewer are chance, unless they explain everything."""


@dataclass(frozen=True, slots=True)
class Virtual:
    """The virtual addresses the client dials instead of the server's own, or beside it."""

    endpoint: str
    ways: tuple[Way, ...]
    count: int
    """The client's established connections to them."""
    matched: int
    """Those of them that end at this server."""


@dataclass(slots=True)
class Classified:
    """The server's rows of a direction, by what the client's end says of them."""

    matched: list[tuple[int, int | None]] = field(default_factory=list)
    """(server row, client row in the nearest view)"""
    leftover: list[tuple[int, int]] = field(default_factory=list)
    absent: list[int] = field(default_factory=list)
    unnamed: list[int] = field(default_factory=list)
    """Of a client's port that the server's table gives a name nobody knows the number of."""
    lately: list[int] = field(default_factory=list)
    """At the client in a look before the server's, and no longer in the one after."""
    closing: int = 0
    unproven: Counter[str] = field(default_factory=Counter)
    virtual: Virtual | None = None
    on_path: tuple[Box, ...] = ()
    """The boxes whose tables hold connections of this direction."""
    spared: frozenset[int] = frozenset()
    """Ports of rows that another host has open from the same port."""
    lacked: frozenset[int] = frozenset()
    """Rows of which a box on the path has no flow, and would have one if they lived."""
    dead: frozenset[int] = frozenset()
    """Rows that a box, or unanswered probes, prove dead."""
    proven: set[int] = field(default_factory=set)
    """Absent rows that a box or unanswered probes prove dead, although an earlier look at the client has them."""


def classify(
    ends: UnjoinedDirection,
    views: Sequence[ClientIndex],
    boxes: Iterable[Box],
    client: Host,
    strays: Collection[int],
    *,
    tracked: bool = False,
) -> Classified:
    """Sort the rows, the nearest view first, and spare every absent one that something else explains.

    `tracked`: the client's own connection tracking was read, so what it translates for containers is known.
    """
    boxes = tuple(boxes)
    rows = classify_rows(ends, views)
    _let_go_of_young(ends, rows, views)
    _sort_unnamed(ends, rows, views[0])
    rows.virtual = match_by_endpoint(ends, rows, views[0])
    rows.on_path = tuple(box for box in boxes if box.whole and any(map(box.carries, ends.keys())))
    _find_dead(ends, rows)
    rows.proven = _judge_lately(rows)
    absence_reasons.spare_carried(ends, rows, boxes, client.host)
    absence_reasons.spare_wavering(ends, rows)
    absence_reasons.spare_strays(ends, rows, strays)
    if not tracked:
        absence_reasons.spare_hidden(rows, client)
    absence_reasons.spare_stateless(rows, views[0])
    absence_reasons.spare_half(ends, rows, views[0])
    absence_reasons.spare_unreadable(rows, views[0])
    absence_reasons.spare_cut(ends, rows, views[0])
    return rows


def classify_rows(ends: UnjoinedDirection, views: Sequence[ClientIndex]) -> Classified:
    """Sort the server's rows by the client's nearest view, and let any other view speak for a living one.

    A view that lies wholly before the server's look speaks for what was, not for what is, unless it is the nearest.
    """
    near = views[0]
    before = [view for view in views[1:] if is_before(view.look, ends.look)]
    others = [view for view in views[1:] if view not in before]
    row_of, states, ports = near.sockets.get(ends.way, {}), near.table.state, ends.look.sockets.remote_port
    rows = Classified()
    for row in ends.rows:
        port = ports[row]
        if port == UNKNOWN_PORT:
            rows.unnamed.append(row)
            continue
        found = row_of.get(port)
        if found is not None and states[found] is TcpState.ESTABLISHED:
            rows.matched.append((row, found))
        elif any(view.holds((*ends.way, port)) for view in others):
            rows.matched.append((row, None))
        elif found is None:
            (rows.lately if any(view.holds((*ends.way, port)) for view in before) else rows.absent).append(row)
        elif near.retransmits_its_end(found):
            rows.leftover.append((row, found))
        elif states[found] in CLOSING and not (near.table.timer and near.table.timer[found]):
            rows.unproven["closing at the client, whose table does not show whether anybody answers (ss -tano)"] += 1
        elif states[found] is TcpState.UNKNOWN:
            rows.unproven["in a table of the client that shows no states"] += 1
        else:
            rows.closing += 1
    return rows


def _let_go_of_young(ends: UnjoinedDirection, rows: Classified, views: Sequence[ClientIndex]) -> None:
    """Count absent rows that were opened after the client was looked at before as coming and going, not as missing."""
    apart, ages = bracketing(ends, views), ends.look.sockets.last_received
    if apart is None or ages is None:
        return
    young = {row for row in rows.absent if (age := ages[row]) is not None and age <= apart * 1000}
    rows.closing += len(young)
    rows.absent = [row for row in rows.absent if row not in young]


def _sort_unnamed(ends: UnjoinedDirection, rows: Classified, near: ClientIndex) -> None:
    """Match ports that are names at both ends by their number; of others nobody can say which they are."""
    if not rows.unnamed:
        return
    named = not (near.table.ports_truncated or ends.look.sockets.ports_truncated)
    if named and len(rows.unnamed) <= near.unnamed.get(ends.way, 0):
        rows.matched.extend((row, None) for row in rows.unnamed)
    else:
        rows.unproven[CUT_OR_NAMED] += len(rows.unnamed)


def match_by_endpoint(ends: UnjoinedDirection, rows: Classified, near: ClientIndex) -> Virtual | None:
    """Match absent rows by the client's own address and port alone, where it dials virtual addresses (VIP, DNAT).

    It may dial several, and the server's own address as well.
    """
    if not rows.absent:
        return None
    wanted = {ends.look.sockets.remote_port[row]: row for row in rows.absent}
    found = _dialled_elsewhere(ends, near, wanted)
    ways: list[Way] = []
    matched = 0
    for way in sorted(found, key=lambda way: (-len(found[way]), way)):
        pairs = [(row, there) for row, there in found[way] if ends.look.sockets.remote_port[row] in wanted]
        if not pairs or not _is_more_than_chance(ends, len(pairs), len(near.established(way))):
            continue
        few, is_ldap = len(pairs) < min(VIRTUAL_PAIRS, len(wanted)), way[1] in {*LDAP_PORTS, ends.server_port}
        if not few or (is_ldap and not rows.matched):
            ways.append(way)
            rows.matched.extend(pairs)
            matched += len(pairs)
        elif way[0] != ends.server_address and (is_ldap or len(pairs) > 1):
            rows.unproven[f"open from the same ports towards {endpoint(*way[:2])}, which may lead here"] += len(pairs)
        else:
            continue  # another service
        wanted = {port: row for port, row in wanted.items() if row not in dict(pairs)}
    rows.absent = list(wanted.values())
    if not ways:
        return None
    count = sum(len(near.established(way)) for way in ways)
    return Virtual(" and ".join(endpoint(*way[:2]) for way in ways), tuple(ways), count, matched)


def _dialled_elsewhere(
    ends: UnjoinedDirection, near: ClientIndex, wanted: Mapping[int, int]
) -> dict[Way, list[tuple[int, int]]]:
    """Return the client's established connections to other endpoints that come from wanted ports, by way.

    What the server shows as it is dialled (on another of its ports) is not translated.
    """
    found = {}
    for way in near.sockets:
        if way[2] == ends.client and way != ends.way:
            common = {port: row for port, row in near.established(way).items() if port in wanted}
            pairs = [(wanted[port], common[port]) for port in ends.shown.lacks(way, common)]
            if pairs:
                found[way] = pairs
    return found


def _is_more_than_chance(ends: UnjoinedDirection, pairs: int, dialled: int) -> bool:
    """Tell whether so many of the client's connections to an endpoint share a port with one of the server's."""
    by_chance = 3 * len(ends.rows) / EPHEMERAL_PORTS
    return pairs >= max(VIRTUAL_SHARE, by_chance) * dialled


def _find_dead(ends: UnjoinedDirection, rows: Classified) -> None:
    """Find the rows that a box lacks, and those that it or unanswered probes prove dead."""
    gone = [*rows.absent, *rows.lately, *(row for row, _ in rows.leftover)]
    rows.lacked = lacked_by(rows.on_path, ends, gone, [row for row, _ in rows.matched])
    rows.dead = rows.lacked | {row for row in gone if probes_unanswered(ends.look.sockets, row)}


def _judge_lately(rows: Classified) -> set[int]:
    """Take what the client had before the server's look, and has not after it, for absent if it is proven dead."""
    dead = set(rows.lately) & rows.dead
    if spared := len(rows.lately) - len(dead):
        reason = "at the client before the server's table was taken and gone after it: may have closed in between"
        rows.unproven[reason] += spared
    rows.absent = sorted({*rows.absent, *dead})
    return dead
