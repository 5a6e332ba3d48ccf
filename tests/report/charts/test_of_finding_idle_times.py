"""Idle times: every connection is in a bin of each strip that reaches it, and the timeouts are where they belong."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.analysis.idle.idle_ages import bin_edges
from ldapdiag.report.charts.chart import MarkKind, StripChart
from ldapdiag.report.charts.of_finding import idle_times


@st.composite
def observations(draw: st.DrawFn) -> dict[str, Any]:
    """Draw what a finding observes."""
    upper = draw(st.none() | st.integers(1, 10**5))
    edges = bin_edges(draw(st.floats(0, 10**7)), upper)
    counts = st.lists(st.integers(0, 10**6), min_size=len(edges) - 1, max_size=len(edges) - 1)
    lower = draw(st.none() | st.integers(0, upper if upper is not None else 10**5))
    ages = {"edges_seconds": list(edges), "live": draw(counts), "ghosts": draw(counts), "longest_live_seconds": 3.5}
    timeouts = {"recommended_seconds": draw(st.none() | st.integers(1, 10**6)), "current_seconds": draw(COUNT)}
    return {"idle_ages": ages | {"box_action": ACTION, "lower_seconds": lower, "upper_seconds": upper}} | timeouts


ACTION = "drops its state after"
COUNT = st.none() | st.integers(0, 10**6)


def drawn(observed: dict[str, Any]) -> StripChart:
    chart = idle_times(observed)
    assert chart is not None
    return chart


@given(observations())
def test_the_last_strip_has_every_connection(observed: dict[str, Any]) -> None:
    chart, ages = drawn(observed), observed["idle_ages"]
    assert 1 <= len(chart.strips) <= 2
    for row, key in zip(chart.strips[-1].rows, ("live", "ghosts"), strict=True):
        assert row.kind.value in key
        assert sum(row.counts) == sum(ages[key])
    assert sum(cells[2] + cells[3] for cells in chart.table.rows) == sum(ages["live"]) + sum(ages["ghosts"])


@given(observations())
def test_bins_are_equal_from_zero_and_on_the_axis(observed: dict[str, Any]) -> None:
    for strip in drawn(observed).strips:
        assert strip.edges[0] == strip.axis.ticks[0] == 0
        assert len({end - begin for begin, end in pairwise(strip.edges)}) == 1
        assert strip.edges[-1] <= strip.axis.end
        for row in strip.rows:
            assert len(row.counts) == len(strip.edges) - 1 <= 70
            assert row.top == max(row.counts)


@given(observations())
def test_every_timeout_is_a_mark_or_a_note(observed: dict[str, Any]) -> None:
    chart = drawn(observed)
    whole = chart.strips[-1]
    marks = {mark.kind: (mark.begin, mark.end) for mark in whole.marks}
    assert all(0 <= begin <= end <= whole.axis.end for begin, end in marks.values())
    bounds = [observed["idle_ages"][key] for key in ("lower_seconds", "upper_seconds")]
    wanted = {MarkKind.BRACKET} if any(bound is not None for bound in bounds) else set()
    current, recommended = observed["current_seconds"], observed["recommended_seconds"]
    wanted |= {MarkKind.CURRENT} if current else set()
    wanted |= {MarkKind.RECOMMENDED} if recommended and recommended != current else set()
    assert len(marks) + len(chart.notes) == len(wanted)
    assert marks.keys() <= wanted


def test_the_first_of_two_strips_shows_the_part_around_the_timeout() -> None:
    edges = bin_edges(960, 30)
    nothing = [0] * (len(edges) - 1)
    ages = {
        "edges_seconds": list(edges),
        "live": nothing,
        "ghosts": [*nothing[:-2], 7, 0],
        "longest_live_seconds": None,
    }
    chart = drawn(
        {
            "idle_ages": ages | {"box_action": ACTION, "lower_seconds": 25, "upper_seconds": 30},
            "recommended_seconds": 300,
        }
    )
    narrow, wide = chart.strips
    assert narrow.edges == tuple(range(0, 121, 5))
    assert wide.edges == tuple(range(0, edges[-1] + 1, 30))
    assert [mark.kind for mark in narrow.marks] == [MarkKind.BRACKET]
    assert [(mark.kind, mark.begin, mark.end) for mark in wide.marks] == [
        (MarkKind.BRACKET, 25, 30),
        (MarkKind.RECOMMENDED, 300, 300),
    ]
    assert "25 to 30 s" in chart.sentence


def test_without_ages_there_is_no_chart() -> None:
    assert idle_times({"idle_ages": None}) is None
    assert idle_times({}) is None
