"""Charts: a bar starts at zero, is as long as its number, and never wraps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ldapdiag.report.charts.terminal import FULL, HALF, LEVELS, bar, bars, plot, shortened

ROWS = st.lists(st.tuples(st.text(max_size=100), st.integers(0, 10**6)), min_size=1, max_size=5)


def cells(shown: str) -> float:
    """Return the length of a bar in cells."""
    return shown.count(FULL) + shown.count(HALF) / 2


class TestBar:
    @given(st.integers(0, 10**9), st.integers(1, 10**9), st.integers(1, 100))
    def test_is_proportional_from_zero(self, value: int, largest: int, width: int) -> None:
        value = min(value, largest)
        shown = bar(value, largest, width)
        assert cells(shown) == pytest.approx(width * value / largest, abs=0.5)
        assert set(shown) <= {FULL, HALF}

    def test_of_nothing_is_empty_and_of_little_is_half_a_cell(self) -> None:
        assert bar(0, 270, 40) == ""
        assert bar(1, 10**6, 40) == HALF
        assert bar(5, 0, 40) == ""

    def test_of_the_largest_fills_the_width(self) -> None:
        assert bar(270, 270, 40) == FULL * 40


class TestBars:
    @given(ROWS, st.integers(20, 200))
    def test_never_wrap(self, rows: list[tuple[str, int]], room: int) -> None:
        assert [row for row in bars(rows, room) if cell_len(row) > room] == []

    def test_share_one_scale_and_one_left_edge(self) -> None:
        assert list(bars([("at ldap", 270), ("at 人", 135), ("none", 0)], 100)) == [
            "at ldap  270 " + FULL * 40,
            "at 人    135 " + FULL * 20,
            "none       0",
        ]

    def test_are_scaled_to_the_room_there_is(self) -> None:
        assert list(bars([("at ldap", 270), ("at app1", 135)], 33)) == [
            "at ldap  270 " + FULL * 20,
            "at app1  135 " + FULL * 10,
        ]

    def test_never_show_a_control_character(self) -> None:
        assert list(bars([("\x1b[2J", 1)], 30)) == ["\\x1b[2J  1 " + FULL * 19]


class TestPlot:
    @given(st.lists(st.none() | st.integers(0, 1000), min_size=1, max_size=60), st.integers(1, 2000), st.integers(2, 8))
    def test_is_proportional_from_zero(self, values: list[int | None], top: int, height: int) -> None:
        rows = [row.partition("│")[2].ljust(len(values)) for row in plot(values, top, height)]
        assert len(rows) == height
        highest = height * len(LEVELS) - 1
        for column, value in enumerate(values):
            levels = [LEVELS.find(row[column]) + 1 for row in rows]
            if value is None:
                assert not any(levels)
            else:
                exact = highest * min(1, value / top)
                assert sum(levels) - 1 == (pytest.approx(exact, abs=0.5) if exact >= 1 or value == 0 else 1)
                assert (sum(levels) > 1) is (value > 0)

    def test_has_its_top_and_zero_at_the_left(self) -> None:
        assert list(plot([0, 500, None, 1000], 1000, 2)) == ["1,000 │ ▁ █", "    0 │▁█ █"]


class TestShortened:
    def test_a_long_name_keeps_both_ends(self) -> None:
        assert shortened("uid=application_shizzle,ou=services,dc=example,dc=com", 21) == "uid=applicatio…dc=com"

    @given(st.text(max_size=100), st.integers(8, 60))
    def test_a_name_fits_and_a_short_one_is_left_alone(self, name: str, longest: int) -> None:
        shown = shortened(name, longest)
        assert cell_len(shown) <= longest
        if cell_len(name) <= longest:
            assert shown == name
