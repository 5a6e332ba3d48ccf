"""Before and after: two bars per filter from the plan, the most time first."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.report.html.figures import MOST_SHAPES, before_after

TIME = st.floats(0, 10**6)


@st.composite
def shapes(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a row of `shapes`."""
    least, expected, most = sorted(draw(TIME) for _ in range(3))
    after = {"least": least, "expected": expected, "most": most}
    return {"shape": draw(st.text(max_size=40)), "searches": 3, "etime_seconds": draw(TIME), "with_plan_seconds": after}


@given(st.lists(shapes(), max_size=15))
def test_bars_are_the_numbers_of_the_plan(rows: list[dict[str, Any]]) -> None:
    chart = before_after({"server": "ldap", "shapes": rows})
    rows = [row for row in rows if row["etime_seconds"] > 0]
    if chart is None:
        assert not rows
        return
    drawn = rows[:MOST_SHAPES]
    assert [group.name for group in chart.groups] == [row["shape"] for row in drawn]
    values = [[bar.value for bar in group.bars] for group in chart.groups]
    assert values == [[row["etime_seconds"], row["with_plan_seconds"]["expected"]] for row in drawn]
    assert chart.axis.end >= max(max(pair) for pair in values)
    assert chart.more == len(rows) - len(drawn)
    assert len(chart.table.rows) == len(rows)


def test_what_the_plan_saves_is_said_to_be_at_most() -> None:
    after = {"least": 0.5, "expected": 1.0, "most": 120.0}
    row = {"shape": "(cn=*?*)", "searches": 3, "etime_seconds": 127.0, "with_plan_seconds": after}
    chart = before_after({"server": "ldap", "shapes": [row]})
    assert chart is not None
    assert chart.sentence == "(cn=*?*): 127 s, with the plan 1 s (500 ms to 120 s)."
    assert chart.notes == ("The times with the plan are predicted. It saves at most 126 s.",)
