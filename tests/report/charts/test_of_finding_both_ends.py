"""Both ends: the parts of each bar add up to the count of its end, and the live part is equal at both."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.report.charts.chart import Kind, Part
from ldapdiag.report.charts.of_finding import MOST_GROUPS, both_ends, direction_of

COUNT = st.integers(0, 10**6)
NAME = st.text(max_size=30)


@st.composite
def directions(draw: st.DrawFn, *, read: bool = True) -> dict[str, Any]:
    """Draw a direction whose counts agree, as a row of `directions`."""
    live, ghosts, stranded, severed, unproven = (draw(COUNT) for _ in range(5))
    return {
        "server": draw(NAME),
        "endpoint": "10.77.1.2:389",
        "client": draw(NAME),
        "client_hosts": draw(st.lists(NAME, max_size=2)),
        "server_count": live + severed + ghosts + unproven,
        "client_count": live + severed + stranded if read else None,
        "held": live,
        "ghosts": ghosts,
        "stranded": stranded,
        "severed": severed,
    }


@given(st.lists(directions(), min_size=1, max_size=12))
def test_parts_add_up_to_the_numbers(rows: list[dict[str, Any]]) -> None:
    chart = both_ends(rows)
    rows = [row for row in rows if row["server_count"] or row["client_count"]]
    if chart is None:
        assert not rows
        return
    assert len(chart.groups) == min(MOST_GROUPS, len(rows))
    assert chart.more == len(rows) - len(chart.groups)
    for group, row in zip(chart.groups, rows, strict=False):
        assert [bar.value for bar in group.bars] == [row["server_count"], row["client_count"]]
        for bar in group.bars:
            assert bar.value <= chart.axis.end
            assert [part.kind for part in bar.parts] == sorted(
                (part.kind for part in bar.parts), key=[kind for kind, _ in LEGEND_ORDER].index
            )
            known = {part.kind: part.value for part in bar.parts}
            assert known.get(Kind.LIVE, 0) == row["held"]
    assert [cells[1:] for cells in chart.table.rows] == [
        tuple(row[key] for key in ("server_count", "client_count", "held", "ghosts", "stranded", "severed"))
        for row in rows
    ]


LEGEND_ORDER = [(kind, "") for kind in (Kind.LIVE, Kind.SEVERED, Kind.GHOST, Kind.UNPROVEN)]


@given(st.lists(directions(), min_size=1, max_size=12))
def test_the_legend_has_the_kinds_that_occur(rows: list[dict[str, Any]]) -> None:
    chart = both_ends(rows)
    if chart is not None:
        kinds = {part.kind for group in chart.groups for bar in group.bars for part in bar.parts}
        assert {kind for kind, _ in chart.legend} == kinds


@given(directions(read=False))
def test_a_client_that_was_not_read_has_no_bar(row: dict[str, Any]) -> None:
    row |= {"held": 0, "ghosts": 0, "severed": 0}
    chart = both_ends([row])
    if chart is not None:
        (group,) = chart.groups
        (bar,) = group.bars
        assert bar.parts == (Part(Kind.UNPROVEN, row["server_count"]),)
        assert "not known" in chart.sentence


def test_numbers_that_a_translation_makes_contradict_each_other_never_exceed_the_count() -> None:
    """Behind a NAT a finding may count connections of the client that the server shows with others."""
    observed = {"server_count": 5, "client_count": 3, "matched": 0, "severed": 9, "client": "a", "client_hosts": []}
    direction = direction_of({"observed": observed | {"server": "b:389"}, "server": None})
    assert direction is not None
    chart = both_ends([direction])
    assert chart is not None
    assert [bar.value for bar in chart.groups[0].bars] == [5, 3]


def test_the_sentence_has_the_numbers() -> None:
    row = {"server": "ldap", "client": "10.77.2.2", "client_hosts": ["app1"], "server_count": 270, "client_count": 2}
    chart = both_ends([row | {"held": 2, "ghosts": 268, "stranded": 0, "severed": 0}])
    assert chart is not None
    assert chart.sentence == "app1 -> ldap: 270 connections at ldap, 2 at app1; 2 held at both ends, 268 ghosts."
    assert chart.axis.ticks == (0, 100, 200, 300)
