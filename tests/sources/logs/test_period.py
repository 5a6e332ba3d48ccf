"""Each record is before, inside or after a period by its own time, whatever times the records around it have."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

import log_lines
from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.sources.logs.period import Period, Place

if TYPE_CHECKING:
    from collections.abc import Sequence

DIALECT = named("389-text")
TEXT = log_lines.header() + log_lines.run(1, 300)
LINES = TEXT.splitlines(keepends=True)[3:60]
UNTIMED = b"389-Directory/2.3.1 B2022.1.1\n"
TIMES = [log_lines.at(seconds / 10) for seconds in range(150)]


def time_of(line: bytes) -> int | None:
    return next(
        (time for time in TIMES if line.startswith(log_lines.stamp((time - log_lines.at(0)) / 1e9).encode())), None
    )


def expected(lines: Sequence[bytes], period: Period) -> list[tuple[Place, bytes]]:
    """Return the parts, line by line: one without a time belongs to the line before it."""
    place, placed = Place.UNTIMED, []
    for line in lines:
        time = time_of(line)
        place = place if time is None else period.place(time)
        placed.append((place, line))
    return [(place, b"".join(line for _, line in some)) for place, some in groupby(placed, lambda one: one[0])]


@given(st.sampled_from(TIMES), st.integers(0, 100), st.permutations(LINES + [UNTIMED] * 6))
def test_each_line_is_placed_by_its_own_time_in_any_disorder(since: int, tenths: int, lines: list[bytes]) -> None:
    until = since + tenths * 10**8
    for period in (Period(since), Period(None, until), Period(since, until)):
        assert period.divide(DIALECT, b"".join(lines), Hints()) == expected(lines, period)


def test_a_period_divides_a_part_in_three() -> None:
    data = log_lines.run(1, 30)

    assert Period(log_lines.at(10), log_lines.at(19.9)).divide(DIALECT, data, Hints()) == [
        (Place.BEFORE, log_lines.run(1, 10)),
        (Place.WITHIN, log_lines.run(11, 20, shift=0)),
        (Place.LATER, log_lines.run(21, 30, shift=0)),
    ]


def test_a_period_without_borders_takes_all() -> None:
    assert Period().divide(DIALECT, TEXT, Hints()) == [(Place.WITHIN, TEXT)]
    assert Period().divide(DIALECT, b"", Hints()) == []


def test_an_operation_logged_in_one_line_is_placed_by_its_end() -> None:
    line = (
        b'[22/Nov/2026:08:00:10.000 +0000] SEARCH RESULT conn=1 op=2 msgID=3 base="dc=x" scope=2 '
        b'filter="(a=b)" attrs="ALL" resultCode=0 resultCodeName="Success" etime=9000.000 entriesReturned=1\n'
    )
    dialect = named("ping-text")
    started = log_lines.at(0) + 2 * 86_400 * 10**9 + 5 * 10**9

    assert Period(started).divide(dialect, line * 3, Hints()) == [(Place.WITHIN, line * 3)]
