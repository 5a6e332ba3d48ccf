"""Samples of logs: times, server name, and marks by which two duplicates of one server's run are recognised.

slapd's stderr and the syslog of the same run, or OpenDJ's three kinds of access log, differ in every line; but the same
connections are opened by the same clients in the same seconds.

Plausible times: those of a sample without the stamps that a client has forged.

A client that puts a line feed into a filter writes lines with any stamp. Those after it are earlier again, or those
before it are later; so the times of the longest sequence that never goes back are the server's, if they are the most.
At the beginning and the end of a sample, where no order shows it, no record is later than its file, or as early as the
clock of a computer without a battery.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

from ldapdiag.evidence.log.line_scan import NEVER, Hints
from ldapdiag.evidence.log.segment import SAMPLE_BYTES
from ldapdiag.evidence.log.stamps import EPOCH, SECOND
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ldapdiag.evidence.log.connection import OperationResult
    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.reported_use import Examined
    from ldapdiag.evidence.log.scan import Scan

    Mark = tuple[int, bytes | int]

MOST_MARKS = 100
"""Limit of marks of each kind per file: enough to recognise a duplicate, and small for thousands of files."""

SLACK = 3 * SECOND // 2
"""Largest difference of the timestamps of one event in two duplicates, in nanoseconds, if one has whole seconds."""

FINE_SLACK = SECOND // 10
"""The same if both have fractions of a second."""

QUARTER = 900 * SECOND
"""Time zones differ by multiples of this; so do timestamps without a zone."""
FARTHEST = 14 * 3600 * SECOND
"""Largest difference between the clocks of two duplicates that a zone explains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Times and marks of a few records of a log."""

    first_time: int
    """When the first record was written (not when its operation began), nanoseconds since 1970."""
    last_time: int
    earliest: int
    latest: int
    """Of the earliest and the latest record, plausible or not."""
    openings: dict[Mark, int]
    """Time of the opening, by (connection, client)."""
    operations: dict[Mark, int]
    """Time of the first appearance, by (connection, operation)."""
    requests: set[Mark]
    """The operations that appear with their request first."""
    servers: dict[Mark, bytes]
    """The address of the server, by (connection, client), where the log has it."""
    answers: dict[Mark, tuple[int | None, ...]]
    """The times and the number of entries of the first result, by (connection, operation)."""
    instance: bytes
    """The server name in the log's header; empty if there is none."""
    resolution: int
    """Of the timestamps, nanoseconds."""
    zones: frozenset[bytes]
    """Of the timestamps, as written; empty where they have none."""
    zoned: bool
    """True if the last timestamps have a zone."""
    events: int = 0
    """Of an export that was read to its end."""

    def agrees(self, other: Sample) -> bool | None:
        """Return whether two samples are of the same run of a server; None if they have no period in common."""
        if self.instance and other.instance and self.instance != other.instance:
            return False
        by_opening = self._agree(other, self.openings, other.openings)
        return self._agree(other, self.operations, other.operations) if by_opening is None else by_opening

    def contradicts(self, other: Sample) -> bool:
        """Return whether two samples in one dialect that agree are of different records all the same.

        A health check opens connections with the same numbers at two servers that are started together, in the same
        seconds; but to another address, and the answers take other times. Where a log is continued in another file,
        that one begins with the answers to the last requests.
        """
        kinds = [{mark: mark in one.requests for mark in one.operations} for one in (self, other)]
        return _differ(self.servers, other.servers) or _differ(self.answers, other.answers) or _differ(*kinds)

    def shift_to(self, other: Sample) -> int:
        """Return by how much the clock of another sample of the same events is ahead, in nanoseconds: its zone."""
        shared = self.openings.keys() & other.openings.keys()
        return _shift([other.openings[mark] - self.openings[mark] for mark in shared]) if shared else 0

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


def _differ(mine: Mapping[Mark, object], theirs: Mapping[Mark, object]) -> bool:
    """Return whether more than half of what two samples say of the same marks differs."""
    shared = mine.keys() & theirs.keys()
    return 2 * sum(mine[mark] != theirs[mark] for mark in shared) > len(shared)


def _shift(differences: list[int]) -> int:
    """Return the most frequent difference in nanoseconds, a multiple of 15 minutes; 0 if no zone explains it."""
    quarters = [round(difference / QUARTER) for difference in differences]
    shift = max(sorted(set(quarters)), key=quarters.count) * QUARTER
    return shift if abs(shift) <= FARTHEST else 0


def sample(dialect: Dialect, data: bytes, hints: Hints, most_marks: int = MOST_MARKS) -> Sample | None:
    """Return a sample of whole records; None if none of them has a time."""
    return sample_of(dialect, [(data, hints)], most_marks)


