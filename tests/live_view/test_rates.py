"""Rates of a steady growth are that growth, whatever the times of the looks; too short a time gives none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.live_view.rates import SHORTEST, CountSeries, NumberSeries

STEPS = st.lists(st.floats(0.5, 90), min_size=2, max_size=40)


@given(STEPS, st.floats(-50, 50), st.floats(0, 1e6))
def test_a_steady_growth_is_found(steps: list[float], rate: float, level: float) -> None:
    series, counts, at = NumberSeries(), CountSeries(), 1000.0
    for step in steps:
        at += step
        series.add(at, level + rate * (at - 1000))
        counts.add(at, {"grows": round(at * 100)})
    if sum(steps[1:]) < SHORTEST:
        assert series.since_start is None
        return
    assert series.since_start == pytest.approx(rate, abs=1e-3)
    assert counts.since_start("grows") == pytest.approx(100, abs=1)
    assert counts.since_start("never there") == 0
    assert series.per_second() is None or series.per_second() == pytest.approx(rate, abs=1e-3)


def test_the_last_minute_is_not_the_time_before() -> None:
    series = NumberSeries()
    for at in range(0, 600, 2):
        series.add(at, 10 * min(at, 300))
    assert series.per_second() == 0
    assert series.since_start == pytest.approx(5, abs=0.1)
    assert len(series.recent) < 40  # what is older is not kept


def test_one_look_is_no_rate() -> None:
    counts = CountSeries()
    assert (counts.per_second("app1"), list(counts.names())) == (None, [])
    counts.add(1.0, {"app1": 3})
    assert (counts.per_second("app1"), counts.has_grown("app1")) == (None, False)
