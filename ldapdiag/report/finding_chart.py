"""The chart of a finding on a terminal: without -v one at most, so that the first screen has room for what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.candidates import candidates
from ldapdiag.report.charts.chart import BarChart, StripChart
from ldapdiag.report.charts.of_finding import finding_charts
from ldapdiag.report.charts.terminal import bars
from ldapdiag.report.charts.terminal_charts import bar_rows, strip_rows, time_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.finding import Finding
    from ldapdiag.report.charts.chart import Chart

SHARES = 5
"""Rows of a share shown without -v."""


def finding_chart(
    finding: Finding, check: str, series: Sequence[Mapping[str, Any]], room: int, *, verbose: bool
) -> Iterator[str]:
    """Yield the rows of a finding's chart; of all of them with -v."""
    observed = finding.observed
    if rows := observed.get("by_account"):
        yield from shares([(row["bind_dn"], row["connections"]) for row in rows], room, verbose=verbose)
    elif rows := observed.get("by_client"):
        yield from shares([(row["client"], row["connections"]) for row in rows], room, verbose=verbose)
    else:
        table = list(candidates(observed, verbose=verbose))
        one = {"check": check, "server": finding.server, "observed": observed}
        charts = finding_charts(one, {"findings": (), "series": series})
        for chart in charts if verbose else charts[: 0 if table else 1]:
            yield from _rows(chart, room, verbose=verbose)
        yield from table


def _rows(chart: Chart, room: int, *, verbose: bool) -> Iterator[str]:
    if isinstance(chart, BarChart):
        return bar_rows(chart, room, verbose=verbose)
    return strip_rows(chart, room, verbose=verbose) if isinstance(chart, StripChart) else time_rows(chart, room)


def shares(rows: list[tuple[str, int]], room: int, *, verbose: bool) -> Iterator[str]:
    """Yield the largest shares, all of them with -v."""
    shown = rows if verbose else rows[:SHARES]
    yield from bars(shown, room)
    if len(rows) > len(shown):
        others = sum(count for _, count in rows[len(shown) :])
        yield f"and {len(rows) - len(shown)} more with {others}"
