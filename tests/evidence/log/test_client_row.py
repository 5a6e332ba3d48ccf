"""The histograms of a client: what lies below an edge."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log.client_row import below


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=99), st.sampled_from([50, 95, 100]))
def test_so_many_percent_lie_below_an_edge_and_fewer_below_half_of_it(times, percent):
    histogram = {}
    for time in times:
        histogram[time.bit_length()] = histogram.get(time.bit_length(), 0) + 1
    edge = below(histogram, percent)
    assert sum(time < edge or time == edge == 0 for time in times) * 100 >= percent * len(times)
    assert sum(time < edge // 2 for time in times) * 100 < percent * len(times)


def test_of_no_time_at_all_half_lie_below_nothing():
    assert (below({0: 5}, 50), below({}, 50)) == (0, 0)
