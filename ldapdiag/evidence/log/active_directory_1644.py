r"""Event 1644 of Active Directory ("Field Engineering": expensive and inefficient searches), exported as CSV or XML.

Event1644Reader.ps1 and similar scripts write nineteen or twenty columns in one of two orders, all or none quoted:

    LDAPServer,TimeGenerated,ClientIP,ClientPort,StartingNode,Filter,SearchScope,AttributeSelection,ServerControls,
        VisitedEntries,ReturnedEntries,UsedIndexes,...,SearchTimeMS,AttributesPreventingOptimization,User
    LDAPServer,TimeGenerated,StartingNode,Filter,VisitedEntries,ReturnedEntries,ClientIP,ClientPort,SearchScope,...
    "DC1","11/20/2026 8:54:04 AM","DC=a"," (cn<==>x) ","209369","1","10.1.1.1","33654","subtree",...

`Get-WinEvent | Export-Csv` writes the event's text in one quoted field of many lines (Internal event: A client issued a
search operation with the following options. Client: ...), and TimeCreated in another. The header is only at the top of
the file, so each row is read without it. Times are in the exporter's zone and culture, and the file decides whether day
or month comes first (date_order.py). An event is a search and its result, without the connection.
Filters are printed with `<==>` for transitive closure matching. Source: Microsoft KB2800945, Event1644Reader.ps1.
"""

from __future__ import annotations

import csv
import io
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.connection import OperationResult
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

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HEADER = pattern(rb'"?LDAPServer"?,"?TimeGenerated"?,')
SIGNATURE = b"Internal event: A client issued a search operation with the following options"
ROW = pattern(
    rb'^"[^"\n]*+","\d{4}-\d\d-\d\dT[\d:]{8}Z"(?:,"(?>(?:[^"\n]|"")*)"){2},"\d{1,18}","\d{1,18}","[^"\n]*+","\d{0,5}",'
    rb'"(?i:base|onelevel|subtree)"',
    re.MULTILINE,
)
"""A row of events that were exported as XML (xml_envelope.py)."""
COLUMNS = (
    (
        "time",
        "client",
        "base",
        "filter",
        "scope",
        "visited",
        "returned",
        "used",
        "pages",
        "disk",
        "etime",
        "preventing",
        "user",
    ),
    ((1, 2, 4, 5, 6, 9, 10, 11, 12, 13, 17, 18, 19), (1, 6, 2, 3, 8, 4, 5, 11, 12, 13, 17, 18, 19)),
)
"""The columns used, in each of the two orders."""
SCOPES = {"base": 0, "onelevel": 1, "subtree": 2}
CLOCK = (
    r"[ T](?P<hour>\d{1,2})[:.](?P<minute>\d\d)[:.](?P<second>\d\d)(?:[.,]\d{1,9})?(?P<utc>Z)?"
    r"(?:[ \u00a0\u202f](?P<half>[AaPp])\.?[ \u00a0]?[Mm]\.?)?"
)
TIMES = tuple(
    pattern(date + CLOCK, re.ASCII)
    for date in (
        r"(?P<year>\d{4})[/.-] ?(?P<month>\d{1,2})[/.-] ?(?P<day>\d{1,2})\.?",
        r"(?P<day>\d{1,2})\. ?(?P<month>\d{1,2})\. ?(?P<year>\d{4})",
        r"(?P<month>\d{1,2})[/-](?P<day>\d{1,2})[/-](?P<year>\d{4})",
    )
)
"""ISO and Japanese, German, and any other: the format is that of the exporter's Windows.

Of the last the file decides which number is the month (date_order.py).
"""
# Atomic groups: a hostile filter cannot cause backtracking.
EVENT = pattern(
    r"""(?>.*?Internal\ event:\ A\ client\ issued\ a\ search\ operation\ with\ the\ following\ options)
    (?>.*?\bClient:\s*)(?P<client>\S*) (?>.*?Starting\ node:\s*)(?P<base>(?>.*?(?=Filter:\s)))
    Filter:\s*(?P<filter>(?>.*?(?=Search\ scope:\s)))Search\ scope:\s*(?P<scope>\w+)
    (?>.*?Visited\ entries:\s*)(?P<visited>\d{1,18}) (?>.*?Returned\ entries:\s*)(?P<returned>\d{1,18})
    (?>.*?Used\ indexes:\s*)(?P<used>(?>.*?(?=Pages\ referenced:\s)))Pages\ referenced:\s*(?P<pages>\d{1,18})
    (?>.*?Pages\ read\ from\ disk:\s*)(?P<disk>\d{1,18}) (?>.*?Search\ time\ \(ms\):\s*)(?P<etime>\d{1,18})
    (?>.*?Attributes\ Preventing\ Optimization:\s*)(?P<preventing>(?>.*?(?=User:\s)))User:\s*(?P<user>[^\r\n]*)""",
    re.VERBOSE | re.DOTALL,
)


