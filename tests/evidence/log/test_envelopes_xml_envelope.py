"""Events 1644 as XML are those of the CSV; other events are passed over."""

from __future__ import annotations

from html import escape
from pathlib import Path

import pytest

from ldapdiag.sources.logs.access_log import ScannedLogs, read

VALUES = [
    "DC=a,DC=b",
    " (&(cn=x)(sn<=y)) ",
    "209369",
    "1",
    "10.1.1.1:33654",
    "subtree",
    "cn",
    "",
    "DNT:94168:N;",
    *"99999",
]
VALUES += ["1641", "member", "A\\svc"]


def event(values: list[str], number: int = 1644) -> str:
    """Return an event as wevtutil prints it."""
    data = "".join(f"<Data>{escape(value)}</Data>" if value else "<Data/>" for value in values)
    return (
        "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System><Provider Name='X'/>"
        f"<EventID Qualifiers='16384'>{number}</EventID><TimeCreated SystemTime='2026-11-20T08:54:04.123456700Z'/>"
        f"<Computer>DC1</Computer></System><EventData>{data}</EventData></Event>"
    )


def reading(path: Path, text: str) -> ScannedLogs:
    path.write_text(text)
    return read([str(path)])


@pytest.mark.parametrize("between", ["", "\n", "\r\n"])
@pytest.mark.parametrize(("begin", "end"), [("", ""), ('<?xml version="1.0"?><Events>', "</Events>")])
def test_events_are_searches(between: str, begin: str, end: str, tmp_path: Path) -> None:
    events = [event(VALUES), event(VALUES), event(["x"], 1138), event(VALUES[:6])]

    (stream,) = reading(tmp_path / "events.xml", begin + between.join(events) + end).streams

    segment = stream.counts.finished()
    (row,) = segment.shapes.values()
    assert (row.requests, row.etime, row.entries) == (3, 2 * 1641 * 10**6, 3)
    assert segment.misread == 0
    assert next(iter(segment.shapes)) == (b"(&(cn=?)(sn<=?))", b"DC=a,DC=b", 2)


def test_events_are_found_behind_one_whose_beginning_is_cut_off(tmp_path: Path) -> None:
    cut = "x" * 10_000 + event(VALUES)[-200:]

    (stream,) = reading(tmp_path / "events.xml", cut + "".join([event(VALUES)] * 3)).streams

    assert sum(row.requests for row in stream.counts.finished().shapes.values()) == 3


def test_truncated_and_forged_events_are_not_understood(tmp_path: Path) -> None:
    broken = [
        event(VALUES)[:200],
        "<Event><System><EventID>1644</EventID></System></Event>",
        event([*VALUES[:5], "up"]),
    ]
    text = event(VALUES) * 5 + broken[1] + broken[2] + broken[0]

    (stream,) = reading(tmp_path / "events.xml", text).streams

    segment = stream.counts.finished()
    assert (segment.misread, next(iter(segment.shapes.values())).requests) == (3, 5)


def test_dates_that_may_be_read_in_two_ways_are_refused_with_the_next_step(tmp_path: Path) -> None:
    head = "LDAPServer,TimeGenerated,ClientIP\n"
    rest = ',10.0.0.7,49152,"DC=x", (a=b) ,subtree,[all],,20000,3,x:20000:N;,6,0,0,0,0,1500,description\n'

    refused = reading(tmp_path / "one.csv", head + "DC1,05/11/2026 08:00:00" + rest)
    decided = reading(tmp_path / "two.csv", head + "DC1,05/11/2026 08:00:00" + rest + "DC1,20/11/2026 08:00:00" + rest)

    assert not refused.streams
    assert "dates like 05/11/2026" in refused.not_logs[0].reason
    assert decided.streams[0].stream.first_time == 1_793_865_600 * 10**9
