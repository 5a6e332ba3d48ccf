"""Values on the page: lengths and coordinates that can be read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.report.html.values import HEIGHT, WIDTH, percent, points, tick


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
