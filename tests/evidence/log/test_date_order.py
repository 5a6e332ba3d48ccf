"""The dates of a file decide which number is the month, or nothing does: never is one chosen silently."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import assume, given
from hypothesis import strategies as st

from ldapdiag.evidence.log.date_order import Stamp, day_first

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
         time.hour * 3600 + time.minute * 60 + time.second)
        for time in times
    ]  # fmt: skip


@given(TIMES, st.booleans(), st.booleans())
def test_the_decision_is_never_wrong(times: list[datetime], is_first: bool, newest_first: bool) -> None:  # noqa: FBT001  drawn by hypothesis
    ordered = sorted(times, reverse=newest_first)

    assert day_first(stamps(ordered, is_first=is_first)) in {is_first, None}


@given(TIMES, st.booleans())
def test_a_day_after_the_twelfth_decides_in_any_order_of_the_events(times: list[datetime], is_first: bool) -> None:  # noqa: FBT001  drawn by hypothesis
    assume(any(time.day > 12 for time in times))

    assert day_first(stamps(times, is_first=is_first)) is is_first


def test_the_order_decides_if_one_reading_goes_back_in_time() -> None:
    november, december = (12, 11, 2026, 100), (1, 12, 2026, 50)

    assert day_first([november, (12, 11, 2026, 101), december]) is True
    assert day_first([december, (1, 12, 2026, 40), november]) is True
    assert day_first([(11, 12, 2026, 100), (11, 12, 2026, 101), (12, 1, 2026, 50)]) is False


def test_nothing_decides_one_day_or_days_that_ascend_in_both_readings() -> None:
    assert day_first([]) is None
    assert day_first([(5, 11, 2026, 1), (5, 11, 2026, 2)]) is None
    assert day_first([(5, 11, 2026, 1), (6, 11, 2026, 2)]) is None
