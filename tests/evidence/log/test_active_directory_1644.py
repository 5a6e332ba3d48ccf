"""Event 1644 as CSV: both orders of the columns, the whole event in one field, and cuts between rows."""

from __future__ import annotations

import csv
import io
import time
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log import active_directory_1644 as ad
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.evidence.log.reported_use import Examined, ReportedUse
from ldapdiag.evidence.log.scan import Hints
from log.calls import Calls, calls_of

if TYPE_CHECKING:
    from pathlib import Path

TIME = 1_795_164_844 * 10**9
MS = 10**6
PAGES = ["9", "9", "9", "9", "9"]
FIRST = [
    "10.1.1.1",
    "33654",
    "DC=a,DC=b",
    " (member<==>CN=x) ",
    "subtree",
    "cn",
    "",
    "209369",
    "1",
    "DNT_index:94168:N;",
]
OLD = ["DC1", "11/20/2026 8:54:04 AM", *FIRST, *PAGES, "1641", "member", "A\\svc"]
NEW = [
    "DC1",
    "11/20/2026 8:54:04 AM",
    *FIRST[2:4],
    *FIRST[7:9],
    *FIRST[:2],
    *FIRST[4:7],
    FIRST[9],
    *PAGES,
    "1641",
    "none",
    "A\\svc",
]
HEADER = "LDAPServer,TimeGenerated,ClientIP\r\n"


def written(*rows: list[str], quoting: int = csv.QUOTE_ALL) -> bytes:
    """Return rows as PowerShell writes them."""
    out = io.StringIO(newline="")
    csv.writer(out, quoting=quoting).writerows(rows)
    return out.getvalue().encode()  # type: ignore[no-any-return]


def found(notes: bytes = b"", user: bytes = b"A\\svc") -> tuple:
    """Return the call for the event above."""
    return (
        "search_without_connection",
        OperationResult(-1, TIME, SEARCH, 0, 1641 * MS, entries=1, notes=notes),
        ("client", b"10.1.1.1"),
        ("account", user),
        ("base", b"DC=a,DC=b"),
        ("scope", 2),
        ("filter", b"(member<==>CN=x)"),
        ("examined", Examined(ReportedUse(b"DNT_index", b"member" if notes else b""), 209_369, 9, 9, 94_168)),
    )


@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
def test_both_orders_of_the_columns(quoting: int) -> None:
    data = HEADER.encode() + written(OLD, NEW, OLD[:-1], quoting=quoting)

    assert ad.recognised(data)
    assert ad.recognised(b"\xef\xbb\xbf" + data)
    assert calls_of(ad.scan, data) == [found(b"unindexed"), found(), found(b"unindexed", b"")]


def test_the_whole_event_in_one_field(corpus: Path) -> None:
    """Truth: corpus/public/README.md."""
    event = (corpus / "public" / "accesslog" / "ad-event1644-message-crlf.txt").read_bytes().decode()
    blank = (corpus / "public" / "accesslog" / "ad-event1644-text.txt").read_text()
    data = written(
        ["Message", "Id", "TimeCreated"],
        [event, "1644", "11/20/2026 8:54:04 AM"],
        [blank, "1644", "20.11.2026 08:54:04"],
    )

    assert ad.recognised(data)
    first, second = calls_of(ad.scan, data)
    search = dict(first[2:])
    assert search.pop("base").startswith(b"CN=409,")
    assert search.pop("examined") == Examined(ReportedUse(b"PDNT_index"), 56, 1407, 21, 56)
    assert search == {
        "client": b"172.16.222.132",
        "account": b"TESTLAB\\pushkin",
        "scope": 1,
        "filter": b"(objectClass=displaySpecifier)",
    }
    assert first[1] == OperationResult(-1, TIME, SEARCH, 0, 47 * MS, entries=55)
    search = dict(second[2:])
    assert (search["client"], search["filter"][:24]) == (b"10.102.12.170", b"(member<==>CN=svc_jnkns,")
    assert second[1][3:9] == (0, 1641 * MS, None, None, 1, b"unindexed")


@pytest.mark.parametrize(
    "stamp", ["11/20/2026 8:54:04 AM", "20.11.2026 08:54:04", "2026-11-20 08:54:04", "2026-11-20T08:54:04"]
)
def test_times_of_several_cultures(stamp: str) -> None:
    east = Hints(zone=timezone(timedelta(hours=2)))

    assert calls_of(ad.scan, written([OLD[0], stamp, *OLD[2:]]))[0][1].time == TIME
    assert calls_of(ad.scan, written([OLD[0], stamp, *OLD[2:]]), east)[0][1].time == TIME - 7200 * 10**9


@pytest.mark.parametrize("row", [["a"], OLD[:10], [*OLD[:1], "soon", *OLD[2:]], [*OLD[:17], "long", *OLD[18:]]])
def test_other_rows_are_counted_as_misread(row: list[str]) -> None:
    assert [call[0] for call in calls_of(ad.scan, written(row))] == ["misread"]


text = st.text(st.sampled_from('ab",\n\r ='), max_size=12)


@given(st.lists(text, min_size=1, max_size=6), st.integers(0, 2000))
def test_any_cut_between_rows_gives_the_whole(filters: list[str], at: int) -> None:
    data = written(*([*OLD[:5], part, *OLD[6:]] for part in filters))
    place = ad.cut(data, min(at, len(data)))

    assert place <= at
    assert calls_of(ad.scan, data[:place]) + calls_of(ad.scan, data[place:]) == calls_of(ad.scan, data)
    assert ad.cut(data, len(data)) == len(data)


def test_a_cut_costs_a_glance() -> None:
    begun = time.process_time()
    assert ad.cut(b'"' + b"\n" * 10**6, 10**6) == 0
    hostile = "Internal event: A client issued a search operation with the following options Client: "
    calls_of(ad.scan, written([(hostile + "Filter: Search scope: ") * 1000]))
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    "text",
    [
        "2026/11/20 8:54:04",
        "20.11.2026 08:54:04",
        "20.11.2026 8.54.04",
        "2026-11-20T08:54:04.123Z",
        "11/20/2026 8:54:04\u202fAM",
        "11/20/2026 8:54:04 a.m.",
    ],
)
def test_times_of_other_cultures(text: str) -> None:
    assert calls_of(ad.scan, HEADER.encode() + written([OLD[0], text, *OLD[2:]]))[0][1].time == TIME


def test_the_hints_decide_which_number_is_the_month() -> None:
    rows = written([OLD[0], "05/11/2026 08:54:04", *OLD[2:]])

    def time_with(hints: Hints) -> int:
        calls = Calls(hints)
        ad.scan(HEADER.encode() + rows, calls)
        return next(call[1].time for call in calls.made if call[0] == "search_without_connection")

    november, may = (datetime(2026, month, day, 8, 54, 4, tzinfo=UTC) for month, day in ((11, 5), (5, 11)))
    assert time_with(Hints(day_first=True)) == int(november.timestamp()) * 10**9
    assert time_with(Hints()) == int(may.timestamp()) * 10**9
