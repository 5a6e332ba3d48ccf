"""Axes: from zero, five round ticks at most, and every value is on them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.report.charts.chart import EPOCH, MOST_TICKS, axis_for, time_scale

LARGEST = st.one_of(st.integers(0, 10**15), st.floats(1e-9, 1e15), st.floats(1e-9, 1))
BEGINS = st.floats(0, 7e9).map(lambda seconds: EPOCH + timedelta(seconds=seconds))


@given(largest=LARGEST, whole=st.booleans())
def test_ticks_begin_at_zero_cover_the_largest_and_are_few(largest: float, *, whole: bool) -> None:
    axis = axis_for(largest, whole=whole)
    assert axis.ticks[0] == 0
    assert axis.end >= largest
    assert 2 <= len(axis.ticks) <= MOST_TICKS
    assert axis.end <= max(2.5 * largest, 1 if whole or not largest else 0)


@given(largest=LARGEST, whole=st.booleans())
def test_steps_are_equal_and_round(largest: float, *, whole: bool) -> None:
    ticks = axis_for(largest, whole=whole).ticks
    steps = [two - one for one, two in pairwise(ticks)]
    assert steps == pytest.approx([steps[0]] * len(steps))
    assert f"{steps[0]:e}"[:4].rstrip("0.") in {"1", "2", "2.5", "5"}
    if whole:
        assert all(tick == int(tick) for tick in ticks)


@given(LARGEST, st.floats(0, 1))
def test_the_place_of_a_value_is_proportional(largest: float, part: float) -> None:
    axis = axis_for(largest)
    assert axis.share(0) == 0
    assert axis.share(axis.end) == 1
    assert axis.share(part * axis.end) == pytest.approx(part)


def test_the_ticks_of_270_connections() -> None:
    assert axis_for(270, whole=True).ticks == (0, 100, 200, 300)


@given(BEGINS, st.floats(1, 1e9))
def test_times_are_on_the_axis_in_order_and_round(begin: datetime, seconds: float) -> None:
    axis = time_scale(begin, seconds)
    assert len(axis.ticks) <= MOST_TICKS
    places = [tick.seconds for tick in axis.ticks]
    assert places == sorted(set(places))
    assert all(0 <= place <= seconds + 1e-3 for place in places)
    assert sum("UTC" in tick.label for tick in axis.ticks) == min(1, len(axis.ticks))
    for place in places:
        at = begin + timedelta(seconds=place)
        assert abs(at.timestamp() - round(at.timestamp())) < 1e-3


def test_labels_have_what_tells_them_apart() -> None:
    hour = time_scale(datetime(2026, 11, 20, 9, 0, tzinfo=UTC), 3600)
    assert [tick.label for tick in hour.ticks] == ["09:00 UTC", "09:15", "09:30", "09:45", "10:00"]
    night = time_scale(datetime(2026, 11, 20, 23, 0, tzinfo=UTC), 7200)
    assert [tick.label for tick in night.ticks][1:3] == ["20 Nov 23:30", "21 Nov 00:00"]
    week = time_scale(datetime(2026, 11, 20, tzinfo=UTC), 6 * 86_400)
    assert [tick.label for tick in week.ticks] == ["21 Nov UTC", "23 Nov", "25 Nov"]
