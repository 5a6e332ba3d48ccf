"""Rows of events 1644: what is read of them, their times, and rows that are none."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from ldapdiag.evidence.log import active_directory_1644 as ad
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.event_rows import event_row, in_order, of_message
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.evidence.log.reported_use import Examined, ReportedUse
from ldapdiag.evidence.log.scan import Hints
from log.calls import calls_of
from log.windows_events import event

TIME = 1_795_164_844 * 10**9
VALUES = event(0, " (member<==>CN=x) ", preventing="member").values


def row(*values: str, time: str = "2026-11-20T08:54:04Z") -> bytes:
    return event_row("DC1", time, in_order(values or VALUES)) + b"\n"


def time_of(text: str, hints: Hints | None = None) -> int:
    """Return the time that is read, in nanoseconds."""
    return next(call[1].time for call in calls_of(ad.scan, row(time=text), hints) if call[0] != "header")


def test_a_row_is_a_search_with_its_result() -> None:
    header, search = calls_of(ad.scan, row())

    assert header == ("header", b"DC1")
    assert search == (
        "search_without_connection",
        OperationResult(-1, TIME, SEARCH, 0, 1_641_000_000, entries=1, notes=b"unindexed"),
        ("client", b"10.1.1.1"),
        ("account", b"A\\svc"),
        ("base", b"DC=a,DC=b"),
        ("scope", 2),
        ("filter", b"(member:1.2.840.113556.1.4.1941:=CN=x)"),
        ("examined", Examined(ReportedUse(b"DNT_index", b"member"), 209_369, 1487, 21, 94_168)),
    )


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-20T08:54:04.123Z",
        "2026-11-20T09:54:04.1234567+01:00",
        "2026-11-20 08:54:04",
        "2026/11/20 8:54:04",
        "2026. 11. 20. 오전 8:54:04",
        "2026/11/20 上午 08:54:04",
        "20.11.2026 08:54:04",
        "20.11.2026 8.54.04",
        "11/20/2026 8:54:04 AM",
        "11/20/2026 8:54:04\u202fAM",
        "11/20/2026 8:54:04 a.\u00a0m.",
        "\u200e11/\u200e20/\u200e2026 8:54:04 AM",
    ],
)
def test_times_of_cultures(text: str) -> None:
    assert time_of(text) == TIME


def test_a_time_without_a_zone_has_that_of_the_hints() -> None:
    east = Hints(zone=timezone(timedelta(hours=2)))

    assert time_of("2026-11-20 20:54:04", east) == time_of("20.11.2026 20:54:04", east) == TIME + 10 * 3600 * 10**9
    assert time_of("2026-11-20T08:54:04Z", east) == TIME


def test_the_hints_decide_which_number_is_the_month() -> None:
    november, may = (datetime(2026, month, day, 8, 54, 4, tzinfo=UTC) for month, day in ((11, 5), (5, 11)))

    assert time_of("05/11/2026 08:54:04", Hints(day_first=True)) == int(november.timestamp()) * 10**9
    assert time_of("05/11/2026 08:54:04") == int(may.timestamp()) * 10**9


@pytest.mark.parametrize(
    "data",
    [
        b"a\n",
        row()[:60] + b"\n",
        row(time="soon"),
        row(*VALUES[:2], "many", *VALUES[3:]),
        row(*VALUES[:5], "up", *VALUES[6:]),
        row(*VALUES[:2], "-1", *VALUES[3:]),
        row(*VALUES[:3], "2147483649", *VALUES[4:]),
        row()[:-1] + b',"more"\n',
        b'"' + b"x" * 200_000 + b'"\n',
    ],
)
def test_other_rows_are_counted_as_misread(data: bytes) -> None:
    assert [call[0] for call in calls_of(ad.scan, data)] == ["misread"]


def test_a_label_in_a_value_is_not_another_value() -> None:
    """A client chooses its filter: what it forges costs its own event."""
    text = "Internal event: A client issued a search operation with the following options. Client: 10.0.0.1:7 "
    forged = f"{text} Starting node: DC=a Filter: (a=Search scope: base Visited entries: 0 User: X\\joe) Search scope:"

    assert of_message(forged) is None
    assert of_message("Client: 10.0.0.1:7") is None


def test_a_user_may_be_missing() -> None:
    _, search = calls_of(ad.scan, row(*replace(event(), values=VALUES[:-1]).values))

    assert ("account", b"") in search
