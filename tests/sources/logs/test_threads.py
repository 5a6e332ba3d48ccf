"""The native scanner's threads: the same figures however parts are told off, and trouble is told with its place.

Here the scanner is one that stands in for it, in Python; what the true one says is the matter of tests/native.
"""

from __future__ import annotations

import gzip
import time
from pathlib import Path
from threading import Event, active_count
from typing import Any

import pytest

import examples
import log_lines
import native_stand_in
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.logs import batches, chunks, native
from ldapdiag.sources.logs.access_log import ScannedLogs, read
from ldapdiag.sources.logs.merging import PeriodCounts
from ldapdiag.sources.logs.native import NoNativeError
from log.comparable import plain

TEXT = log_lines.header() + log_lines.run(1, 600, every=0.1)
LINES = TEXT.count(b"\n")
LATER = log_lines.run(601, 700, every=0.1)


@pytest.fixture(autouse=True)
def standing_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a scanner stand in for the native one, and parts be small."""
    native_stand_in.put_in(monkeypatch)
    for name, size in (("LEAST_BYTES", 40_000), ("MOST_BYTES", 60_000), ("SLACK", 2_000)):
        monkeypatch.setattr(batches, name, size)
    monkeypatch.setattr(chunks, "WINDOW", 512)
    monkeypatch.setattr(batches, "CARRIED_BYTES", 10_000)


def said(reading: ScannedLogs) -> Any:
    """Return everything that the only stream says."""
    (stream,) = reading.streams
    assert (stream.gaps, stream.notes) == ([], [])
    return plain(stream.counts.finished())


@pytest.mark.parametrize(
    ("form", "workers"),
    examples.some([(form, workers) for form in ("mixed", "packed", "one", "many") for workers in (3, 1)], 4),
)
def test_threads_say_what_the_reference_says(tmp_path: Path, form: str, workers: int) -> None:
    pieces = [TEXT] if form in {"one", "packed"} else TEXT.splitlines(keepends=True)
    size = max(1, len(pieces) // 25)
    for number, first in enumerate(range(0, len(pieces), size)):
        data = b"".join(pieces[first : first + size])
        packed = form == "packed" or (form == "mixed" and number % 5 in {1, 2})
        path = tmp_path / f"access.{number:03}"
        path.write_bytes(gzip.compress(data) if packed else data)
    for period in (
        None,
        log_lines.period(log_lines.at(12.3), log_lines.at(44.4)),
        log_lines.period(since=log_lines.at(59)),
    ):
        meter = Meter()

        native_says = read([str(tmp_path)], workers=workers, period=period, meter=meter)

        assert native_says.streams[0].scanner is Scanner.NATIVE
        assert said(native_says) == said(read([str(tmp_path)], period=period, scanner=Scanner.PYTHON))
        if period is None:
            assert meter.seen == meter.total == sum(path.stat().st_size for path in tmp_path.iterdir())


class Meter:
    """Keeps what it hears."""

    total: int | None = None
    seen = 0
    times = 0

    def begin(self, total_bytes: int | None) -> None:
        self.total = total_bytes

    def advance(self, size: int) -> None:
        assert size >= 0
        self.seen += size
        self.times += size > 0


def test_the_meter_moves_while_a_part_is_scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "access").write_bytes(TEXT)
    monkeypatch.setattr(batches, "LEAST_BYTES", 1 << 30)
    monkeypatch.setattr(batches, "MOST_BYTES", 1 << 30)
    monkeypatch.setattr(native_stand_in, "HEAVY", 1 << 30)
    slowly(monkeypatch, 0.005)
    meter = Meter()

    read([str(tmp_path)], workers=1, meter=meter)

    assert meter.seen == len(TEXT)
    assert meter.times > 3


def slowly(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the scanner take its time for each buffer."""
    feed = native_stand_in.Scan.feed

    def feeding(self: Any, data: bytes) -> None:
        time.sleep(seconds)
        feed(self, data)

    monkeypatch.setattr(native_stand_in.Scan, "feed", feeding)


