"""The charts, as numbers: what a terminal and an SVG draw, with nothing left for them to compute but cells or pixels.

    BarChart     horizontal bars in groups: both ends of a path, shares, before and after
    StripChart   histograms over one axis of idle times, with the timeouts as marks
    TimeChart    a number over time, with its limit, now and forecast

Text may come from logs and tables, so it is hostile: a medium neutralises or escapes every string of a chart.
Each chart has a title with its quantity, a unit, a sentence that gives its numbers (the text alternative), notes (what
is not drawn, and why), and a table with every number that is drawn.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ldapdiag.report.charts.axis import Axis, TimeScale

Cell = str | int | float | None
"""Of a table: a name, a number without unit, or nothing known."""


class Kind(StrEnum):
    """What a part of a bar or a row counts; each has its colour, and the hatched ones are half-open."""

    LIVE = "live"
    """Connections established at both ends."""
    GHOST = "ghost"
    """Established at this end, proven absent at the other: a ghost at the server, a stranded one at the client."""
    SEVERED = "severed"
    """Established at both ends, without an entry at a middlebox between them."""
    UNPROVEN = "unproven"
    """Established at this end, and neither live nor proven dead; or the other end was not read."""
    COUNT = "count"
    """A number that needs no distinction."""
    BEFORE = "before"
    AFTER = "after"


class MarkKind(StrEnum):
    """What a mark on an axis of idle times is."""

    BRACKET = "bracket"
    """The timeout of the middlebox: a band between its bounds, a line where they are equal."""
    RECOMMENDED = "recommended"
    """The idle timeout to set."""
    CURRENT = "current"
    """The idle timeout in force."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a chart as rows; each row has a cell for every column."""

    columns: tuple[str, ...]
    """Names, with the unit where it is not the chart's."""
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar; it begins where the one before ends."""

    kind: Kind
    value: float
    """Above zero; nothing has no part."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar from zero; one without parts is of length zero."""

    label: str
    parts: tuple[Part, ...]

    @property
    def value(self) -> float:
        """Return the length: the sum of its parts."""
        return sum(part.value for part in self.parts)


@dataclass(frozen=True, slots=True)
class BarGroup:
    """Bars that are compared, under one name; an empty name: the bars stand alone."""

    name: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart:
    """Horizontal bars on one scale, the most important group first."""

    title: str
    unit: str
    sentence: str
    notes: tuple[str, ...] = ()
    axis: Axis
    groups: tuple[BarGroup, ...]
    more: int = 0
    """Groups that are in the table alone."""
    legend: tuple[tuple[Kind, str], ...]
    """The kinds that occur in the bars, in the order of a bar."""
    table: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A timeout on an axis of idle times, in seconds."""

    kind: MarkKind
    label: str
    """With its number, as in `fw drops its state after 30 s`."""
    begin: float
    end: float
    """The same as `begin` for a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StripRow:
    """The histogram of one kind of connections, with a height of its own from zero."""

    kind: Kind
    label: str
    counts: tuple[int, ...]
    """One per bin of the strip."""
    top: int
    """The largest count, which is as high as the row; zero: the row is empty."""
    top_label: str
    """As in `most: 45 in 5 s`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """Rows over one axis of idle times in seconds, from zero."""

    axis: Axis
    edges: tuple[float, ...]
    """Of the bins, one more than there are counts in a row; multiples of one width, on the axis."""
    rows: tuple[StripRow, ...]
    marks: tuple[Mark, ...]
    """Those on the axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StripChart:
    """Idle times of live connections and ghosts; of two strips the first one shows the part around the timeout."""

    title: str
    unit: str
    sentence: str
    notes: tuple[str, ...] = ()
    strips: tuple[Strip, ...]
    table: Numbers


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a time chart."""

    seconds: float
    """From the beginning of the axis."""
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A straight line."""

    begin: Point
    end: Point


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeChart:
    """A number over time."""

    title: str
    unit: str
    sentence: str
    notes: tuple[str, ...] = ()
    axis: Axis
    times: TimeScale
    """From the first value to the last, or to the end of the forecast."""
    step_seconds: int
    values: tuple[float | None, ...]
    """One per step from the beginning on, at its end; None: nothing was read in it."""
    last: Point
    """The last value; a count of the present may be of another time."""
    last_label: str
    """With its time, as in `114 at 09:21 UTC`."""
    limit: float | None = None
    """Drawn as a line across; None: there is none, or a note gives its number because it is far above the values."""
    forecast: Line | None = None
    """From `last` on, at most twice as long as the values, and never to the limit unless that is reached within."""
    table: Numbers

    def points(self) -> tuple[Point | None, ...]:
        """Return a point per value, at the end of its step, where it is known."""
        return tuple(
            None if value is None else Point((place + 1) * self.step_seconds, value)
            for place, value in enumerate(self.values)
        )


Chart = BarChart | StripChart | TimeChart
