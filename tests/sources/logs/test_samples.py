"""Samples of a log: one record with a wrong time does not decide where the log begins and ends."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import log_lines
from ldapdiag.evidence.log.dialects import named, recognise
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.sources.logs.samples import sample

LINES = log_lines.run(1, 20).splitlines(keepends=True)
LAST = log_lines.at(19.3)


def forged(year: int) -> bytes:
    """Return a line that a client put into the log."""
    return f"[{datetime(year, 1, 1, tzinfo=UTC):%d/%b/%Y:%H:%M:%S} +0000] conn=7 op=9 UNBIND\n".encode()


def times(lines: list[bytes]) -> tuple[int, int]:
    data = b"".join(lines)
    dialect = recognise(data)
    assert dialect is not None
    found = sample(dialect, data, Hints())
    assert found is not None
    return found.first_time, found.last_time


@pytest.mark.parametrize("year", [1970, 2025, 2087])
@pytest.mark.parametrize("place", [1, 7, 100, len(LINES) - 1])
def test_a_single_record_apart_from_its_neighbours_does_not_count(year: int, place: int) -> None:
    assert times([*LINES[:place], forged(year), *LINES[place:]]) == (log_lines.at(0), LAST)


def test_a_first_record_after_all_others_does_not_count() -> None:
    assert times([forged(2087), *LINES]) == (log_lines.at(0), LAST)


def test_a_log_with_few_records_in_order_has_all_its_days() -> None:
    days = [log_lines.connection(number, number * 200_000) for number in range(4)]

    assert times(days) == (log_lines.at(0), log_lines.at(600_000.3))


def test_a_clock_that_is_set_back_stays_set_back() -> None:
    later = log_lines.run(21, 40, shift=400_000).splitlines(keepends=True)

    assert times([*later, *LINES])[1] == log_lines.at(400_039.3)


def test_the_second_bind_line_of_slapd_has_the_time_of_its_stamp() -> None:
    line = b'6b000aac.1b749727 0x7f0a1b2c3d40 conn=1000 op=0 BIND dn="cn=a" mech=SIMPLE bind_ssf=0 ssf=0\n'
    found = sample(named("openldap-stderr"), line, Hints())

    assert found is not None
    assert found.earliest == found.latest == found.first_time > SECOND
