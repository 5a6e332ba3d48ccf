"""The table and the chart of candidate timeouts."""

from __future__ import annotations

from typing import Any

import pytest

from ldapdiag.report.candidates import candidates, timeout


def row(seconds: int, cuts: float, **more: Any) -> dict[str, Any]:
    known = {
        "timeout_seconds": seconds,
        "cut_per_day": cuts,
        "most_cut_per_day": cuts,
        "first_client": "10.0.0.2" if cuts else None,
        "first_account": "uid=pool,dc=example" if cuts else None,
        "peak": 40,
        "freed_seconds": 7200.0,
        "held_seconds": 36000.0,
    }
    return known | more


def shown(*rows: dict[str, Any], chosen: int = 600, verbose: bool = False, log_seconds: float = 100_000) -> list[str]:
    observed = {"replay": list(rows), "recommended_seconds": chosen, "current_seconds": 0, "log_seconds": log_seconds}
    return list(candidates(observed, verbose=verbose))


ROWS = (row(60, 12.0), row(120, 4.0), row(300, 1.5), row(600, 0.0), row(900, 0.0, peak=None))


def test_the_recommended_row_is_marked_and_each_price_named() -> None:
    lines = shown(*ROWS)
    assert "27.8 h of access log" in lines[0]
    assert lines[2].split() == ["60", "s", "12", "40", "2.0", "h", "uid=pool", "from", "10.0.0.2"]
    assert [line for line in lines if line.startswith(">")] == [">    600 s          0      40      2.0 h"]
    assert not any("120 s" in line for line in lines)
    assert any("120 s" in line for line in shown(*ROWS, verbose=True))


def test_what_the_sweep_decides_is_a_range() -> None:
    assert " 1.5-3 " in shown(row(300, 1.5, most_cut_per_day=3.0))[2]


def test_no_row_is_wider_than_a_terminal_behind_the_margin() -> None:
    wide = row(86_400, 99_999.0, most_cut_per_day=999_999.0, first_account="x" * 99, peak=1_000_000, freed_seconds=1e9)
    seconds = (60, 90, 120, 180, 240, 300, 600, 900, 1200, 1800, 3600, 5400, 7200, 10800, 14400, 21600, 28800, 43200)
    assert max(map(len, shown(*(row(one, 5.0) for one in seconds), wide, verbose=True))) <= 80


def test_timeouts_that_the_log_is_too_short_for_are_left_out() -> None:
    lines = shown(*ROWS, log_seconds=590)
    assert "10 min of access log" in lines[0]
    assert any(" 300 s " in line for line in lines)
    assert not any(" 600 s " in line or "15 min" in line for line in lines)
    assert shown(*ROWS, log_seconds=60) == []


def test_without_a_log_or_a_difference_there_is_no_chart() -> None:
    assert shown() == []
    assert not any("│" in line for line in shown(row(300, 0.0, freed_seconds=0.0)))


@pytest.mark.parametrize(("seconds", "text"), [(60, "60 s"), (900, "15 min"), (5400, "90 min"), (14_400, "4 h")])
def test_timeouts_have_the_unit_of_administrators(seconds: int, text: str) -> None:
    assert timeout(seconds) == text
