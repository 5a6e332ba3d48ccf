r"""Event 1644 of Active Directory ("Field Engineering": expensive and inefficient searches), exported in any form.

event_exports.py makes a line of each event (event_rows.py). Times in CSV are in the exporter's zone and culture, and
the file decides whether day or month comes first (date_order.py). An event is a search and its result, without the
connection. Filters are as the server rewrote them (active_directory_filters.py). Source: Microsoft KB2800945.
"""

from __future__ import annotations

import csv
import io
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

from ldapdiag.evidence.active_directory_filters import rewritten
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.event_rows import CONNECTION_EVENTS, EVENT_ROW, MARK, NAMES
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.evidence.log.pattern import lines_like, whole
from ldapdiag.evidence.log.reported_use import Examined, reported_use
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ldapdiag.evidence.log.date_order import Stamp
    from ldapdiag.evidence.log.scan import Scan

NAME = "active-directory-1644"
FAMILY = Family.AD
IS_EXPORT = True
"""Get-WinEvent returns the newest first, wevtutil the oldest."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCOPES = {"base": 0, "onelevel": 1, "subtree": 2}
HALVES = "오전|오후|上午|下午|午前|午後"
"""Of the day: Korean, Chinese, Japanese; before noon and after."""
AFTERNOON = frozenset({"p", "오후", "下午", "午後"})
CLOCK = (
    rf"[ T](?:(?P<before>{HALVES}) ?)?(?P<hour>\d{{1,2}})[:.](?P<minute>\d\d)[:.](?P<second>\d\d)"
    r"(?:[.,]\d{1,9})?(?P<zone>Z|[+-]\d\d:?\d\d)?(?: ?(?P<half>[AaPp])\.? ?[Mm]\.?)?"
)
TIMES = tuple(
    pattern(date + CLOCK)
    for date in (
        r"(?P<year>\d{4})[/.-] ?(?P<month>\d{1,2})[/.-] ?(?P<day>\d{1,2})\.?",
        r"(?P<day>\d{1,2})\. ?(?P<month>\d{1,2})\. ?(?P<year>\d{4})",
        r"(?P<month>\d{1,2})[/-](?P<day>\d{1,2})[/-](?P<year>\d{4})",
    )
)
"""ISO and Japanese, German, and any other: the format is that of the exporter's Windows.

