"""The charts of a finding, the most telling first: at most one of them is shown where there is little room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.charts.both_ends import both_ends, direction_of
from ldapdiag.report.charts.idle_times import idle_times
from ldapdiag.report.charts.over_time import forecast_chart
from ldapdiag.report.charts.shares import shares

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.report.charts.chart import Chart

GROWTH = "descriptor-headroom"
"""The check whose finding needs the series of the report."""
TIMEOUT = "idle-timeout"


def finding_charts(finding: Mapping[str, Any], report: Mapping[str, Any]) -> tuple[Chart, ...]:
    """Return the charts of a finding (a row of `findings`); of the report `findings` and `series` are used."""
    return tuple(chart for chart in _charts(finding, report) if chart is not None)


def _charts(finding: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Chart | None]:
    direction, observed = direction_of(finding), finding["observed"]
    if direction is not None:
        yield both_ends([direction])
    yield shares(observed)
    yield idle_times(observed, _timeouts(finding, report))
    if finding["check"] == GROWTH:
        yield forecast_chart(finding["server"], report["series"])


def _timeouts(finding: Mapping[str, Any], report: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the observed values of the finding about the idle timeout of the same server."""
    same = (one for one in report["findings"] if one["check"] == TIMEOUT and one["server"] == finding["server"])
    return next((one["observed"] for one in same), None)
