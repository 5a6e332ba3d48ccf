"""Charts on a terminal: never wider than the room, no control character, and as long as the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ldapdiag.analysis.idle.idle_ages import bin_edges
from ldapdiag.report.charts.of_finding import both_ends, idle_times
from ldapdiag.report.charts.over_time import chart_of
from ldapdiag.report.charts.terminal import BarPart, parted_bars
from ldapdiag.report.charts.terminal_charts import bar_rows, strip_rows, time_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOM = st.integers(20, 130)
HOSTILE = st.sampled_from(["\x1b[2J", "a" * 300, "人" * 80, "\u202eabc", "", "x\ny", "\t"])


def fit(rows: Iterable[str], room: int) -> list[str]:
    """Return the rows after a look at what must hold for all."""
    shown = list(rows)
    assert [row for row in shown if cell_len(row) > room] == []
    assert all(row.isprintable() for row in shown)
    return shown


@given(name=HOSTILE, client=HOSTILE, counts=st.tuples(*[st.integers(0, 10**7)] * 5), room=ROOM, verbose=st.booleans())
def test_both_ends_fit(name: str, client: str, counts: tuple[int, ...], room: int, *, verbose: bool) -> None:
    live, ghosts, stranded, severed, rest = counts
    row = {"server": name, "client": client, "client_hosts": [], "held": live, "ghosts": ghosts, "stranded": stranded}
    row |= {"severed": severed, "server_count": live + severed + ghosts + rest, "client_count": live + stranded}
    if chart := both_ends([row]):
        shown = fit(bar_rows(chart, room, verbose=verbose), room)
        assert len(shown) >= 2 if verbose else len(shown) == 2


@given(parts=st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from("abc")), min_size=1, max_size=4))
def test_parts_fill_the_bar_in_proportion(parts: list[tuple[int, str]]) -> None:
    whole = sum(value for value, _ in parts)
    (row,) = parted_bars([("", [BarPart(value, glyph) for value, glyph in parts])], 60)
    shown = row.split()[-1] if whole else ""
    assert len(shown) == (40 if whole else 0)
    for glyph in "abc":
        exact = 40 * sum(value for value, each in parts if each == glyph) / whole if whole else 0
        assert shown.count(glyph) == pytest.approx(exact, abs=4)
        assert (glyph in shown) is (exact > 0)


@given(
    oldest=st.floats(0, 10**7),
    upper=st.none() | st.integers(1, 10**5),
    recommended=st.none() | st.integers(1, 10**6),
    current=st.none() | st.integers(0, 10**6),
    data=st.data(),
    room=ROOM,
    verbose=st.booleans(),
)
def test_idle_times_fit_and_are_short(
    oldest: float,
    upper: int | None,
    recommended: int | None,
    current: int | None,
    data: st.DataObject,
    room: int,
    *,
    verbose: bool,
) -> None:
    edges = list(bin_edges(oldest, upper))
    counts = st.lists(st.integers(0, 10**5), min_size=len(edges) - 1, max_size=len(edges) - 1)
    ages = {"edges_seconds": edges, "live": data.draw(counts), "ghosts": data.draw(counts), "longest_live_seconds": 1.0}
    ages |= {"box_action": "drops its state after", "lower_seconds": None, "upper_seconds": upper}
    chart = idle_times({"idle_ages": ages, "recommended_seconds": recommended, "current_seconds": current})
    assert chart is not None
    shown = fit(strip_rows(chart, room, verbose=verbose), room)
    assert len(shown) <= (22 if verbose else 8)
    assert shown[4].split()[0] == "0"


@given(
    values=st.lists(st.none() | st.integers(0, 10**6), min_size=3, max_size=240),
    server=HOSTILE,
    limit=st.none() | st.integers(0, 10**7),
    left=st.none() | st.floats(0.01, 1000),
    room=ROOM,
)
def test_a_course_fits_and_is_short(
    values: list[int | None], server: str, limit: int | None, left: float | None, room: int
) -> None:
    rates = {"rate_per_hour": 9.5, "rate_per_hour_low": 9.0, "rate_per_hour_high": 11.0}
    hours = {"hours_left": left, "hours_left_earliest": left, "hours_left_latest": None}
    series: dict[str, Any] = {"server": server, "name": "connections", "source": "its access log", "step_seconds": 60}
    series |= {"from": "2026-11-20T08:00:00Z", "values": values, "limit": limit, "forecast": rates | hours}
    if chart := chart_of(series):
        shown = fit(time_rows(chart, room), room)
        assert len(shown) == 7 + len(chart.notes)
        assert shown[4].split()[0] == "0"


def test_a_leak_is_drawn_up_to_where_the_forecast_may_go() -> None:
    rates = {"rate_per_hour": 120.0, "rate_per_hour_low": 100.0, "rate_per_hour_high": 140.0}
    hours = {"hours_left": 2.3, "hours_left_earliest": 2.0, "hours_left_latest": 2.6}
    series = {"server": "ldap", "name": "connections", "source": "its access log", "step_seconds": 600}
    series |= {"from": "2026-11-20T08:00:00Z", "values": [300, 320, 340, 360, 380, 400], "limit": 676}
    chart = chart_of(series | {"forecast": rates | hours})
    assert chart is not None
    assert list(time_rows(chart, 60)) == [
        "Connections open at ldap (its access log)",
        "800 │╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌··",
        "    │     ▁··········",
        "    │▅▅▆▇██",
        "  0 │██████",
        "    08:00 UTC   10:00 11:00",
        "400 at 08:50 UTC, limit 676 (╌), forecast to 640 (·)",
        "The forecast is drawn for 2 times the observed time.",
    ]
