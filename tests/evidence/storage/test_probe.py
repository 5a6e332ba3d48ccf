"""Percentiles, and what a probe's numbers stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.storage.probe import AccessTimes, AccessTimeUpdates, GroupCommit, latency_of

SECONDS = st.lists(st.floats(0, 1e3), min_size=1, max_size=300)


@given(SECONDS)
def test_each_percentile_is_a_duration_that_as_many_do_not_exceed(seconds: list[float]) -> None:
    found = latency_of(seconds)
    rounded = sorted(round(one, 9) for one in seconds)
    assert found.worst_seconds == rounded[-1]
    for percent, value in (
        (10, found.p10_seconds),
        (50, found.p50_seconds),
        (90, found.p90_seconds),
        (99, found.p99_seconds),
    ):
        assert value in rounded
        assert 100 * sum(one <= value for one in rounded) >= percent * len(rounded)
        assert 100 * sum(one < value for one in rounded) < percent * len(rounded)


@pytest.mark.parametrize(
    ("first", "again", "updates"),
    [
        (2000, 1999, AccessTimeUpdates.EACH_READ),
        (2000, 0, AccessTimeUpdates.FIRST_READ),
        (0, 0, AccessTimeUpdates.NEVER),
    ],
)
def test_what_two_passes_changed_is_the_access_time_option_of_the_mount(first, again, updates) -> None:
    times = AccessTimes(files=2000, first_updated=first, again_updated=again, again_seconds=0.1, without_seconds=None)
    assert times.updates is updates


@pytest.mark.parametrize(("commits", "lower_bound"), [(7_500, False), (7_501, True)])
def test_a_rate_that_the_program_itself_limits_is_a_lower_bound(commits: int, lower_bound: bool) -> None:  # noqa: FBT001  a parameter of a test
    one = GroupCommit(committers=10, commits=commits, syncs=1, seconds=1.5, commit=latency_of([0.1]))
    assert one.is_lower_bound is lower_bound
