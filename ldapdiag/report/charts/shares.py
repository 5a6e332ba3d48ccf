"""Shares of one number by name: connections by account or by client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.charts.axis import axis_for
from ldapdiag.report.charts.chart import Bar, BarChart, BarGroup, Kind, Part, Table
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_BARS = 10
SPOKEN = 3
"""Names in the sentence."""
NAMES = (("by_account", "bind_dn", "account"), ("by_client", "client", "client"))


def shares(observed: Mapping[str, Any]) -> BarChart | None:
    """Return the chart of a finding of connection-share: accounts if they are known, else clients."""
    for key, name, noun in NAMES:
        if rows := observed.get(key):
            return _chart([(str(row[name]), int(row["connections"])) for row in rows], noun)
    return None


def _chart(rows: list[tuple[str, int]], noun: str) -> BarChart:
    largest = [f"{name} {number(count)}" for name, count in rows[:SPOKEN]]
    total = counted(sum(count for _, count in rows), "connection")
    bars = tuple(Bar(name, (Part(Kind.COUNT, count),)) for name, count in rows[:MOST_BARS])
    return BarChart(
        title=f"Connections by {noun}",
        unit="connections",
        sentence=f"{total} of {counted(len(rows), noun)}, the most: {', '.join(largest)}.",
        axis=axis_for(max(count for _, count in rows), whole=True),
        groups=(BarGroup("", bars),),
        legend=((Kind.COUNT, "connections"),),
        table=Table((noun, "connections"), tuple(rows)),
    )
