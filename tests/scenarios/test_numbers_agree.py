"""One number, one source: titles, heads and charts of every capture and example have the numbers of the JSON."""

from __future__ import annotations

import copy
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import documents
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import diagnose
from ldapdiag.report.charts.both_ends import both_ends
from ldapdiag.report.charts.chart import BarChart, StripChart, TimeChart
from ldapdiag.report.charts.of_finding import finding_charts
from ldapdiag.report.charts.over_time import over_time
from ldapdiag.report.html import lead
from ldapdiag.report.markdown.page import render as as_markdown
from ldapdiag.sources.gathering import gather
from ldapdiag.wording import between, number

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUSE = Path(__file__).parent.parent.parent
CAPTURES = HOUSE / "tests" / "captures"
CASES = (
    HOUSE / "examples" / "incident",
    *sorted(one for one in (CAPTURES / "incidents").iterdir() if one.is_dir() and one.name != "truth"),
    CAPTURES / "openldap" / "fd-exhaustion",
    CAPTURES / "haproxy" / "2.6.12",
)


@cache
def report(case: Path) -> dict[str, Any]:
    return documents.of(diagnose(gather([str(case)]), installed_checks()))


def of_check(document: dict[str, Any], check: str) -> Iterator[dict[str, Any]]:
    return (one for one in document["findings"] if one["check"] == check)


every_case = pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)


@every_case
def test_charts_of_connections_have_the_counts_of_their_finding(case: Path) -> None:
    document = report(case)
    drawn = both_ends(document["directions"])
    rows = {row[0]: row[1:] for row in drawn.table.rows} if drawn else {}
    for finding in document["findings"]:
        observed = finding["observed"]
        for chart in finding_charts(finding, document):
            if isinstance(chart, BarChart) and "server_count" in observed:
                own = [bar.value for group in chart.groups for bar in group.bars]
                assert own == [observed[key] for key in ("server_count", "client_count") if observed[key] is not None]
                assert all(row[1:] == rows[row[0]] for row in chart.table.rows), "the head has other numbers"
            if isinstance(chart, StripChart):
                ages = observed["idle_ages"]
                assert sum(row[2] for row in chart.table.rows) == sum(ages["live"])
                assert sum(row[3] for row in chart.table.rows) == sum(ages["ghosts"])
                assert sum(ages["ghosts"]) <= observed.get("ghosts", sum(ages["ghosts"]))
                assert all(f"{number(sum(ages[key]))} " in chart.sentence for key in ("live", "ghosts"))


@every_case
def test_a_chart_over_time_gives_its_last_value_a_time_and_no_forecast_of_what_is_over(case: Path) -> None:
    document = report(case)
    headroom = {one["server"]: one["observed"] for one in of_check(document, "descriptor-headroom")}
    for series in document["series"]:
        (chart,) = over_time([series]) or (None,)
        if not isinstance(chart, TimeChart):
            continue
        known = [value for value in series["values"] if value is not None]
        assert re.fullmatch(r"[\d,.]+ at \d\d:\d\d(:\d\d)? UTC", chart.last_label)
        assert chart.last.value == known[-1]
        assert "now" not in f"{chart.title} {chart.sentence} {chart.last_label}"
        observed = headroom.get(series["server"])
        if observed and series["limit"] is not None:
            assert series["limit"] <= observed["limit"]
        if observed and series["forecast"] is not None:
            assert series["forecast"] == {key: observed[key] for key in series["forecast"]}
        if series["forecast"] is not None and series["forecast"]["hours_left"] == 0:
            assert chart.forecast is None


@every_case
def test_titles_have_the_numbers_of_their_observations(case: Path) -> None:
    document = report(case)
    for finding in of_check(document, "descriptor-headroom"):
        observed = finding["observed"]
        assert f"{number(observed['used'])} of {number(observed['limit'])}" in finding["title"]
        assert " in 0 " not in finding["title"]
    for finding in of_check(document, "ghost-connections"):
        assert str(finding["observed"]["ghosts"]) in finding["title"].replace(",", "")


@every_case
def test_a_middleboxs_timeout_is_the_same_in_every_head_and_in_the_text(case: Path) -> None:
    document = report(case)
    idle = next(of_check(document, "idle-timeout"), None)
    heads = dict(lead.key_numbers(document))
    shown = [name for name in heads if name.startswith("a middlebox ")]
    if idle is None or idle["observed"]["box_upper_seconds"] is None:
        assert shown == []
        return
    observed = idle["observed"]
    (name,) = shown
    value = between(observed["box_lower_seconds"], observed["box_upper_seconds"])
    assert (name, heads[name]) == (f"a middlebox {observed['box_action']}", value)
    table = as_markdown(document)[:2000]
    assert name in table
    assert value in table
    assert re.search(rf"{re.escape(observed['box_action'])} {re.escape(value)}", idle["detail"])
    charts = [one for one in finding_charts(idle, document) if isinstance(one, StripChart)]
    assert all(f"{observed['box_action']} {value}" in f"{one.sentence} {one.notes}" for one in charts)


@pytest.mark.parametrize("action", ["is set to drop its state after", "is set to close both ends after"])
def test_a_setting_is_no_drop_in_any_head(action: str) -> None:
    document = copy.deepcopy(documents.incident())
    (idle,) = of_check(document, "idle-timeout")
    idle["observed"] |= {"box_action": action, "box_lower_seconds": 600, "box_upper_seconds": 600}
    idle["observed"]["idle_ages"] |= {"box_action": action, "lower_seconds": 600, "upper_seconds": 600}
    assert (f"a middlebox {action}", "600 s") in lead.key_numbers(document)
    assert f"| a middlebox {action} |" in as_markdown(document)
    (chart,) = [one for one in finding_charts(idle, document) if isinstance(one, StripChart)]
    assert f"The middlebox {action} 600 s." in chart.sentence
