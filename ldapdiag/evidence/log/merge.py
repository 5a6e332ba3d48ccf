"""merge and combine: the algebra of Segments (docs/how-it-decides.md, "Access logs"). Both consume their arguments.

total = start()
for data in chunks: total = merge(total, scan(data))
finish(total)

Totals: the sum of the counts of two Segments, without their connections.

Pruning: keep the costliest rows of the tables of a Segment; the cheaper ones are added to more general rows.

A row that is removed is cheaper than all that stay, so what is costly in the whole log stays visible wherever it
begins. A key loses what its row had whenever this is removed: `omitted` is the sum of these costs, the bound of the
error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.counting import (
    add_sorting,
    count_early_results,
    count_kept_result,
    count_unattributed,
    end_connection,
    resolve_account,
)
from ldapdiag.evidence.log.idle_counting import count_certain_idle_times
from ldapdiag.evidence.log.joining import join
from ldapdiag.evidence.log.operation_kinds import ABANDON, BIND, EXTENDED, NAMED, SORTED, UNKNOWN
from ldapdiag.evidence.log.runs import Run
from ldapdiag.evidence.log.segment import SAMPLES, Segment
from ldapdiag.evidence.log.selected_operations import count_selected, keep_slowest
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.tables import CAPS, RESTART, Caps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.log.client_row import ClientRow
    from ldapdiag.evidence.log.connection import Connection
    from ldapdiag.evidence.log.idle_times import IdleRow
    from ldapdiag.evidence.log.operation_row import OperationRow
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
    for key, (time, *_) in connection.pending.items():
        connection.pending[key] = (time, UNKNOWN, None, b"", None)
    connection.unmatched = [
        result if result.kind in STATEFUL else result._replace(kind=ABANDON) for result in connection.unmatched
    ]
    connection.operations = connection.continued = 0
    connection.early = []
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
        process.after_close(number, connection.first).pending.add_all(connection.pending)
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
            join(segment, number, left, right, process.late_requests.get(number))
            if was_closed and right.pending:
                process.after_close(number, right.first).pending.add_all(right.pending)
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
        process.after_close(number, connection.first).pending.add_all(connection.pending)


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
        pending = late.pending.take(result.op) if late and result.kind not in {ABANDON, NAMED} else None
        if late is not None and pending is not None:
            count_kept_result(segment, number, late, pending, result, late.account)
        elif result.kind >= 0 and segment.dropped_requests[result.kind]:
            segment.dropped_requests[result.kind] -= 1
        else:
            connection.early.append((result, place < closed_at))
    count_early_results(segment, number, connection, process.late_requests.get(number), at_end=after_close)


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


def _drop_requests(segment: Segment, connection: Connection, keys: Iterable[int | tuple[int, int]]) -> None:
    """Drop requests, counted by kind; requests before --since have none."""
    for key in keys:
        kind = connection.pending.pop(key)[1]
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
    is_full = sum(len(connection.early) for connection in process.connections.values()) > segment.caps.pending
    if is_full:
        segment.cut_short.add("pending")
    for number, connection in process.connections.items():
        if connection.early:
            count_early_results(segment, number, connection, at_end=is_full)
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


def add_counts(left: Segment, right: Segment) -> None:
    """Add the counts that do not depend on the edge between the chunks."""
    for name in (
        "lines",
        "misread",
        "passed_over",
        "lost",
        "internal",
        "continued",
        "holes",
        "opened",
        "waited",
        "took",
        "server_processes",
        "open_at_end",
        "open_before",
        "ended_by_restart",
        "maybe_clear",
    ):
        setattr(left, name, getattr(left, name) + getattr(right, name))
    left.peak = max(left.peak, right.peak)
    left.resolution = max(left.resolution, right.resolution)
    left.longest_wait = max(left.longest_wait, right.longest_wait)
    left.first_time = min((t for t in (left.first_time, right.first_time) if t is not None), default=None)
    left.last_time = max((t for t in (left.last_time, right.last_time) if t is not None), default=None)
    left.samples = (left.samples + right.samples)[:SAMPLES]
    left.zones |= right.zones
    left.cut_short |= right.cut_short
    left.operations = [mine + theirs for mine, theirs in zip(left.operations, right.operations, strict=True)]
    left.dropped_requests = [
        mine + theirs for mine, theirs in zip(left.dropped_requests, right.dropped_requests, strict=True)
    ]
    for err, count in right.results.items():
        left.results[left.result_code(err)] += count
    left.timeline.merge(right.timeline)
    left.writes.own.merge(right.writes.own)
    for operation in right.slowest:
        keep_slowest(left, operation)
    _merge_tables(left, right)


def _merge_tables(left: Segment, right: Segment) -> None:
    for name in (
        "servers",
        "instances",
        "closed",
        "noted",
        "ciphers",
        "refused",
        "clear_binds",
        "accounts",
        "not_indexed",
        "modified",
        "noticed",
    ):
        getattr(left, name).merge(getattr(right, name))
    for looked_up, counts in right.lookups.items():
        left.index_lookup(looked_up, *counts)
    _merge_rows(left, right)
    for name in ("lookups", "attribution", "shapes", "targets", "clients", "idle_times"):
        table, other = getattr(left, name), getattr(right, name)
        table.full |= other.full
        table.omitted += other.omitted


def _merge_rows(left: Segment, right: Segment) -> None:
    """Add the rows; one that only the right Segment has is taken over as it is, unless its keys are beyond a cap."""
    for key, cell in right.attribution.items():
        if key in left.attribution:
            left.attribute(key, cell)
        else:
            left.attribution[key] = cell
    for shape, searches in right.shapes.items():
        if shape in left.shapes or left.noted.full:
            left.shape(shape).merge_searches(searches, left.noted)
        else:
            left.shapes[shape] = searches
    for target, row in right.targets.items():
        if target in left.targets:
            left.targets[target].merge(row)
        else:
            left.targets[target] = row
    for address, client in right.clients.items():
        if address in left.clients or left.closed.full:
            left.client(address).merge(client, left.closed)
        else:
            left.clients[address] = client
    _merge_idle_rows(left, right)


def _merge_idle_rows(left: Segment, right: Segment) -> None:
    for of, row in right.idle_times.items():
        if of in left.idle_times or left.closed.full:
            left.idle_row(*of).merge(row, left.closed)
        else:
            left.idle_times[of] = row


COUNTS = ("refused", "clear_binds", "not_indexed", "modified", "noticed", "accounts")


def prune(segment: Segment, *, final: bool = False) -> None:
    """Remove the cheapest rows of the tables that have too many."""
    _prune_operations(segment, final=final)
    if removed := segment.clients.removed(_work_of_client, final=final):
        for address, client in removed:
            segment.client(address).merge(client, segment.closed)
        _renew_rows(segment)
    while removed_lookups := segment.lookups.removed(_count_of_cell, final=final):
        for index, counts in removed_lookups:
            segment.index_lookup(index, *counts)
    while removed_idle_times := segment.idle_times.removed(_longest_of_row, final=final):
        for of, row in removed_idle_times:
            segment.idle_row(*of).merge(row, segment.closed)
    for name in COUNTS:
        table = getattr(segment, name)
        while removed_counts := table.removed(_count, final=final):
            for general, count in removed_counts:
                table.count(general, count)


def _prune_operations(segment: Segment, *, final: bool) -> None:
    while removed := segment.shapes.removed(_time_of_row, final=final):
        for shape, searches in removed:
            segment.shape(shape).merge_searches(searches, segment.noted)
    while removed_targets := segment.targets.removed(_time_of_row, final=final):
        for target, row in removed_targets:
            segment.target(target).merge(row)
    while removed_cells := segment.attribution.removed(_time_of_cell, final=final):
        for key, cell in removed_cells:
            segment.attribute(key, cell)


def _renew_rows(segment: Segment) -> None:
    """Give the connections of a client whose row was removed a new one."""
    for run in segment.runs:
        for connection in run.connections.values():
            if connection.row is not None and connection.client is not None:
                connection.row = segment.client(connection.client)


def _time_of_row(row: OperationRow) -> tuple[int, int]:
    return row.etime, row.requests


def _time_of_cell(cell: list[int]) -> tuple[int, int]:
    return cell[1], cell[0]


def _count_of_cell(cell: list[int]) -> tuple[int, int]:
    return cell[0], cell[1]


def _work_of_client(row: ClientRow) -> tuple[int, int]:
    return row.opened + row.operations, 0


def _longest_of_row(row: IdleRow) -> tuple[int, int]:
    return row.longest, row.count


def _count(count: int) -> tuple[int, int]:
    return count, 0
