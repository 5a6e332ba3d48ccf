"""Idle times of LDAP connections, as a histogram whose edges are the idle timeouts that administrators set.

Edges every second to two minutes, every 10 s to an hour, every minute to a day. A candidate timeout is always an edge,
so replaying it against the histogram is exact: how many idle times reach it, and the sum of what is beyond it.

The idle times of the connections of one client that were bound as one account.
"""

from __future__ import annotations

from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.tables import OTHER, RESTART, CappedTable

TIMEOUTS = (
    60, 90, 120, 180, 240, 300, 600, 900, 1200, 1800, 3600, 5400, 7200,
    10_800, 14_400, 21_600, 28_800, 43_200, 86_400,
)  # fmt: skip
"""Seconds: the timeouts for which the timeline shows when connections reach them, and when those are used again."""

FINE, MIDDLE, COARSE = 120, 3600, 86_400
"""Seconds up to which the edges are 1 s, 10 s and 60 s apart."""

MIDDLE_FROM = FINE
COARSE_FROM = FINE + (MIDDLE - FINE) // 10
LAST = COARSE_FROM + (COARSE - MIDDLE) // 60


def bucket(nanoseconds: int) -> int:
    """Return the bucket of an idle time."""
    seconds = nanoseconds // SECOND
    if seconds < FINE:
        return seconds
    if seconds < MIDDLE:
        return MIDDLE_FROM + (seconds - FINE) // 10
    if seconds < COARSE:
        return COARSE_FROM + (seconds - MIDDLE) // 60
    return LAST


def at_least_seconds(number: int) -> int:
    """Return the lower edge of a bucket."""
    if number < MIDDLE_FROM:
        return number
    if number < COARSE_FROM:
        return FINE + (number - MIDDLE_FROM) * 10
    return MIDDLE + (number - COARSE_FROM) * 60


class IdleTimes:
    """Idle times of a second and more: number and sum in each bucket, and the longest."""

    __slots__ = ("buckets", "longest")

    def __init__(self) -> None:
        self.buckets: dict[int, list[int]] = {}
        """[idle times, their sum in nanoseconds]."""
        self.longest: tuple[int, int, int] = (0, 0, 0)
        """Nanoseconds, -(end), -connection: of two equal idle times the earlier compares greater."""

    def add(self, nanoseconds: int, ended: int, connection: int) -> None:
        """Count one idle time."""
        self._count(bucket(nanoseconds), 1, nanoseconds)
        self.longest = max(self.longest, (nanoseconds, -ended, -connection))

    def merge(self, other: IdleTimes) -> None:
        """Add the counts of another histogram."""
        for number, (count, nanoseconds) in other.buckets.items():
            self._count(number, count, nanoseconds)
        self.longest = max(self.longest, other.longest)

    def _count(self, number: int, count: int, nanoseconds: int) -> None:
        cell = self.buckets.get(number)
        if cell is None:
            self.buckets[number] = [count, nanoseconds]
            return
        cell[0] += count
        cell[1] += nanoseconds

    @property
    def count(self) -> int:
        """The number of idle times."""
        return sum(count for count, _ in self.buckets.values())

    def from_seconds(self, seconds: int) -> int:
        """Return how many lasted at least `seconds`; exact where `seconds` is an edge."""
        return sum(count for number, (count, _) in self.buckets.items() if at_least_seconds(number) >= seconds)

    def beyond(self, seconds: int) -> int:
        """Return the nanoseconds of the idle times beyond their first `seconds`; exact where `seconds` is an edge."""
        reached = [cell for number, cell in self.buckets.items() if at_least_seconds(number) >= seconds]
        return sum(nanoseconds - count * seconds * SECOND for count, nanoseconds in reached)

    def quantile(self, percent: int) -> tuple[int, int | None] | None:
        """Return the edges of the bucket in which so many percent of the idle times are reached; None without any.

        In seconds; the last bucket has no upper edge.
        """
        wanted, covered = -(-self.count * percent // 100), 0
        for number in sorted(self.buckets):
            covered += self.buckets[number][0]
            if covered >= wanted:
                return at_least_seconds(number), (at_least_seconds(number + 1) if number < LAST else None)
        return None


def edge_below(seconds: float) -> int:
    """Return the highest edge that is not above this; 1 at least, because shorter idle times are not counted."""
    return max(1, at_least_seconds(bucket(int(seconds * SECOND))))


def edge_above(seconds: float) -> int | None:
    """Return the lowest edge that is not below this; None beyond the last."""
    number = bucket(max(0, int(seconds * SECOND)))
    if at_least_seconds(number) >= seconds:
        return at_least_seconds(number)
    return at_least_seconds(number + 1) if number < LAST else None


class IdleRow:
    """Idle times by what ended them. Shorter ones than a second are not counted."""

    __slots__ = ("before_close", "open", "used")

    def __init__(self) -> None:
        self.used = IdleTimes()
        """Those that a request ended."""
        self.before_close: dict[bytes, IdleTimes] = {}
        """Those that a close ended, by close code."""
        self.open = IdleTimes()
        """Those that nothing ended before the end of the log."""

    def closed(self, code: bytes) -> IdleTimes:
        """Return those that closes with this code ended."""
        return self.before_close.setdefault(code, IdleTimes())

    def merge(self, other: IdleRow, codes: CappedTable[bytes, int]) -> None:
        """Add the idle times of another row; close codes that are not in `codes` are counted as other."""
        self.used.merge(other.used)
        self.open.merge(other.open)
        for code, idle_times in other.before_close.items():
            self.closed(code if code in codes or code == RESTART else OTHER).merge(idle_times)

    @property
    def count(self) -> int:
        """The number of idle times."""
        return self.used.count + self.open.count + sum(one.count for one in self.before_close.values())

    @property
    def longest(self) -> int:
        """The longest, in nanoseconds."""
        return max(one.longest[0] for one in (self.used, self.open, *self.before_close.values()))
