"""Classification: the server's rows of one direction, by the client's snapshots and the middleboxes on the path.

Virtual endpoints: connections of a client to an address that is translated to the server's (VIP, DNAT).

They are joined by the client's own address and port alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from ldapdiag.analysis.hosts.ages import probes_unanswered
from ldapdiag.analysis.pairing.absence_reasons import (
    AbsenceContext,
    ExplainedAbsences,
    carried_by_middlebox,
    explain_absences,
    in_unread_namespace,
    open_at_other_host,
)
from ldapdiag.analysis.pairing.flow_tables import Middlebox, MissingFlows, rows_without_flow
from ldapdiag.analysis.pairing.snapshot_order import bracket_seconds, is_before
from ldapdiag.analysis.pairing.socket_index import CLOSING_STATES, ClientIndex, DirectionKey
from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
from ldapdiag.evidence.addresses import LDAP_PORTS, UNKNOWN_PORT, endpoint
from ldapdiag.evidence.sockets import TcpState
from ldapdiag.lazy_dataclass import dataclass

CLOSED_SINCE = "present at the client before the server's table was taken, absent after it: may have closed in between"
INEXACT_PORT = "the server's table has a truncated port or a name for it (take it with -n, without -A)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """The server's rows of a direction, by what the client's end shows of them."""

    matched: tuple[tuple[int, int | None], ...]
    """(server row, row in the client's nearest snapshot)"""
    retransmitting: tuple[tuple[int, int], ...]
    """(server row, client row) of connections whose client has closed and retransmits its FIN."""
    absent: tuple[int, ...]
    closing: int
    unproven: Mapping[str, int]
    virtual: VirtualEndpoint | None
    on_path: tuple[Middlebox, ...]
    """The middleboxes that the direction passes through, whose tables are complete."""
    without_flow: MissingFlows
    """Rows of which a middlebox on the path has no entry, and would have one if they were live."""
    dead_since_earlier: frozenset[int]
    """Absent rows that are proven dead, although an earlier snapshot of the client contains them."""
    ports_at_other_hosts: frozenset[int]
    """Client ports of rows that another host uses as well."""
    elsewhere: tuple[int, ...]
    """Absent rows that a container or zone of the client's machine may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowStates:
    """The server's rows of a direction, by the state of the client's socket."""

    matched: tuple[tuple[int, int | None], ...]
    retransmitting: tuple[tuple[int, int], ...]
    absent: tuple[int, ...]
    present_earlier: tuple[int, ...]
    """Present in a snapshot of the client before the server's, and absent in the one after."""
    unnumbered: tuple[int, ...]
    """Rows whose client port is a name without a known number."""
    unproven: Mapping[str, int]
    closing: int


def classify(context: AbsenceContext, indexes: Sequence[ClientIndex]) -> Classified:
    """Classify the rows of a direction; `indexes` are the client's snapshots, the nearest first."""
    unjoined, near = context.unjoined, indexes[0]
    states = classify_states(unjoined, indexes)
    young = _opened_in_bracket(unjoined, states.absent, indexes)
    unnumbered = _match_unnumbered(unjoined, states.unnumbered, near)
    live = (*states.matched, *((row, None) for row in unnumbered))
    old = [row for row in states.absent if row not in young]
    virtual = match_virtual_endpoints(unjoined, old, near, has_live=bool(live))
    matched = (*live, *virtual.pairs)
    on_path = tuple(
        middlebox for middlebox in context.middleboxes if _is_on_path(middlebox, context, has_live=bool(matched))
    )
    gone = [*virtual.absent, *states.present_earlier, *(row for row, _ in states.retransmitting)]
    missing = rows_without_flow(on_path, unjoined, gone, [row for row, _ in matched])
    unanswered = (row for row in gone if probes_unanswered(unjoined.table, row))
    dead = missing.rows.union(unanswered, context.predating.intersection(gone))
    dead_since = dead.intersection(states.present_earlier)
    context = replace(context, has_live=bool(matched), dead=dead)
    explained = explain_absences(context, sorted({*virtual.absent, *dead_since}))
    counted = {INEXACT_PORT: len(states.unnumbered) - len(unnumbered)}
    counted[CLOSED_SINCE] = len(states.present_earlier) - len(dead_since)
    return Classified(
        matched=matched,
        retransmitting=states.retransmitting,
        absent=explained.remaining,
        closing=states.closing + len(young) + explained.closing,
        unproven=Counter(states.unproven) + Counter(virtual.unproven) + Counter(counted) + explained.unproven,
        virtual=virtual.virtual,
        on_path=on_path,
        without_flow=missing,
        dead_since_earlier=dead_since,
        ports_at_other_hosts=_ports_at_other_hosts(context, explained),
        elsewhere=tuple(sorted(explained.rows(carried_by_middlebox) | explained.rows(in_unread_namespace))),
    )


def _is_on_path(middlebox: Middlebox, context: AbsenceContext, *, has_live: bool) -> bool:
    """Return whether a middlebox would have an entry for each live connection, by its table or by the routes.

    The routes suffice where no connection is live, and packets are known to pass through its connection tracking.
    """
    carries = any(map(middlebox.carries, context.unjoined.keys()))
    tracks = middlebox.tracks_packets_to(context.unjoined.server_address)
    return middlebox.whole and (carries or (not has_live and tracks and middlebox.on_route))


def classify_states(unjoined: UnjoinedDirection, indexes: Sequence[ClientIndex]) -> RowStates:
    """Classify the server's rows by the client's nearest snapshot; any other that shows a row proves it live.

    A snapshot taken before the server's shows what existed then, not what exists, unless it is the nearest.
    """
    near, ports = indexes[0], unjoined.table.remote_port
    earlier = [index for index in indexes[1:] if is_before(index.snapshot, unjoined.snapshot)]
    others = [index for index in indexes[1:] if index not in earlier]
    row_of, states = near.sockets.get(unjoined.direction, {}), near.table.state
    matched: list[tuple[int, int | None]] = []
    undecided: list[tuple[int, int]] = []
    absent, present_earlier, unnumbered = [], [], []
    for row in unjoined.rows:
        port = ports[row]
        client_row = row_of.get(port)
        if port == UNKNOWN_PORT:
            unnumbered.append(row)
        elif client_row is not None and states[client_row] is TcpState.ESTABLISHED:
            matched.append((row, client_row))
        elif any(index.has_connection((*unjoined.direction, port)) for index in others):
            matched.append((row, None))
        elif client_row is not None:
            undecided.append((row, client_row))
        elif any(index.has_connection((*unjoined.direction, port)) for index in earlier):
            present_earlier.append(row)
        else:
            absent.append(row)
    retransmitting = tuple(pair for pair in undecided if near.retransmits_fin(pair[1]))
    reasons = [_undecided_reason(near, row) for _, row in undecided if not near.retransmits_fin(row)]
    return RowStates(
        matched=tuple(matched),
        retransmitting=retransmitting,
        absent=tuple(absent),
        present_earlier=tuple(present_earlier),
        unnumbered=tuple(unnumbered),
        unproven=Counter(reason for reason in reasons if reason is not None),
        closing=reasons.count(None),
    )


def _undecided_reason(near: ClientIndex, row: int) -> str | None:
    """Return why the state of a client's socket does not decide; None when it is closing or opening."""
    state = near.table.state[row]
    if state in CLOSING_STATES and not (near.table.timer and near.table.timer[row]):
        return "closing at the client, whose table does not show retransmissions (take it with ss -tano)"
    return "in a table of the client without states" if state is TcpState.UNKNOWN else None


def _opened_in_bracket(
    unjoined: UnjoinedDirection, absent: Sequence[int], indexes: Sequence[ClientIndex]
) -> frozenset[int]:
    """Return absent rows that were opened after the client's snapshot before the server's: churn, not absences."""
    bracket, ages = bracket_seconds(unjoined, indexes), unjoined.table.last_received
    if bracket is None or ages is None:
        return frozenset()
    return frozenset(row for row in absent if (age := ages[row]) is not None and age <= bracket * 1000)


def _match_unnumbered(unjoined: UnjoinedDirection, unnumbered: Sequence[int], near: ClientIndex) -> Sequence[int]:
    """Return the rows with a port name, if the client has as many: they match by number, though not one by one."""
    named = not (near.table.ports_truncated or unjoined.table.ports_truncated)
    return unnumbered if named and len(unnumbered) <= near.unnumbered.get(unjoined.direction, 0) else ()


def _ports_at_other_hosts(context: AbsenceContext, explained: ExplainedAbsences) -> frozenset[int]:
    ports = context.unjoined.table.remote_port
    return frozenset(ports[row] for row in explained.rows(open_at_other_host))


EPHEMERAL_PORTS = 28232
"""Linux net.ipv4.ip_local_port_range 32768-60999: the probability that two connections share a port by chance."""

MINIMUM_SHARE = 0.05
"""A virtual endpoint needs at least this share of the client's connections to it to be connections of this server."""

MINIMUM_PAIRS = 3
"""Beside other live connections, or on another port than LDAP's, fewer are chance unless they explain everything."""


@dataclass(frozen=True, slots=True)
class VirtualEndpoint:
    """The virtual endpoints to which the client connects instead of the server's own, or beside it."""

    endpoint: str
    directions: tuple[DirectionKey, ...]
    count: int
    """The client's established connections to them."""
    matched: int
    """Those of them that are connections of this server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualMatches:
    """Absent rows after virtual endpoints were tried."""

    absent: tuple[int, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    """(server row, client row)"""
    unproven: Mapping[str, int] = field(default_factory=dict)
    virtual: VirtualEndpoint | None = None


def match_virtual_endpoints(
    unjoined: UnjoinedDirection, absent: Sequence[int], near: ClientIndex, *, has_live: bool
) -> VirtualMatches:
    """Match absent rows by the client's address and port, where it connects to virtual endpoints.

    There may be several, beside the server's own address.
    """
    ports = unjoined.table.remote_port
    wanted = {ports[row]: row for row in absent}
    found = _to_other_endpoints(unjoined, near, wanted) if wanted else {}
    directions: list[DirectionKey] = []
    matched: list[tuple[int, int]] = []
    unproven: dict[str, int] = {}
    for direction in sorted(found, key=lambda direction: (-len(found[direction]), direction)):
        pairs = [(row, other) for row, other in found[direction] if ports[row] in wanted]
        if not pairs or not _exceeds_chance(unjoined, len(pairs), len(near.established(direction))):
            continue
        few = len(pairs) < min(MINIMUM_PAIRS, len(wanted))
        is_ldap = direction[1] in {*LDAP_PORTS, unjoined.server_port}
        if not few or (is_ldap and not (has_live or matched)):
            directions.append(direction)
            matched += pairs
        elif direction[0] != unjoined.server_address and (is_ldap or len(pairs) > 1):
            unproven[_doubtful(direction)] = unproven.get(_doubtful(direction), 0) + len(pairs)
        else:
            continue  # another service
        wanted = {port: row for port, row in wanted.items() if row not in dict(pairs)}
    return VirtualMatches(
        absent=tuple(wanted.values()),
        pairs=tuple(matched),
        unproven=unproven,
        virtual=_virtual(near, directions, len(matched)),
    )


def _doubtful(direction: DirectionKey) -> str:
    return f"connected from the same ports to {endpoint(*direction[:2])}, which may be a virtual address of the server"


def _virtual(near: ClientIndex, directions: Sequence[DirectionKey], matched: int) -> VirtualEndpoint | None:
    if not directions:
        return None
    names = " and ".join(endpoint(*direction[:2]) for direction in directions)
    count = sum(len(near.established(direction)) for direction in directions)
    return VirtualEndpoint(names, tuple(directions), count, matched)


def _to_other_endpoints(
    unjoined: UnjoinedDirection, near: ClientIndex, wanted: Mapping[int, int]
) -> dict[DirectionKey, list[tuple[int, int]]]:
    """Return the client's established connections from wanted ports to other endpoints, by direction.

    What the server shows under the endpoint that the client connects to (on another port) is not translated.
    """
    found = {}
    for direction in near.directions_by_address.get(unjoined.client, ()):
        if direction != unjoined.direction:
            common = {port: row for port, row in near.established(direction).items() if port in wanted}
            missing = unjoined.server_index.missing_ports(direction, common)
            if missing:
                found[direction] = [(wanted[port], common[port]) for port in missing]
    return found


def _exceeds_chance(unjoined: UnjoinedDirection, pairs: int, connections: int) -> bool:
    """Return whether so many of the client's connections to an endpoint share a port with a row by more than chance."""
    by_chance = 3 * len(unjoined.rows) / EPHEMERAL_PORTS
    return pairs >= max(MINIMUM_SHARE, by_chance) * connections
