"""Idle ages: bins contain every age, are few, and are narrow where the timeout is."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

import facts
from ldapdiag.analysis.idle.bounds import PathBounds
from ldapdiag.analysis.idle.idle_ages import MOST_BINS, bin_edges, idle_ages
from ldapdiag.analysis.pairing.direction import Direction, SocketIdleTimes

AGES = st.lists(st.floats(0, 10**8), max_size=50)
UPPER = st.none() | st.floats(0, 10**7)


def direction(live: list[float], ghosts: list[float]) -> Direction:
    times = SocketIdleTimes(matched=tuple(live), ghosts=tuple(ghosts))
    return Direction(client=facts.APP1, server_address=facts.LDAP, server_port=389, idle_times=times)


def bounds(upper: float | None) -> PathBounds:
    return PathBounds(client_network="10.77.2.0/24", lower_seconds=None, upper_seconds=upper, source="")


@given(AGES, AGES, UPPER)
def test_every_age_is_in_one_of_few_bins(live: list[float], ghosts: list[float], upper: float | None) -> None:
    ages = idle_ages([direction(live, ghosts)], bounds(upper))
    if ages is None:
        assert not live
        assert not ghosts
        return
    assert (sum(ages.live), sum(ages.ghosts)) == (len(live), len(ghosts))
    assert len(ages.edges) - 1 == len(ages.live) == len(ages.ghosts) <= MOST_BINS
    for counts, each in ((ages.live, live), (ages.ghosts, ghosts)):
        for count, (begin, end) in zip(counts, pairwise(ages.edges), strict=True):
            assert count == sum(begin <= age < end for age in each)
    json.dumps(ages.observed)


@given(st.floats(0, 10**8), UPPER)
def test_wide_bins_are_made_of_narrow_ones(oldest: float, upper: float | None) -> None:
    edges = bin_edges(oldest, upper)
    assert edges[0] == 0
    assert list(edges) == sorted(set(edges))
    assert edges[-1] > oldest
    narrow, wide = edges[1], edges[-1] - edges[-2]
    assert {edge % narrow for edge in edges} == {0}
    assert set(range(0, edges[-1] + 1, wide)) <= set(edges)


@given(st.floats(1, 10**6), st.floats(4, 10**4))
def test_at_least_four_bins_are_below_the_timeout(upper: float, times: float) -> None:
    """Or the bins are as narrow as a second."""
    edges = bin_edges(times * upper, upper)
    assert sum(edge <= upper for edge in edges) > 4 or edges[1] == 1


def test_ghosts_of_a_quarter_of_an_hour_do_not_hide_a_timeout_of_half_a_minute() -> None:
    edges = bin_edges(960, 30)
    assert edges[:26] == (*range(0, 121, 5), 150)
    assert {end - begin for begin, end in pairwise(edges[24:])} == {30}
    assert bin_edges(312, 30) == tuple(range(0, 316, 5))


def test_without_an_age_there_is_no_picture() -> None:
    assert idle_ages([direction([], [])], None) is None
