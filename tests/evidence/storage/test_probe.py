"""Percentiles of durations."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.storage.probe import latency_of

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