def recognised(head: bytes) -> int:
    """Return how many lines are of such a file: all after a header, else rows and those with an event's first words."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    return head.count(b"\n") + 1 if HEADER.match(head) else head.count(SIGNATURE) + lines_like(ROW, head)


CUT_ANYWHERE = False
"""Whether a newline is inside quotes depends on everything before it."""


def cut(data: bytes, at: int) -> int:
    """Return the end of the last whole row that ends at or before `at`: after a newline outside quotes."""
    end = data.rfind(b"\n", 0, at) + 1
    quotes = data.count(b'"', 0, end)
    while end and quotes % 2:
        before = data.rfind(b"\n", 0, end - 1) + 1
        quotes -= data.count(b'"', before, end)
        end = before
    return end


def scan(data: bytes, log: Scan) -> None:
    """Read whole rows."""
    log.lines += data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    log.clock(None)
    log.resolution(MILLISECOND)
    time_of = _clock(log)
    for row in _rows(data):
        if isinstance(row, csv.Error):  # a field beyond csv's limit
            log.misread(str(row).encode())
        elif not row or row[0].lstrip("\ufeff").startswith(("#TYPE", "LDAPServer")) or "TimeCreated" in row:
            log.passed_over()
        else:
            try:
                _count(log, _fields(row), time_of)
            except (ValueError, KeyError, StopIteration):
                log.misread(_text(",".join(row)))


def _rows(data: bytes) -> Iterator[list[str] | csv.Error]:
    rows = csv.reader(io.StringIO(data.decode("utf-8", "surrogateescape"), newline=""))
    while True:
        try:
            yield next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield error


def stamps(data: bytes) -> Iterator[Stamp]:
    """Yield the dates of whole rows that may be read in two ways, with the time of the day."""
    for row in _rows(data):
        with suppress(ValueError, KeyError, StopIteration):
            text = _fields(row)["time"].strip() if isinstance(row, list) else ""
            if (found := TIMES[-1].fullmatch(text)) and (time := _clock_of(found)):
                one, two, year = map(int, found.group("month", "day", "year"))
                yield one, two, year, (time[0] * 60 + time[1]) * 60 + time[2]


def _fields(row: list[str]) -> dict[str, str]:
    """Return the fields of a row by name; ValueError for a row of no known form."""
    for field in row:
        if event := EVENT.match(field):
            time = next(one for one in row if any(form.fullmatch(one.strip()) for form in TIMES))
            return {"time": time, **event.groupdict()}
    names, orders = COLUMNS
    for order in orders:
        if len(row) > 18 and row[order[4]].strip().lower() in SCOPES:
            return {
                name: row[place].strip() if place < len(row) else "" for name, place in zip(names, order, strict=True)
            }
    raise ValueError(row)


def _count(log: Scan, fields: dict[str, str], time_of: Callable[[str], int]) -> None:
    preventing = fields["preventing"].strip()
    client = fields["client"]
    if client.startswith("["):
        client = client[1:].partition("]")[0]
    elif client.count(":") == 1:
        client = client.partition(":")[0]
    use, expected = reported_use(_text(fields["used"]), _text(preventing))
    result = OperationResult(
        op=-1,
        time=time_of(fields["time"].strip()),
        kind=SEARCH,
        err=0,
        etime=whole(whole(fields["etime"]) * 1_000_000) if fields["etime"] else None,
        entries=whole(fields["returned"]),
        notes=b"unindexed" if use.preventing else b"",
    )
    log.search_without_connection(
        result,
        client=_text(client),
        account=_text(fields["user"].strip()),
        base=_text(fields["base"].strip()),
        scope=SCOPES[fields["scope"].lower()],
        filter=_text(fields["filter"].strip()),
        examined=Examined(
            use,
            visited=whole(fields["visited"]),
            pages=whole(fields["pages"] or "0"),
            from_disk=whole(fields["disk"] or "0"),
            expected=expected,
        ),
    )


def _clock(log: Scan) -> Callable[[str], int]:
    def time_of(text: str) -> int:
        time = _parsed(text, day_first=log.hints.day_first)
        if time is None:
            raise ValueError(text)
        return ((time if time.tzinfo else time.replace(tzinfo=log.hints.zone)) - EPOCH) // timedelta(seconds=1) * SECOND

    return time_of


def _parsed(text: str, *, day_first: bool = False) -> datetime | None:
    for form in TIMES:
        if (found := form.fullmatch(text)) and (clock := _clock_of(found)):
            year, month, day = map(int, found.group("year", "month", "day"))
            if day_first and form is TIMES[-1]:
                month, day = day, month
            with suppress(ValueError):
                return datetime(year, month, day, *clock, tzinfo=UTC if found["utc"] else None)
    return None


def _clock_of(found: re.Match[str]) -> tuple[int, int, int]:
    hour, minute, second = map(int, found.group("hour", "minute", "second"))
    return (hour % 12 + 12 * (found["half"] in "Pp") if found["half"] else hour), minute, second


def _text(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")
