"""The dates of a file decide which number is the month, or nothing does: never is one chosen silently."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ldapdiag.evidence.log.date_order import Stamp, date_order

TIMES = st.lists(
    st.builds(
        lambda hours, seconds: datetime(2026, 1, 1) + timedelta(hours=hours, seconds=seconds),  # noqa: DTZ001  of no zone
        st.integers(0, 364 * 24),
        st.integers(0, 3599),
    ),
    min_size=1,
    max_size=20,
    unique=True,
)


def stamps(times: list[datetime], *, is_first: bool) -> list[Stamp]:
    """Return the times as a file in one of the two forms contains them."""
    return [
        (*((time.day, time.month) if is_first else (time.month, time.day)), time.year,
         time.hour * 3600 + time.minute * 60 + time.second, False, "")
        for time in times
    ]  # fmt: skip


@given(TIMES, st.booleans(), st.booleans())
def test_the_decision_is_never_wrong(times: list[datetime], is_first: bool, newest_first: bool) -> None:  # noqa: FBT001  drawn by hypothesis
    ordered = sorted(times, reverse=newest_first)

    order = date_order(stamps(ordered, is_first=is_first))
    assert order.is_usual or order.readings == {is_first}


@given(TIMES, st.booleans())
def test_a_day_after_the_twelfth_decides_in_any_order_of_the_events(times: list[datetime], is_first: bool) -> None:  # noqa: FBT001  drawn by hypothesis
    assume(any(time.day > 12 for time in times))

    assert date_order(stamps(times, is_first=is_first)).readings == {is_first}


def test_the_order_decides_if_one_reading_goes_back_in_time() -> None:
    november, december = (12, 11, 2026, 100, False, ""), (1, 12, 2026, 50, False, "")

    assert date_order([november, (12, 11, 2026, 101, False, ""), december]).readings == {True}
    assert date_order([december, (1, 12, 2026, 40, False, ""), november]).readings == {True}
    american = [(11, 12, 2026, 100, True, ""), (11, 12, 2026, 101, True, ""), (12, 1, 2026, 50, True, "")]
    assert date_order(american) == (frozenset({False}), False)


@pytest.mark.parametrize("days", [[5], [5, 5], [5, 6]])
def test_where_nothing_decides_the_form_does_and_that_is_known(days: list[int]) -> None:
    for is_american in (True, False):
        found = date_order([(day, 11, 2026, place, is_american, "") for place, day in enumerate(days)])
        assert found == (frozenset({not is_american}), True)


@given(TIMES, TIMES, st.booleans(), st.booleans())
def test_the_events_of_one_server_after_those_of_another_do_not_mislead(
    times: list[datetime],
    others: list[datetime],
    is_first: bool,  # noqa: FBT001  drawn by hypothesis
    newest_first: bool,  # noqa: FBT001  drawn by hypothesis
) -> None:
    listed = [
        (*one[:5], str(number))
        for number, each in enumerate((times, others))
        for one in stamps(sorted(each, reverse=newest_first), is_first=is_first)
    ]

    order = date_order(listed)
    assert order.is_usual or order.readings == {is_first}


def test_a_file_that_contradicts_itself_has_no_order() -> None:
    assert not date_order([(20, 11, 2026, 1, False, ""), (11, 20, 2026, 2, False, "")]).readings
    assert not date_order([(20, 11, 2026, 1, False, ""), (12, 6, 2026, 2, True, "")]).readings, "two clocks"