def sample_of(dialect: Dialect, pieces: Iterable[tuple[bytes, Hints]], most_marks: int = MOST_MARKS) -> Sample | None:
    """Return a sample of consecutive pieces of a log; None if none of their records has a time."""
    sampler = Sampler(Hints(), most_marks)
    for data, sampler.hints in pieces:
        dialect.scan(data, cast("Scan", sampler))
    return sampler.sample()


def sample_of_times(dialect: Dialect, data: bytes, hints: Hints) -> Sample | None:
    """Return a sample of whole records without marks, for less work where the dialect has a way; else as `sample`.

    None if no record is understood. Searches, with most quotes, are tried first: they need the fewest expressions.
    """
    if dialect.times is None:
        return sample(dialect, data, hints)
    quoted_first = sorted(data.splitlines(keepends=True), key=lambda line: -line.count(b'"'))
    if not any(sample(dialect, line, hints, 0) for line in quoted_first):
        return None
    sampler = Sampler(hints, 0)
    for time in dialect.times(data, cast("Scan", sampler)):
        sampler.seen(time)
    return sampler.sample()


class Sampler:
    """A substitute for Scan that records only times and marks."""

    def __init__(self, hints: Hints, most_marks: int) -> None:
        self.hints = hints
        self._most_marks = most_marks
        self.lines = 0
        self._times: list[int] = []
        self._earliest, self._latest = NEVER, -NEVER
        self._alone: Mark | None = None
        """The operation of the first record, while no later record exists."""
        self._openings: dict[Mark, int] = {}
        self._operations: dict[Mark, int] = {}
        self._requests: set[Mark] = set()
        self._servers: dict[Mark, bytes] = {}
        self._answers: dict[Mark, tuple[int | None, ...]] = {}
        self._instance = b""
        self._resolution = 1
        self._zones: set[bytes] = set()
        self._zoned = True

    def sample(self) -> Sample | None:
        """Return the sample; None if no record had a time."""
        if not self._times:
            return None
        times = plausible(self._times, self.hints.year_end)
        return Sample(
            first_time=times[0],
            last_time=max(times),
            earliest=self._earliest,
            latest=self._latest,
            openings=self._openings,
            operations=self._operations,
            requests=self._requests,
            servers=self._servers,
            answers=self._answers,
            instance=self._instance,
            resolution=self._resolution,
            zones=frozenset(self._zones),
            zoned=self._zoned,
        )

    def opened(self, conn: int, time: int, client: bytes, server: bytes = b"", **_: object) -> None:
        """Record the opening of a connection."""
        self.seen(time)
        if len(self._openings) < self._most_marks:
            self._openings.setdefault((conn, client), time)
            self._servers.setdefault((conn, client), server)

    def request(self, conn: int, op: int, time: int, *_: object) -> None:
        """Record the time of a request."""
        self._operation((conn, op), time, self._requests)

    bind = search = abandon = unbind = request

    def result(self, conn: int, result: OperationResult, *_: object, **__: object) -> None:
        """Record the time of a result.

        A record that contains both request and result is written at the end of the operation, so a search of one hour
        does not move the first time of a file back by one hour.
        """
        if self._alone == (conn, result.op):
            self._times = [result.time]
        self._operation((conn, result.op), result.time)
        if len(self._answers) < self._most_marks:
            answer = result.etime, result.wait, result.optime, result.entries
            self._answers.setdefault((conn, result.op), answer)

    def closed(self, _: int, time: int, *__: object) -> None:
        """Record the time of a connection event."""
        self.seen(time)

    def sorting(self, _: int, __: int, time: int, *___: object) -> None:
        """Record the time of a line between a request and its result."""
        self.seen(time)

    bind_confirmed = sorting
    proxied_client = authenticated = tls = closed

    def refused(self, time: int, *_: object) -> None:
        """Record the time of a refused connection."""
        self.seen(time)

    def search_without_connection(
        self, result: OperationResult, *, client: bytes, examined: Examined, **_: object
    ) -> None:
        """Record a search without a connection number, as if it opened a connection with these numbers."""
        numbers = result.entries or 0, examined.visited, result.etime or 0
        self._opened_at(result.time, b"%b %d %d %d" % (client, *numbers))

    def closed_without_connection(self, time: int, client: bytes, *_: object) -> None:
        """Record an event of a connection without a number likewise."""
        self._opened_at(time, client)

    clear_bind_without_connection = endpoint_bound = closed_without_connection

    def _opened_at(self, time: int, client: bytes) -> None:
        self.seen(time)
        if len(self._openings) < self._most_marks:
            self._openings.setdefault((time // SECOND, client), time)

    def notice(self, time: int, base: bytes, scope: int, filter: bytes, **_: object) -> None:  # noqa: A002  RFC 4511's word
        """Record a search in the errors log."""
        self._opened_at(time, b"%b %d %b" % (base[:SAMPLE_BYTES], scope, filter[:SAMPLE_BYTES]))

    def startup(self, identity: bytes) -> None:
        """Ignore a startupID."""

    def server_started(self, time: int | None, *_: object) -> None:
        """Record the start time of the server."""
        if time is not None:
            self.seen(time)

    def header(self, instance: bytes, *_: object) -> None:
        """Record the name of the server: `localhost:389`, without the instance folder that follows it."""
        if not self._times and not self._instance:  # a client may forge one later
            self._instance = instance.partition(b" ")[0]

    def clock(self, zone: bytes | None) -> None:
        """Record whether timestamps have a zone."""
        self._zones.add(zone or b"")
        self._zoned = zone is not None

    def resolution(self, nanoseconds: int) -> None:
        """Record the coarsest resolution of the timestamps."""
        self._resolution = max(self._resolution, nanoseconds)

    def internal(self, *_: object) -> None:
        """Ignore what has no time, or only that of the call that follows."""

    lost = passed_over = misread = not_indexed = index_lookup = modified_attributes = workers_busy = internal
    identified = internal

    def _operation(self, mark: Mark, time: int, requests: set[Mark] | None = None) -> None:
        """Record an operation: by its request, if `requests` are given."""
        if not self._times:
            self._alone = mark
        self.seen(time)
        if len(self._operations) < self._most_marks and mark not in self._operations:
            self._operations[mark] = time
            if requests is not None:
                requests.add(mark)

    def seen(self, time: int) -> None:
        """Record the time of a record."""
        if time > self._latest:
            if self._times:
                self._alone = None
            self._latest = time
        if time < self._earliest:  # noqa: PLR1730  min costs more, for each line of a sample
            self._earliest = time
        self._times.append(time)


class ExportSampler(Sampler):
    """Samples all of an export in any order: its period, and the marks of its oldest events, in whatever zone."""

    _events = 0

    def sample(self) -> Sample | None:
        """Return the sample; None if no record had a plausible time."""
        self._keep_oldest()
        self._times = [] if self._latest < self._earliest else [self._earliest, self._latest]
        found = super().sample()
        return found and replace(found, events=self._events)

    def _opened_at(self, time: int, client: bytes) -> None:
        self.seen(time)
        self._events += 1
        mark = time % QUARTER // SECOND, client
        self._openings[mark] = min(time, self._openings.get(mark, time))
        if len(self._openings) > 2 * self._most_marks:
            self._keep_oldest()

    def _keep_oldest(self) -> None:
        oldest = sorted(self._openings.items(), key=lambda one: (one[1], one[0]))
        self._openings = dict(oldest[: self._most_marks])

    def seen(self, time: int) -> None:
        """Record the time of an event, if it is plausible."""
        end = self.hints.year_end
        if time >= EARLIEST and (end is None or time <= _latest(end)):
            self._earliest, self._latest = min(self._earliest, time), max(self._latest, time)


DISORDER = 2 * SECOND
"""Largest disorder of the lines of one server, whose threads write concurrently, in nanoseconds."""

EARLIEST = (datetime(1990, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(seconds=1) * SECOND
"""Before LDAP; nanoseconds."""

LATEST_SLACK = timedelta(days=1)
"""The clock of the machine with the file may be behind the server's, or in another zone."""


def plausible(times: Sequence[int], end: datetime | None) -> Sequence[int]:
    """Return the plausible ones of these times, in their order, if they are the most; `end` is that of the file."""
    latest = None if end is None else _latest(end)
    within = [time for time in times if time >= EARLIEST and (latest is None or time <= latest)]
    if 2 * len(within) <= len(times):
        within = list(times)
    low, high, length = _longest(within)
    if 2 * length <= len(times):
        return times
    return [time for time in within if low - DISORDER <= time <= high + DISORDER]


def _latest(end: datetime) -> int:
    return (end + LATEST_SLACK - EPOCH) // timedelta(seconds=1) * SECOND


def _longest(times: Sequence[int]) -> tuple[int, int, int]:
    """Return the first and the last time and the length of the longest sequence of times that never goes back."""
    last: list[int] = []
    first: list[int] = []
    """Of the best sequence of each length: that with the earliest last time."""
    for time in times:
        at = bisect_right(last, time)
        begin = first[at - 1] if at else time
        last[at : at + 1] = [time]
        first[at : at + 1] = [begin]
    return (first[-1], last[-1], len(last)) if last else (0, 0, 0)
