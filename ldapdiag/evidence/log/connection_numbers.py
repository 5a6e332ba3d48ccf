"""ConnectionNumbers: a set of connection numbers kept as intervals, because a server assigns them consecutively."""

from __future__ import annotations

from bisect import bisect_right

MOST_INTERVALS = 50_000
"""Each hole is a missing opening. Beyond this limit every second hole is closed, as if its openings had been seen."""


class ConnectionNumbers:
    """A set of mostly consecutive numbers."""

    __slots__ = ("_ends", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        """One past the last of each interval."""

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self._starts, number) - 1
        return place >= 0 and number < self._ends[place]

    def add(self, number: int) -> None:
        """Add a number; the fast path is the successor of the highest."""
        if self._ends and self._ends[-1] == number:
            self._ends[-1] += 1
        elif number not in self:
            self.span(number, number + 1)

    def update(self, other: ConnectionNumbers) -> None:
        """Add the numbers of another set."""
        for start, end in zip(other._starts, other._ends, strict=True):
            self.span(start, end)

    def span(self, start: int, end: int) -> None:
        """Add the numbers from `start` to below `end`, joined with the intervals that they overlap or touch."""
        first = bisect_right(self._starts, start) - 1
        if first < 0 or self._ends[first] < start:
            first += 1
        past = bisect_right(self._starts, end)
        if first < past:
            start = min(start, self._starts[first])
            end = max(end, self._ends[past - 1])
        self._starts[first:past] = [start]
        self._ends[first:past] = [end]
        if len(self._starts) > MOST_INTERVALS:
            self._starts, self._ends = self._starts[::2], self._ends[1::2] + self._ends[len(self._ends) // 2 * 2 :]
