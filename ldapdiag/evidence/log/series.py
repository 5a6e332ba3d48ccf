"""Series: results and their time over the time of the log, in at most 16 intervals: enough for a sparkline.

The intervals are as long as the smallest power of two in seconds for which no more than 16 of them have a result. This
length depends on the results alone, not on their order, so Series are merged exactly.
"""

from __future__ import annotations

MOST = 16
"""Intervals with results."""


class Series:
    """Results by interval."""

    __slots__ = ("cells", "shift")

    def __init__(self) -> None:
        self.shift = 0
        """An interval takes 2**shift seconds."""
        self.cells: dict[int, list[int]] = {}
        """By number of the interval since 1970: [results, nanoseconds they took]."""

    def add(self, second: int, count: int, etime: int) -> None:
        """Count results of a second (since 1970)."""
        cell = self.cells.get(second >> self.shift)
        if cell is None:
            cell = self.cells[second >> self.shift] = [0, 0]
            if len(self.cells) > MOST:
                cell[0] += count
                cell[1] += etime
                self._lengthen(self.shift + 1)
                return
        cell[0] += count
        cell[1] += etime

    def merge(self, other: Series) -> None:
        """Add the results of another Series."""
        if other.shift > self.shift:
            self._lengthen(other.shift)
        for number, (count, etime) in other.cells.items():
            cell = self.cells.get(number >> (self.shift - other.shift))
            if cell is None:
                self.add(number << other.shift, count, etime)
            else:
                cell[0] += count
                cell[1] += etime

    def _lengthen(self, shift: int) -> None:
        """Make the intervals 2**shift seconds long, or longer until they are few enough."""
        cells = _regrouped(self.cells, shift - self.shift)
        while len(cells) > MOST:
            cells, shift = _regrouped(cells, 1), shift + 1
        self.shift, self.cells = shift, cells


def _regrouped(cells: dict[int, list[int]], by: int) -> dict[int, list[int]]:
    grouped: dict[int, list[int]] = {}
    for number, (count, etime) in cells.items():
        cell = grouped.setdefault(number >> by, [0, 0])
        cell[0] += count
        cell[1] += etime
    return grouped
