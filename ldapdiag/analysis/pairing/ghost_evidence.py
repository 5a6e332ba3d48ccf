"""Ghost evidence: what the tables, counters and times of both ends show of how a direction's ghosts came about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.analysis.hosts.ages import column_seconds, probes_unanswered, retransmits
from ldapdiag.analysis.pairing.client_age import is_one_namespace
from ldapdiag.analysis.pairing.client_history import ClientSockets, count_not_opened, rows_after, rows_before
from ldapdiag.analysis.pairing.drop_style import GhostEvidence
from ldapdiag.evidence.sockets import TcpState, Timer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.analysis.pairing.absence_reasons import AbsenceContext
    from ldapdiag.analysis.pairing.classification import Classified
    from ldapdiag.analysis.pairing.client_history import ClientHistory
    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.skew import AbsentRows
    from ldapdiag.analysis.pairing.socket_index import ClientIndex
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
    from ldapdiag.evidence.origin import Span

BESIDE_SECONDS = 10.0


def sockets_of(unjoined: UnjoinedDirection, near: ClientIndex) -> ClientSockets:
    """Return the processes and the number of the client's sockets."""
    pids = near.table.pid or ()
    rows = near.sockets.get(unjoined.direction, {}).values() if pids else ()
    owners = {pids[row] for row in rows if near.table.state[row] is not TcpState.TIME_WAIT}
    return ClientSockets(
        owners=frozenset(pid for pid in owners if pid),
        all_owned=owners.isdisjoint({None, 0}),
        others=near.processes,
        established=near.established_count,
    )


def ghost_evidence(
    context: AbsenceContext, rows: Classified, absent: AbsentRows, history: ClientHistory
) -> GhostEvidence:
    """Return the evidence about a direction's ghosts."""
    unjoined, known = context.unjoined, absent.rows or ()
    ghosts = () if absent.rows is None else (*known, *(row for row, _ in rows.retransmitting))
    description = context.client.description
    return GhostEvidence(
        without_flow=sum(row in rows.without_flow.rows for row in ghosts),
        lost_by=rows.without_flow.hosts,
        probes_unanswered=sum(probes_unanswered(unjoined.table, row) for row in known),
        retransmitting=len(rows.retransmitting),
        before_boot=len(rows_before(unjoined.snapshot, known, history.booted)),
        before_start=len(rows_before(unjoined.snapshot, known, history.started)),
        not_opened=count_not_opened(history, len(known)),
        dropped_since=_dropped_since(context, known),
        still_carried=sum(any(one.carries(unjoined.key_of(row)) for one in rows.on_path) for row in known),
        client=history,
        all_namespaces_read=description.namespaces_unread == 0 if description else is_one_namespace(context.client),
    )


def _dropped_since(context: AbsenceContext, ghosts: Sequence[int]) -> int:
    """Return how many ghosts the client still had when its counters were first read."""
    first = context.client.first_counters.origin.taken if context.client.first_counters else None
    then = next((one for one in context.indexes if first and _is_beside(one.snapshot, first)), None)
    if then is None:
        return 0
    return sum(then.has_connection(context.unjoined.key_of(row)) for row in ghosts)


def _is_beside(snapshot: Snapshot, reading: Span) -> bool:
    """Return whether a snapshot belongs to a reading of counters, which follows it in a collection."""
    return snapshot.taken is not None and reading.seconds_apart(snapshot.taken) <= BESIDE_SECONDS


def idle_of_running_clients(
    unjoined: UnjoinedDirection, absent: AbsentRows, history: ClientHistory, on_path: Sequence[Middlebox]
) -> tuple[float, ...]:
    """Return the idle times of the ghosts whose client's host and processes are older than their last segment.

    Those that a middlebox has lost before its timeout are not among them.
    """
    running = rows_after(unjoined.snapshot, absent.rows or (), history.booted)
    running &= rows_after(unjoined.snapshot, running, history.started if history.owned else None)
    ages = ((row, column_seconds(unjoined.table.last_received, row)) for row in running)
    dropped = (age for row, age in ages if age is not None and not _lost_early(unjoined, row, age, on_path))
    return tuple(sorted(dropped))


def _lost_early(unjoined: UnjoinedDirection, row: int, seconds: float, on_path: Sequence[Middlebox]) -> bool:
    return any(middlebox.lost_early(unjoined.key_of(row), seconds) for middlebox in on_path)


class Losses(NamedTuple):
    """Connections whose packets are not answered any more."""

    idle_seconds: tuple[float, ...]
    """For how long each was idle before its first unanswered segment (lastrcv - busy)."""
    one_event: bool
    """There is a moment at which all of them were idle."""
    lost_sooner: bool
    """Others were lost while a middlebox of the path had them, or must have had them."""


def find_losses(unjoined: UnjoinedDirection, near: ClientIndex, rows: Classified) -> Losses:
    """Find the connections that retransmit.

    A middlebox that still has a connection has not dropped its state: its packets are lost for another reason. One
    that has lost it before its timeout did so for another reason, too.
    """
    idle: list[float] = []
    ages: list[tuple[float, float]] = []
    lost_sooner = False
    for at_server, row in (*rows.retransmitting, *rows.matched) if near.table.retransmits is not None else ():
        if row is None or not retransmits(near.table, row):
            continue
        if any(middlebox.carries(unjoined.key_of(at_server)) for middlebox in rows.on_path):
            lost_sooner = True
            continue
        received, busy = column_seconds(near.table.last_received, row), column_seconds(near.table.busy, row)
        if received is None or not busy:
            continue
        seconds = round(received - busy, 3)
        if _lost_early(unjoined, at_server, seconds, rows.on_path):
            lost_sooner = True
        else:
            idle.append(seconds)
            ages.append((received, busy))
    one_event = bool(ages) and min(received for received, _ in ages) >= max(busy for _, busy in ages)
    return Losses(tuple(sorted(idle)), one_event, lost_sooner)


def longest_probed(near: ClientIndex, rows: Classified) -> float | None:
    """Return the longest time without a packet on the client's sockets with keepalive, whose probes are answered."""
    timer, answered = near.table.timer, near.table.last_acknowledged
    probing = [row for _, row in rows.matched if row is not None and timer and timer[row] is Timer.KEEPALIVE]
    silent = [column_seconds(answered, row) or 0.0 for row in probing]
    return max(silent, default=None)


def longest_if_all_probed(near: ClientIndex, rows: Classified) -> float | None:
    """Return that time if all live sockets of the client send probes and the table shows their answers, else None."""
    live = [row for _, row in rows.matched if row is not None]
    timer, answered = near.table.timer, near.table.last_acknowledged
    if not live or timer is None or answered is None or any(timer[row] is not Timer.KEEPALIVE for row in live):
        return None
    return longest_probed(near, rows)
