"""Marks for a terminal. Every bar starts at zero, so that lengths are proportional to values; no row wraps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells

from ldapdiag import wording
from ldapdiag.report.neutral import neutral

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FULL, HALF = "━", "╸"
LEVELS = "▁▂▃▄▅▆▇█"
"""Of a sparkline; the first one is zero."""
AXIS = "│"
PLOT_ROWS = 4
LONGEST_BAR = 40
SHORTEST_BAR = 8
LONGEST_NAME = 60
SHORTEST_NAME = 8


def bar(value: float, largest: float, width: int) -> str:
    """Return a bar as long as the value's part of the largest; anything above zero shows at least half a cell."""
    if value <= 0 or largest <= 0:
        return ""
    halves = max(1, round(2 * width * value / largest))
    return FULL * (halves // 2) + HALF * (halves % 2)


def sparkline(values: Sequence[int]) -> str:
    """Return a column per value, as high as its part of the largest; anything above zero is higher than zero."""
    most, highest = max(values, default=0), len(LEVELS) - 1
    return "".join(LEVELS[max(1, round(highest * value / most))] if value > 0 else LEVELS[0] for value in values)


def plot(values: Sequence[float | None], top: float, height: int = PLOT_ROWS) -> Iterator[str]:
    """Yield the rows of a plot, a column per value from zero up to `top`, with the axis at the left.

    As in a sparkline, the lowest level is zero; a column without a value is empty.
    """
    highest = height * len(LEVELS) - 1
    levels = [None if value is None else _level(value, top, highest) for value in values]
    labels, full = [wording.number(top), *([""] * (height - 2)), "0"], len(LEVELS) - 1
    width = max(map(len, labels))
    for row, label in enumerate(labels):
        below = (height - 1 - row) * len(LEVELS)
        cells = (" " if level is None or level < below else LEVELS[min(level - below, full)] for level in levels)
        yield f"{label:>{width}} {AXIS}{''.join(cells)}".rstrip()


def _level(value: float, top: float, highest: int) -> int:
    return 0 if value <= 0 or top <= 0 else max(1, round(highest * min(1.0, value / top)))


def bars(rows: Sequence[tuple[str, int]], room: int) -> Iterator[str]:
    """Yield rows of name, number and bar, aligned and never wider than `room` columns; all bars share one scale."""
    digits = max(len(str(number)) for _, number in rows)
    longest = max(SHORTEST_NAME, min(LONGEST_NAME, room - digits - SHORTEST_BAR - 3))
    named = [(shortened(neutral(name), longest), number) for name, number in rows]
    width = max(cell_len(name) for name, _ in named)
    length = max(1, min(LONGEST_BAR, room - width - digits - 3))
    largest = max(number for _, number in named)
    for name, number in named:
        padding = " " * (width - cell_len(name))
        yield f"{name}{padding}  {number:>{digits}} {bar(number, largest, length)}".rstrip()


def shortened(name: str, longest: int) -> str:
    """Return a name in at most so many cells, its middle left out: the beginning of a DN is most significant."""
    if cell_len(name) <= longest:
        return name
    head = 2 * longest // 3
    tail = longest - head - 1
    return f"{chop_cells(name, head)[0]}…{chop_cells(name[::-1], tail)[0][::-1]}"