def test_stopping_ends_soon_and_keeps_what_was_read_from_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not what another thread read of the middle: rests and results would be told across the hole."""
    (tmp_path / "access").write_bytes(TEXT)
    slowly(monkeypatch, 0.02)
    stop = Event()
    add = PeriodCounts.add

    def adding(*arguments: Any, **options: Any) -> None:
        stop.set()
        add(*arguments, **options)

    monkeypatch.setattr(PeriodCounts, "add", adding)

    reading = read([str(tmp_path)], workers=2, stop=stop)

    assert reading.stopped
    segment = reading.streams[0].counts.finished()
    assert 0 < segment.lines < LINES / 2
    assert segment.open_before == 0
    assert plain(segment) == plain(beginning(tmp_path, segment.lines).streams[0].counts.finished())


def beginning(folder: Path, lines: int) -> ScannedLogs:
    """Return what the reference says of the first lines of a log."""
    (folder / "beginning").mkdir()
    (folder / "beginning" / "access").write_bytes(b"".join(TEXT.splitlines(keepends=True)[:lines]))
    return read([str(folder / "beginning")], scanner=Scanner.PYTHON)


def test_threads_end_with_the_reading(tmp_path: Path) -> None:
    (tmp_path / "access").write_bytes(TEXT)
    before = active_count()

    read([str(tmp_path)], workers=4, period=log_lines.period(until=log_lines.at(3)))

    assert active_count() == before


class PanicException(BaseException):
    """As pyo3 raises a panic."""


def test_a_panic_is_told_with_the_place_and_what_came_before_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "access").write_bytes(TEXT)

    def panicking(self: Any, data: bytes) -> None:
        raise PanicException("index out of bounds at src/runs.rs:12")

    from_middle_on(monkeypatch, panicking)

    (stream,) = read([str(tmp_path)], workers=2).streams

    (gap,) = stream.gaps
    assert gap.reason.startswith(f"the scanner crashed on {tmp_path}/access after byte ")
    assert gap.reason.endswith(" (PanicError: index out of bounds at src/runs.rs:12); please report it")
    assert "--scanner python" in gap.how
    assert 0 < stream.counts.finished().lines < LINES


def from_middle_on(monkeypatch: pytest.MonkeyPatch, trouble: Any) -> None:
    """Let something happen to the lines from the middle of the log on."""
    feed = native_stand_in.Scan.feed
    middle = log_lines.stamp(30).encode()

    def feeding(self: Any, data: bytes) -> None:
        trouble(self, data) if data > middle else feed(self, data)

    monkeypatch.setattr(native_stand_in.Scan, "feed", feeding)


def test_a_disk_that_fails_is_told_with_the_place_and_what_came_before_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "access").write_bytes(TEXT)

    def failing(self: Any, data: bytes) -> None:
        raise OSError(5, "Input/output error")

    from_middle_on(monkeypatch, failing)

    (stream,) = read([str(tmp_path)], workers=2).streams

    (gap,) = stream.gaps
    assert gap.reason.startswith(f"cannot read {tmp_path}/access at byte ")
    assert gap.reason.endswith(": Input/output error")
    assert LINES / 4 < stream.counts.finished().lines < LINES


def test_nothing_is_counted_beyond_the_place_where_a_file_was_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "access.1").write_bytes(TEXT)
    (tmp_path / "access").write_bytes(LATER)
    place = TEXT.index(b"\n", len(TEXT) // 5) + 1
    true = native_stand_in.Scan.read

    def cut_off(self: Any, location: str, inode: Any, start: int, end: int, watch: Any) -> Any:
        if start <= place < end and Path(location).read_bytes() == TEXT:
            return native_stand_in.Read(true(self, location, inode, start, place, watch).to, shrunk=True)
        return true(self, location, inode, start, end, watch)

    monkeypatch.setattr(native_stand_in, "HEAVY", 1 << 30)
    monkeypatch.setattr(native_stand_in.Scan, "read", cut_off)

    (stream,) = read([str(tmp_path)], workers=3).streams

    assert stream.notes == [
        f"{tmp_path}/access.1 became shorter while it was read; its content up to byte {place} is counted"
    ]
    assert stream.counts.finished().lines == TEXT[:place].count(b"\n") + LATER.count(b"\n")


def test_a_file_that_is_replaced_meanwhile_is_no_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "_location", lambda location, _: location)
    path = tmp_path / "access"
    path.write_bytes(TEXT)
    add = PeriodCounts.add

    def adding(*arguments: Any, **options: Any) -> None:
        if not (tmp_path / "old").exists():
            path.rename(tmp_path / "old")
            path.write_bytes(TEXT)
        add(*arguments, **options)

    monkeypatch.setattr(PeriodCounts, "add", adding)
    slowly(monkeypatch, 0.005)

    (stream,) = read([str(path)], workers=1).streams

    (gap,) = stream.gaps
    assert gap.reason.startswith("was replaced by another file while it was read, at byte ")
    assert 0 < stream.counts.finished().lines < LINES


def test_records_that_are_too_long_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "access").write_bytes(b"\0" * 20 + TEXT)
    reading = native_stand_in.Scan.read

    def noting(*arguments: Any) -> Any:
        done = reading(*arguments)
        if arguments[3] == 20:
            done.too_long = [1_020]
        return done

    monkeypatch.setattr(native_stand_in.Scan, "read", noting)

    (stream,) = read([str(tmp_path)], workers=2).streams

    zeros, note = stream.notes
    assert "20 zero bytes" in zeros
    assert note == f"{tmp_path}/access has a line of more than 64 MiB at byte 1000; only its beginning is read"


def test_a_scanner_that_comes_no_further_is_a_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "access").write_bytes(TEXT)
    stuck = lambda self, location, inode, start, end, watch: native_stand_in.Read(start)  # noqa: ARG005, E731  as `read` has it
    monkeypatch.setattr(native_stand_in.Scan, "read", stuck)

    (stream,) = read([str(tmp_path)]).streams

    assert "makes no progress" in stream.gaps[0].reason


def test_what_cannot_be_taken_is_a_bug_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "access").write_bytes(TEXT)

    def failing(*_: Any) -> None:
        raise KeyError("shapes")

    monkeypatch.setattr(native_stand_in.Counts, "merge", failing)

    (stream,) = read([str(tmp_path)]).streams

    assert f"crashed on {tmp_path}/access after byte " in stream.gaps[0].reason
    assert "(KeyError: 'shapes')" in stream.gaps[0].reason


@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize(("total", "scans"), [(2_000, 1), (64_000, 2), (450_000, 8), (500_000, 9)])
def test_the_batches_do_not_depend_on_the_number_of_threads(
    tmp_path: Path, total: int, scans: int, workers: int
) -> None:
    (tmp_path / "access").write_bytes((TEXT * 3)[:total])
    made = []
    scan = native.scan

    def scanning(*arguments: Any) -> Any:
        made.append(scan(*arguments))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "scan", scanning)
        read([str(tmp_path)], workers=workers)

    assert len(made) == scans


class TestWhetherItCanBeUsed:
    def test_it_is_used_where_it_is(self) -> None:
        assert native.chosen() is Scanner.NATIVE
        assert native.notice() == ""
        assert native.reads("389-text")
        assert not native.reads("dsee")

    def test_the_reference_is_used_where_that_is_asked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert native.chosen(Scanner.PYTHON) is Scanner.PYTHON
        monkeypatch.setenv(native.VARIABLE, "python")
        assert native.chosen() is Scanner.PYTHON
        assert native.chosen(Scanner.NATIVE) is Scanner.NATIVE

    def test_one_of_another_version_is_not_used_and_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        native_stand_in.put_in(monkeypatch, GRAMMAR_VERSION=-1)
        assert native.chosen() is Scanner.PYTHON
        assert native.notice().startswith("the native scanner has another version (grammar -1, here ")
        with pytest.raises(NoNativeError, match=r"has another version .*`make demo` builds it"):
            native.chosen(Scanner.NATIVE)

    def test_where_there_is_none_nothing_is_said_of_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(native_stand_in.sys.modules, "ldapdiag_native", None)
        monkeypatch.setattr(native, "installed", lambda: native.Installed(None))
        assert native.chosen() is Scanner.PYTHON
        assert native.notice() == ""
        with pytest.raises(NoNativeError, match=r"is not installed; .* or install the wheel ldapdiag-native"):
            native.chosen(Scanner.NATIVE)

    def test_an_unknown_one_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(native.VARIABLE, "perl")
        with pytest.raises(NoNativeError, match="LDAPDIAG_SCANNER=perl: unknown scanner"):
            native.chosen()

    def test_the_dialect_that_needs_hints_is_the_one_without_a_year(self) -> None:
        from ldapdiag.evidence.log.syslog import TRADITIONAL  # noqa: PLC0415  it alone needs it

        assert TRADITIONAL.name == native.YEARLESS
