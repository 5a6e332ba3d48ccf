"""The plain form in which the native scanner returns a finished Segment: dicts, lists, tuples, numbers and bytes.

The twin of native/src/plain.rs, which writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ldapdiag.evidence.log.client_row import ClientRow
from ldapdiag.evidence.log.durations import Durations
from ldapdiag.evidence.log.idle_times import IdleRow, IdleTimes
from ldapdiag.evidence.log.operation_row import COUNTED as COUNTED_IN_ROW
from ldapdiag.evidence.log.operation_row import HISTOGRAMS, OperationRow
from ldapdiag.evidence.log.segment import SUMS, Segment
from ldapdiag.evidence.log.series import Series
from ldapdiag.evidence.log.shape_row import ShapeRow
from ldapdiag.evidence.log.sorting import Sorting
from ldapdiag.evidence.log.tables import CAPS, Caps
from ldapdiag.evidence.log.timeline import COUNTED as COUNTED_IN_INTERVAL
from ldapdiag.evidence.log.timeline import Interval, Timeline
from ldapdiag.evidence.log.write_times import WriteTimes

if TYPE_CHECKING:
    Plain = dict[str, Any]

NUMBERS = (*SUMS, "samples", "first_time", "last_time", "resolution", "operations", "longest_wait", "peak")
TABLES = (
    "servers", "instances", "closed", "noted", "ciphers", "refused", "clear_binds", "not_indexed", "lookups",
    "modified", "accounts", "attribution",
)  # fmt: skip


def segment_of(plain: Plain, caps: Caps = CAPS) -> Segment:
    """Return the finished Segment of a stream that another scanner read; `plain` is consumed."""
    segment = Segment(caps)
    for name in NUMBERS:
        setattr(segment, name, plain[name])
    segment.zones = set(plain["zones"])
    segment.cut_short = set(plain["cut_short"])
    segment.results.update(plain["results"])
    segment.timeline = _timeline(*plain["timeline"])
    segment.writes = _write_times(*plain["writes"])
    for name in TABLES:
        getattr(segment, name).update(plain[name])
    segment.shapes.update((row.key, row) for row in (_shape(*row) for row in plain["shapes"]))
    segment.targets.update((key, _operations(OperationRow(key), *fields)) for key, fields in plain["targets"])
    segment.clients.update((address, _client(*row)) for address, row in plain["clients"].items())
    segment.idle_times.update((of, _idle_row(*row)) for of, row in plain["idle_times"].items())
    for name, omitted in plain["full"]:
        table = getattr(segment, name)
        table.full = True
        if omitted:
            table.omitted = omitted
    return segment


def _timeline(level: int, intervals: list[tuple[Any, ...]]) -> Timeline:
    timeline = Timeline()
    timeline.level = level
    for number, counts, most_busy, longest_queue, results, idle, slots in intervals:
        interval = timeline.intervals[number] = Interval()
        for name, count in zip(COUNTED_IN_INTERVAL, counts, strict=True):
            setattr(interval, name, count)
        interval.most_busy, interval.longest_queue = most_busy, longest_queue
        interval.results, interval.idle = results, idle
        interval.slots = int.from_bytes(slots, "little")
    return timeline


def _write_times(*fields: Any) -> WriteTimes:  # noqa: ANN401  plain data
    writes = WriteTimes()
    writes.own = Durations(fields[-1])  # before it is what a stream needs that goes on
    return writes


Rows = TypeVar("Rows", bound=OperationRow)


def _operations(
    row: Rows,
    counts: tuple[int, ...],
    errors: dict[int, int],
    histograms: tuple[dict[int, int], ...],
    worst: Any,  # noqa: ANN401  plain data
    times: tuple[int, int],
    series: tuple[int, dict[int, list[int]]],
) -> Rows:
    for name, count in zip(COUNTED_IN_ROW, counts, strict=True):
        setattr(row, name, count)
    row.errors = errors
    for name, histogram in zip(HISTOGRAMS, histograms, strict=True):
        setattr(row, name, Durations(histogram))
    row.worst = worst
    row.first, row.last = times
    row.series = Series()
    row.series.shift, row.series.cells = series
    return row


def _shape(key: Any, operations: Any, *fields: Any) -> ShapeRow:  # noqa: ANN401  plain data
    row = _operations(ShapeRow(key), *operations)
    (
        row.noted,
        (row.most_entries, row.most_limited),
        (by_lengths, row.substring_lengths.full, sorts, row.sorts.full, stopped, row.stopped.full),
    ) = fields
    row.substring_lengths.update(by_lengths)
    row.stopped.update(stopped)
    row.sorts.update((Sorting(*sorting), cell) for sorting, cell in sorts.items())
    return row


def _client(*fields: Any) -> ClientRow:  # noqa: ANN401  plain data
    row = ClientRow()
    row.opened, row.operations, row.codes, row.silent, lifetimes, per_connection, (row.first, row.last) = fields
    row.lifetimes.update(lifetimes)
    row.per_connection.update(per_connection)
    return row


def _idle_row(used: Any, before_close: dict[bytes, Any], at_end: Any) -> IdleRow:  # noqa: ANN401  plain data
    row = IdleRow()
    row.used, row.open = _idle_times(*used), _idle_times(*at_end)
    row.before_close = {code: _idle_times(*one) for code, one in before_close.items()}
    return row


def _idle_times(buckets: dict[int, list[int]], longest: tuple[int, int, int]) -> IdleTimes:
    idle_times = IdleTimes()
    idle_times.buckets, idle_times.longest = buckets, longest
    return idle_times
