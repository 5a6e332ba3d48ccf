"""Rates of a live view: of a number, and of the connections by name, over the last minute and since the start."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MINUTE = 60.0
SHORTEST = 5.0
"""Seconds below which there is no rate."""


class NumberSeries:
    """A number over time: its first value and those of the last minute."""

    def __init__(self) -> None:
        self.first: tuple[float, float] | None = None
        self.recent: deque[tuple[float, float]] = deque()

    def add(self, at: float, value: float) -> None:
        """Add the latest value."""
        self.first = self.first or (at, value)
        self.recent.append((at, value))
        while len(self.recent) > 2 and self.recent[1][0] <= at - MINUTE:
            self.recent.popleft()

    def per_second(self, seconds: float = MINUTE) -> float | None:
        """Return the change for each second in the last `seconds`, or since the start if that is shorter."""
        if not self.recent:
            return None
        at, value = self.recent[-1]
        before = next(one for one in reversed((*self.recent,)) if at - one[0] >= seconds or one is self.recent[0])
        return _slope(before, (at, value))

    @property
    def since_start(self) -> float | None:
        """Return the change for each second since the first value."""
        return _slope(self.first, self.recent[-1]) if self.first and self.recent else None


class CountSeries:
    """Counts by name over time, where a name that is missing has 0."""

    def __init__(self) -> None:
        self.first: tuple[float, Mapping[str, int]] | None = None
        self.recent: deque[tuple[float, Mapping[str, int]]] = deque()

    def add(self, at: float, counts: Mapping[str, int]) -> None:
        """Add the latest counts."""
        self.first = self.first or (at, counts)
        self.recent.append((at, counts))
        while len(self.recent) > 2 and self.recent[1][0] <= at - MINUTE:
            self.recent.popleft()

    @property
    def now(self) -> Mapping[str, int]:
        """Return the latest counts."""
        return self.recent[-1][1] if self.recent else {}

    def names(self) -> Iterator[str]:
        """Yield the names that have a connection, or had one in the last minute."""
        yield from dict.fromkeys(name for _, counts in reversed(self.recent) for name in counts)

    def per_second(self, name: str) -> float | None:
        """Return the change for each second over the last minute."""
        return self._between(name, self.recent[0] if self.recent else None)

    def since_start(self, name: str) -> float | None:
        """Return the change for each second since the first counts."""
        return self._between(name, self.first)

    def has_grown(self, name: str) -> bool:
        """Return whether there are more than at the look before."""
        return len(self.recent) > 1 and self.now.get(name, 0) > self.recent[-2][1].get(name, 0)

    def _between(self, name: str, begin: tuple[float, Mapping[str, int]] | None) -> float | None:
        if begin is None or not self.recent:
            return None
        at, counts = self.recent[-1]
        return _slope((begin[0], begin[1].get(name, 0)), (at, counts.get(name, 0)))


def _slope(begin: tuple[float, float], end: tuple[float, float]) -> float | None:
    """Return the change for each second; None where the time is too short to tell."""
    seconds = end[0] - begin[0]
    return (end[1] - begin[1]) / seconds if seconds >= SHORTEST else None
