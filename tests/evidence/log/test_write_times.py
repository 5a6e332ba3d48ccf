"""Write times: what a write took itself, in company as alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log.durations import Durations
from ldapdiag.evidence.log.stamps import MILLISECOND
from ldapdiag.evidence.log.timeline import Timeline
from ldapdiag.evidence.log.write_times import WriteTimes

SYNC = 20 * MILLISECOND
RESULTS = st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)), max_size=30)


def counted(results: list[tuple[int, int]]) -> tuple[WriteTimes, Timeline]:
    writes, timeline = WriteTimes(), Timeline()
    for time, duration in results:
        writes.add(timeline, time, duration)
    return writes, timeline


def test_each_write_of_forty_waiting_ones_took_what_a_lone_one_takes() -> None:
    """All forty arrive at once and each is applied in 20 ms: the log shows 20, 40 ... 800 ms."""
    waiting = [(number * SYNC, number * SYNC) for number in range(1, 41)]
    alone = [(number * 1000 * MILLISECOND, SYNC) for number in range(2, 42)]

    writes, timeline = counted(waiting + alone)

    assert writes.own == Durations({339: 79})
    assert sum(interval.writing for interval in timeline.intervals.values()) == 79 * SYNC


@given(RESULTS)
def test_all_but_the_first_write_count(results: list[tuple[int, int]]) -> None:
    assert sum(counted(results)[0].own.values()) == max(0, len(results) - 1)


@given(RESULTS)
def test_no_write_takes_longer_than_the_log_says(results: list[tuple[int, int]]) -> None:
    writes, timeline = counted(results)

    assert sum(at.writing for at in timeline.intervals.values()) <= sum(duration for _, duration in results)
    assert all(number >= 0 for number in writes.own)
