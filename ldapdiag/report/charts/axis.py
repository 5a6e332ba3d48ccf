"""Axes: every value axis begins at zero and has at most five round ticks; a time axis has them on round times, UTC."""

from __future__ import annotations

import math
from bisect import bisect_left
from datetime import UTC, datetime, timedelta

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
