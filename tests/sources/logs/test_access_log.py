"""Reading: side by side or alone, whole or in part, to the end or until stopped, the figures are the same."""

from __future__ import annotations

import fcntl
import gzip
import os
import tarfile
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pytest

import examples
import log_lines
from ldapdiag.sources.logs import batches, chunks
from ldapdiag.sources.logs.access_log import ScannedLogs, read
from ldapdiag.sources.logs.merging import PeriodCounts

pytestmark = pytest.mark.usefixtures("scanner")

TEXT = log_lines.header() + log_lines.run(1, 3000, every=0.1)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make parts so small that a small log has many."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 40_000)
    monkeypatch.setattr(chunks, "CARRIED_BYTES", 40_000)
    monkeypatch.setattr(chunks, "WINDOW", 1024)
    monkeypatch.setattr(batches, "LEAST_BYTES", 160_000)
    monkeypatch.setattr(batches, "MOST_BYTES", 160_000)
    monkeypatch.setattr(batches, "SLACK", 4_000)
    monkeypatch.setattr(batches, "CARRIED_BYTES", 40_000)


def figures(reading: ScannedLogs) -> dict[str, Any]:
    """Return what the only stream adds up to."""
    (stream,) = reading.streams
    assert stream.gaps == []
    segment = stream.counts.finished()
    names = ("lines", "misread", "operations", "opened", "peak", "open_at_end", "first_time", "last_time")
    return {name: getattr(segment, name) for name in names} | {"closed": dict(segment.closed)}


EXPECTED = {
    "lines": 3 + 3000 * log_lines.LINES_OF_CONNECTION,
    "misread": 0,
    "operations": [3000, 3000, 6000, 0, 0, 0, 0, 0, 0, 0],
    "opened": 3000,
    "open_at_end": 0,
    "first_time": log_lines.at(0),
    "last_time": log_lines.at(299.9 + 0.3),
    "closed": {b"U1": 3000},
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("workers", "packed"), examples.some([(1, False), (1, True), (2, True), (2, False)], 2))
def test_workers_read_what_one_process_reads(tmp_path: Path, workers: int, packed: bool) -> None:  # noqa: FBT001  a parameter of the test
    (tmp_path / "access").write_bytes(gzip.compress(TEXT) if packed else TEXT)
    meter = Meter()

    got = figures(read([str(tmp_path)], workers=workers, meter=meter))

    assert {name: got[name] for name in EXPECTED} == EXPECTED
    assert meter.total == meter.seen == (tmp_path / "access").stat().st_size


@pytest.mark.usefixtures("small")
def test_workers_read_the_logs_in_an_archive(tmp_path: Path) -> None:
    (tmp_path / "access").write_bytes(TEXT[: TEXT.index(b"\n", 1_000_000) + 1])
    (tmp_path / "access.0").write_bytes(TEXT[TEXT.index(b"\n", 1_000_000) + 1 :])
    with tarfile.open(tmp_path / "logs.tar", "w") as archive:
        archive.add(tmp_path / "access.0", "box/access.0")
        archive.add(tmp_path / "access", "box/access")

    got = figures(read([str(tmp_path / "logs.tar")], workers=2))

    assert {name: got[name] for name in EXPECTED} == EXPECTED


class Meter:
    """Keeps what it hears."""

    total: int | None = None
    seen = 0

    def begin(self, total_bytes: int | None) -> None:
        self.total = total_bytes

    def advance(self, size: int) -> None:
        self.seen += size


def test_searches_that_are_cut_between_nine_files_are_found_again(corpus: Path) -> None:
    """What the load sent, by its own record (sent.json); 28 have their result in another file."""
    got = figures(read([str(corpus / "7-traps" / "389-rotation-gzip")]))

    assert got["operations"][2] == 40_420 + 114
    assert got["misread"] == 0


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("workers", [1, 2])
def test_stopping_ends_soon_and_keeps_what_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    (tmp_path / "access").write_bytes(TEXT)
    stop = Event()
    add = PeriodCounts.add

    def adding(*arguments: Any, **options: Any) -> None:
        stop.set()
        add(*arguments, **options)

    monkeypatch.setattr(PeriodCounts, "add", adding)

    reading = read([str(tmp_path)], workers=workers, stop=stop)

    assert reading.stopped
    assert 0 < figures(reading)["lines"] < EXPECTED["lines"] / 2


