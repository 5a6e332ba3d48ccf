"""The sums of logs with more kinds of search than are kept apart or judged, against those that the generator counts."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import facts
import many_filters
from audits import Audit
from incidents import diagnosed_facts, judged
from ldapdiag.analysis.indexes import remaining_searches, simulated_database
from ldapdiag.evidence.access_log import AccessLog, LogStream
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.durations import Durations
from ldapdiag.evidence.log.tables import Caps
from ldapdiag.finding import Clear, NotJudged, Severity
from ldapdiag.report.color import Color
from ldapdiag.report.indexes.as_data import plans
from ldapdiag.report.indexes.as_text import IndexScreen
from ldapdiag.report.indexes.plan_block import unindexed_share
from ldapdiag.report.page import page_for
from log.scanners import merged
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

KINDS, FEW_KINDS, SEARCHES = 120, 30, 1200
ALL = 5000
READ = {
    "389-ds": ("access", "dse.ldif", "389-text", Family.DS389),
    "slapd": ("slapd.log", "config.ldif", "openldap-syslog-iso", Family.OPENLDAP),
}


def audited(folder: Path, product: str, rows: int, kinds: int = KINDS) -> tuple[dict[str, Any], many_filters.Totals]:
    """Return the plan of a log whose table of shapes has so many rows, and the totals of the log."""
    totals = many_filters.WRITERS[product](folder, kinds, SEARCHES)
    log, configuration, dialect, family = READ[product]
    lines = (folder / log).read_bytes().splitlines(keepends=True)
    pieces = [b"".join(lines[at : at + 200]) for at in range(0, len(lines), 200)]
    origin = facts.origin("ldap", log)
    stream = LogStream(name=origin.path, dialect=dialect, family=family, files=(origin.path,))
    told = AccessLog(
        origin=origin,
        family=family,
        segment=merged("python", named(dialect), pieces, caps=Caps(shapes=rows)),
        streams=(stream,),
    )
    others = facts_of((folder / configuration).read_text())
    beside = (replace(one, origin=facts.origin("ldap", configuration)) for one in others)
    (plan,) = plans(diagnosed_facts([told, *beside]))
    return plan, totals


@pytest.mark.parametrize("product", READ)
@pytest.mark.parametrize(("rows", "most"), [(1000, ALL), (1000, 40), (1000, KINDS), (50, ALL), (50, 20)])
def test_sums_are_right_whatever_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, product: str, rows: int, most: int
) -> None:
    monkeypatch.setattr(remaining_searches, "MOST_KINDS", most)
    plan, totals = audited(tmp_path / "ldap", product, rows)
    assert plan["searches"] == totals.searches == SEARCHES
    assert plan["etime_seconds"] == pytest.approx(totals.etime / 1e9, abs=1e-9)
    least, scanned = plan["unindexed_etime_seconds"], totals.scan_etime / 1e9
    if rows >= KINDS and most >= KINDS:
        assert "not_judged" not in plan
        assert least == pytest.approx(scanned, abs=1e-9)
        return
    rest = plan["not_judged"]
    bounds = rest["unindexed_etime_seconds"]
    assert least <= scanned + 1e-9
    assert scanned <= least - bounds["least"] + bounds["most"] + 1e-9
    assert rest["judged_kinds"] == min(rows - 1, most), "one row has all others"
    assert rest["others"] == (rows < KINDS)
    listed = sum(row["searches"] for row in plan["shapes"])
    assert listed + rest["searches"] == SEARCHES
    if product == "389-ds" and rows >= KINDS:
        assert least == pytest.approx(scanned, abs=1e-9), "each kind is noted or is not"


@pytest.mark.parametrize("product", READ)
def test_full_caches_change_no_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, product: str) -> None:
    plan, _ = audited(tmp_path / "before" / "ldap", product, 1000, FEW_KINDS)
    monkeypatch.setattr(simulated_database, "MOST_CACHED", 3)
    monkeypatch.setattr(simulated_database, "MOST_CHANGED", 1)
    assert audited(tmp_path / "after" / "ldap", product, 1000, FEW_KINDS)[0] == plan


def test_one_line_says_what_is_not_in_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remaining_searches, "MOST_KINDS", 20)
    plan, _ = audited(tmp_path / "ldap", "389-ds", 50)
    screen = screen_of(plan)
    assert "beyond the costliest 20 kinds" in screen
    assert "are not in the plan: 29 more kinds and others counted together" in screen
    assert "of the costliest 20 kinds of search" in plan["summary"]


def screen_of(plan: dict[str, Any]) -> str:
    """Return the line on what is not planned."""
    stream = StringIO()
    page, document = page_for(stream, Color.NEVER), {"indexes": [plan], "findings": []}
    IndexScreen(page, document, verbose=False, at_least=Severity.INFO).not_planned(plan)
    return " ".join(stream.getvalue().split())


@pytest.mark.parametrize(
    ("least", "bounds", "words"),
    [
        (9.0, None, "9 s (90 %)"),
        (0.0, None, "none"),
        (9.0, {"least": 4.0, "most": 4.0}, "9 s (90 %)"),
        (5.0, {"least": 1.0, "most": 5.0}, "5 s to 9 s (50 to 90 %)"),
        (0.0, {"least": 0.0, "most": 5.0}, "0 s to 5 s (0 to 50 %)"),
    ],
)
def test_a_bound_is_said_as_a_bound(least: float, bounds: dict[str, float] | None, words: str) -> None:
    plan: dict[str, Any] = {"etime_seconds": 10.0, "unindexed_etime_seconds": least}
    if bounds is not None:
        plan["not_judged"] = {"unindexed_etime_seconds": bounds}
    assert unindexed_share(plan) == words


@pytest.mark.parametrize(("took", "verdict"), [(0.0001, Clear), (0.05, NotJudged)])
def test_no_index_is_called_superfluous_for_kinds_that_are_not_judged(
    monkeypatch: pytest.MonkeyPatch, took: float, verdict: type
) -> None:
    monkeypatch.setattr(remaining_searches, "MOST_KINDS", 1)
    audit = Audit()
    audit.has("uid", "eq")
    audit.asks("(uid=a)", times=100, took=0.5)
    audit.asks("(title=a)", b"A", times=20, took=took)
    (told,) = judged(diagnosed_facts(audit.facts()), "missing-index").values()
    assert isinstance(told, verdict)


def test_what_is_refused_is_judged_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remaining_searches, "MOST_KINDS", 1)
    audit = Audit()
    audit.has("uid", "eq")
    audit.asks("(uid=a)", times=100, took=0.5)
    audit.asks("(title=a)", b"A", times=20, took=0.0001, err=53)
    (plan,) = plans(diagnosed_facts(audit.facts()))
    assert [row["attribute"] for row in plan["plan"]] == ["title"]


@given(st.lists(st.integers(0, 10**11), min_size=1, max_size=50), st.data())
def test_noted_searches_took_at_least_as_long_as_the_shortest(etimes: list[int], data: st.DataObject) -> None:
    noted = data.draw(st.lists(st.sampled_from(range(len(etimes))), unique=True))
    durations = Durations()
    for etime in etimes:
        durations.add(etime)
    least = remaining_searches.of_shortest(len(noted), durations)
    assert least <= sum(etimes[place] for place in noted)
    assert least >= 16 / 17 * sum(sorted(etimes)[: len(noted)]) - len(noted)
