"""merge and combine: the algebra of Segments (docs/how-it-decides.md, "Access logs"). Both consume their arguments.

total = start()
for data in chunks: total = merge(total, scan(data))
finish(total)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.counting import (
    add_sorting,
    count_kept_result,
    count_unattributed,
    count_without_request,
    end_connection,
    resolve_account,
)
from ldapdiag.evidence.log.idle_counting import count_certain_idle_times
from ldapdiag.evidence.log.joining import join
from ldapdiag.evidence.log.operation_kinds import ABANDON, BIND, EXTENDED, NAMED, SORTED, UNKNOWN
from ldapdiag.evidence.log.pruning import prune
from ldapdiag.evidence.log.runs import Run
from ldapdiag.evidence.log.segment import SAMPLES, Segment
from ldapdiag.evidence.log.selected_operations import count_selected
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.tables import CAPS, RESTART, Caps
from ldapdiag.evidence.log.totals import add_counts

if TYPE_CHECKING:
    from ldapdiag.evidence.log.connection import Connection
    from ldapdiag.evidence.log.selection import Selection


STATEFUL = frozenset({BIND, EXTENDED, NAMED, SORTED})
"""Kinds of results that may change the account or the security of a connection, or count only with their request."""


def start(caps: Caps = CAPS, selection: Selection | None = None) -> Segment:
    """Return the Segment before the first record of a stream."""
    segment = Segment(caps, selection=selection)
    segment.anchored = True
    return segment


def merge(left: Segment, right: Segment) -> Segment:
    """Return the Segment of two adjacent chunks of one stream."""
    add_counts(left, right)
    left.writes.follow(left.timeline, right.writes)
    for run in right.runs:
        _repoint(left, run)
    if left.anchored:
        for run in right.runs:
            _continue_process(left, run)
        _drop_expired(left)
        prune(left)
        return left
    for run in right.runs:
        if left.runs[-1].ascends(run):
            _join_runs(left, left.runs[-1], run)
        else:
            left.runs.append(run)
    prune(left)
    return left


def finish(segment: Segment) -> Segment:
    """Return the Segment of a stream read to its end, with open connections counted as open at the end."""
    if not segment.anchored:
        segment = merge(start(segment.caps), segment)
    if segment.runs:
        _end_process(segment, at_end=True)
        segment.runs = []
    segment.writes.end()
    prune(segment, final=True)
    if segment.selection is not None:
        count_selected(segment)
    return segment


def reset_counts(segment: Segment) -> Segment:
    """Return a Segment without counts that keeps the state of the open connections."""
    fresh = Segment(segment.caps, segment.anchored, segment.runs, selection=segment.selection)
    for run in segment.runs:
        for connection in (*run.connections.values(), *run.late_requests.values()):
            _reset_connection(fresh, connection)
        run.initial += run.delta
        run.delta = run.top = 0
    for name in ("zones", "servers", "instances", "resolution"):
        setattr(fresh, name, getattr(segment, name))
    fresh.writes.last = segment.writes.last
    return fresh


def _reset_connection(fresh: Segment, connection: Connection) -> None:
    if connection.client is not None:
        connection.row = fresh.client(connection.client)
    connection.pending = {op: (time, UNKNOWN, None, b"", None) for op, (time, *_) in connection.pending.items()}
    connection.unmatched = [
        result if result.kind in STATEFUL else result._replace(kind=ABANDON) for result in connection.unmatched
    ]
    connection.operations = connection.continued = 0
    connection.unattributed, connection.clear_binds, connection.idle_times = {}, {}, {}


def combine(one: Segment, *others: Segment) -> Segment:
    """Return the sum of finished streams of different servers, in any order; nothing is paired.

    Tables are pruned to their caps in the end only: for each stream that takes longer than adding it.
    """
    for other in others:
        add_counts(one, other)
        one.samples = sorted({*one.samples, *other.samples})[:SAMPLES]
        prune(one)
    prune(one, final=True)
    return one


def _repoint(segment: Segment, run: Run) -> None:
    """Point the connections of a run to the rows of the Segment they are merged into."""
    for connection in (*run.connections.values(), *run.late_requests.values()):
        if connection.row is not None and connection.client is not None:
            connection.row = segment.client(connection.client)
        for op, pending in connection.pending.items():
            time, kind, row, subject, sorting = pending
            if row is not None:
                connection.pending[op] = (time, kind, segment.same_row(row), subject, sorting)


def _continue_process(segment: Segment, run: Run) -> None:
    """Continue the server process of an anchored Segment with a run, or end it where the server restarted."""
    if segment.runs[-1].restarts(run):
        _end_process(segment, at_end=False, at=segment.runs[-1].restarted_at(run))
        segment.runs = [Run()]
    _join_runs(segment, segment.runs[-1], run)


def _join_runs(segment: Segment, process: Run, run: Run) -> None:
    for number, connection in run.late_requests.items():
        process.after_close(number, connection.first).pending.update(connection.pending)
    for number, right in run.connections.items():
        left = process.connections.get(number)
        if right.opened is None and process.is_closed(number):
            _count_after_close(segment, process, number, right)
            continue
        if left is not None and left.opened is not None and right.opened is not None:
            _supersede(segment, number, left, right.opened)
            left = None
        if left is None:
            connection = right
            process.initial += segment.anchored and right.opened is None
        else:
            connection = left
            process.initial -= segment.anchored and left.opened is None and right.opened is not None
            was_closed = left.closed is not None
            join(segment, number, left, right)
            if was_closed and right.pending:
                process.after_close(number, right.first).pending.update(right.pending)
        process.connections[number] = connection
        if segment.anchored:
            _count_unmatched(segment, process, number, connection)
            resolve_account(segment, connection)
            count_certain_idle_times(segment, number, connection)
        if connection.done if segment.anchored else connection.complete:
            end_connection(segment, number, connection)
            del process.connections[number]
    process.count_on(run)


def _supersede(segment: Segment, number: int, connection: Connection, at: int) -> None:
    """End a connection whose number is opened anew: the server restarted, and no other opening shows it."""
    if connection.closed is None:
        connection.code = RESTART
        segment.ended_by_restart += 1
        segment.timeline.at(at // SECOND).closed += 1
    end_connection(segment, number, connection, at=at)


def _count_after_close(segment: Segment, process: Run, number: int, connection: Connection) -> None:
    """Count, for an unknown client, what was written of a connection after its close."""
    _count_unmatched(segment, process, number, connection, after_close=True)
    count_unattributed(segment, connection, after_close=True)
    if connection.pending:
        process.after_close(number, connection.first).pending.update(connection.pending)


def _count_unmatched(
    segment: Segment, process: Run, number: int, connection: Connection, *, after_close: bool = False
) -> None:
    """Count the results without request of a connection whose earlier records are all known.

    Those that come after its close are of an unknown client, as in `scan`, where the connection may be gone by then.
    """
    unmatched, connection.unmatched = connection.unmatched, []
    closed_at = 0 if after_close else len(unmatched)
    if connection.idle_at_close is not None:
        closed_at = min(closed_at, connection.idle_at_close.epoch)
        connection.idle_at_close = connection.idle_at_close._replace(epoch=0)
    for place, result in enumerate(unmatched):
        late = process.late_requests.get(number)
        if result.sorting is not None:
            if late is not None:
                add_sorting(late, result.op, result.sorting)
            continue
        pending = late.pending.pop(result.op, None) if late and result.kind not in {ABANDON, NAMED} else None
        if late is None or pending is None:
            count_without_request(segment, number, result, connection if place < closed_at else None)
        else:
            count_kept_result(segment, number, late, pending, result, late.account)


def _end_process(segment: Segment, *, at_end: bool, at: int | None = None) -> None:
    """End a server process: by a restart, which ends its open connections, or at the end of the log."""
    (process,) = segment.runs
    until = segment.last_time if at_end else at
    for number, connection in process.connections.items():
        if connection.closed is None and not at_end:
            connection.code = RESTART
            segment.ended_by_restart += 1
            if at is not None:
                segment.timeline.at(at // SECOND).closed += 1
        end_connection(segment, number, connection, at_end=at_end and connection.closed is None, at=until)
    segment.peak = max(segment.peak, process.peak)
    segment.server_processes += process.last >= 0
    segment.open_before += process.initial


def _drop_oldest_requests(segment: Segment, process: Run) -> None:
    """Drop the oldest pending requests of the connections that have the most, when there are too many."""
    pending = sum(len(connection.pending) for connection in process.connections.values())
    if pending <= segment.caps.pending:
        return
    segment.cut_short.add("pending")
    each = max(1, segment.caps.pending // (2 * len(process.connections)))
    for connection in process.connections.values():
        _drop_requests(segment, connection, list(connection.pending)[:-each])


def _drop_requests(segment: Segment, connection: Connection, ops: list[int]) -> None:
    """Drop requests, counted by kind; requests before --since have none."""
    for op in ops:
        kind = connection.pending.pop(op)[1]
        if kind != UNKNOWN:
            segment.dropped_requests[kind] += 1


def _drop_expired(segment: Segment) -> None:
    """Drop closed connections whose results are overdue and, when there are too many, the longest idle ones."""
    process = segment.runs[-1]
    latest = segment.last_time or 0
    over = [
        number
        for number, connection in process.connections.items()
        if connection.opened is not None and connection.is_expired(latest)
    ]
    for number in over:
        end_connection(segment, number, process.connections.pop(number))
    _drop_oldest_requests(segment, process)
    if len(process.connections) <= segment.caps.connections:
        return
    segment.cut_short.add("connections")

    def activity(number: int) -> tuple[bool, bool, int]:
        connection = process.connections[number]
        return connection.closed is None, bool(connection.pending), connection.idle_since or connection.first

    for number in sorted(process.connections, key=activity)[: len(process.connections) - segment.caps.connections // 2]:
        connection = process.connections.pop(number)
        _drop_requests(segment, connection, list(connection.pending))
        end_connection(segment, number, connection, at_end=connection.closed is None, at=segment.last_time)
