"""Nanoseconds and counts as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log.stamps import moment
from ldapdiag.report.log.quantities import per_second, span
from ldapdiag.wording import number

SECOND = 10**9


@pytest.mark.parametrize(
    ("nanoseconds", "expected"),
    [
        (14_200_000_000, "14.2 s"),
        (197 * SECOND, "3 min 17 s"),
        (9_060 * SECOND, "2 h 31 min"),
        (90_000 * SECOND, "1 d 1 h"),
    ],
)
def test_a_span_has_two_units(nanoseconds, expected):
    assert span(nanoseconds) == expected


@pytest.mark.parametrize(
    ("count", "nanoseconds", "expected"),
    [
        (2861, SECOND, "2,861 per second"),
        (5, 10 * SECOND, "30.0 per minute"),
        (1, 7200 * SECOND, "0.50 per hour"),
        (5, 0, ""),
        (0, SECOND, ""),
    ],
)
def test_a_rate_has_a_readable_unit(count, nanoseconds, expected):
    assert per_second(count, nanoseconds) == expected.replace("a hour", "an hour")


def test_counts_are_in_groups():
    assert (number(999), number(40_534), number(4_012_338)) == ("999", "40,534", "4,012,338")


@given(st.integers(-(1 << 80), 1 << 80), st.sampled_from([1, 100, 1000, 10**6, SECOND]))
def test_any_time_can_be_formatted(nanoseconds, resolution):
    assert moment(nanoseconds, resolution).endswith("Z")
