"""Values on the page: right units, and lengths that can be read back."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ldapdiag.report.html.values import HEIGHT, WIDTH, duration, percent, points, shown_time, tick

SECONDS = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86_400}


@given(seconds=st.floats(1e-4, 1e9))
@example(0.99999)
@example(999.6 * 86_400)
def test_a_duration_names_its_unit_and_keeps_three_digits(seconds: float) -> None:
    found = re.fullmatch(r"([\d,.]+) (ms|s|min|h|d)", duration(seconds))
    assert found
    assert float(found[1].replace(",", "")) * SECONDS[found[2]] == pytest.approx(seconds, rel=0.006)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (7.1e-06, "under 0.1 ms"),
        (0.0142, "14.2 ms"),
        (30, "30 s"),
        (300, "300 s"),
        (975, "16.2 min"),
        (7200, "2 h"),
        (259_200, "3 d"),
    ],
)
def test_durations_read_as_in_a_manual(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@given(share=st.floats(0, 1))
def test_a_length_is_that_part_of_the_width(share: float) -> None:
    assert float(percent(share).removesuffix("%")) == pytest.approx(100 * share, rel=1e-4, abs=1e-9)


@given(places=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=5))
def test_points_are_counted_from_the_lower_left_corner(places: list[tuple[float, float]]) -> None:
    read = [tuple(map(float, one.split(","))) for one in points(places).split()]
    assert read == [
        (pytest.approx(WIDTH * x, rel=1e-4, abs=1e-9), pytest.approx(HEIGHT * (1 - y), rel=1e-4, abs=1e-9))
        for x, y in places
    ]


def test_ticks_have_no_decimals_they_do_not_need() -> None:
    assert [tick(value) for value in (0, 1.0, 2.5, 20_000.0)] == ["0", "1", "2.5", "20,000"]


def test_times_are_utc_and_other_text_is_left_as_it_is() -> None:
    assert shown_time("2026-11-20T08:57:42.874000Z") == "2026-11-20 08:57:42 UTC"
    assert (shown_time("soon"), shown_time(None)) == ("soon", "")
