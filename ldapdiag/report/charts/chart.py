"""The charts, as numbers: what a terminal and an SVG draw, with nothing left for them to compute but cells or pixels.

    BarChart     horizontal bars in groups: both ends of a path, shares, before and after
    StripChart   histograms over one axis of idle times, with the timeouts as marks
    TimeChart    a number over time, with its limit, now and forecast

Text may come from logs and tables, so it is hostile: a medium neutralises or escapes every string of a chart.
Each chart has a title with its quantity, a unit, a sentence that gives its numbers (the text alternative), notes (what
is not drawn, and why), and a table with every number that is drawn. Every value axis begins at zero and has at most
five round ticks; a time axis has them on round times, UTC.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from ldapdiag.lazy_dataclass import dataclass

MOST_TICKS = 5
"""Zero included."""
SMALLEST = 1e-9
"""A nanosecond: nothing in a report is shorter."""
MANTISSAS = (10, 20, 25, 50)
"""Steps between ticks, in tenths of a power of ten: 1, 2, 2.5, 5."""
TIME_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(60 * minutes for minutes in (1, 2, 5, 10, 15, 30)),
    *(3600 * hours for hours in (1, 2, 3, 6, 12)),
    *(86_400 * days for days in (1, 2, 7, 14, 28, 91, 182, 364)),
)
"""Seconds between the ticks of a time axis; longer ones are a year doubled."""
DAY = 86_400
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Axis:
    """A value axis from zero. `ticks` ascend from 0; the last one is the end of the axis and covers every value."""

    ticks: tuple[float, ...]

    @property
    def end(self) -> float:
        """Return the value at the end of the axis; always above zero."""
        return self.ticks[-1]

    def share(self, value: float) -> float:
        """Return the place of a value, from 0.0 at the origin to 1.0 at the end."""
        return min(1.0, max(0.0, value / self.end))


def axis_for(largest: float, *, whole: bool = False) -> Axis:
    """Return an axis for values from 0 to `largest`; `whole`: of things that are counted, so no tick between wholes."""
    if largest <= 0:
        return Axis((0, 1))
    largest = max(largest, SMALLEST)
    exponent = math.floor(math.log10(largest)) - 2
    while True:
        for mantissa in MANTISSAS:
            step = _scaled(mantissa, exponent)
            if whole and step != int(step):
                continue
            steps = max(1, math.ceil(largest / step - 1e-9))
            while _scaled(steps * mantissa, exponent) < largest:
                steps += 1
            if steps < MOST_TICKS:
                return Axis(tuple(_scaled(number * mantissa, exponent) for number in range(steps + 1)))
        exponent += 1


def _scaled(tenths: int, exponent: int) -> float:
    """Return so many tenths of a power of ten: a whole number as one, and no other rounding than that of a float."""
    exponent -= 1
    if exponent >= 0:
        return tenths * int(10**exponent)
    divisor = int(10**-exponent)
    return tenths / divisor if tenths % divisor else tenths // divisor


@dataclass(frozen=True, slots=True)
class TimeTick:
    """A tick of a time axis."""

    seconds: float
    """From the beginning of the axis."""
    label: str
    """As in `09:00 UTC` for the first one, `09:10` or `21 Nov 00:00` for the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeScale:
    """An axis of times, in seconds from its beginning."""

    begin: datetime
    seconds: float
    """The length; above zero."""
    ticks: tuple[TimeTick, ...]
    """At most five, ascending; there may be none on an axis that is shorter than a second."""

    def share(self, seconds: float) -> float:
        """Return the place of a time, from 0.0 at the beginning to 1.0 at the end."""
        return min(1.0, max(0.0, seconds / self.seconds))


def time_scale(begin: datetime, seconds: float) -> TimeScale:
    """Return the axis of so many seconds, with ticks at multiples of a round step since 1970 (UTC)."""
    start = (begin - EPOCH).total_seconds()
    place = bisect_left(TIME_STEPS, seconds / (MOST_TICKS - 1))
    step = TIME_STEPS[place] if place < len(TIME_STEPS) else TIME_STEPS[-1]
    while step * (MOST_TICKS - 1) < seconds:
        step *= 2
    first = math.ceil(start / step)
    times = [number * step for number in range(first, first + MOST_TICKS) if number * step <= start + seconds]
    several_days = times and int(times[0] // DAY) != int(times[-1] // DAY)
    ticks = tuple(
        TimeTick(time - start, _label(time, step, day=bool(several_days), zone=not number))
        for number, time in enumerate(times)
    )
    return TimeScale(begin=begin, seconds=seconds, ticks=ticks)


def _label(time: int, step: int, *, day: bool, zone: bool) -> str:
    at = EPOCH + timedelta(seconds=time)
    clock = "" if step % DAY == 0 else f"{at:%H:%M:%S}" if step % 60 else f"{at:%H:%M}"
    date = f"{at.day} {at:%b}" if day or not clock else ""
    return " ".join(filter(None, [date, clock, "UTC" if zone else ""]))


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
