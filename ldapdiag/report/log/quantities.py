"""Quantities: nanoseconds and counts, formatted for text and JSON."""

from __future__ import annotations

from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND, when
from ldapdiag.wording import number

MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND


def seconds(nanoseconds: int) -> float:
    """Return seconds for JSON, to the nanosecond. Sums are computed before, in integers."""
    return round(nanoseconds / SECOND, 9)


def day_and_time(nanoseconds: int) -> tuple[str, str]:
    """Return the date and the time of day, UTC, to the second."""
    at = when(nanoseconds)
    return f"{at:%Y-%m-%d}", f"{at:%H:%M:%S}"


def duration(nanoseconds: int) -> str:
    """Return a duration in a suitable unit, in eight columns: 0.31 ms, 98 ms, 30.2 s, 13.7 min, 2.5 h, 31 h."""
    if nanoseconds <= 0:
        return "0 s"
    if nanoseconds < SECOND:
        return f"{_three(nanoseconds / MILLISECOND)} ms"
    if nanoseconds < 10 * MINUTE:
        return f"{_three(nanoseconds / SECOND)} s"
    if nanoseconds < 3 * HOUR:
        return f"{_three(nanoseconds / MINUTE)} min"
    if nanoseconds < 10 * DAY:
        return f"{_three(nanoseconds / HOUR)} h"
    return f"{number(round(nanoseconds / DAY))} d"


def span(nanoseconds: int) -> str:
    """Return the time that a log covers, in its two largest units: 3 min 17 s, 2 h 31 min, 12 d 4 h."""
    units = ((DAY, HOUR, "d", "h"), (HOUR, MINUTE, "h", "min"), (MINUTE, SECOND, "min", "s"))
    for unit, part, name, part_name in units:
        if nanoseconds >= unit:
            whole, rest = divmod(nanoseconds, unit)
            return f"{number(whole)} {name} {rest // part} {part_name}"
    return duration(nanoseconds)


def _three(value: float) -> str:
    """Return three significant digits, or more before the point."""
    if value < 10:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def per_second(count: int, nanoseconds: int) -> str:
    """Return a rate in a suitable unit; an empty text for no time or no count."""
    if nanoseconds <= 0 or not count:
        return ""
    for unit, name in ((SECOND, "per second"), (MINUTE, "per minute"), (HOUR, "per hour")):
        rate = count * unit / nanoseconds
        if rate >= 1 or unit == HOUR:
            return f"{number(round(rate)) if rate >= 100 else _three(rate)} {name}"
    raise AssertionError
