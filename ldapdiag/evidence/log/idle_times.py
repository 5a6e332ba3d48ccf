"""Idle times of LDAP connections, as a histogram whose edges are the idle timeouts that administrators set.

Edges every second to two minutes, every 10 s to an hour, every minute to a day. A candidate timeout is always an edge,
so replaying it against the histogram is exact.
"""

from __future__ import annotations

from ldapdiag.evidence.log.stamps import SECOND

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
    """Idle times of a second and more: the number in each bucket, and the longest."""

    __slots__ = ("buckets", "longest")

    def __init__(self) -> None:
        self.buckets: dict[int, int] = {}
        self.longest: tuple[int, int, int] = (0, 0, 0)
        """Nanoseconds, -(end), -connection: of two equal idle times the earlier compares greater."""

    def add(self, nanoseconds: int, ended: int, connection: int) -> None:
        """Count one idle time."""
        number = bucket(nanoseconds)
        self.buckets[number] = self.buckets.get(number, 0) + 1
        self.longest = max(self.longest, (nanoseconds, -ended, -connection))

    def merge(self, other: IdleTimes) -> None:
        """Add the counts of another histogram."""
        for number, count in other.buckets.items():
            self.buckets[number] = self.buckets.get(number, 0) + count
        self.longest = max(self.longest, other.longest)

    @property
    def count(self) -> int:
        """The number of idle times."""
        return sum(self.buckets.values())

    def from_seconds(self, seconds: int) -> int:
        """Return how many lasted at least `seconds`; exact where `seconds` is an edge."""
        return sum(count for number, count in self.buckets.items() if at_least_seconds(number) >= seconds)
