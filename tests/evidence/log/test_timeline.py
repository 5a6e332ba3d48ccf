"""Timeline and Series: merged in any order they are the same, nothing is lost, and few intervals are kept."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log import series, timeline
from ldapdiag.evidence.log.series import Series
from ldapdiag.evidence.log.timeline import STEPS, Timeline, slot_of
from log.comparable import plain

SECONDS = st.one_of(st.integers(1_700_000_000, 1_700_600_000), st.integers(-(10**10), 10**11))


def timeline_of(seconds: list[int]) -> Timeline:
    made = Timeline()
    for second in seconds:
        made.at(second).answered += 1
        made.result(second % 3, second)
    return made


def series_of(seconds: list[int]) -> Series:
    made = Series()
    for second in seconds:
        made.add(second, 1, abs(second) % 1000)
    return made


def smallest_step(seconds: list[int]) -> int:
    """Return the step by its definition."""
    return next(step for step in STEPS if len({second // step for second in seconds}) <= timeline.MOST)


@given(st.lists(SECONDS, max_size=600), st.lists(SECONDS, max_size=600))
def test_the_parts_of_a_timeline_make_the_whole_in_either_order(one: list[int], other: list[int]) -> None:
    forwards, backwards = timeline_of(one), timeline_of(other)
    forwards.merge(timeline_of(other))
    backwards.merge(timeline_of(one))

    whole = timeline_of(one + other)

    assert plain(forwards) == plain(backwards) == plain(whole)
    assert whole.step == smallest_step(one + other)
    assert sum(interval.answered for interval in whole.intervals.values()) == len(one + other)
    assert whole.answered() == sorted({second // slot_of(whole.step) for second in one + other})


@given(st.lists(SECONDS, max_size=100), st.lists(SECONDS, max_size=100))
def test_the_parts_of_a_series_make_the_whole_in_either_order(one: list[int], other: list[int]) -> None:
    forwards, backwards = series_of(one), series_of(other)
    forwards.merge(series_of(other))
    backwards.merge(series_of(one))

    whole = series_of(one + other)

    assert plain(forwards) == plain(backwards) == plain(whole)
    assert len(whole.cells) <= series.MOST
    assert sum(count for count, _ in whole.cells.values()) == len(one + other)


def test_steps_divide_each_other() -> None:
    assert all(longer % step == 0 for step, longer in pairwise(STEPS))
    assert all(
        slot_of(longer) % slot_of(step) == 0 and longer % slot_of(longer) == 0 for step, longer in pairwise(STEPS)
    )


def test_a_wild_time_does_not_lengthen_the_intervals() -> None:
    seconds = list(range(1_700_000_000, 1_700_000_200))

    assert timeline_of([*seconds, 3_700_000_000]).step == timeline_of(seconds).step == 1
