"""Over time: the values as they are, and a forecast that is no longer than it may be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.report.charts.over_time import LONGEST_FORECAST, chart_of, forecast_chart, of_timeline

HOURS = st.floats(0.001, 10**4)


@st.composite
def forecasts(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a forecast as the report has it."""
    low, rate, high = sorted(draw(st.floats(0.1, 10**4)) for _ in range(3))
    known = draw(st.booleans())
    earliest, left, latest = sorted(draw(HOURS) for _ in range(3)) if known else (None, None, None)
    rates = {"rate_per_hour": rate, "rate_per_hour_low": low, "rate_per_hour_high": high}
    hours = {"hours_left": left, "hours_left_earliest": earliest}
    return rates | hours | {"hours_left_latest": latest if draw(st.booleans()) else None}


@st.composite
def series(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a row of `series`."""
    values = draw(st.lists(st.none() | st.integers(0, 10**5), min_size=1, max_size=240))
    return {
        "server": draw(st.text(max_size=20)),
        "name": "connections",
        "unit": "connections",
        "source": "its access log",
        "step_seconds": draw(st.sampled_from([1, 5, 15, 60, 300, 86_400])),
        "from": "2026-11-20T08:00:00Z",
        "values": values,
        "limit": draw(st.none() | st.integers(0, 10**7)),
        "forecast": draw(st.none() | forecasts()),
    }


@given(series())
def test_every_value_and_mark_is_on_the_axes(one: dict[str, Any]) -> None:
    chart = chart_of(one)
    known = [value for value in one["values"] if value is not None]
    if chart is None:
        assert len(known) < 3 or not any(known)
        return
    assert chart.axis.ticks[0] == 0
    assert chart.axis.end >= max(known)
    assert chart.values == tuple(one["values"])
    points = [point for point in chart.points() if point is not None]
    assert [point.value for point in points] == known
    assert all(0 < point.seconds <= chart.times.seconds for point in points)
    assert chart.last == points[-1]
    assert [cells[1] for cells in chart.table.rows] == one["values"]
    if chart.limit is not None:
        assert chart.limit == one["limit"] <= chart.axis.end
    elif one["limit"] is not None:
        assert f"{one['limit']:,}" in chart.notes[0]


@given(series())
def test_a_forecast_is_at_most_twice_as_long_as_the_values_and_stops_below_a_limit_it_does_not_reach(
    one: dict[str, Any],
) -> None:
    chart = chart_of(one)
    if chart is None or chart.forecast is None:
        return
    line, longest = chart.forecast, LONGEST_FORECAST * chart.last.seconds
    assert line.begin == chart.last
    assert 0 < line.end.seconds - chart.last.seconds <= longest * (1 + 1e-9)
    assert line.end.value <= chart.axis.end
    assert line.end.seconds <= chart.times.seconds
    left, limit = one["forecast"]["hours_left"], one["limit"]
    assert left is None or line.end.seconds - chart.last.seconds <= left * 3600 * (1 + 1e-9)
    if limit is None:
        return
    assert line.end.value <= limit or line.end.value == pytest.approx(limit)
    if left is not None and left * 3600 > longest * 1.01:
        assert line.end.value < limit
    elif left is not None and left * 3600 < longest * 0.99:
        assert line.end.value == pytest.approx(limit)


def growing(**others: Any) -> dict[str, Any]:
    rates = {"rate_per_hour": 120.0, "rate_per_hour_low": 100.0, "rate_per_hour_high": 140.0}
    hours = {"hours_left": 4.0, "hours_left_earliest": 3.0, "hours_left_latest": None}
    return {
        "server": "ldap",
        "name": "connections",
        "unit": "connections",
        "source": "its access log",
        "step_seconds": 60,
        "from": "2026-11-20T08:00:00Z",
        "values": [300 + 2 * minute for minute in range(60)],
        "limit": 898,
        "forecast": rates | hours,
    } | others


def test_the_sentence_has_the_numbers_and_the_interval() -> None:
    chart = chart_of(growing())
    assert chart is not None
    assert chart.sentence == (
        "300 at 2026-11-20 08:00 UTC, 418 at 2026-11-20 08:59 UTC, at most 418. The limit is 898 connections. "
        "It grows by about 120 an hour: the limit is reached in about 4 h (3 h or more)."
    )
    assert chart.title == "Connections open at ldap (its access log)"
    assert chart.forecast is not None
    assert (chart.forecast.end.seconds, chart.forecast.end.value) == (10_800, 658)


def test_a_limit_that_is_far_above_is_a_note() -> None:
    chart = chart_of(growing(limit=20_000, forecast=None))
    assert chart is not None
    assert (chart.limit, chart.axis.end) == (None, 600)
    assert chart.notes == ("The limit of 20,000 connections is far above and not drawn.",)


def test_the_forecast_of_a_server_is_from_the_source_that_has_it() -> None:
    others = [growing(limit=None, forecast=None), growing(server="other")]
    assert forecast_chart("ldap", others) is None
    chart = forecast_chart("ldap", [*others, growing(source="the snapshots of its sockets")])
    assert chart is not None
    assert chart.title == "Connections open at ldap (the snapshots of its sockets)"


def test_the_timeline_of_a_log_has_three_charts() -> None:
    values = {"search_seconds": [0.5, 1.5, 0.25], "operations": [5, 0, 2], "open": [1, 2, 2]}
    charts = of_timeline({"step_seconds": 300, "from": "2026-11-20T08:00:00Z"} | values)
    assert [chart.title for chart in charts] == [
        "Search time in each 5 min",
        "Operations in each 5 min",
        "Connections open",
    ]
    assert [list(chart.values) for chart in charts] == list(values.values())
    assert of_timeline(None) == ()
