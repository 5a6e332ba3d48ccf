"""Search time of each filter shape as logged, and as predicted with the index plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.charts.axis import axis_for
from ldapdiag.report.charts.chart import Bar, BarChart, BarGroup, Kind, Numbers, Part
from ldapdiag.wording import duration

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_SHAPES = 10
SHORTEST = 1e-6
"""No search takes 0 s."""
COLUMNS = ("filter", "searches", "as logged", "with the plan", "at least", "at most")


def before_after(plan: Mapping[str, Any]) -> BarChart | None:
    """Return the chart of one plan (a row of `indexes`); None without a shape that takes time."""
    rows = [row for row in plan["shapes"] if row["etime_seconds"] > 0]
    if not rows:
        return None
    longest = max(max(row["etime_seconds"], row["with_plan_seconds"]["expected"]) for row in rows[:MOST_SHAPES])
    most = sum(max(0.0, row["etime_seconds"] - row["with_plan_seconds"]["least"]) for row in rows)
    return BarChart(
        title=f"Search time at {plan['server']} by filter, as logged and with the plan",
        unit="s",
        sentence=" ".join(map(_sentence, rows[:MOST_SHAPES])),
        notes=(f"The times with the plan are predicted. It saves at most {duration(most)}.",),
        axis=axis_for(longest),
        groups=tuple(_group(row) for row in rows[:MOST_SHAPES]),
        more=max(0, len(rows) - MOST_SHAPES),
        legend=((Kind.BEFORE, "as logged"), (Kind.AFTER, "with the plan, predicted")),
        table=Numbers(COLUMNS, tuple(_cells(row) for row in rows)),
    )


def _group(row: Mapping[str, Any]) -> BarGroup:
    after = row["with_plan_seconds"]["expected"]
    bars = (
        Bar("as logged", (Part(Kind.BEFORE, row["etime_seconds"]),)),
        Bar("with the plan", (Part(Kind.AFTER, after),) if after else ()),
    )
    return BarGroup(row["shape"], bars)


def _sentence(row: Mapping[str, Any]) -> str:
    before, after = row["etime_seconds"], row["with_plan_seconds"]
    if after["least"] == after["most"] == before:
        return f"{row['shape']}: {duration(before)}, unchanged."
    span = f"{duration(max(after['least'], SHORTEST))} to {duration(after['most'])}"
    return f"{row['shape']}: {duration(before)}, with the plan {duration(after['expected'])} ({span})."


def _cells(row: Mapping[str, Any]) -> tuple[str | float, ...]:
    after = row["with_plan_seconds"]
    return row["shape"], row["searches"], row["etime_seconds"], after["expected"], after["least"], after["most"]
