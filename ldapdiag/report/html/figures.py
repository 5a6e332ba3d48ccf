"""Figures: which charts a page has, and the parts of them that an SVG needs and a chart does not have."""

from __future__ import annotations

from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.report.charts.chart import (
    Bar,
    BarChart,
    BarGroup,
    Chart,
    Kind,
    Line,
    Numbers,
    Part,
    StripChart,
    TimeChart,
    axis_for,
)
from ldapdiag.report.charts.of_finding import TIMEOUT, both_ends, direction_of, finding_charts
from ldapdiag.report.charts.over_time import length, of_timeline, over_time
from ldapdiag.report.charts.probe import probe_charts
from ldapdiag.report.html.listing import IN_FULL
from ldapdiag.report.html.values import PageTable, table
from ldapdiag.wording import duration, number

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

MOST_SHAPES = 10
SHORTEST = 1e-6
"""No search takes 0 s."""
COLUMNS = ("filter", "searches", "as logged", "with the plan", "at least", "at most")

MOST = 8
"""Charts within findings, and as many in a section of their own."""
OF_MANY = 1
"""The same beside more findings than a page shows in full: the numbers of a chart are hundreds of nodes."""
TABLE_ROWS = 240
SMALLEST_CELL, LARGEST_CELL = 0.0001, 9999.5
"""A number of a table that is not whole is shown with four digits between these; the JSON report has them all."""
OPEN = 8
"""Rows of a table that is not folded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart with the form that the template draws it in, and the table of its numbers."""

    form: str
    chart: Chart
    quantity: str
    """What its axes measure, with the unit."""
    table: PageTable
    is_open: bool
    """Its table is short, and not folded."""
    has_long_names: bool
    """Of bars, which then need more room than others."""


def hero(document: Mapping[str, Any]) -> list[Figure]:
    """Return the picture of the head: connections at both ends, or of an index audit the search time."""
    plans = document.get("indexes") or ()
    chart = before_after(plans[0]) if plans else both_ends(document["directions"])
    return [] if chart is None else [figure(chart, folded=True)]


def in_findings(findings: Sequence[Mapping[str, Any]], document: Mapping[str, Any]) -> list[list[Figure]]:
    """Return the charts of each finding; only so many in all."""
    left, found = _most(document), []
    judged = {one["server"] for one in document["findings"] if one["check"] == TIMEOUT}
    for finding in findings:
        charts = list(_charts_of(finding, document, judged))[:left] if left else []
        found.append([figure(chart) for chart in charts])
        left -= len(charts)
    return found


def _charts_of(finding: Mapping[str, Any], document: Mapping[str, Any], judged: Container[str]) -> Iterator[Chart]:
    """Yield the charts of a finding that are nowhere else: the head has both ends, and the timeout the idle times."""
    is_direction = direction_of(finding) is not None
    for chart in finding_charts(finding, document):
        elsewhere = finding["check"] != TIMEOUT and finding["server"] in judged
        if not (is_direction and isinstance(chart, BarChart)) and not (elsewhere and isinstance(chart, StripChart)):
            yield chart


def of_sections(document: Mapping[str, Any]) -> list[Figure]:
    """Return the charts that belong to no finding: probes, further index plans, and numbers over time."""
    plans = (before_after(one) for one in (document.get("indexes") or ())[1:])
    probes: Iterator[Chart] = chain.from_iterable(probe_charts(one) for one in document.get("probes") or ())
    charts: Iterator[Chart] = chain(probes, (plan for plan in plans if plan is not None), over_time(document["series"]))
    return [figure(chart) for chart, _ in zip(charts, range(_most(document)), strict=False)]


def _most(document: Mapping[str, Any]) -> int:
    return MOST if len(document["findings"]) <= IN_FULL else OF_MANY


def of_log(document: Mapping[str, Any]) -> list[Figure]:
    """Return the charts of an access log."""
    return [figure(chart) for chart in of_timeline(document["timeline"])]


def figure(chart: Chart, *, folded: bool = False) -> Figure:
    """Return a chart as the template draws it; `folded`: its table is, however short."""
    forms = {BarChart: "bars", StripChart: "strips", TimeChart: "time"}
    numbers = chart.table
    columns = [(name, bool(place)) for place, name in enumerate(numbers.columns)]
    rows = ([_cell(cell) for cell in row] for row in numbers.rows)
    return Figure(
        form=forms[type(chart)],
        chart=chart,
        quantity=_quantity(chart),
        has_long_names=isinstance(chart, BarChart) and not chart.groups[0].name,
        table=table(chart.title, columns, rows, most=TABLE_ROWS),
        is_open=not folded and len(numbers.rows) <= OPEN,
    )


def _quantity(chart: Chart) -> str:
    if isinstance(chart, StripChart):
        return "from left to right: seconds since data last arrived; heights: number of connections, a scale per row"
    if isinstance(chart, TimeChart) and chart.unit == "connections":
        return f"number of connections at the end of each {length(chart.step_seconds)}"
    return {"s": "seconds", "connections": "number of connections"}.get(chart.unit, chart.unit)


def _cell(cell: str | float | None) -> str:
    """Return a number with four digits, or all before the decimal point; without an exponent."""
    if cell is None or isinstance(cell, str):
        return cell or ""
    if isinstance(cell, int):
        return number(cell)
    if 0 < cell < SMALLEST_CELL:
        return f"under {SMALLEST_CELL}"
    return f"{cell:,.0f}" if cell >= LARGEST_CELL else f"{cell:.4g}"


def shown_value(value: float, unit: str) -> str:
    """Return the number beside a bar."""
    return duration(value) if unit == "s" else number(value)


def segments(chart: TimeChart) -> Iterator[list[tuple[float, float]]]:
    """Yield the parts of a line between gaps, as points: parts of the width and the height."""
    for known, points in groupby(chart.points(), key=lambda point: point is not None):
        if known:
            yield [(chart.times.share(one.seconds), chart.axis.share(one.value)) for one in points if one is not None]


def area(line: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the outline of the area between a line and zero."""
    line = list(line)
    return [(line[0][0], 0.0), *line, (line[-1][0], 0.0)]


def ends(line: Line, chart: TimeChart) -> list[tuple[float, float]]:
    """Return both ends of a line on a chart as points."""
    return [(chart.times.share(one.seconds), chart.axis.share(one.value)) for one in (line.begin, line.end)]


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
