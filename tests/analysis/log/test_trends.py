"""Trends: since when and how fast, by what a load is made of; and nothing is claimed that the log does not show."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
from ldapdiag.analysis.log.searches import SearchGroup
from ldapdiag.analysis.log.trends import Growth, Parts, Share, Trend, trend_sentences
from ldapdiag.analysis.log.workload import Workload
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.tables import Caps

SECOND = 10**9
HOUR = 3600
EIGHT = 1_795_161_600
"""2026-11-20 08:00:00 UTC."""
NOISE = [(second, b"uid", 5) for second in range(0, 8 * HOUR, 60)]

Search = tuple[int, bytes, int]
"""Second since eight, attribute, milliseconds."""


def groups_of(searches: Iterable[Search], caps: Caps | None = None) -> dict[str, SearchGroup]:
    scan = Scan(caps=caps) if caps else Scan()
    scan.opened(1, EIGHT * SECOND, b"10.0.0.1")
    for op, (second, attribute, took) in enumerate(sorted(searches)):
        at = (EIGHT + second) * SECOND
        scan.search(1, op, at, b"dc=x", 2, b"(%b=x)" % attribute)
        scan.result(1, OperationResult(op, at, SEARCH, 0, took * 10**6))
    return {one.shape: one for one in Workload(scan.finish()).searches}


def trend_of(searches: Iterable[Search], shape: str = "(report=?)") -> Trend:
    trend = groups_of([*NOISE, *searches])[shape].trend
    assert trend is not None
    return trend


def report(begin: int, *, end: int = 8 * HOUR, every: int = 300, grows: int = 0) -> list[Search]:
    """Return searches of 100 ms, and `grows` ms longer with every hour."""
    return [(second, b"report", 100 + grows * ((second - begin) // HOUR)) for second in range(begin, end, every)]


@examples.every(3)
@given(st.integers(0, 7 * HOUR), st.integers(0, 400))
def test_the_series_adds_up_to_the_searches(begin: int, grows: int) -> None:
    searches = report(begin, grows=grows)
    trend = trend_of(searches)
    assert sum(trend.counts) == len(searches)
    assert sum(trend.etimes) == sum(took for _, _, took in searches) * 10**6
    assert len(trend.etimes) <= 16


@pytest.mark.parametrize("hours", [1, 2, 5, 7])
def test_searches_that_begin_later_have_a_beginning(hours: int) -> None:
    trend = trend_of(report(hours * HOUR))
    assert trend.since == trend.first == (EIGHT + hours * HOUR) * SECOND
    assert trend.until is None


def test_searches_that_end_earlier_have_an_end() -> None:
    trend = trend_of(report(0, end=4 * HOUR))
    assert (trend.since, trend.until) == (None, (EIGHT + 4 * HOUR - 300) * SECOND)


@pytest.mark.parametrize("second", [100, 4 * HOUR, 8 * HOUR - 100])
def test_a_few_searches_have_no_beginning(second: int) -> None:
    trend = trend_of([(second, b"report", 100), (second + 10, b"report", 100)])
    assert (trend.since, trend.until, trend.growth) == (None, None, None)


@pytest.mark.parametrize("begin", [0, HOUR, 2 * HOUR, 3 * HOUR])
def test_searches_that_take_more_with_every_hour_are_growing(begin: int) -> None:
    trend = trend_of(report(begin, grows=200))
    assert trend.is_growing
    assert trend.growth is not None
    assert trend.growth.last.per_hour > 3 * trend.growth.first.per_hour


@pytest.mark.parametrize("begin", range(0, 5 * HOUR, 1700))
def test_searches_that_always_take_the_same_are_not_growing(begin: int) -> None:
    assert not trend_of(report(begin)).is_growing


def multiplied(begin: int, factor: int) -> list[Search]:
    """Return searches of which there are `factor` times as many from a second on."""
    return [*report(0, end=begin), *report(begin, every=300 // factor)]


@pytest.mark.parametrize("begin", range(2 * HOUR, 6 * HOUR, 1000))
def test_a_step_is_dated_and_explained_by_their_number(begin: int) -> None:
    growth = trend_of(multiplied(begin, 5)).growth
    assert growth is not None
    assert growth.step is not None
    assert not growth.is_steady
    assert growth.step.at // SECOND - EIGHT == pytest.approx(begin, abs=400)
    (sentence,) = trend_sentences(trend_of(multiplied(begin, 5)))
    assert re.search(r"\((4\.[89]|5|5\.[12]) times as many, each 100 ms on average as before\)", sentence)
    assert " per hour since about " in sentence
    assert "growing" not in sentence


def test_a_step_is_explained_by_the_time_of_each() -> None:
    slower = [(second, b"report", took if second < 4 * HOUR else 4 * took) for second, _, took in report(0)]
    (sentence,) = trend_sentences(trend_of(slower))
    assert re.search(r"since about 1(1:5|2:0)\d, ", sentence)
    assert "(as many, each 400 ms on average and 100 ms before)" in sentence


def test_a_slope_has_no_step() -> None:
    growth = trend_of(report(0, grows=200)).growth
    assert growth is not None
    assert (growth.step, growth.is_steady) == (None, True)
    (sentence,) = trend_sentences(trend_of(report(0, grows=200)))
    assert " per hour throughout (as many, each " in sentence


def test_what_is_neither_a_step_nor_a_slope_is_only_growing() -> None:
    waves = [(begin, b"report", 100 if begin // 3600 in {0, 1, 3, 5, 6} else 2000) for begin in range(0, 8 * HOUR, 300)]
    growth = trend_of(waves).growth
    assert growth is not None
    assert (growth.is_growing, growth.step, growth.is_steady) == (True, None, False)


def test_a_share_that_only_rises_because_others_end_is_no_growth() -> None:
    evening = [(second, b"other", 3000) for second in range(0, 4 * HOUR, 60)]
    assert not trend_of([*evening, *report(0)]).is_growing


def test_where_rows_were_merged_nothing_is_claimed() -> None:
    many = [(second, b"a%d" % second, 1) for second in range(0, 8 * HOUR, 60)]
    trend = groups_of([*many, *report(4 * HOUR, grows=200)], Caps(shapes=20))["(report=?)"].trend
    assert trend is not None
    assert (trend.since, trend.until, trend.growth) == (None, None, None)


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=200))
def test_quantiles_are_within_4_percent_and_never_above_the_worst(milliseconds: list[int]) -> None:
    group = groups_of([(second, b"uid", took) for second, took in enumerate(milliseconds)])["(uid=?)"]
    ranked = sorted(took * 10**6 for took in milliseconds)
    for percent, found in ((50, group.etimes.p50), (95, group.etimes.p95), (99, group.etimes.p99)):
        true = ranked[-(-len(ranked) * percent // 100) - 1]
        assert abs(found - true) <= 0.04 * true
        assert found <= ranked[-1]


def test_a_share_that_stays_the_same_is_written_once() -> None:
    parts = Parts(begin=0, end=4 * 3600 * SECOND, shift=10, first=0, count=15)
    first = Share(begin=0, end=3600 * SECOND, etime=992 * SECOND, total=1000 * SECOND)
    last = Share(begin=3 * 3600 * SECOND, end=parts.end, etime=2482 * SECOND, total=2500 * SECOND)
    trend = Trend(
        parts=parts,
        first=0,
        last=parts.end,
        counts=(),
        etimes=(),
        since=None,
        until=None,
        growth=Growth(first=first, last=last),
    )
    (sentence,) = trend_sentences(trend)
    assert sentence.endswith("per hour, 99 % of the search time throughout.")
