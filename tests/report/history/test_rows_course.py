"""The course: each value in the column of its time, the highest of each column kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from histories import minutes
from ldapdiag.report.history.rows import course

READINGS = st.dictionaries(st.integers(0, 10_000), st.none() | st.integers(0, 1000), min_size=1, max_size=60)


@given(READINGS, st.integers(1, 80))
def test_no_value_above_zero_is_lost_or_invented(readings: dict[int, int | None], room: int) -> None:
    places = sorted(readings)
    laid_out = course(list(map(minutes, places)), room)
    columns = laid_out.highest([readings[place] for place in places])
    known = [value for value in readings.values() if value is not None]
    assert 1 <= len(columns) <= room
    assert max((value for value in columns if value is not None), default=None) == max(known, default=None)
    assert {value for value in columns if value is not None} <= set(known)


def test_regular_readings_have_a_column_each() -> None:
    laid_out = course([minutes(15 * number) for number in range(8)], 60)
    assert laid_out.highest(range(8)) == list(range(8))


def test_a_pause_is_as_wide_as_it_is_long() -> None:
    laid_out = course([minutes(number) for number in (0, 1, 2, 3, 7, 8)], 60)
    assert laid_out.highest([1] * 6) == [1, 1, 1, 1, None, None, None, 1, 1]


def test_a_column_shows_its_highest_value() -> None:
    laid_out = course([minutes(number) for number in range(100)], 10)
    assert laid_out.highest([9 if number == 55 else 1 for number in range(100)]).count(9) == 1


def test_readings_of_one_time_are_one_column() -> None:
    assert course([minutes(0), minutes(0)], 60).highest([3, 5]) == [5]
