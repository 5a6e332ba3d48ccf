"""The interval of the forecast contains the truth of simulated leaks, and everything else says why there is none."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from itertools import accumulate, islice
from random import Random
from statistics import median
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
import facts
from ldapdiag.analysis.load.forecast import InUse, LimitForecast, Problem, forecast
from ldapdiag.analysis.load.readings import Reading
from ldapdiag_checks.descriptor_headroom import forecast_sentences
from leaks.drawn_rates import drawn_leaks
from leaks.event_driven import event_driven_leaks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leaks.simulated_leak import SimulatedLeak

LOG = "its access log"


def series(counts: Iterable[tuple[float, float]], source: str = LOG) -> list[Reading]:
    """Return readings of (hours, count)."""
    return [Reading(facts.START + timedelta(hours=hours), round(count), source) for hours, count in counts]


def told(leak: SimulatedLeak) -> LimitForecast:
    return forecast(series((seconds / 3600, count) for seconds, count in leak.counted), leak.limit)


def misses(leaks: Sequence[SimulatedLeak]) -> tuple[int, int, float]:
    """Return how many leaks were forecast, how many of the intervals miss the truth, and the median of their widths."""
    widths, missed = [], 0
    for leak in leaks:
        told_of = told(leak)
        if told_of.not_because:
            continue
        latest = math.inf if told_of.latest is None else told_of.latest
        missed += not told_of.earliest <= leak.hours_left <= latest
        widths.append((latest - told_of.earliest) / leak.hours_left)
    return len(widths), missed, median(widths)


DESK = 30
"""Leaks of a kind at the desk: of 30, a method that contains 91 % misses at most 8 in 999 of 1000 cases."""


@pytest.mark.parametrize("leaks", examples.some([drawn_leaks, event_driven_leaks], 2))
def test_the_interval_contains_the_truth_of_most_leaks(leaks) -> None:
    made, missed, width = misses(tuple(islice(leaks(1), DESK)))
    assert made >= 0.75 * DESK
    assert missed <= 8
    assert width <= 1.3


@pytest.mark.long
def test_of_500_leaks_the_interval_contains_85_to_97_percent() -> None:
    """Half of them are of a mechanism that the estimator was not written against; each half is within reach, too."""
    made = missed = 0
    widths = []
    for leaks in (drawn_leaks, event_driven_leaks):
        some, wrong, width = misses(tuple(islice(leaks(1), 250)))
        assert 0.82 <= 1 - wrong / some <= 0.97
        made, missed = made + some, missed + wrong
        widths.append(width)
    assert made >= 400
    assert 0.85 <= 1 - missed / made <= 0.97
    assert sum(widths) / 2 <= 1.05


def steady(count: float = 500, *, noise: float = 5, hours: int = 48, rate: float = 0) -> list[tuple[float, float]]:
    draw = Random(3)  # noqa: S311  reproducible, no secret
    return [(hour, count + rate * hour + draw.gauss(0, noise)) for hour in range(hours + 1)]


def test_it_is_the_same_every_time() -> None:
    readings = series(steady(rate=5, hours=239))
    first = forecast(readings, 5000)
    assert forecast(list(reversed(readings)), 5000) == first


class TestWhyThereIsNone:
    @pytest.mark.parametrize(
        ("counts", "reason"),
        [
            ([], "no evidence"),
            ([(0, 100)], "of the same time"),
            ([(hour, 100 + 50 * hour) for hour in range(4)], "4 readings in its access log; 5 are needed"),
            (
                [(part / 1000, 100 + 50 * part) for part in range(10)],
                "32 s of readings in its access log; 60 s are needed",
            ),
            (
                [(hour, 100 + hour) for hour in range(20)],
                "19 connections more in its access log than 19 hours before; 30 more are needed",
            ),
            (steady(rate=-5), "connections fewer"),
        ],
    )
    def test_is_said(self, counts, reason: str) -> None:
        told_of = forecast(series(counts), 1000)
        assert reason in told_of.not_because
        assert (told_of.earliest, told_of.median, told_of.latest) == (None, None, None)

    def test_without_a_limit_the_growth_is_known(self) -> None:
        told_of = forecast(series(steady(rate=10)), None)
        assert told_of.not_because == "the limit is unknown"
        assert told_of.rates is not None
        assert told_of.rates[0] < 10 < told_of.rates[2]

    def test_growth_within_the_fluctuation_is_none(self) -> None:
        draw = Random(5)  # noqa: S311  reproducible, no secret
        wild = [(hour, 500 + 150 * draw.random() + (40 if hour == 12 else 0)) for hour in range(12)] + [(12, 700)]
        assert "does not exceed its fluctuation" in forecast(series(wild), 1000).not_because


class TestWhetherTheLeakOrTheLimitIsTheProblem:
    def test_a_rate_that_fills_any_limit_within_days_is_a_leak(self) -> None:
        assert forecast(series(steady(rate=20)), 2000).problem is Problem.LEAK

    def test_a_slow_one_is_not_yet(self) -> None:
        told_of = forecast(series(steady(rate=2, hours=200)), 10000)
        assert told_of.median is not None
        assert told_of.problem is None

    def test_a_count_that_is_steady_near_the_limit_needs_a_higher_one(self) -> None:
        assert forecast(series(steady()), 550).problem is Problem.LIMIT
        assert forecast(series(steady()), 5000).problem is None

    def test_pools_that_refill_after_a_restart_are_neither(self) -> None:
        filling = [(minute / 60, 600 * (1 - math.exp(-minute / 60))) for minute in range(150)]
        for counts in (filling, [(-1, 800), *filling]):
            told_of = forecast(series(counts), 1000)
            assert told_of.not_because
            assert told_of.problem in {Problem.FILLING, None}

    def test_a_leak_after_the_refill_is_still_found(self) -> None:
        refilled = [(m / 60, 300 * (1 - math.exp(-m / 5)) + 1.0 * m + m % 3) for m in range(240)]
        told_of = forecast(series([(-1, 900), *refilled]), 1000)
        truth = (1000 - refilled[-1][1]) / 60
        assert told_of.earliest <= truth <= told_of.latest
        assert any("restart" in remark for remark in told_of.remarks)
        assert any("refilled" in remark for remark in told_of.remarks)


class TestTheDay:
    @staticmethod
    def daily(days: float, rate: float = 4.0) -> list[tuple[float, float]]:
        hours = [number / 2 for number in range(round(days * 48) + 1)]
        return [(hour, 400 + rate * hour - 100 * math.cos(2 * math.pi * hour / 24) + hour * 2 % 3) for hour in hours]

    def test_a_rhythm_of_several_days_is_recognised(self) -> None:
        told_of = forecast(series(self.daily(4)), 1200)
        (height,) = re.findall(r"a daily rhythm of about (\d+) connections", told_of.remarks[0])
        assert 90 <= int(height) <= 105, "averages of four hours are a little flatter"
        # 400 + 4 t + 100 reaches 1200 at t = 175 on the crest, so a little later.
        truth = next(t / 10 for t in range(960, 9999) if 400 + 0.4 * t - 100 * math.cos(2 * math.pi * t / 240) >= 1200)
        assert told_of.earliest <= truth - 96 <= told_of.latest
        assert told_of.latest - told_of.earliest < 0.5 * (truth - 96)

    def test_a_morning_is_no_leak(self) -> None:
        """With 100 more connections at noon than at 8, no growth goes on: the interval must leave room for that."""
        morning = [one for one in self.daily(1, rate=0) if 8 <= one[0] <= 11]
        told_of = forecast(series(morning), 5000)
        assert told_of.not_because or told_of.latest is None or told_of.latest > 100

    def test_less_than_two_days_is_said(self) -> None:
        told_of = forecast(series(self.daily(0.4, rate=60)), 1200)
        assert any("do not show a daily rhythm" in remark for remark in told_of.remarks)


class TestSources:
    def test_the_longest_is_used_and_the_other_named(self) -> None:
        short = series([(47 + part / 60, 980 + part) for part in range(60)], "the snapshots of its sockets")
        told_of = forecast([*series(steady(rate=10)), *short], 2000)
        assert told_of.source == LOG
        assert any("without the snapshots of its sockets" in remark for remark in told_of.remarks)

    def test_a_later_one_that_ends_earlier_counts(self) -> None:
        burst = series(
            [(48.5 + part / 60, 980 + 10 * part + part % 3) for part in range(60)], "the snapshots of its sockets"
        )
        told_of = forecast([*series(steady(rate=10)), *burst], 2000)
        assert told_of.source == "the snapshots of its sockets"
        assert told_of.earliest < 0.75

    def test_what_is_used_may_be_more_than_what_is_counted(self) -> None:
        counted, used = (forecast(series(steady(rate=10)), 2000, used) for used in (None, InUse(count=1500)))
        assert used.median == pytest.approx(50, rel=0.15)
        assert counted.median == pytest.approx(102, rel=0.15)

    @given(others=st.integers(0, 500), hours=st.integers(1, 40))
    def test_what_else_is_in_use_is_compared_with_the_reading_of_the_same_time(self, others: int, hours: int) -> None:
        counts = steady(rate=10, noise=0)
        time, count = counts[hours]
        then = InUse(count=round(count) + others, at=facts.START + timedelta(hours=time))
        now = InUse(count=round(counts[-1][1]) + others, at=facts.START + timedelta(hours=counts[-1][0]))
        earlier, later = (forecast(series(counts), 3000, used) for used in (then, now))
        assert earlier.median == pytest.approx(later.median, rel=0.02)
        assert later.median == pytest.approx((3000 - round(counts[-1][1]) - others) / 10, rel=0.1)

    @given(hours=st.floats(47, 1000))
    def test_growth_that_ended_longer_ago_than_it_lasted_is_not_extended(self, hours: float) -> None:
        counts = steady(rate=10)
        end = counts[-1][0]
        told_of = forecast(series(counts), 2000, InUse(count=300, at=facts.START + timedelta(hours=end + hours)))
        assert bool(told_of.not_because) == (hours > end)
        assert not told_of.not_because or "before the present count" in told_of.not_because


@given(
    counts=st.lists(st.integers(0, 100_000), min_size=5, max_size=80),
    gaps=st.lists(st.sampled_from([1e-6, 0.01, 1.0, 24.0, 24.0 * 300]), min_size=80, max_size=80),
    limit=st.integers(1, 100_000),
)
def test_any_series_has_an_interval_in_order_or_a_reason(counts: list[int], gaps: list[float], limit: int) -> None:
    told_of = forecast(series(zip(accumulate(gaps), counts, strict=False)), limit)
    if told_of.not_because:
        assert told_of.median is None
    else:
        latest = math.inf if told_of.latest is None else told_of.latest
        assert 0 <= told_of.earliest <= told_of.median <= latest
        assert told_of.is_over == (told_of.latest == 0)
    assert all("nan" not in sentence and "-0 " not in sentence for sentence in forecast_sentences(told_of))


def test_a_leak_after_months_without_a_reading_is_found() -> None:
    counts = [(hour + 24 * 300 * (hour >= 50), 500 + 10 * hour) for hour in range(100)]
    told_of = forecast(series(counts), 5000)
    assert told_of.earliest <= 351 <= told_of.latest
    assert told_of.latest < 400
    assert any("none for 300.0 days" in remark for remark in told_of.remarks)


def test_a_leak_of_hours_may_be_clients_of_the_morning() -> None:
    said = [list(forecast_sentences(forecast(series(steady(rate=100, hours=hours)), 8000)))[-1] for hours in (12, 60)]
    assert "unless clients that come at this hour" in said[0]
    assert "it is a leak, and" in said[1]


def test_a_limit_that_is_reached_is_not_left() -> None:
    (sentence, *_) = forecast_sentences(forecast(series(steady(rate=10)), 900))
    assert "and is at the limit (90 % intervals" in sentence
