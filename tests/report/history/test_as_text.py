"""A history on screen: from zero, within 80 columns, and harmless whatever the file contains."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from examples import every
from histories import found, run, server
from ldapdiag.evidence.history import History, RecordedRun
from ldapdiag.evidence.origin import Origin
from ldapdiag.report import page
from ldapdiag.report.charts.terminal import LEVELS
from ldapdiag.report.history.as_json import document
from ldapdiag.report.history.as_text import print_history
from ldapdiag.report.neutral import neutral

if TYPE_CHECKING:
    from collections.abc import Sequence

HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202egnp\n\rldap"


def history(*runs: RecordedRun, path: str = "history.db", malformed: int = 0) -> History:
    """Return a history of runs."""
    lines = 10 * len(runs)
    return History(
        origin=Origin(path=path, lines=lines, understood=lines - malformed, not_understood=malformed), runs=runs
    )


def shown(read: History, name: str | None = None, columns: int = 80) -> list[str]:
    """Return the lines on a screen of so many columns."""
    stream = StringIO()
    with patch.object(page, "PIPED", columns):
        print_history(document(read, name), stream)
    return stream.getvalue().splitlines()


def growing(number: int) -> list[RecordedRun]:
    """Return so many runs in which the connections grow from 0 to the limit."""
    return [
        run(15 * one, server(15 * one, connections=one, descriptors_used=10 * one, descriptor_limit=10 * (number - 1)))
        for one in range(number)
    ]


def test_a_leak_on_screen() -> None:
    findings = [found(1, severity="critical"), found(2, "costly-search", "low"), found(3, "costly-search", "low")]
    leak = [
        run(15 * n, server(15 * n, ghosts=4 * n, joined=310, findings=findings if n > 8 else ())) for n in range(12)
    ]
    assert shown(history(*leak)) == LEAK.splitlines()


LEAK = """\
history.db · 12 runs · 1 server · 2024-11-20 09:00 to 2024-11-20 11:45 UTC

ldap        389 Directory Server 2.3.1 · 12 runs
connections last 475 (socket table)
            475 │    ▁▂▃▄▅▆▇█
                │▅▆▇█████████
                │████████████
              0 │████████████
descriptors last 500 (/proc/PID/fd; limit 20,000: Max open files of the process)
            20,000 │
                   │
                   │
                 0 │▂▂▂▂▂▂▂▂▂▂▂▂
ghosts      last 44 (of 310 connections looked up at the client)
            44 │         ▂▅█
               │      ▂▅████
               │   ▁▄▇██████
             0 │▁▄▇█████████
findings    last 3 (without those of severity info)
            3 │         ███
              │         ███
              │         ███
            0 │▁▁▁▁▁▁▁▁▁███
since       critical: ghost-connections since 2024-11-20 11:15, the last 3 runs
            low: costly-search (2) since 2024-11-20 11:15, the last 3 runs
                  time (UTC)  connections  descriptors  ghosts  findings
            2024-11-20 11:45          475          500      44     1c 2l
            2024-11-20 11:30          460          485      40     1c 2l
            2024-11-20 11:15          445          470      36     1c 2l
            2024-11-20 11:00          430          455      32
            2024-11-20 10:45          415          440      28
            2024-11-20 10:30          400          425      24
            2024-11-20 10:15          385          410      20
            2024-11-20 10:00          370          395      16
            2024-11-20 09:45          355          380      12
            2024-11-20 09:30          340          365       8
            2024-11-20 09:15          325          350       4
            2024-11-20 09:00          310          335       0
