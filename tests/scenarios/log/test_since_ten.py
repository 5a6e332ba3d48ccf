"""The founding story with a time axis: a report starts at 10:00, and takes longer with every hour.

The load is written by this script, so which, who, since when and how fast are known by construction.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import TYPE_CHECKING

import pytest

from command import ldapdiag
from incidents import diagnosed, judged
from ldapdiag.finding import Finding
from ldapdiag.report.log.as_text import LogScreen
from ldapdiag.report.log.sort import By
from ldapdiag.report.page import Page
from ldapdiag.sources.logs.access_log import read
from log.reports import document_of

if TYPE_CHECKING:
    from pathlib import Path

EIGHT = datetime(2026, 11, 20, 8, tzinfo=UTC)
MINUTES = 8 * 60
REPORTS, APPLICATION = "10.0.0.7", "10.0.0.8"
FIRST_HOUR, MORE_PER_HOUR = 0.5, 0.5
"""Seconds of one search of the report in its first hour, and more in each later one."""
PER_HOUR = 12


def etime_of(minute: int) -> float:
    """Return the seconds of a search of the report."""
    return FIRST_HOUR + MORE_PER_HOUR * ((minute - 120) // 60)


def lines_of(number: int, client: str, account: str) -> list[tuple[datetime, str]]:
    dn = f"uid={account},ou=services,dc=example,dc=com"
    return [
        (EIGHT, f"conn={number} fd=64 slot=64 connection from {client} to 10.0.0.1"),
        (EIGHT, f'conn={number} op=0 BIND dn="{dn}" method=128 version=3'),
        (EIGHT, f'conn={number} op=0 RESULT err=0 tag=97 nentries=0 etime=0.001000000 dn="{dn}"'),
    ]


def search(minute: int, number: int, filter_: str, etime: float, notes: str = "") -> list[tuple[datetime, str]]:
    at, name = EIGHT + timedelta(minutes=minute), f"conn={number} op={minute + 1}"
    return [
        (at, f'{name} SRCH base="ou=people,dc=example,dc=com" scope=2 filter="{filter_}" attrs="cn"'),
        (at + timedelta(seconds=etime), f"{name} RESULT err=0 tag=101 nentries=1 etime={etime:.9f}{notes}"),
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = [*lines_of(1, APPLICATION, "hr-sync"), *lines_of(2, REPORTS, "reports")]
    for minute in range(MINUTES):
        lines += search(minute, 1, f"(uid=user{minute})", 0.1)
    for minute in range(120, MINUTES, 60 // PER_HOUR):
        lines += search(minute, 2, "(displayName=*smith*)", etime_of(minute), " notes=A")
    folder = tmp_path_factory.mktemp("site") / "ldap"
    folder.mkdir()
    text = "".join(
        f"[{at:%d/%b/%Y:%H:%M:%S}.{at.microsecond:06d}000 +0000] {line}\n"
        for at, line in sorted(lines, key=lambda one: one[0])
    )
    (folder / "access").write_text(text)
    return folder


def test_the_first_screen_shows_which_who_since_when_and_how_fast(folder: Path) -> None:
    stream = StringIO()
    page = Page(stream, 80)
    LogScreen(page, document_of(read([str(folder / "access")])), 10, By.SHAPE).show()
    screen = stream.getvalue().splitlines()[:24]

    first = " ".join(
        "\n".join(screen).partition("filter, search time over the log\n")[2].partition("(uid=?)")[0].split()
    )
    for fact in ("(displayName=*?*)", "uid=reports (10.0.0.7)", "since 10:00", "growing from", "s per hour"):
        assert fact in first
    assert any(line.startswith("time") and "search time per 15 min" in line for line in screen)
    assert any("at 15:" in line and "most" in line for line in screen)


def test_the_numbers_of_its_growth_are_those_of_the_load(folder: Path) -> None:
    shapes = ldapdiag("log", folder / "access", "--format", "json").report["searches"]["shapes"]
    report = next(one for one in shapes if one["shape"] == "(displayName=*?*)")
    asked = range(120, MINUTES, 60 // PER_HOUR)

    assert report["since"] == report["first_seen"]
    assert report["since"].startswith("2026-11-20T10:00:00.5")
    assert sum(report["series"]["answered"]) == len(asked)
    assert report["growth"]["growing"]
    for quarter in ("first", "last"):
        part = report["growth"][quarter]
        begin, end = (datetime.fromisoformat(part[name]) for name in ("from", "to"))
        times = [etime_of(minute) for minute in asked if begin <= EIGHT + timedelta(minutes=minute) < end]
        others = (end - begin).total_seconds() / 60 * 0.1
        assert part["etime_seconds"] == pytest.approx(sum(times), rel=0.1)
        assert part["share"] == pytest.approx(sum(times) / (sum(times) + others), rel=0.1)


def test_diagnose_names_its_beginning(folder: Path) -> None:
    verdicts = judged(diagnosed(folder.parent), "costly-search").values()
    (finding,) = (one for one in verdicts if isinstance(one, Finding) and "displayName" in one.title)
    assert "since 10:00 UTC" in finding.detail
    assert "growing from" in finding.detail
    assert (finding.observed["since"][:16], finding.observed["growing"]) == ("2026-11-20T10:00", True)


def test_a_cut_does_not_change_the_axis(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "access").read_text().splitlines(keepends=True)
    (tmp_path / "access.1").write_text("".join(lines[: len(lines) // 2]))
    (tmp_path / "access").write_text("".join(lines[len(lines) // 2 :]))
    whole, parts = (ldapdiag("log", path, "--format", "json").report for path in (folder / "access", tmp_path))
    assert whole["timeline"] == parts["timeline"]
    assert whole["searches"] == parts["searches"]
