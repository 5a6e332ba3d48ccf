r"""Event 1644 of Active Directory ("Field Engineering": expensive and inefficient searches), exported as CSV.

Event1644Reader.ps1 and similar scripts write nineteen or twenty columns in one of two orders, all or none quoted:

    LDAPServer,TimeGenerated,ClientIP,ClientPort,StartingNode,Filter,SearchScope,AttributeSelection,ServerControls,
        VisitedEntries,ReturnedEntries,UsedIndexes,...,SearchTimeMS,AttributesPreventingOptimization,User
    LDAPServer,TimeGenerated,StartingNode,Filter,VisitedEntries,ReturnedEntries,ClientIP,ClientPort,SearchScope,...
    "DC1","11/20/2026 8:54:04 AM","DC=a"," (cn<==>x) ","209369","1","10.1.1.1","33654","subtree",...

`Get-WinEvent | Export-Csv` writes the event's text in one quoted field of many lines (Internal event: A client issued a
search operation with the following options. Client: ...), and TimeCreated in another. The header is only at the top of
the file, so each row is read without it. Times are in the exporter's zone and culture: month first with AM or PM, day
first with dots, or ISO 8601. An event is a search and its result, without the connection.
Filters are printed with `<==>` for transitive closure matching. Source: Microsoft KB2800945, Event1644Reader.ps1.
"""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.pattern import pattern
from ldapdiag.evidence.log.stamps import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.evidence.log.scan import Scan

NAME = "active-directory-1644"
FAMILY = Family.AD

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SIGNATURE = pattern(
    rb'^"?LDAPServer"?,"?TimeGenerated"?,|Internal event: A client issued a search operation with the following options'
)
COLUMNS = (
    ("time", "client", "base", "filter", "scope", "returned", "etime", "preventing", "user"),
    ((1, 2, 4, 5, 6, 10, 17, 18, 19), (1, 6, 2, 3, 8, 5, 17, 18, 19)),
)
"""The columns used, in each of the two orders."""
SCOPES = {"base": 0, "onelevel": 1, "subtree": 2}
CLOCK = r"[ T](?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)(?: (?P<half>[AP])M)?"
TIMES = tuple(
    pattern(date + CLOCK, re.ASCII)
    for date in (
        r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})",
        r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
        r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})",
    )
)
"""American, German, ISO: the format is that of the exporter's Windows."""
# Atomic groups: a hostile filter cannot cause backtracking.
EVENT = pattern(
    r"""(?>.*?Internal\ event:\ A\ client\ issued\ a\ search\ operation\ with\ the\ following\ options)
    (?>.*?\bClient:\s*)(?P<client>\S*) (?>.*?Starting\ node:\s*)(?P<base>(?>.*?(?=Filter:\s)))
    Filter:\s*(?P<filter>(?>.*?(?=Search\ scope:\s)))Search\ scope:\s*(?P<scope>\w+)
    (?>.*?Returned\ entries:\s*)(?P<returned>\d{1,18}) (?>.*?Search\ time\ \(ms\):\s*)(?P<etime>\d{1,18})
    (?>.*?Attributes\ Preventing\ Optimization:\s*)(?P<preventing>(?>.*?(?=User:\s)))User:\s*(?P<user>[^\r\n]*)""",
    re.VERBOSE | re.DOTALL,
)


def recognises(head: bytes) -> bool:
    """Return whether there is the header of a script, or the first words of an event."""
    return SIGNATURE.search(head.removeprefix(b"\xef\xbb\xbf")) is not None


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
    log.resolution(SECOND)
    time_of = _clock(log)
    rows = csv.reader(io.StringIO(data.decode("utf-8", "surrogateescape"), newline=""))
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:  # a field beyond csv's limit
            log.misread(str(error).encode())
            continue
        if not row or row[0].lstrip("\ufeff").startswith(("#TYPE", "LDAPServer")) or "TimeCreated" in row:
            log.passed_over()
            continue
        try:
            _count(log, _fields(row), time_of)
        except (ValueError, KeyError):
            log.misread(_text(",".join(row)))


def _fields(row: list[str]) -> dict[str, str]:
    """Return the fields of a row by name; ValueError for a row of no known form."""
    for field in row:
        if event := EVENT.match(field):
            time = next(one for one in row if _parsed(one.strip()))
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
    log.search_without_connection(
        time_of(fields["time"].strip()),
        _text(client),
        _text(fields["user"].strip()),
        _text(fields["base"].strip()),
        SCOPES[fields["scope"].lower()],
        _text(fields["filter"].strip()),
        int(fields["returned"]),
        int(fields["etime"]) * 1_000_000,
        b"unindexed" if preventing.lower() not in {"", "none"} else b"",
    )


def _clock(log: Scan) -> Callable[[str], int]:
    def time_of(text: str) -> int:
        time = _parsed(text)
        if time is None:
            raise ValueError(text)
        return (time.replace(tzinfo=log.hints.zone) - EPOCH) // timedelta(seconds=1) * SECOND

    return time_of


def _parsed(text: str) -> datetime | None:
    for form in TIMES:
        if found := form.fullmatch(text):
            year, month, day, hour, minute, second = map(
                int, found.group("year", "month", "day", "hour", "minute", "second")
            )
            if found["half"]:
                hour = hour % 12 + 12 * (found["half"] == "P")
            try:
                return datetime(year, month, day, hour, minute, second)  # noqa: DTZ001  the zone is the exporter's, given by a hint
            except ValueError:
                return None
    return None


def _text(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")