@pytest.mark.parametrize("workers", [1, 2])
def test_stopping_ends_the_search_in_a_hole_and_keeps_what_came_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    (tmp_path / "access").write_bytes(TEXT)
    os.truncate(tmp_path / "access", 8 << 30)
    stop = Event()
    look, windows = chunks.first_boundary, []

    def looking(dialect: Any, window: bytes) -> int:
        windows.append(len(window))
        stop.set()
        return look(dialect, window)

    monkeypatch.setattr(chunks, "first_boundary", looking)

    reading = read([str(tmp_path)], workers=workers, stop=stop)

    assert sum(windows) < 1 << 30, "of 8"
    assert reading.stopped
    assert figures(reading)["lines"] == EXPECTED["lines"]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_period_counts_what_lies_in_it_and_knows_who_was_connected_before(tmp_path: Path, workers: int) -> None:
    (tmp_path / "access.1").write_bytes(log_lines.run(1, 1500, every=0.1))
    (tmp_path / "access.2").write_bytes(log_lines.run(1501, 3000, every=0.1))
    period = log_lines.period(log_lines.at(100), log_lines.at(199.99))

    reading = read([str(tmp_path)], workers=workers, period=period)

    got = figures(reading)
    assert got["operations"][0] == 1000
    assert got["opened"] == 1000
    assert got["closed"] == {b"U1": 1000}
    assert got["misread"] == 0


def test_stopping_ends_the_wait_for_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with open(os.open(pipe, os.O_RDWR), "wb", buffering=0) as writer:  # noqa: PTH123  both ends, so that opening does not wait
        size = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 1 << 20)
        writer.write(TEXT[:size])
        stop = Event()
        Timer(1, stop.set).start()

        reading = read([str(pipe)], workers=2, stop=stop)

    assert reading.stopped
    assert [file.path for file in reading.streams[0].stream.files] == [f"{tmp_path.name}/pipe"]


def test_nothing_past_a_period_is_read(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"access.{number}").write_bytes(log_lines.run(number * 100 + 1, number * 100 + 100))
    meter = Meter()

    read([str(tmp_path)], period=log_lines.period(until=log_lines.at(150)), meter=meter)

    assert meter.seen == sum((tmp_path / f"access.{number}").stat().st_size for number in (0, 1))


@pytest.mark.usefixtures("small")
def test_a_log_cut_off_while_it_is_read_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "access"
    path.write_bytes(TEXT)
    add = PeriodCounts.add

    def adding(*arguments: Any, **options: Any) -> None:
        os.truncate(path, 50_000)
        add(*arguments, **options)

    monkeypatch.setattr(PeriodCounts, "add", adding)

    reading = read([str(path)], workers=1)

    (stream,) = reading.streams
    assert len(stream.notes) == 1
    assert "became shorter while it was read" in stream.notes[0]
    (gap,) = stream.truncated
    assert (gap.target, gap.how) == (str(path), "read it again, with the rotated file")
    assert 0 < stream.counts.finished().lines < EXPECTED["lines"] / 2


def test_a_torn_last_line_is_a_record_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "access.1").write_bytes(log_lines.run(1, 10) + b"[20/Nov/2026:08:00:10.3")
    (tmp_path / "access.2").write_bytes(log_lines.run(11, 20))

    got = figures(read([str(tmp_path)]))

    assert got["lines"] == 20 * log_lines.LINES_OF_CONNECTION + 1
    assert got["misread"] == 1
    assert got["opened"] == 20


@pytest.mark.parametrize(("later", "is_named"), [(3600, True), (30, False), (-3600, False), (30 * 86400, False)])
def test_records_later_than_their_file_show_a_wrong_clock(tmp_path: Path, later: int, *, is_named: bool) -> None:
    """A file that is later was copied, or its server was quiet; one of another month got its time from a program."""
    path = tmp_path / "access"
    path.write_bytes(TEXT)
    changed = EXPECTED["last_time"] / 10**9 - later
    os.utime(path, (changed, changed))
    (stream,) = read([str(path)]).streams
    assert [note.endswith("time zone (--zone)") for note in stream.counted().stream.notes] == [True] * is_named
