"""The plain form of a Segment, in which the native scanner returns a chunk: dicts, lists, tuples, numbers and bytes.

The twin of native/src/plain.rs, which writes it. A pending request refers to its shape by the index in `shapes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.connection import Connection, FirstRequest, IdleAtClose, OperationResult
from ldapdiag.evidence.log.idle_times import IdleTimes
from ldapdiag.evidence.log.runs import Run
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.evidence.log.sorting import Sorting
from ldapdiag.evidence.log.tables import CAPS, Caps, ClientRow, ShapeRow

if TYPE_CHECKING:
    Plain = dict[str, Any]

NUMBERS = (
    "lines", "misread", "samples", "passed_over", "lost", "first_time", "last_time", "resolution", "operations",
    "internal", "continued", "holes", "longest_wait", "waited", "took", "opened",
)  # fmt: skip
TABLES = (
    "servers", "instances", "closed", "noted", "not_indexed", "lookups", "modified", "accounts", "failures",
    "attribution",
)  # fmt: skip


def segment_of(plain: Plain, caps: Caps = CAPS) -> Segment:
    """Return the Segment of a chunk that another scanner read; `plain` is consumed."""
    segment = Segment(caps)
    for name in NUMBERS:
        setattr(segment, name, plain[name])
    segment.zones = set(plain["zones"])
    segment.cut_short = set(plain["cut_short"])
    segment.results.update(plain["results"])
    segment.waits.update(plain["waits"])
    for name in TABLES:
        getattr(segment, name).update(plain[name])
    rows = [_shape(*row) for row in plain["shapes"]]
    segment.shapes.update((row.key, row) for row in rows)
    segment.clients.update((address, _client(*row)) for address, row in plain["clients"].items())
    for name in plain["full"]:
        getattr(segment, name).full = True
    segment.runs = [_run(segment, rows, *run) for run in plain["runs"]]
    return segment


def _shape(key: Any, *fields: Any) -> ShapeRow:  # noqa: ANN401  plain data
    row = ShapeRow(key)
    (
        row.searches,
        row.answered,
        row.etime,
        row.wait,
        row.entries,
        row.noted,
        row.errors,
        histogram,
        row.worst,
        (row.most_entries, row.most_limited),
        (by_lengths, row.substring_lengths.full, sorts, row.sorts.full, stopped, row.stopped.full),
    ) = fields
    row.histogram.update(histogram)
    row.substring_lengths.update(by_lengths)
    row.stopped.update(stopped)
    row.sorts.update((Sorting(*sorting), cell) for sorting, cell in sorts.items())
    return row


def _client(*fields: Any) -> ClientRow:  # noqa: ANN401  plain data
    row = ClientRow()
    row.opened, row.operations, row.codes, row.silent, lifetimes, per_connection, idle_times, before_close = fields
    row.lifetimes.update(lifetimes)
    row.per_connection.update(per_connection)
    row.idle_times = _idle_times(*idle_times)
    row.idle_before_close = {code: _idle_times(*one) for code, one in before_close.items()}
    return row


def _idle_times(buckets: dict[int, int], longest: tuple[int, int, int]) -> IdleTimes:
    idle_times = IdleTimes()
    idle_times.buckets, idle_times.longest = buckets, longest
    return idle_times


def _run(segment: Segment, rows: list[ShapeRow], *fields: Any) -> Run:  # noqa: ANN401  plain data
    run = Run()
    run.explicit_start, run.first, run.last, run.latest, numbers, connections, late, run.delta, run.top = fields
    for start, end in numbers:
        run.numbers.span(start, end)
    run.connections = {number: _connection(rows, *one) for number, one in connections.items()}
    run.late_requests = {number: _connection(rows, *one) for number, one in late.items()}
    for connection in run.connections.values():
        if connection.client is not None:
            connection.row = segment.client(connection.client)
    return run


def _connection(rows: list[ShapeRow], *fields: Any) -> Connection:  # noqa: ANN401  plain data
    connection = Connection(*fields[:3])
    (
        connection.account,
        connection.confirmed_dn,
        connection.bind_dn,
        connection.operations,
        connection.last_op,
        connection.requests,
        first_request,
        connection.idle_since,
        connection.continued,
        connection.closed,
        connection.code,
        idle_at_close,
        pending,
        rare,
    ) = fields[3:]
    connection.first_request = None if first_request is None else FirstRequest(*first_request)
    connection.idle_at_close = None if idle_at_close is None else IdleAtClose(*idle_at_close)
    connection.pending = {
        op: (time, kind, None if row is None else rows[row], subject, _sorting(sorting))
        for op, time, kind, row, subject, sorting in pending
    }
    if rare is not None:
        unmatched, connection.unattributed, connection.failures, idle_times, connection.pages, uncertain = rare
        connection.unmatched = [
            OperationResult(*result)._replace(sorting=_sorting(sorting)) for result, sorting in unmatched
        ]
        connection.idle_times = {epoch: _idle_times(*one) for epoch, one in idle_times.items()}
        connection.uncertain_pages = set(uncertain)
    return connection


def _sorting(fields: Any) -> Sorting | None:  # noqa: ANN401  plain data
    return None if fields is None else Sorting(*fields)
