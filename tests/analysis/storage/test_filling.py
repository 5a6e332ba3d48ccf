"""When a volume is full, by truths that are drawn here: steady growth gets its hour, what comes and goes none."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import facts
import histories
from ldapdiag.analysis.load.forecast import LimitForecast
from ldapdiag.analysis.storage.filling import LEAST_GAIN, NO_RUNS, clause, filling
from ldapdiag.evidence.history import History, RecordedVolume
from ldapdiag.evidence.storage import Space

if TYPE_CHECKING:
    from collections.abc import Sequence

GIB, TOTAL = 1 << 30, 100 << 30
POINT = "/var/lib/dirsrv"


def found(
    free: Sequence[float], *, hours: float = 1, needed: int = 0, server: str = "ldap", **other: int
) -> LimitForecast:
    """Return the forecast of a volume whose free GiB were listed at equal intervals, the last one now."""
    *before, last = [round(one * GIB) for one in free]
    runs = []
    for number, one in enumerate(before):
        taken = histories.minutes(60 * hours * number)
        space = RecordedVolume(
            mount_point=POINT, taken=taken, **{"total_bytes": TOTAL, "free_bytes": one} | other
        )  # fmt: skip
        runs.append(histories.run(number, histories.server(number, server, volumes=(space,), taken=taken)))
    now = Space(
        mount_point=POINT, total_bytes=TOTAL, free_bytes=last, taken=histories.minutes(60 * hours * len(before))
    )
    return filling(now, "ldap", (History(origin=facts.origin(), runs=tuple(runs)),), needed)


@given(st.floats(0.2, 3), st.floats(5, 80), st.integers(5, 60), st.integers(0, 1000))
def test_a_steady_growth_is_full_when_it_is(rate: float, left: float, count: int, seed: int) -> None:
    """The truth is a line with noise of a tenth of what an hour adds."""
    noise = Random(seed)  # noqa: S311  a reproducible sample
    free = [left + rate * (count - 1 - at) + noise.gauss(0, rate / 10) for at in range(count)]
    result = found([*free[:-1], left])
    truth = left / rate
    if result.median is None:
        assert truth > 0.8 * (count - 1), "a time that was watched for is forecast"
        return
    assert result.earliest <= result.median
    assert 0.7 * truth < result.median < 1.4 * truth
    assert result.rates[1] == pytest.approx(rate * GIB, rel=0.3)


@pytest.mark.parametrize(("rate", "count"), [(4, 13), (2, 12)])
def test_what_began_to_fill_it_lately_is_within_the_interval(rate: float, count: int) -> None:
    """Ten days of hardly any growth, then a log that fills the volume in hours."""
    before = [95 - 0.01 * at for at in range(240)]
    result = found([*before, *(before[-1] - rate * at for at in range(1, count + 1))])
    truth = (before[-1] - rate * count) / rate
    assert (result.median is None) == bool(result.not_because)
    if result.median is not None:
        assert result.earliest <= truth * 1.01 < result.median
    else:
        assert (
            "fluctuation" in result.not_because
            or f"as fast as in the last readings: {truth:.0f} hours" in result.not_because
        )


def test_an_accelerating_growth_is_not_said_to_take_longer_than_was_watched() -> None:
    free = [80 - 0.01 * 1.4**at for at in range(24)]
    assert "(as fast as in the last readings: 13 hours)" in found(free).not_because


SAW = st.tuples(st.integers(3, 40), st.floats(0.3, 1.5), st.integers(0, 39), st.floats(0, 0.05))


@given(SAW, st.integers(2, 6))
def test_what_is_removed_again_and_again_gets_no_hour(saw: tuple[int, float, int, float], teeth: int) -> None:
    """Whatever part of a tooth the runs begin and end with."""
    period, rate, phase, noise = saw
    draw = Random(period * 100 + phase)  # noqa: S311  a reproducible sample
    free = [
        70 - rate * ((at + phase) % period) + draw.uniform(-noise, noise) * rate for at in range(teeth * period + 1)
    ]
    result = found(free)
    assert result.median is None
    assert result.not_because


def test_a_rotation_in_the_growth_of_the_data_is_no_forecast_by_its_slope() -> None:
    """Each tooth falls by 10 GiB in 10 h, while the data grows by 1 GiB in that time."""
    free = [80 - at % 10 - at // 10 for at in range(65)]
    assert found(free).median is None


def test_after_a_removal_it_is_watched_longer_and_further_than_before() -> None:
    before = [40 - at for at in range(10)]
    for count, expected in ((8, False), (20, False), (41, True)):
        after = [60 - at for at in range(count)]
        assert (found([*before, *after]).median is not None) == expected, count


@pytest.mark.parametrize(
    ("given_free", "traits", "why"),
    [
        ([50], {}, NO_RUNS),
        ([50, 49, 48, 47], {}, "4 readings"),
        ([50, 49.99, 49.98, 49.97, 49.96], {}, "less are free"),
        ([50, 50, 50, 50, 50], {}, "0 bytes less are free"),
        ([50, 49, 48, 47, 46], {"server": "other"}, NO_RUNS),
        ([50, 49, 48, 47, 46], {"total_bytes": TOTAL // 2}, NO_RUNS),
        ([90, 89, 88, 87, 86], {}, "no forecast reaches further"),
    ],
)
def test_why_there_is_none(given_free, traits, why) -> None:
    result = found(given_free, **traits)
    assert result.median is None
    assert why in result.not_because
    assert why in clause(result)


def test_a_listing_without_time_or_size_has_none() -> None:
    now = Space(mount_point=POINT, total_bytes=TOTAL, free_bytes=GIB, taken=histories.minutes(0))
    one = RecordedVolume(mount_point=POINT, taken=histories.minutes(-60), total_bytes=TOTAL, free_bytes=2 * GIB)
    past = History(origin=facts.origin(), runs=(histories.run(1, histories.server(1, volumes=(one,))),))
    for lacking in ({"taken": None}, {"free_bytes": None}):
        assert "known time" in filling(replace(now, **lacking), "ldap", (past,), 0).not_because
    for lacking in ({}, {"total_bytes": None}, {"total_bytes": 0}):
        assert filling(replace(now, **lacking), "ldap", (past,) if lacking else (), 0).not_because == NO_RUNS


def test_what_the_server_needs_ends_before_the_last_byte() -> None:
    free = [20 - at for at in range(15)]
    assert found(free, needed=3 * GIB).median == pytest.approx(found(free).median - 3, abs=0.4)


def test_what_is_short_already_is_full_now() -> None:
    assert "it will be full now" in clause(found([20 - at for at in range(15)], needed=30 * GIB))


def test_a_later_run_of_a_wrong_clock_is_left_out() -> None:
    free = [20 - at for at in range(15)]
    taken = histories.minutes(60 * 20)
    ahead = RecordedVolume(mount_point=POINT, taken=taken + timedelta(days=9), total_bytes=TOTAL, free_bytes=99 * GIB)
    now = Space(mount_point=POINT, total_bytes=TOTAL, free_bytes=GIB, taken=taken)
    run = histories.run(1, histories.server(1, volumes=(ahead,)))
    assert filling(now, "ldap", (History(origin=facts.origin(), runs=(run,)),), 0).not_because.startswith("1 reading")
    assert LEAST_GAIN < GIB, "the other tests gain more"
    assert found(free).median


@pytest.mark.long
def test_the_truth_lies_within_the_bounds_in_nine_of_ten_cases() -> None:
    """Each hour adds what a normal distribution gives it, before the last listing and after it, until it is full."""
    draw, within = Random(5), []  # noqa: S311  a reproducible sample
    for _ in range(300):
        count, rate = draw.randint(5, 80), 10 ** draw.uniform(-0.5, 0.2)
        spread, used = draw.uniform(0, 1) * rate, [0.0]
        for _ in range(count - 1):
            used.append(used[-1] + draw.gauss(rate, spread))
        left = draw.uniform(0.1, 0.9) * rate * count
        result = found([left + used[-1] - one for one in used])
        hours = 0
        while left > 0:
            left, hours = left - draw.gauss(rate, spread), hours + 1
        if result.median is not None:
            within.append(result.earliest <= hours <= 1 + (hours if result.latest is None else result.latest))
    assert len(within) > 200
    assert sum(within) > 0.9 * len(within)
