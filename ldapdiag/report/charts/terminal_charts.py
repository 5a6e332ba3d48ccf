"""Charts as rows of a terminal, never wider than the room: bars with numbers, idle times, a course with its limit.

The title and the numbers are words, so that nothing depends on the picture. All text is neutralised.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from ldapdiag.report.charts.chart import Kind, MarkKind
from ldapdiag.report.charts.terminal import (
    AXIS,
    PLOT_ROWS,
    BarPart,
    level_row,
    parted_bars,
    placed,
    plot,
    shortened,
    sparkline,
    squeezed,
)
from ldapdiag.report.neutral import neutral
from ldapdiag.wording import between, number, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.report.charts.chart import Axis, BarChart, Mark, Strip, StripChart, TimeChart

GLYPHS = {Kind.GHOST: "╍", Kind.SEVERED: "╍", Kind.UNPROVEN: "┄"}
"""Of the parts of a bar that are not live, one cell each."""
WIDEST = 60
LIMIT, FORECAST = "╌", "·"
MARK = "^"
NAMES = {MarkKind.BRACKET: "middlebox", MarkKind.RECOMMENDED: "recommended", MarkKind.CURRENT: "now"}


def bar_rows(chart: BarChart, room: int, *, verbose: bool) -> Iterator[str]:
    """Yield the bars of one group, without its name; with -v a legend where a bar has parts."""
    (group, *_) = chart.groups
    rows = [(bar.label, [BarPart(part.value, GLYPHS.get(part.kind, "")) for part in bar.parts]) for bar in group.bars]
    yield from parted_bars(rows, room)
    if verbose and any(GLYPHS.get(kind) for kind, _ in chart.legend):
        for glyph, kinds in groupby(chart.legend, key=lambda one: GLYPHS.get(one[0], "━")):
            yield shortened(f"{glyph} {' or '.join(text for _, text in kinds)}", room)


def strip_rows(chart: StripChart, room: int, *, verbose: bool) -> Iterator[str]:
    """Yield the idle times: the strip that shows the timeout; with -v all of them."""
    for strip in chart.strips if verbose else chart.strips[:1]:
        yield from _strip(strip, room)
    for note in chart.notes if verbose else ():
        yield shortened(neutral(note), room)


def _strip(strip: Strip, room: int) -> Iterator[str]:
    """Yield a row per kind of connections, each with a scale of its own."""
    labels = [neutral(row.label) for row in strip.rows]
    margin = max(map(len, labels)) + 2
    columns = max(1, min(WIDEST, room - margin - len(number(strip.axis.end))))
    bins, width = strip.edges[1] - strip.edges[0], 1
    while strip.axis.end / bins / width > columns:
        width += 1
    counts = [squeezed(row.counts, width, sum) for row in strip.rows]
    most = [f"{number(max(each))} {label}" for each, label in zip(counts, labels, strict=True) if max(each)]
    yield shortened(f"connections by idle time in s, a column for {number(bins * width)} s", room)
    scales = "each row has its own scale: " if len(most) > 1 else ""
    yield shortened(f"{scales}full height = {', '.join(most) or 'none'}", room)
    for label, each in zip(labels, counts, strict=True):
        yield f"{label:>{margin - 2}} {AXIS}{sparkline(each)}"
    yield from _under(strip.axis, strip.marks, margin, bins * width, room)


def _under(axis: Axis, marks: Sequence[Mark], margin: int, seconds: float, room: int) -> Iterator[str]:
    """Yield the row of ticks and the rows of marks, each mark at the column of its seconds."""
    columns = int(axis.end / seconds)
    ticks = [(round(tick / seconds), number(tick)) for tick in axis.ticks]
    yield " " * (margin - 1) + placed(ticks, room - margin + 1)
    for mark in marks:
        begin, end = int(mark.begin / seconds), int(mark.end / seconds)
        value = between(mark.begin, mark.end)
        name = f" {NAMES[mark.kind]} {value}"
        carets = MARK * (end - begin + 1)
        after = begin < columns / 2
        shown = " " * (margin + begin) + carets + name if after else f"{name} {carets}".rjust(margin + end + 1)
        yield shortened(shown, room)


def time_rows(chart: TimeChart, room: int) -> Iterator[str]:
    """Yield a course from zero with its limit and forecast, and the times and the numbers in words beneath."""
    label = len(number(chart.axis.end))
    total = chart.times.seconds
    columns = max(1, min(WIDEST, room - label - 2, round(total / chart.step_seconds)))
    yield shortened(neutral(f"{chart.title}, {chart.unit}" if chart.unit == "s" else chart.title), room)
    values: list[float | None] = [None] * columns
    for point in filter(None, chart.points()):
        place = min(columns - 1, int((point.seconds - chart.step_seconds / 2) / total * columns))
        values[place] = max(point.value, values[place] or 0)
    rows = [list(row.ljust(label + 2 + columns)) for row in plot(values, chart.axis.end, PLOT_ROWS)]
    if chart.forecast is not None:
        line = chart.forecast
        for place in range(columns):
            at = (place + 0.5) / columns * total
            if at > line.begin.seconds:
                part = (at - line.begin.seconds) / (line.end.seconds - line.begin.seconds)
                value = line.begin.value + min(1.0, part) * (line.end.value - line.begin.value)
                _draw(rows, label + 2 + place, level_row(value, chart.axis.end, PLOT_ROWS), FORECAST)
    if chart.limit is not None:
        for place in range(columns):
            _draw(rows, label + 2 + place, level_row(chart.limit, chart.axis.end, PLOT_ROWS), LIMIT)
    yield from ("".join(row).rstrip() for row in rows)
    ticks = [(round(tick.seconds / total * columns), tick.label) for tick in chart.times.ticks]
    yield " " * (label + 1) + placed(ticks, room - label - 1)
    yield shortened(", ".join(_numbers(chart)), room)
    yield from (shortened(note, room) for note in chart.notes)


def _numbers(chart: TimeChart) -> Iterator[str]:
    """Yield what the glyphs of a course stand for, with the numbers."""
    yield chart.last_label
    if chart.limit is not None:
        yield f"limit {number(chart.limit)} ({LIMIT})"
    if chart.forecast is not None:
        yield f"forecast to {_value(chart.forecast.end.value)} ({FORECAST})"


def _value(value: float) -> str:
    return number(value) if isinstance(value, int) else rounded(value)


def _draw(rows: Sequence[list[str]], column: int, row: int, glyph: str) -> None:
    """Draw a cell where there is none."""
    if rows[row][column] == " ":
        rows[row][column] = glyph
