"""Output on a terminal without Unicode: every sign of a chart has a look-alike of one column."""

from __future__ import annotations

from ldapdiag.report.charts import terminal, terminal_charts
from ldapdiag.report.neutral import PLAIN

SIGNS = {
    *terminal.LEVELS,
    *(terminal.FULL, terminal.HALF, terminal.AXIS),
    *terminal_charts.GLYPHS.values(),
    *(terminal_charts.LIMIT, terminal_charts.FORECAST, terminal_charts.MARK),
}


def test_every_sign_of_a_chart_has_a_look_alike() -> None:
    plain = {sign: PLAIN.get(sign, sign) for sign in SIGNS}
    assert all(len(one) == 1 and one.isascii() for one in plain.values())


def test_levels_and_parts_stay_apart() -> None:
    assert len({PLAIN[level] for level in terminal.LEVELS}) == len(terminal.LEVELS)
    assert len({PLAIN[sign] for sign in (terminal.FULL, *terminal_charts.GLYPHS.values())}) == 3
