"""The course of a number over time: a column for each interval, as wide as the page allows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Course:
    """Columns of equal length in time, from the first reading to the last."""

    times: Sequence[datetime]
    """In ascending order."""
    columns: int

    def highest(self, values: Sequence[float | None]) -> list[float | None]:
        """Return the highest value of each column; None where it has none."""
        begin = self.times[0]
        length = (self.times[-1] - begin).total_seconds()
        highest: list[float | None] = [None] * self.columns
        for time, value in zip(self.times, values, strict=True):
            if value is not None:
                elapsed = (time - begin).total_seconds()
                place = min(self.columns - 1, round(elapsed * (self.columns - 1) / length)) if length else 0
                highest[place] = max(value, highest[place] or 0)
        return highest


def course(times: Sequence[datetime], room: int) -> Course:
    """Return as many columns as there would be readings at the usual interval, and at most so many."""
    gaps = [gap for gap in ((b - a).total_seconds() for a, b in pairwise(times)) if gap > 0]
    if not gaps:
        return Course(times, 1)
    length = (times[-1] - times[0]).total_seconds()
    return Course(times, max(1, min(room, round(length / median(gaps)) + 1)))