Of the last the file decides which number is the month (date_order.py).
"""
MOST_OBJECTS = 1 << 31
"""A domain controller never creates more. Source: learn.microsoft.com, "Active Directory maximum limits"."""
MARKS = pattern(r"[\u200e\u200f]")
"""Marks of the direction of writing, which some versions of Windows put between the parts of a date."""


def recognised(head: bytes) -> int:
    """Return how many lines are events."""
    return lines_like(EVENT_ROW, head)


def scan(data: bytes, log: Scan) -> None:
    """Read whole rows."""
    log.lines += data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    log.resolution(MILLISECOND)
    time_of = _clock(log)
    for row in _rows(data):
        if not row:
            log.passed_over()
            continue
        try:
            if (kind := row[0].removeprefix("event ")) in CONNECTION_EVENTS:
                _count_of_connection(log, kind, row, time_of)
            else:
                _count(log, _fields(row), time_of)
        except (ValueError, KeyError):
            log.misread(_text(",".join(row)))


def _rows(data: bytes) -> Iterator[list[str]]:
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        try:
            yield next(csv.reader(io.StringIO(line.strip(), newline="")), [])
        except csv.Error:  # a field beyond csv's limit
            yield [line[:100]]


def stamps(data: bytes) -> Iterator[Stamp]:
    """Yield the dates of whole rows that may be read in two ways, with the time of the day."""
    for row in _rows(data):
        with suppress(ValueError, KeyError):
            fields = _fields(row)
            if (found := TIMES[-1].fullmatch(fields["time"])) and (time := _clock_of(found)):
                one, two, year = map(int, found.group("month", "day", "year"))
                is_american = "/" in found[0] and found[0].endswith(("AM", "PM"))
                yield one, two, year, (time[0] * 60 + time[1]) * 60 + time[2], is_american, fields["server"]


def _fields(row: list[str]) -> dict[str, str]:
    """Return the fields of a row by name; ValueError for another row."""
    number, server, time, *values = row
    if number != MARK or len(values) != len(NAMES):
        raise ValueError(row)
    return {
        "server": server,
        "time": _plain(time),
        **dict(zip(NAMES, values, strict=True)),
    }


def _count_of_connection(log: Scan, kind: str, row: list[str], time_of: Callable[[str], int]) -> None:
    from ldapdiag.evidence.log.event_connections import count_event  # noqa: PLC0415  import late: few logs have them

    _, server, time, client, *cells = row
    if server:
        log.header(_text(server))
    count_event(log, kind, time_of(_plain(time)), client, cells)


def _plain(time: str) -> str:
    return MARKS.sub("", time).replace("\u202f", " ").replace("\u00a0", " ")


def _count(log: Scan, fields: dict[str, str], time_of: Callable[[str], int]) -> None:
    use, expected = reported_use(_text(fields["used"]), _text(fields["preventing"]))
    result = OperationResult(
        op=-1,
        time=time_of(fields["time"]),
        kind=SEARCH,
        err=0,
        etime=whole(whole(fields["etime"]) * 1_000_000) if fields["etime"] else None,
        entries=_objects(fields["returned"]),
        notes=b"unindexed" if use.preventing else b"",
    )
    examined = Examined(
        use,
        visited=_objects(fields["visited"]),
        pages=whole(fields["pages"] or "0"),
        from_disk=whole(fields["disk"] or "0"),
        expected=expected,
    )
    scope = SCOPES[fields["scope"].lower()]
    if fields["server"]:
        log.header(_text(fields["server"]))
    log.search_without_connection(
        result,
        client=_text(_client(fields["client"])),
        account=_text(fields["user"]),
        base=_text(fields["base"]),
        scope=scope,
        filter=rewritten(_text(fields["filter"])),
        examined=examined,
    )


def _objects(text: str) -> int:
    """Return a number of entries; ValueError for one that no directory has."""
    if not 0 <= (found := whole(text)) <= MOST_OBJECTS:
        raise ValueError(text)
    return found


def _client(text: str) -> str:
    """Return the address without its port; callers within the server have a name (SAM, LSA, KCC)."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text


def _clock(log: Scan) -> Callable[[str], int]:
    def time_of(text: str) -> int:
        time = _parsed(text, day_first=log.hints.day_first)
        if time is None:
            raise ValueError(text)
        log.clock(b"+0000" if time.tzinfo else None)
        return ((time if time.tzinfo else time.replace(tzinfo=log.hints.zone)) - EPOCH) // timedelta(seconds=1) * SECOND

    return time_of


def _parsed(text: str, *, day_first: bool = False) -> datetime | None:
    for form in TIMES:
        if (found := form.fullmatch(text)) and (clock := _clock_of(found)):
            year, month, day = map(int, found.group("year", "month", "day"))
            if day_first and form is TIMES[-1]:
                month, day = day, month
            with suppress(ValueError):
                return datetime(year, month, day, *clock, tzinfo=_zone_of(found["zone"]))
    return None


def _zone_of(text: str | None) -> timezone | None:
    """Return the zone of a time; None where it has none. ValueError for an offset of a day or more."""
    if not text or text == "Z":
        return UTC if text else None
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _clock_of(found: re.Match[str]) -> tuple[int, int, int]:
    hour, minute, second = map(int, found.group("hour", "minute", "second"))
    half = (found["half"] or found["before"] or "").lower()
    return (hour % 12 + 12 * (half in AFTERNOON) if half else hour), minute, second


def _text(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")
