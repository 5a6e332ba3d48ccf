"""The time axis: nothing is lost on it, neither order nor cuts change it, and a forged time does not ruin it."""

from __future__ import annotations

from dataclasses import fields
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.analysis.log.time_axis import TimeAxis, result_counts, time_axis
from ldapdiag.analysis.log.workload import Workload
from ldapdiag.evidence.log.combine import combine
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.operation_kinds import BIND, SEARCH
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.evidence.log.timeline import MOST, STEPS
from log.comparable import plain

SECOND = 10**9
START = 1_795_164_320
"""2026-11-20 08:45:20 UTC."""

Visits = list[tuple[int, int]]
"""Second of the log, and milliseconds of the search: a connection that binds, searches and is closed or not."""
VISITS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 5000)), min_size=1, max_size=60)


def log_of(visits: Visits, begin: int = START) -> Segment:
    scan = Scan()
    for number, (second, took) in enumerate(visits):
        now = (begin + second) * SECOND
        scan.opened(number, now, b"10.0.0.1")
        scan.bind(number, 0, now, b"uid=foo")
        scan.result(number, OperationResult(0, now, BIND, 49 if took % 3 == 0 else 0, took))
        scan.search(number, 1, now, b"dc=x", 2, b"(uid=%d)" % took)
        scan.result(number, OperationResult(1, now, SEARCH, took % 2, took * SECOND // 1000))
        if took % 5:
            scan.closed(number, now, b"U1")
    return scan.finish()


def axis_of(segment: Segment, most: int = MOST) -> TimeAxis:
    axis = time_axis(segment, most)
    assert axis is not None
    return axis


def comparable(axis: TimeAxis) -> object:
    """Return the content of an axis that does not depend on where a log ends, as the last idle times do."""
    for interval in axis.intervals:
        interval.idle.clear()
    return [plain(getattr(axis, field.name)) for field in fields(axis) if field.name != "left_out"]


@given(VISITS, st.sampled_from([8, 40, MOST]))
def test_its_sums_are_the_totals_of_the_log(visits: Visits, most: int) -> None:
    segment = log_of(visits)

    axis = axis_of(segment, most)

    left_out = sum(far.records for far in axis.left_out)
    everywhere = [*axis.intervals] if not left_out else [*segment.timeline.intervals.values()]
    assert sum(one.searches for one in everywhere) == len(visits)
    assert sum(one.search_etime for one in everywhere) == sum(took for _, took in visits) * SECOND // 1000
    assert sum(one.slow for one in everywhere) == sum(took >= 1000 for _, took in visits)
    assert sum(one.failed_binds for one in everywhere) == sum(took % 3 == 0 for _, took in visits)
    if not left_out:
        assert axis.open[-1] == segment.open_at_end == sum(took % 5 == 0 for _, took in visits)
        assert {code: sum(counts) for code, counts in result_counts(axis).items()} == dict(segment.results)


@given(VISITS, st.sampled_from([8, 40, MOST]))
def test_its_step_is_the_smallest_that_gives_few_enough_intervals(visits: Visits, most: int) -> None:
    axis = axis_of(log_of(visits), most)

    first, last = axis.begin // SECOND, axis.end // SECOND
    assert axis.step == next(step for step in STEPS if last // step - first // step < most)
    assert (axis.first, len(axis.intervals)) == (first // axis.step, last // axis.step - first // axis.step + 1)


@given(VISITS, st.randoms(use_true_random=False), st.integers(0, 60))
def test_neither_the_order_nor_the_logs_it_is_in_change_it(visits: Visits, chance: Random, cut: int) -> None:
    whole = comparable(axis_of(log_of(visits)))
    shuffled = visits[:]
    chance.shuffle(shuffled)

    assert comparable(axis_of(combine(log_of(visits[:cut]), log_of(visits[cut:])))) == whole
    assert comparable(axis_of(combine(log_of(visits[cut:]), log_of(visits[:cut])))) == whole
    assert comparable(axis_of(log_of(sorted(visits)))) == comparable(axis_of(log_of(sorted(shuffled))))


@pytest.mark.parametrize("forged", [-(START - 1), -(10**8), 10**7, 2 * 10**9])
def test_a_forged_time_does_not_ruin_it(forged: int) -> None:
    visits = [(second, 7) for second in range(200)]
    forgeries = [(forged, 1001), (forged + 1, 1001)]

    axis = axis_of(combine(log_of(visits), log_of(forgeries)))

    assert axis.step == axis_of(log_of(visits)).step == 1
    assert len(axis.intervals) == 200
    (far,) = axis.left_out
    assert far.records == 2 * 4
    assert far.begin <= (START + forged) * SECOND <= far.end


@pytest.mark.parametrize("forged", [-(10**8), 10**8])
def test_a_forged_time_is_not_in_the_period_of_the_log(forged: int) -> None:
    segment = combine(log_of([(second, 7) for second in range(200)]), log_of([(forged, 7)]))

    begin, end = Workload(segment).period or (0, 0)

    assert begin // SECOND == START
    assert end // SECOND == START + 199


@pytest.mark.parametrize("forged", [-(10**8), 10**8])
def test_a_forged_request_without_a_result_is_left_out(forged: int) -> None:
    scan = Scan()
    scan.search(1, 1, (START + forged) * SECOND, b"dc=x", 2, b"(sn=z)")

    axis = axis_of(combine(log_of([(second, 7) for second in range(200)]), scan.finish()))

    assert (axis.begin // SECOND, axis.end // SECOND) == (START, START + 199)
    assert [far.records for far in axis.left_out] == [1]


def test_a_quiet_weekend_is_on_it() -> None:
    week, monday = [(second, 1) for second in range(0, 36_000, 100)], 3 * 86_400
    axis = axis_of(log_of([*week, *((monday + second, 1) for second, _ in week)]))
    assert axis.left_out == ()
    assert sum(one.searches for one in axis.intervals) == 2 * len(week)
    assert sum(not one.searches for one in axis.intervals) > len(axis.intervals) / 2


@pytest.mark.parametrize("busy", [60, 600, 3600])
@pytest.mark.parametrize("every", [7200, 86_400])
def test_a_quiet_time_after_a_busy_one_is_on_it(busy: int, every: int) -> None:
    last = busy + 5 * every
    quiet = range(busy, last + 1, every)
    axis = axis_of(log_of([*((second % busy, 1) for second in range(1200)), *((second, 1) for second in quiet)]))
    assert axis.left_out == ()
    assert (axis.begin // SECOND, axis.end // SECOND) == (START, START + last)


def test_many_records_far_from_the_others_are_on_it() -> None:
    axis = axis_of(log_of([*((second, 1) for second in range(90)), *((10**8 + second, 1) for second in range(10))]))
    assert axis.left_out == ()


def test_the_busiest_interval_has_the_most_search_time() -> None:
    axis = axis_of(log_of([*((second, 10) for second in range(100)), (42, 4000)]))
    assert axis.at(axis.busiest) == (START + 42) * SECOND


def test_a_log_without_records_has_none() -> None:
    assert time_axis(Scan().finish()) is None
