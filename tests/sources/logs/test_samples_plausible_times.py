"""Forged stamps become neither the first nor the last time of a log, its order among files, or its server's name."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import log_lines
from ldapdiag.sources.logs.log_files import LogFile, find_logs
from ldapdiag.sources.logs.samples import DISORDER, plausible

NOW = 1_795_000_000 * 10**9
END = datetime.fromtimestamp(NOW / 10**9 + 86_400 * 40, UTC)
DAY = 86_400 * 10**9
GENUINE = st.lists(st.integers(NOW, NOW + 30 * DAY), min_size=5, max_size=40).map(sorted)
FORGED = [b"01/Jan/1970", b"20/Nov/2087", b"20/Nov/2025"]


@given(GENUINE, st.lists(st.tuples(st.integers(1, 100), st.integers(0, 2 * NOW)), max_size=2))
def test_forged_times_between_genuine_ones_are_left_out(times: list[int], forged: list[tuple[int, int]]) -> None:
    mixed = list(times)
    for at, time in forged:
        mixed.insert(1 + at % (len(mixed) - 1), time)

    found = plausible(mixed, END)

    assert times[0] - DISORDER <= min(found)
    assert max(found) <= times[-1] + DISORDER
    assert set(times) & set(found)


@given(GENUINE, st.sampled_from([0, NOW + 50 * 365 * DAY]))
def test_a_stamp_of_1970_or_after_the_file_is_left_out_even_at_an_end(times: list[int], forged: int) -> None:
    assert list(plausible([forged, *times], END)) == list(plausible([*times, forged], END)) == times


@given(st.lists(st.integers(0, 3 * NOW), min_size=1, max_size=20))
def test_some_times_are_left_of_any(times: list[int]) -> None:
    found = plausible(times, END)

    assert found
    assert set(found) <= set(times)


@pytest.mark.usefixtures("scanner")
@pytest.mark.parametrize("stamp", FORGED)
@pytest.mark.parametrize("place", [0, 4, 40, 79])
def test_a_forged_line_changes_neither_times_nor_name_of_a_file(stamp: bytes, place: int, tmp_path: Path) -> None:
    lines = log_lines.run(1, 20).splitlines(keepends=True)
    forged = b"[" + stamp + b":08:00:00.000000000 +0000] conn=7 op=9 UNBIND\n\tevil:389 (/etc/dirsrv/slapd-evil)\n"
    files = []
    for name, added in (("plain", b""), ("forged", forged)):
        (tmp_path / name).write_bytes(log_lines.header() + b"".join([*lines[:place], added, *lines[place:]]))
        files += [one for one in find_logs([str(tmp_path / name)]) if isinstance(one, LogFile)]

    plain, other = files
    if not (place == 0 and stamp == FORGED[2]):  # no order shows that the first line is forged
        assert (other.first_time, other.last_time) == (plain.first_time, plain.last_time)
    assert other.head.instance == plain.head.instance == b"localhost:389"
