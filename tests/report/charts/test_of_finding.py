"""The charts of findings, from the JSON of the incident."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from command import ldapdiag
from ldapdiag.report.charts.chart import BarChart, Chart, MarkKind, StripChart
from ldapdiag.report.charts.of_finding import both_ends, finding_charts

INCIDENT = Path(__file__).parents[3] / "examples" / "incident"


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return ldapdiag("diagnose", INCIDENT, "--format", "json").report


def charts(report: dict[str, Any], check: str) -> tuple[Chart, ...]:
    (finding,) = (one for one in report["findings"] if one["check"] == check)
    return finding_charts(finding, report)


def test_ghosts_have_both_ends_and_their_idle_times_with_the_recommended_timeout(report: dict[str, Any]) -> None:
    ends, idle = charts(report, "ghost-connections")
    assert isinstance(ends, BarChart)
    assert [bar.value for bar in ends.groups[0].bars] == [270, 2]
    assert isinstance(idle, StripChart)
    assert [mark.kind for mark in idle.strips[0].marks] == [MarkKind.BRACKET, MarkKind.RECOMMENDED]
    assert [sum(row.counts) for row in idle.strips[0].rows] == [2, 268]


def test_the_idle_timeout_has_the_idle_times_of_all_clients(report: dict[str, Any]) -> None:
    (idle,) = charts(report, "idle-timeout")
    assert isinstance(idle, StripChart)
    assert [sum(row.counts) for row in idle.strips[0].rows] == [42, 268]


def test_the_share_of_connections_is_by_account(report: dict[str, Any]) -> None:
    (chart,) = charts(report, "connection-share")
    assert isinstance(chart, BarChart)
    assert chart.title == "Connections by account"
    assert [bar.value for bar in chart.groups[0].bars] == sorted(
        (bar.value for bar in chart.groups[0].bars), reverse=True
    )


def test_paths_without_a_finding_are_compared_too(report: dict[str, Any]) -> None:
    chart = both_ends(report["directions"])
    assert chart is not None
    assert [group.name for group in chart.groups] == ["app1 -> ldap", "app2 -> ldap"]
    assert [[bar.value for bar in group.bars] for group in chart.groups] == [[270, 2], [40, 40]]
