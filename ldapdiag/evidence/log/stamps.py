"""Time stamps of access logs as integers: nanoseconds since 1970-01-01 UTC.

Integers, because sums of floats would depend on where a log is cut. A log repeats each second thousands of times, so
the part up to the second is parsed once and cached:

    NETSCAPE[b"20/Nov/2026:08:45:20 +0000"]        389-ds, DSEE, OpenDJ, PingDirectory
    ISO[b"2026-11-20T08:54:04+00:00"]              JSON logs, syslog

`nanoseconds` returns the fraction to add.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable

SECOND = 1_000_000_000
MILLISECOND = SECOND // 1000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOST_REMEMBERED = 100_000
"""Seconds in the cache; a day has fewer."""

FIRST_YEAR, PAST_YEAR = 1970, 2200
"""Between them, times and their differences in nanoseconds stay below 1 << 63."""

MONTHS = {name: number for number, name in enumerate(b"jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
NETSCAPE_STAMP = pattern(rb"(\d\d)/([^/]{3,12})/(\d{4}):(\d\d):(\d\d):(\d\d)(?: ?(?:([+-])(\d\d)(\d\d)|Z))?")
ISO_STAMP = pattern(rb"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?: ?(?:([+-])(\d\d):?(\d\d)|Z))?")


class Seconds(dict[bytes, int]):
    """A cache of stamps up to the second, by text; ValueError for a text that is no time."""

    def __init__(self, parse: Callable[[bytes], int]) -> None:
        super().__init__()
        self._parse = parse

    def __missing__(self, text: bytes) -> int:
        if len(self) >= MOST_REMEMBERED:
            self.clear()
        self[text] = time = self._parse(text)
        return time


def nanoseconds(fraction: bytes) -> int:
    """Return the nanoseconds of a decimal fraction of a second: b"752174" is 752174000."""
    return int(fraction[:9].ljust(9, b"0")) if fraction else 0


def duration(seconds: bytes) -> int:
    """Return nanoseconds of b"0.000554371", b"12", or b"0.5"."""
    if seconds[-10:-9] == b".":
        return int(seconds[:-10] + seconds[-9:])
    whole, _, fraction = seconds.partition(b".")
    return int(whole or b"0") * SECOND + nanoseconds(fraction)


def when(nanoseconds: int) -> datetime:
    """Return a time of a log to the second, limited to the range of datetime."""
    try:
        return EPOCH + timedelta(seconds=nanoseconds // SECOND)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC) if nanoseconds > 0 else datetime.min.replace(tzinfo=UTC)


def moment(nanoseconds: int, resolution: int = 1) -> str:
    """Return a time in ISO 8601, UTC, with the resolution of the log's stamps (nanoseconds)."""
    digits = len(str(SECOND // resolution)) - 1 if 0 < resolution < SECOND else 0
    part = f".{nanoseconds % SECOND:09d}"[: digits + 1] if digits else ""
    return f"{when(nanoseconds):%Y-%m-%dT%H:%M:%S}{part}Z"


def instant(date: tuple[int, int, int], clock: tuple[int, int, int], offset_seconds: int = 0) -> int:
    """Return nanoseconds since 1970 of a date and a time of day in a zone `offset_seconds` east of UTC.

    ValueError for an invalid time, and for years outside 1970 to 2199 (1970: a clock without a battery).
    """
    year, month, day = date
    is_date = FIRST_YEAR <= year < PAST_YEAR and 1 <= month <= 12 and 1 <= day <= 31
    if not (is_date and clock[0] < 24 and clock[1] < 60 and clock[2] <= 60):
        raise ValueError((date, clock))
    days = (datetime(year, month, 1, tzinfo=UTC) - EPOCH).days + day - 1
    hour, minute, second = clock
    return (((days * 24 + hour) * 60 + minute) * 60 + second - offset_seconds) * SECOND


def _netscape(text: bytes) -> int:
    found = NETSCAPE_STAMP.fullmatch(text)
    if found is None:
        raise ValueError(text)
    day, name, year, hour, minute, second, *zone = found.groups()
    month = MONTHS.get(name[:3].lower())
    if month is None:
        raise ValueError(text)
    return instant((int(year), month, int(day)), (int(hour), int(minute), int(second)), _east(zone))


def _iso(text: bytes) -> int:
    found = ISO_STAMP.fullmatch(text)
    if found is None:
        raise ValueError(text)
    year, month, day, hour, minute, second, *zone = found.groups()
    return instant((int(year), int(month), int(day)), (int(hour), int(minute), int(second)), _east(zone))


def _east(zone: list[bytes | None]) -> int:
    sign, hours, minutes = zone
    seconds = int(hours or 0) * 3600 + int(minutes or 0) * 60
    return -seconds if sign == b"-" else seconds


NETSCAPE = Seconds(_netscape)
ISO = Seconds(_iso)
