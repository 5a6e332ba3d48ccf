"""Times on the command line; durations are those of ldapdiag.duration.

2026-11-20  today  yesterday           a whole day, from its beginning to its end; the logs end today
09:55  09:55:30                        the last such time of day in the logs; after --since: the next one
-1h  -90s  -1d12h                      before the end of the logs
2026-11-20T08:45:30.5+01:00            ISO 8601
20/Nov/2026:09:55:00 +0100             as stamps of logs: 389-ds and its relatives, with or without [ ]
Nov 20 09:55:00                        syslog: the last such time in the logs
6b000aac.1b749727                      slapd on stderr: seconds since 1970, in hex
1795164320.5                           seconds since 1970

A time without a zone is in the zone of --zone, else UTC. --until includes the second that it names.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING

import typer

from ldapdiag.duration import UNITS, Duration
from ldapdiag.errors import UsageError
from ldapdiag.evidence.log.stamps import EPOCH, NETSCAPE, SECOND, nanoseconds, when
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from ldapdiag.sources.logs.asked_period import AskedPeriod, AskedTime, Span

OFFSET = pattern(r"[+-]\d\d:?\d\d")
BEFORE_END = pattern(r"-(?:\d{1,9}[smhdw])+", re.ASCII)
AMOUNT = pattern(r"(\d+)([smhdw])", re.ASCII)
TIME_OF_DAY = pattern(r"\d\d?:\d\d(?::\d\d)?", re.ASCII)
FRACTION = pattern(r"(.*\d\d:\d\d:\d\d)[.,](\d{1,9})(.*)", re.ASCII)
NETSCAPE_FORM = pattern(r"(\d\d/[A-Za-z]{3,12}/\d{4}:\d\d:\d\d:\d\d)( ?(?:[+-]\d{4}|Z))?", re.ASCII)
SYSLOG_FORM = pattern(r"[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d", re.ASCII)
HEXADECIMAL = pattern(r"([0-9a-f]{8})(?:\.([0-9a-f]{8}))?")
SINCE_1970 = pattern(r"(\d{9,10})(?:\.(\d{1,9}))?", re.ASCII)
DAYS = {"today": 0, "yesterday": 1}

UNDERSTOOD = (
    "use 09:55 (the last in the log), -1h (before its end), today, yesterday, 2026-11-20, 2026-11-20T08:45:30+01:00, "
    "or a stamp of the log, as in 20/Nov/2026:08:45:30 +0000"
)


class NoDurationError(typer.BadParameter):
    """The value of an option is no duration, or out of its range."""

    def format_message(self) -> str:
        """Return the sentence with the name of the option before it."""
        return f"{max(self.param.opts, key=len)} {self.message}" if self.param else self.message


class DurationOption(Duration):
    """The parser of an option that takes a duration."""

    def __call__(self, typed: object) -> float:
        """Return the duration in `unit`; raise NoDurationError for anything else."""
        try:
            return self.value_of(str(typed))
        except UsageError as error:
            raise NoDurationError(str(error)) from None


def asked_period(since: str | None, until: str | None = None, zone: tzinfo | None = None) -> AskedPeriod | None:
    """Return the period of --since and --until; None without either. Raises UsageError for a time not understood."""
    if since is None and until is None:
        return None
    from ldapdiag.sources.logs.asked_period import AskedPeriod  # noqa: PLC0415  import late: --help must be quick

    zone = zone or UTC
    asked = AskedPeriod(since=_asked("--since", since, zone), until=_asked("--until", until, zone))
    if not asked.needs_end:
        asked.by_end(0)  # fails early
    return asked


def zone(option: str, text: str | None) -> tzinfo | None:
    """Return a time zone by name or offset. Raises UsageError for an unknown one."""
    if text is None:
        return None
    from zoneinfo import ZoneInfo  # noqa: PLC0415  import late

    try:
        if OFFSET.fullmatch(text):
            return datetime.strptime(text, "%z").tzinfo
        return ZoneInfo(text)
    except (ValueError, OSError, LookupError) as error:
        raise UsageError(
            f"{option} {text}: unknown time zone; use a name or an offset, as in Europe/Berlin or +01:00"
        ) from error


def _asked(option: str, text: str | None, zone: tzinfo) -> AskedTime | None:
    if text is None:
        return None
    try:
        return _by_end(text, zone) or _fixed(text, zone)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{option} {text}: not understood; {UNDERSTOOD}") from error


def _by_end(text: str, zone: tzinfo) -> AskedTime | None:
    """Return a time that depends on the end of the logs; None for any other."""
    from ldapdiag.sources.logs.asked_period import AskedTime  # noqa: PLC0415  import late: --help must be quick

    stamp, fraction = _without_fraction(text)
    if text in DAYS:
        return AskedTime(text=text, by_end=lambda end: _day(_local(end, zone) - timedelta(DAYS[text]), zone))
    if BEFORE_END.fullmatch(text):
        length = sum(int(count) * UNITS[unit] for count, unit in AMOUNT.findall(text)) * SECOND
        return AskedTime(text=text, by_end=lambda end: (end - length, end - length))
    if TIME_OF_DAY.fullmatch(stamp):
        clock = time.fromisoformat(stamp if stamp[2] == ":" else f"0{stamp}")
        return AskedTime(
            text=text,
            by_end=lambda end: _last(clock, fraction, zone, end),
            following=lambda begin: _next(clock, fraction, zone, begin),
        )
    if SYSLOG_FORM.fullmatch(stamp):
        _yearless(stamp, fraction, zone, 0)  # fails early
        return AskedTime(text=text, by_end=lambda end: _yearless(stamp, fraction, zone, end))
    return None


def _fixed(text: str, zone: tzinfo) -> AskedTime:
    from ldapdiag.sources.logs.asked_period import AskedTime  # noqa: PLC0415  import late: --help must be quick

    span = _span(text, zone)
    return AskedTime(text=text, by_end=lambda _: span, needs_end=False)


def _span(text: str, zone: tzinfo) -> Span:
    """Return the day, second or instant of a time with its date. Raises ValueError for any other text."""
    if found := SINCE_1970.fullmatch(text):
        return _second(EPOCH + timedelta(seconds=int(found[1])), _decimal(found[2]), UTC)
    stamp, fraction = _without_fraction(text)
    if found := NETSCAPE_FORM.fullmatch(stamp):
        moment = when(NETSCAPE[stamp.encode()])
        return _second(moment if found[2] else moment.replace(tzinfo=None), fraction, zone)
    with suppress(ValueError):
        return _day(date.fromisoformat(text), zone)
    if found := HEXADECIMAL.fullmatch(text):
        return _second(EPOCH + timedelta(seconds=int(found[1], 16)), int(found[2], 16) if found[2] else None, UTC)
    return _second(datetime.fromisoformat(stamp), fraction, zone)


def _without_fraction(text: str) -> tuple[str, int | None]:
    """Return a time up to its second with its zone, and the nanoseconds of its fraction; None: it has none."""
    text = text.strip("[]")
    found = FRACTION.fullmatch(text)
    return (found[1] + found[3], _decimal(found[2])) if found else (text, None)


def _decimal(fraction: str | None) -> int | None:
    return None if fraction is None else nanoseconds(fraction.encode())


def _last(clock: time, fraction: int | None, zone: tzinfo, end: int) -> Span:
    """Return the last such time of day that is not after the end."""
    day = _local(end, zone)
    span = _second(datetime.combine(day, clock), fraction, zone)
    return span if span[0] <= end else _second(datetime.combine(day - timedelta(1), clock), fraction, zone)


def _next(clock: time, fraction: int | None, zone: tzinfo, begin: int) -> Span:
    """Return the first such time of day that does not end before the beginning."""
    day = _local(begin, zone)
    span = _second(datetime.combine(day, clock), fraction, zone)
    return span if span[1] >= begin else _second(datetime.combine(day + timedelta(1), clock), fraction, zone)


def _yearless(stamp: str, fraction: int | None, zone: tzinfo, end: int) -> Span:
    from ldapdiag.evidence.log.line_scan import Hints  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.evidence.log.syslog import yearless  # noqa: PLC0415

    moment = when(yearless(stamp.encode(), Hints(year_end=when(end), zone=zone)))
    return _second(moment, fraction, zone)


def _local(instant: int, zone: tzinfo) -> date:
    return when(instant).astimezone(zone).date()


def _day(day: date, zone: tzinfo) -> Span:
    begin, end = datetime.combine(day, time.min), datetime.combine(day, time.max)
    return _second(begin, None, zone)[0], _second(end.replace(microsecond=0), None, zone)[1]


def _second(moment: datetime, fraction: int | None, zone: tzinfo) -> Span:
    """Return a second, or an instant in it; where the clock shows it twice, from the first to the second time."""
    first, last = (_nanoseconds(moment.replace(fold=fold), zone) for fold in (0, 1))
    return (first, last + SECOND - 1) if fraction is None else (first + fraction, last + fraction)


def _nanoseconds(moment: datetime, zone: tzinfo) -> int:
    elapsed = (moment if moment.tzinfo else moment.replace(tzinfo=zone)) - EPOCH
    return elapsed // timedelta(microseconds=1) * 1000
