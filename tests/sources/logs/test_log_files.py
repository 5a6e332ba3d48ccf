"""Stamps without year and zone: times are right where a clock is set back or forward, and where a year ends.

The same log is written with the stamps of UTC, which show every second once: that is the truth.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ldapdiag.sources.logs import batches, chunks
from ldapdiag.sources.logs.access_log import read
from log.comparable import plain

BERLIN = ZoneInfo("Europe/Berlin")
TURN = datetime(2026, 10, 25, 1, tzinfo=UTC)
"""02:59:59 +0200 is followed by 02:00:00 +0100."""

Line = tuple[datetime, bytes]


def log(begin: datetime, seconds_between: Sequence[int]) -> list[Line]:
    """Return the lines of connections that are opened so many seconds after each other."""
    lines: list[Line] = []
    time = begin
    for number, pause in enumerate(seconds_between, 1):
        messages = (
            f"fd=16 ACCEPT from IP=10.0.0.{number % 7}:4000{number} (IP=0.0.0.0:389)",
            'op=0 BIND dn="cn=a,dc=x" method=128',
            "op=0 RESULT tag=97 err=0 qtime=0.000010 etime=0.000071 text=",
            f'op=1 SRCH base="dc=x" scope=2 deref=0 filter="(cn=user{number})"',
            "op=1 SEARCH RESULT tag=101 err=0 qtime=0.000007 etime=0.001000 nentries=1 text=",
        )
        lines += ((time, f" vm slapd[3]: conn={number} {message}\n".encode()) for message in messages)
        time += timedelta(seconds=pause)
        lines.append((time, f" vm slapd[3]: conn={number} op=2 UNBIND\n".encode()))
        lines.append((time, f" vm slapd[3]: conn={number} fd=16 closed\n".encode()))
    return lines


def write(path: Path, lines: Sequence[Line], zone: ZoneInfo | None = None) -> None:
    """Write lines as a syslog daemon in a zone does, the last change at the time of the last line."""
    path.write_bytes(b"".join(f"{time.astimezone(zone or UTC):%b %e %H:%M:%S}".encode() + line for time, line in lines))
    os.utime(path, (lines[-1][0].timestamp(),) * 2)


def figures(folder: Path, zone: ZoneInfo | None) -> dict[str, Any]:
    """Return what the only stream of a folder adds up to."""
    (stream,) = read([str(folder)], zone=zone).streams
    assert not stream.gaps
    segment = stream.counts.finished()
    return {"first_time": segment.first_time, "last_time": segment.last_time, "all": plain(segment)}


def both(files: Sequence[Sequence[Line]], zone: ZoneInfo) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures of rotated files by the clock of a zone, and by that of UTC in one file."""
    with tempfile.TemporaryDirectory() as name:
        local, truth = Path(name) / "local", Path(name) / "truth"
        for folder in (local, truth):
            folder.mkdir()
        for number, lines in enumerate(files):
            write(local / f"syslog.{number}", lines, zone)
        write(truth / "syslog", [line for lines in files for line in lines])
        return figures(local, zone), figures(truth, None)


@pytest.mark.usefixtures("scanner")
class TestTheHourThatIsThereTwice:
    @pytest.mark.parametrize("minutes", [(-90, 90), (-10, 10), (-50, -10), (10, 50), (10, 90), (-170, -130)])
    def test_is_read_by_the_order_of_the_lines(self, minutes: tuple[int, int]) -> None:
        begin, end = minutes
        lines = log(TURN + timedelta(minutes=begin), [20] * ((end - begin) * 3))

        local, truth = both([lines], BERLIN)

        assert local == truth
        assert (truth["first_time"], truth["last_time"]) == tuple(
            int(line[0].timestamp()) * 10**9 for line in (lines[0], lines[-1])
        )

    def test_is_read_in_small_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(chunks, "CHUNK_BYTES", 5_000)
        monkeypatch.setattr(chunks, "WINDOW", 1024)
        monkeypatch.setattr(batches, "LEAST_BYTES", 20_000)

        local, truth = both([log(TURN - timedelta(hours=2), [10] * 1440)], BERLIN)

        assert local == truth

    def test_is_read_in_a_compressed_log(self, tmp_path: Path) -> None:
        lines = log(TURN - timedelta(hours=2), [10] * 1440)
        write(tmp_path / "syslog", lines, BERLIN)
        with gzip.open(tmp_path / "syslog.gz", "wb") as packed:
            packed.write((tmp_path / "syslog").read_bytes())
        (tmp_path / "syslog").unlink()

        assert figures(tmp_path, BERLIN)["last_time"] == int(lines[-1][0].timestamp()) * 10**9

    def test_has_its_length_in_every_zone(self) -> None:
        """Lord Howe sets its clock back by half an hour, to UTC+10:30."""
        turn = datetime(2026, 4, 4, 15, tzinfo=UTC)

        local, truth = both([log(turn - timedelta(hours=1), [20] * 400)], ZoneInfo("Australia/Lord_Howe"))

        assert local == truth

    def test_a_line_with_a_forged_time_is_no_turn(self) -> None:
        lines = log(TURN - timedelta(minutes=90), [20] * 540)
        forged = (TURN - timedelta(minutes=1), b" vm slapd[3]: conn=7 op=9 UNBIND\n")
        lines.insert(800, forged)

        local, truth = both([lines], BERLIN)

        assert local == truth

    def test_a_step_of_minutes_is_no_turn(self) -> None:
        first = log(TURN - timedelta(minutes=90), [20] * 120)
        stepped = log(first[-1][0] - timedelta(minutes=5), [20] * 300)

        local, truth = both([[*first, *stepped]], BERLIN)

        assert local == truth


@given(
    begin=st.integers(-7200, 3000),
    pauses=st.lists(st.integers(20, 400), min_size=20, max_size=60),
    cuts=st.lists(st.floats(0.1, 0.9), max_size=3),
)
@example(begin=-3000, pauses=[120] * 50, cuts=[0.3, 0.6, 0.8])
def test_files_rotated_at_any_line_are_read_as_one(begin: int, pauses: list[int], cuts: list[float]) -> None:
    lines = log(TURN + timedelta(seconds=begin), pauses)
    places = [0, *sorted({round(cut * len(lines)) for cut in cuts}), len(lines)]
    files = [lines[low:high] for low, high in pairwise(places) if low < high]
    assume(all(one[0][0] < other[0][0] for one, other in pairwise(files)))  # else nothing shows their order

    local, truth = both(files, BERLIN)

    assert local == truth


@pytest.mark.usefixtures("scanner")
def test_the_hour_that_is_missing_in_spring_takes_no_time() -> None:
    local, truth = both([log(datetime(2026, 3, 29, tzinfo=UTC), [20] * 360)], BERLIN)

    assert local == truth


@pytest.mark.usefixtures("scanner")
def test_the_last_lines_give_the_year_of_a_copy(tmp_path: Path) -> None:
    """Copied on 30 November, a log of the year before would begin after it ends."""
    lines = log(datetime(2025, 11, 20, tzinfo=UTC), [86_400] * 30)
    write(tmp_path / "syslog", lines)
    os.utime(tmp_path / "syslog", (datetime(2026, 11, 30, tzinfo=UTC).timestamp(),) * 2)

    got = figures(tmp_path, None)

    assert (got["first_time"], got["last_time"]) == tuple(
        int(line[0].timestamp()) * 10**9 for line in (lines[0], lines[-1])
    )