"""


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_nothing_is_wider_than_the_screen(columns: int) -> None:
    lines = shown(history(*growing(200), path="/var/lib/ldapdiag/" + "long" * 40), columns=columns)
    assert [line for line in lines if cell_len(line) > columns] == []


def test_plots_begin_at_zero_and_end_at_the_limit() -> None:
    lines = shown(history(*growing(60)))
    start = next(place for place, line in enumerate(lines) if line.startswith("descriptors"))
    plot = lines[start + 1 : start + 5]
    assert [row.partition("│")[0].strip() for row in plot] == ["590", "", "", "0"]
    columns = zip(*(row.partition("│")[2].ljust(60) for row in plot), strict=True)
    heights = [sum(LEVELS.find(cell) + 1 for cell in column) for column in columns]
    assert heights == sorted(heights)
    assert (heights[0], heights[-1]) == (1, 32)


@pytest.mark.parametrize(("first", "last"), [(1024, 20_000), (20_000, 1024), (1024, None), (None, 1024)])
def test_the_plot_ends_at_the_last_limit_and_the_former_one_is_named(first: int | None, last: int | None) -> None:
    runs = [
        run(15 * one, server(15 * one, descriptors_used=900, descriptor_limit=first if one < 10 else last))
        for one in range(20)
    ]
    text = " ".join(" ".join(shown(history(*runs))).split())
    assert f"limit {last or first:,}: Max open files of the process" in text
    assert ("until 2024-11-20 11:15" in text) == bool(first and last)
    assert f"{last or first:,} │" in text


@every(2)
@given(st.text(st.characters(), max_size=60))
def test_no_name_moves_the_cursor(text: str) -> None:
    finding = replace(found(1), check=text)
    values = {"product": text, "connections_source": text, "used_source": text, "limit_source": text}
    runs = [run(n, server(n, text or "x", [finding], **values), findings=[finding], version=text) for n in range(4)]
    for line in shown(history(*runs, path=text or "x")):
        assert neutral(line) == line


def test_a_hostile_name_is_spelled() -> None:
    text = "\n".join(shown(history(run(0, server(0, HOSTILE)))))
    assert "\\x1b[2J\\x1b]0;owned\\x07\\u202egnp\\x0a\\x0dldap" in text.replace("\n", "")


def test_what_was_not_read_comes_first() -> None:
    assert "NOT READ    3 rows with values that ldapdiag does not write" in shown(history(run(0), malformed=3))


def test_only_the_latest_runs_are_listed() -> None:
    lines = shown(history(*growing(50)))
    rows = [line for line in lines if re.match(r" +\d{4}-\d\d-\d\d \d\d:\d\d  ", line)]
    assert len(rows) == 20
    assert rows == sorted(rows, reverse=True)
    assert lines[-1].strip() == "and 30 earlier runs (--format json lists all)"


def test_what_no_run_contains_is_named() -> None:
    blind = [run(n, server(n, connections=None, descriptors_used=None, descriptor_limit=None)) for n in range(3)]
    lines = shown(history(*blind))
    assert [line.split("  ")[0].split()[0] for line in lines if "not in the evidence" in line] == [
        "connections",
        "descriptors",
        "ghosts",
    ]


def test_a_run_without_a_number_leaves_a_gap_in_its_plot() -> None:
    runs: Sequence[RecordedRun] = [
        run(n, server(n, connections=None if n == 3 else 7, descriptors_used=None)) for n in range(6)
    ]
    rows = [line for line in shown(history(*runs)) if "│" in line][:4]
    assert {row.partition("│")[2] for row in rows} == {"███ ██"}


def test_a_limit_that_was_reached_is_reported_with_its_time() -> None:
    runs = [run(n, server(n, exhausted=int(n == 1))) for n in range(3)]
    assert "its evidence shows that they ran out: in the run of 2024-11-20 09:01" in " ".join(shown(history(*runs)))


def test_rates_have_their_source_and_time() -> None:
    log = {"log_seconds": 900.0, "opened": 1800, "binds": 450, "searches": 7, "search_seconds": 3.5}
    first = run(0, server(0, growth_per_hour=-12.5, growth_source="between the snapshots of its sockets", **log))
    text = " ".join(" ".join(shown(history(first, run(1)))).split())
    assert "growth -12.5 connections an hour at 2024-11-20 09:00 (between the snapshots of its sockets)" in text
    rates = "access log 2.00 connections and 0.50 BINDs a second, 7 searches in 3.5 s (in 900 s until 2024-11-20 09:00)"
    assert rates in text


def test_findings_about_no_server_are_listed() -> None:
    lines = shown(history(run(0, findings=[found(3, "conntrack-table-full")])))
    assert lines[-1] == "no server   high: conntrack-table-full since 2024-11-20 09:00, the last run"


def test_one_server_of_several() -> None:
    both = history(run(0, server(0, "ds1"), server(0, "ds2"), findings=[found(3)]))
    assert [line for line in shown(both, "ds2") if line.startswith("ds")] == [
        "ds2         389 Directory Server 2.3.1 · 1 run"
    ]
