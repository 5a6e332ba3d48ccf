"""Durations: every duration has one bucket, quantiles are within 4 %, and merging is adding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log.durations import Durations, bucket, edges, quantile

NANOSECONDS = st.integers(0, 1 << 62)


@given(NANOSECONDS)
def test_a_duration_lies_between_the_edges_of_its_bucket(duration: int) -> None:
    lowest, highest = edges(bucket(duration))

    assert lowest <= duration <= highest
    assert (highest - lowest) * 16 <= lowest


@given(NANOSECONDS)
def test_buckets_follow_each_other_without_gaps(duration: int) -> None:
    _, highest = edges(bucket(duration))

    assert bucket(highest + 1) == bucket(duration) + 1


@given(st.lists(NANOSECONDS, min_size=1, max_size=50), st.sampled_from([50, 95, 99]))
def test_a_quantile_is_within_4_percent_of_the_duration_at_its_rank(values: list[int], percent: int) -> None:
    durations = Durations()
    for value in values:
        durations.add(value)
    rank = -(-len(values) * percent // 100)
    true = sorted(values)[rank - 1]

    found = quantile(durations, percent, max(values))

    assert abs(found - true) <= true * 0.04
    assert found <= max(values)


@given(st.lists(NANOSECONDS), st.lists(NANOSECONDS))
def test_merging_is_counting_all(one: list[int], other: list[int]) -> None:
    both, left, right = Durations(), Durations(), Durations()
    for value in one:
        left.add(value)
        both.add(value)
    for value in other:
        right.add(value)
        both.add(value)

    left.merge(right)

    assert left == both


@given(NANOSECONDS, st.integers(1, 1000), st.sampled_from([50, 95, 99]))
def test_a_quantile_of_equal_durations_is_exact(nanoseconds: int, count: int, percent: int) -> None:
    durations = Durations({bucket(nanoseconds): count})
    assert quantile(durations, percent, nanoseconds, count * nanoseconds) == nanoseconds


def test_of_no_duration_nothing_is_a_quantile() -> None:
    assert quantile({}, 99, -1) == 0


@pytest.mark.parametrize(("limit", "count"), [(1, 3), (1 << 20, 2), (1 << 30, 1), ((1 << 30) + 1, 0)])
def test_what_certainly_took_as_long(limit: int, count: int) -> None:
    durations = Durations()
    for value in (0, 5, 1 << 20, 1 << 30):
        durations.add(value)

    assert durations.at_least(limit) == count
