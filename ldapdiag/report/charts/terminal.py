"""Marks for a terminal. Every bar starts at zero, so that lengths are proportional to values; no row wraps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag import wording
from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.report.neutral import cell_len, chop_cells, neutral

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

FULL, HALF = "━", "╸"
LEVELS = "▁▂▃▄▅▆▇█"
"""Of a sparkline; the first one is zero."""
AXIS = "│"
PLOT_ROWS = 4
LONGEST_BAR = 40
SHORTEST_BAR = 8
LONGEST_NAME = 60
SHORTEST_NAME = 8


class BarPart(NamedTuple):
    """A part of a bar."""

    value: float
    glyph: str
    """Of each of its cells; empty: as a bar without parts."""


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


def level_row(value: float, top: float, height: int) -> int:
    """Return the row of a plot, from above, in which a value ends."""
    return height - 1 - _level(value, top, height * len(LEVELS) - 1) // len(LEVELS)


def squeezed(values: Sequence[int], width: int, join: Callable[[Sequence[int]], int]) -> list[int]:
    """Return a value for each `width` values."""
    return [join(values[begin : begin + width]) for begin in range(0, len(values), width)]


def placed(labels: Sequence[tuple[int, str]], room: int) -> str:
    """Return labels that begin at their columns, without those that would touch the one before or pass the room."""
    row = ""
    for column, label in labels:
        if column + len(label) <= room and (not row or column > len(row)):
            row = f"{row:<{column}}{label}"
    return row


def bars(rows: Sequence[tuple[str, int]], room: int) -> Iterator[str]:
    """Yield rows of name, number and bar, aligned and never wider than `room` columns; all bars share one scale."""
    yield from parted_bars([(name, [BarPart(number, "")]) for name, number in rows], room)


def parted_bars(rows: Sequence[tuple[str, Sequence[BarPart]]], room: int) -> Iterator[str]:
    """Yield the same with bars of several parts; the number is their sum."""
    sums = [sum(piece.value for piece in pieces) for _, pieces in rows]
    labels = [wording.number(each) for each in sums]
    digits = max(map(len, labels))
    longest = max(SHORTEST_NAME, min(LONGEST_NAME, room - digits - SHORTEST_BAR - 3))
    longest = max(1, min(longest, room - digits - 4))
    names = [shortened(neutral(name), longest) for name, _ in rows]
    width = max(map(cell_len, names))
    length = max(1, min(LONGEST_BAR, room - width - digits - 3))
    largest = max(sums)
    for name, number, label, (_, pieces) in zip(names, sums, labels, rows, strict=True):
        padding = " " * (width - cell_len(name))
        yield f"{name}{padding}  {label:>{digits}} {_parted(bar(number, largest, length), number, pieces)}".rstrip()


def _parted(whole: str, number: float, pieces: Sequence[BarPart]) -> str:
    """Return a bar with the glyph of each part; a part above zero has at least a cell, if there are enough."""
    shown, place, reached = "", 0, 0.0
    some = [piece for piece in pieces if piece.value > 0]
    for left, piece in zip(range(len(some) - 1, -1, -1), some, strict=True):
        reached += piece.value
        end = min(max(place + 1, round(len(whole) * reached / number)), max(place, len(whole) - left))
        shown += piece.glyph * (end - place) or whole[place:end]
        place = end
    return shown


def shortened(name: str, longest: int) -> str:
    """Return a name in at most so many cells, its middle left out: the beginning of a DN is most significant."""
    if cell_len(name) <= longest:
        return name
    head = 2 * longest // 3
    tail = longest - head - 1
    return f"{chop_cells(name, head)[0]}…{chop_cells(name[::-1], tail)[0][::-1]}"
