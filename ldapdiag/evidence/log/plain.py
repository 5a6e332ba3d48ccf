"""The plain form of a Segment: dicts, lists, tuples, numbers and bytes, as the native scanner hands a piece over.

The twin of native/src/plain.rs, which writes what is read here. A text stands for itself, a row of a table for the
counts in it; a request that waits names its shape by its place in `shapes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.connection import Answer, Asked, Connection, Tail
from ldapdiag.evidence.log.rests import Rests
from ldapdiag.evidence.log.runs import Run
from ldapdiag.evidence.log.segment import Segment
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
    """Return the Segment of a piece that another scanner has read; what is handed in is used up."""
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
        (pieces, row.pieces.full),
    ) = fields
    row.histogram.update(histogram)
    row.pieces.update(pieces)
    return row


def _client(*fields: Any) -> ClientRow:  # noqa: ANN401  plain data
    row = ClientRow()
    row.opened, row.operations, row.codes, row.silent, lifetimes, per_connection, rests, tails = fields
    row.lifetimes.update(lifetimes)
    row.per_connection.update(per_connection)
    row.rests = _rests(*rests)
    row.tails = {code: _rests(*told) for code, told in tails.items()}
    return row


def _rests(buckets: dict[int, int], longest: tuple[int, int, int]) -> Rests:
    rests = Rests()
    rests.buckets, rests.longest = buckets, longest
    return rests


def _run(segment: Segment, rows: list[ShapeRow], *fields: Any) -> Run:  # noqa: ANN401  plain data
    run = Run()
    run.certain, run.first, run.last, run.latest, numbers, connections, gone, run.delta, run.top = fields
    for start, end in numbers:
        run.numbers.span(start, end)
    run.connections = {number: _connection(rows, *told) for number, told in connections.items()}
    run.gone = {number: _connection(rows, *told) for number, told in gone.items()}
    for connection in run.connections.values():
        if connection.client is not None:
            connection.row = segment.client(connection.client)
    return run


def _connection(rows: list[ShapeRow], *fields: Any) -> Connection:  # noqa: ANN401  plain data
    connection = Connection(*fields[:3])
    (
        connection.account,
        connection.named,
        connection.binding,
        connection.operations,
        connection.last_op,
        connection.requests,
        asked,
        connection.rested,
        connection.continued,
        connection.closed,
        connection.code,
        tail,
        pending,
        aside,
    ) = fields[3:]
    connection.asked = None if asked is None else Asked(*asked)
    connection.tail = None if tail is None else Tail(*tail)
    connection.pending = {
        op: (time, kind, None if row is None else rows[row], subject) for op, time, kind, row, subject in pending
    }
    if aside is not None:
        held, connection.owed, connection.failures, rests, connection.pages, left = aside
        connection.held = [Answer(*answer) for answer in held]
        connection.rests = {epoch: _rests(*told) for epoch, told in rests.items()}
        connection.pages_left = set(left)
    return connection
