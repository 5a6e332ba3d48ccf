"""Durations: a histogram of durations whose quantiles are right within 4 %, small where durations are alike.

Each power of two is divided into 16 buckets of equal width, so a bucket is at most a sixteenth of its lower edge wide.
The middle of a bucket is at most a thirty-second away from any duration in it.

    nanoseconds    0 .. 31    32 33   34 35  ...  64 .. 67  ...
    bucket         0 .. 31    32      33          48
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

SUB_BITS = 4
"""16 buckets for each power of two."""
EXACT = 2 << SUB_BITS
"""Nanoseconds below which each duration has a bucket of its own."""


def bucket(nanoseconds: int) -> int:
    """Return the bucket of a duration."""
    if nanoseconds < EXACT:
        return nanoseconds
    shift = nanoseconds.bit_length() - SUB_BITS - 1
    return (shift << SUB_BITS) + (nanoseconds >> shift)


def edges(number: int) -> tuple[int, int]:
    """Return the lowest and the highest duration of a bucket, in nanoseconds."""
    if number < EXACT:
        return number, number
    shift = (number >> SUB_BITS) - 1
    lowest = (number - (shift << SUB_BITS)) << shift
    return lowest, lowest + (1 << shift) - 1


def quantile(durations: Mapping[int, int], percent: int, longest: int, total: int | None = None) -> int:
    """Return the duration in nanoseconds that `percent` of the durations do not exceed; 0 if there is none.

    It is the middle of a bucket, and never more than `longest`, the longest of them. Where all are equal, as `total`,
    their sum, shows, it is exact.
    """
    count = sum(durations.values())
    if count and total == count * longest:
        return longest
    wanted = count * percent
    covered = 0
    for number in sorted(durations):
        covered += durations[number] * 100
        if covered >= wanted:
            lowest, highest = edges(number)
            return min((lowest + highest) // 2, longest)
    return 0


class Durations(defaultdict[int, int]):
    """The number of durations in each bucket."""

    __slots__ = ()

    def __init__(self, counts: Mapping[int, int] | None = None) -> None:
        super().__init__(int, counts or {})

    def __reduce__(self) -> tuple[object, ...]:
        return Durations, (dict(self),)

    def add(self, nanoseconds: int) -> None:
        """Count one duration."""
        self[bucket(nanoseconds)] += 1

    def merge(self, other: Mapping[int, int]) -> None:
        """Add the counts of another histogram."""
        for number, count in other.items():
            self[number] += count

    def at_least(self, nanoseconds: int) -> int:
        """Return how many durations were certainly this long: those of whole buckets."""
        return sum(count for number, count in self.items() if edges(number)[0] >= nanoseconds)
