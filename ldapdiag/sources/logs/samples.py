"""A sample of a log: when, of which server, and marks by which two duplicates of one server's run are known.

slapd's stderr and the syslog of the same run, or OpenDJ's three kinds of access log, have not a byte in common; but
the same connections come from the same clients in the same seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ldapdiag.evidence.log.line_scan import NEVER, Hints
from ldapdiag.evidence.log.segment import SAMPLE_BYTES
from ldapdiag.evidence.log.stamps import SECOND

if TYPE_CHECKING:
    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.scan import Scan

    Mark = tuple[int, bytes | int]

MOST_MARKS = 100
"""Of each kind, for a file: enough to recognise it, and thousands of files fill no memory."""

SLACK = 3 * SECOND // 2
"""Nanoseconds by which the stamps of one event differ in two duplicates, where one of them has whole seconds only."""

FINE_SLACK = SECOND // 10

QUARTER = 900 * SECOND
"""Zones differ by a multiple of this; stamps without a zone are off by so much."""
FARTHEST = 14 * 3600 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Times and marks of some records of a log."""

    first_time: int
    """Of the first record, nanoseconds since 1970; when it was written, not when its operation began."""
    last_time: int
    openings: dict[Mark, int]
    """(connection, client): when it was opened."""
    operations: dict[Mark, int]
    """(connection, operation): when it first appears."""
    instance: bytes
    """The server in the log's header; empty where there is none."""
    resolution: int
    zoned: bool

    def agrees(self, other: Sample) -> bool | None:
        """Return whether two samples are of the same run; None where they have no time in common."""
        if self.instance and other.instance and self.instance != other.instance:
            return False
        by_opening = self._agree(other, self.openings, other.openings)
        return self._agree(other, self.operations, other.operations) if by_opening is None else by_opening

    def _agree(self, other: Sample, mine: dict[Mark, int], theirs: dict[Mark, int]) -> bool | None:
        slack = FINE_SLACK if max(self.resolution, other.resolution) < SECOND else SLACK
        shift = 0
        shared = mine.keys() & theirs.keys()
        if shared and not (self.zoned and other.zoned):
            shift = _shift([theirs[mark] - mine[mark] for mark in shared])
        start = max(min(mine.values(), default=0), min(theirs.values(), default=0) - shift) - slack
        end = min(max(mine.values(), default=-1), max(theirs.values(), default=-1) - shift) + slack
        comparable = min(
            sum(start <= time <= end for time in mine.values()),
            sum(start <= time - shift <= end for time in theirs.values()),
        )
        if not mine or not theirs or not comparable:
            return None
        same = sum(abs(theirs[mark] - mine[mark] - shift) <= slack for mark in shared)
        return same * 2 >= comparable


def _shift(differences: list[int]) -> int:
    """Return by how many quarters of an hour most clocks differ."""
    quarters = [round(difference / QUARTER) for difference in differences]
    shift = max(sorted(set(quarters)), key=quarters.count) * QUARTER
    return shift if abs(shift) <= FARTHEST else 0


def sample(dialect: Dialect, data: bytes, hints: Hints, most_marks: int = MOST_MARKS) -> Sample | None:
    """Return a sample of whole records; None where none of them has a time."""
    sampler = Sampler(hints, most_marks)
    dialect.scan(data, cast("Scan", sampler))
    return sampler.sample()


class Sampler:
    """Stands in for a Scan, and keeps times and marks only."""

    def __init__(self, hints: Hints, most_marks: int) -> None:
        self.hints = hints
        self._most_marks = most_marks
        self.lines = 0
        self._first: int | None = None
        self._last = -NEVER
        self._alone: tuple[int, int] | None = None
        """The operation whose request is all that has been seen so far."""
        self._openings: dict[Mark, int] = {}
        self._operations: dict[Mark, int] = {}
        self._instance = b""
        self._resolution = 1
        self._zoned = True

    def sample(self) -> Sample | None:
        """Return what has been seen."""
        if self._first is None:
            return None
        return Sample(
            first_time=self._first,
            last_time=self._last,
            openings=self._openings,
            operations=self._operations,
            instance=self._instance,
            resolution=self._resolution,
            zoned=self._zoned,
        )

    def opened(self, conn: int, time: int, client: bytes, *_: object) -> None:
        """Keep the opening of a connection."""
        self._seen(time)
        if len(self._openings) < self._most_marks:
            self._openings.setdefault((conn, client), time)

    def request(self, conn: int, op: int, time: int, *_: object) -> None:
        """Keep when an operation began."""
        if self._first is None:
            self._alone = (conn, op)
        self._seen(time)
        if len(self._operations) < self._most_marks:
            self._operations.setdefault((conn, op), time)

    bind = search = abandon = unbind = request

    def result(self, conn: int, op: int, time: int, *_: object, **__: object) -> None:
        """Keep when an operation ended.

        Where one record holds request and result it was written at the end: a search of an hour does not make a file
        begin an hour before it was opened.
        """
        if self._alone == (conn, op):
            self._first = time
        self.request(conn, op, time)

    def closed(self, _: int, time: int, *__: object) -> None:
        """Keep the time of what happened to a connection."""
        self._seen(time)

    proxied_client = authenticated = bind_confirmed = closed

    def search_without_connection(self, time: int, client: bytes, *_: object, **__: object) -> None:
        """Keep a search without a connection."""
        self._seen(time)
        if len(self._openings) < self._most_marks:
            self._openings.setdefault((time // SECOND, client), time)

    def notice(self, time: int, base: bytes, scope: int, filter: bytes, **_: object) -> None:  # noqa: A002  RFC 4511's word
        """Keep the time of a search in the errors log."""
        self.search_without_connection(time, b"%b %d %b" % (base[:SAMPLE_BYTES], scope, filter[:SAMPLE_BYTES]))

    def startup(self, identity: bytes) -> None:
        """Keep nothing of a startupID."""

    def server_started(self, time: int | None, *_: object) -> None:
        """Keep when the server started."""
        if time is not None:
            self._seen(time)

    def header(self, instance: bytes, *_: object) -> None:
        """Keep the name of the server: `localhost:389`; the folder behind it is no chunk of it."""
        self._instance = instance.partition(b" ")[0] or self._instance

    def clock(self, zone: bytes | None) -> None:
        """Keep whether stamps have a zone."""
        self._zoned = zone is not None

    def resolution(self, nanoseconds: int) -> None:
        """Keep how fine the stamps are."""
        self._resolution = max(self._resolution, nanoseconds)

    def internal(self, *_: object) -> None:
        """Pass over what has no time."""

    lost = passed_over = misread = not_indexed = index_lookup = modified_attributes = internal

    def _seen(self, time: int) -> None:
        if self._first is None:
            self._first = time
        elif self._alone and time > self._last:
            self._alone = None
        self._last = max(self._last, time)
