"""Logs read by tasks: the same bytes as by threads, for every log we have and wherever it is cut."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import tarfile
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

import examples
import log_lines
from conftest import CAPTURES, CORPUS
from in_process import InProcess
from ldapdiag.cli.times import asked_period
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.cluster import cluster_reading, discovery
from ldapdiag.sources.cluster.executor import ClusterError, WorkersDiedError
from ldapdiag.sources.cluster.scan_tasks import AnotherInstallationError
from ldapdiag.sources.files import open_files
from ldapdiag.sources.logs import access_log, batches, chunks
from log.reports import document_of
from log.scanners import need_native
from several_servers import FORMS, Slapd, interleaved

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ldapdiag.sources.logs.access_log import ScannedLogs, ScannedStream

TEXT = log_lines.header() + log_lines.run(1, 600, every=0.1)
OTHER = log_lines.header() + log_lines.run(7001, 7600, every=0.1)


def report(reading: ScannedLogs) -> str:
    """Return the JSON of a reading, without the work of the cluster."""
    return json.dumps({**document_of(reading), "cluster": None}, sort_keys=True)


def same(*named: Path | str, executor: Any = None, scanner: Scanner | None = None, **more: Any) -> ScannedLogs:
    """Read logs in both ways, and compare all that the report has."""
    paths = [str(one) for one in named]
    here = access_log.read(paths, scanner=scanner, **more)
    on_cluster = cluster_reading.read(paths, executor or InProcess(), scanner=scanner, **more)
    in_series = cluster_reading.read(paths, InProcess(workers=1), scanner=scanner, **more)
    if here.streams:
        assert report(on_cluster) == report(in_series) == report(here)
        for one, other in zip(on_cluster.streams, here.streams, strict=True):
            assert (one.notes, one.gaps, one.truncated) == (other.notes, other.gaps, other.truncated)
    assert on_cluster.not_logs == here.not_logs
    return on_cluster


@pytest.fixture(params=examples.some(["cut", "whole"], 2))
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tasks be as large as they are, or small."""
    if request.param == "cut":
        for name, size in (("LEAST_BYTES", 20_000), ("MOST_BYTES", 30_000), ("SLACK", 2_000), ("CARRIED_BYTES", 5_000)):
            monkeypatch.setattr(batches, name, size)
        monkeypatch.setattr(chunks, "WINDOW", 512)


def lines_in(reading: ScannedStream) -> int:
    """Return the number of lines that were counted."""
    return reading.counts.finished(goes_on=True).lines


@pytest.mark.parametrize("root", [CAPTURES, pytest.param(CORPUS, marks=pytest.mark.long)], ids=["captures", "corpus"])
@pytest.mark.parametrize("scanner", examples.some([*Scanner], 2))
def test_every_log_gives_the_same_bytes(root: Path, scanner: Scanner, sizes: None) -> None:
    if scanner is Scanner.NATIVE:
        need_native()
    if not root.is_dir():
        pytest.skip("the shared corpus is not beside this checkout (it is in CI)")
    read = 0
    for path in examples.some(sorted(root.rglob("*")), 2):
        if path.is_file() and path.stat().st_size < 4_000_000 and path.suffix not in {".png", ".pcap", ".zip"}:
            read += len(same(path, scanner=scanner).streams)
    assert read > 10


@pytest.mark.parametrize("form", examples.some(["mixed", "one", "packed", "many"], 2))
@pytest.mark.parametrize("scanner", examples.some([*Scanner], 2))
def test_rotated_sets_in_every_form(tmp_path: Path, form: str, scanner: Scanner, sizes: None) -> None:
    if scanner is Scanner.NATIVE:
        need_native()
    pieces = [TEXT] if form in {"one", "packed"} else TEXT.splitlines(keepends=True)
    size = max(1, len(pieces) // 25)
    for number, first in enumerate(range(0, len(pieces), size)):
        data = b"".join(pieces[first : first + size])
        packed = form == "packed" or (form == "mixed" and number % 5 in {1, 2})
        (tmp_path / f"access.{number:03}").write_bytes(gzip.compress(data) if packed else data)
    reading = same(tmp_path, scanner=scanner)
    assert reading.cluster is not None
    assert reading.cluster.read_here == ()
    assert reading.cluster.tasks > (form != "packed" and scanner is Scanner.NATIVE)


def test_damaged_and_forged_files_are_remarked_in_the_same_order(tmp_path: Path) -> None:
    half = len(TEXT) // 2
    cut = TEXT.rfind(b"\n", 0, half) + 1
    (tmp_path / "access.1.gz").write_bytes(gzip.compress(TEXT[:cut])[:-500])
    (tmp_path / "access").write_bytes(TEXT[cut:])
    (tmp_path / "other").write_bytes(b"no log")
    assert any("truncated" in note for stream in same(tmp_path).streams for note in stream.notes)


def test_what_only_this_machine_can_open_is_read_here(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "logs.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("ds1/access")
        member.size = len(TEXT)
        archive.addfile(member, io.BytesIO(TEXT))
    reading = same(tmp_path / "logs.tar.gz")
    assert reading.cluster is not None
    assert len(reading.cluster.read_here) == 1


@pytest.mark.parametrize(
    ("since", "until"), [("-20s", None), (None, "-40s"), ("08:00:10", "08:00:40"), ("09:00", None), (None, "07:00")]
)
def test_a_period_gives_the_same_bytes(cut: Path, since: str | None, until: str | None) -> None:
    reading = same(cut, period=asked_period(since, until))
    lines = sum(lines_in(one) for one in reading.streams)
    assert lines < 2 * TEXT.count(b"\n")
    if "09:00" not in (since or "") and until != "07:00":
        assert lines > 0


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a log of many tasks beside one of another server."""
    for name, size in (("LEAST_BYTES", 20_000), ("MOST_BYTES", 30_000), ("SLACK", 2_000)):
        monkeypatch.setattr(batches, name, size)
    for name, text in (("ds1", TEXT), ("ds2", OTHER)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "access").write_bytes(text)
    return tmp_path


@pytest.mark.parametrize("error", [WorkersDiedError])
def test_a_task_that_kills_its_workers_is_a_gap_and_the_records_before_it_count(cut: Path, error: Any) -> None:
    whole = InProcess()
    assert len(cluster_reading.read([str(cut)], whole).streams) == 2
    scans = [label for label in whole.labels if "ds1/access, from byte" in label]
    assert len(scans) > 3
    reading = cluster_reading.read([str(cut)], InProcess(dies_of=scans[2], error=error))
    broken, other = reading.streams
    (gap,) = broken.gaps
    assert gap.reason == f"{scans[2]}: each worker that was given this task has died"
    assert "the records before it are counted" in str(gap.how)
    assert 0 < lines_in(broken) < lines_in(other) == OTHER.count(b"\n")
    expected = lines_in(cluster_reading.read([str(cut)], InProcess(dies_of=scans[2])).streams[0])
    assert lines_in(broken) == expected


def test_the_first_task_that_kills_its_workers_leaves_nothing_to_count(cut: Path) -> None:
    reading = cluster_reading.read([str(cut)], InProcess(dies_of="ds1/access, from byte 0 "))
    assert (lines_in(reading.streams[0]), len(reading.streams[0].gaps)) == (0, 1)


def test_a_worker_that_joins_with_another_grammar_ends_the_run(cut: Path) -> None:
    with pytest.raises(ClusterError, match="a worker that joined later"):
        cluster_reading.read([str(cut)], InProcess(dies_of="ds2", error=AnotherInstallationError))


def after_discovery(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Change files when they have been found and before they are read."""
    found = access_log.streams_of

    def streams_of(files: Any) -> Any:
        streams = found(files)
        change()
        return streams

    monkeypatch.setattr(cluster_reading, "streams_of", streams_of)


@pytest.mark.parametrize("form", ["text", "gz"])
@pytest.mark.parametrize("text", [b"", TEXT[:5000], OTHER + OTHER], ids=["gone", "smaller", "larger"])
def test_a_file_that_is_replaced_after_discovery_is_a_gap(
    cut: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, form: str
) -> None:
    before, now = (gzip.compress(TEXT), gzip.compress(text)) if form == "gz" else (TEXT, text)
    log = cut / "ds1" / "access"
    log.write_bytes(before)

    def rotate() -> None:
        log.rename(cut / "ds1-access.1")
        if text:
            log.write_bytes(now)

    after_discovery(monkeypatch, rotate)
    one, other = cluster_reading.read([str(cut)], InProcess()).streams
    (gap,) = one.gaps
    assert "was replaced by another file" in gap.reason or "o such file" in gap.reason
    assert lines_in(one) == 0
    assert (lines_in(other), other.gaps) == (OTHER.count(b"\n"), [])


def test_a_file_that_grows_meanwhile_is_read_up_to_the_size_that_it_had(
    cut: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = InProcess.submit

    def growing(self: InProcess, function: Any, /, *arguments: Any, label: str, size: int = 0) -> Any:
        with (cut / "ds1" / "access").open("ab") as file:
            file.write(OTHER)
        return submit(self, function, *arguments, label=label)

    monkeypatch.setattr(InProcess, "submit", growing)
    one, _ = cluster_reading.read([str(cut)], InProcess()).streams
    assert (lines_in(one), one.gaps) == (TEXT.count(b"\n"), [])


def test_a_larger_file_that_replaces_one_before_its_task_is_a_gap(cut: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    submit = InProcess.submit

    def replacing(self: InProcess, function: Any, /, *arguments: Any, label: str, size: int = 0) -> Any:
        if "ds1/access, from byte 0 " in label:
            (cut / "ds1" / "access").write_bytes(OTHER + OTHER)
        return submit(self, function, *arguments, label=label)

    monkeypatch.setattr(InProcess, "submit", replacing)
    one, _ = cluster_reading.read([str(cut)], InProcess()).streams
    (gap,) = one.gaps
    assert "was replaced by another file while it was read, at byte 0" in gap.reason
    assert lines_in(one) == 0


@pytest.mark.parametrize("size", [0, 5000])
def test_a_file_that_became_shorter_after_discovery_is_remarked_in_both_ways(
    cut: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    log = cut / "ds1" / "access"
    after_discovery(monkeypatch, lambda: os.truncate(log, size))
    on_cluster = cluster_reading.read([str(cut)], InProcess()).streams[0]
    log.write_bytes(TEXT)
    monkeypatch.setattr(access_log, "streams_of", cluster_reading.streams_of)
    here = access_log.read([str(cut)]).streams[0]
    assert lines_in(on_cluster) == lines_in(here) == TEXT[:size].count(b"\n") + bool(size)
    assert on_cluster.notes == here.notes
    assert "became shorter before it was read" in here.notes[0]
    assert len(on_cluster.truncated) == len(here.truncated) == 1


def test_a_file_that_was_renamed_after_discovery_is_never_read_as_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = TEXT.splitlines(keepends=True)
    size = len(lines) // 69
    log = tmp_path / "ds1"

    def write() -> None:
        shutil.rmtree(log, ignore_errors=True)
        log.mkdir()
        for number, first in enumerate(range(0, len(lines), size)):
            (log / f"access.{number + 10}").write_bytes(b"".join(lines[first : first + size]))

    def rotate() -> None:
        for path in sorted(log.iterdir()):
            path.rename(log / f"access.{int(path.suffix[1:]) - 1:02}")

    after_discovery(monkeypatch, rotate)
    write()
    assert len(list(log.iterdir())) > open_files.MOST_OPEN
    on_cluster = cluster_reading.read([str(tmp_path)], InProcess()).streams[0]
    write()
    monkeypatch.setattr(access_log, "streams_of", cluster_reading.streams_of)
    here = access_log.read([str(tmp_path)]).streams[0]
    lost = [one for one in (*here.truncated, *here.gaps) if "was replaced by another" in one.reason]
    missing = [one for one in here.gaps if "o such file" in one.reason]
    assert lost
    assert lines_in(here) <= len(lines) - size * len([*lost, *missing]) + size
    assert lines_in(on_cluster) <= lines_in(here)


def test_a_file_that_is_replaced_before_its_task_is_a_gap(cut: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    submit = InProcess.submit

    def replacing(self: InProcess, function: Any, /, *arguments: Any, label: str, size: int = 0) -> Any:
        if "ds1/access, from byte 0 " in label:
            (cut / "ds1" / "new").write_bytes(TEXT[:5000])
            (cut / "ds1" / "new").rename(cut / "ds1" / "access")
        return submit(self, function, *arguments, label=label)

    monkeypatch.setattr(InProcess, "submit", replacing)
    reading = cluster_reading.read([str(cut)], InProcess())
    (gap,) = reading.streams[0].gaps
    assert "was replaced by another file while it was read" in gap.reason


def test_after_ctrl_c_what_is_whole_is_counted(cut: Path) -> None:
    stop = Event()

    class Stopping(InProcess):
        def finished(self) -> Any:
            ended = super().finished()
            if len(self.tasks) > 5:
                stop.set()
            return ended

    reading = cluster_reading.read([str(cut)], Stopping(workers=1), stop=stop)
    assert reading.stopped
    assert len(reading.streams) == 2
    assert 0 < sum(lines_in(one) for one in reading.streams) < 2 * TEXT.count(b"\n")
    assert all(not one.gaps for one in reading.streams)
    whole = {one.stream.name: one.is_whole for one in reading.streams}
    counts = [TEXT.count(b"\n"), OTHER.count(b"\n")]
    assert [lines_in(one) == count for one, count in zip(reading.streams, counts, strict=True)] == [*whole.values()]
    assert not all(whole.values())


def test_the_window_keeps_few_tasks_under_way(cut: Path) -> None:
    class Counting(InProcess):
        most = 0

        def finished(self) -> Any:
            scans = [task for task in self.ended if "from byte" in task.label]
            Counting.most = max(Counting.most, len(scans))
            return super().finished()

    cluster_reading.read([str(cut)], Counting(workers=1))
    assert 0 < Counting.most <= 4


def test_results_are_released(cut: Path) -> None:
    executor = InProcess()
    reading = cluster_reading.read([str(cut)], executor)
    kept = [task for task in executor.tasks if not task.released]
    assert len(kept) == len(reading.streams)


def test_no_environment_is_in_a_task(cut: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "this-is-a-secret")
    executor = InProcess()
    cluster_reading.read([str(cut)], executor)
    assert executor.pickles
    assert not any(b"this-is-a-secret" in one for one in executor.pickles)
    assert not any(f"/proc/{os.getpid()}".encode() in one for one in executor.pickles)


@pytest.mark.parametrize("scanner", examples.some([*Scanner], 2))
def test_a_plain_object_is_cut_into_tasks(tmp_path: Path, sizes: None, scanner: Scanner) -> None:
    if scanner is Scanner.NATIVE:
        need_native()
    path, executor = tmp_path / "access", InProcess()
    path.write_bytes(TEXT)
    (stream,) = same(f"file://{path}", executor=executor, scanner=scanner).streams
    (of_file,) = access_log.read([str(path)], scanner=scanner).streams
    assert lines_in(stream) == lines_in(of_file) == TEXT.count(b"\n")
    scans = {label for label in executor.labels if "access, from" in label}
    assert len(scans) == max(1, -(-len(TEXT) // batches.MOST_BYTES))


def test_a_record_longer_than_a_task_is_in_one_part_of_its_object(tmp_path: Path, sizes: None) -> None:
    half = TEXT.rfind(b"\n", 0, len(TEXT) // 2) + 1
    path = tmp_path / "access"
    path.write_bytes(TEXT[:half] + TEXT[half:].replace(b"(uid=", b"(uid=" + b"x" * 100_000, 1))
    (stream,) = same(f"file://{path}").streams
    assert lines_in(stream) == TEXT.count(b"\n")
    assert stream.gaps == []


def test_two_servers_in_one_file_are_separate_on_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Slapd(host="ldap1", pid=3989, client="10.0.0.1").lines()
    two = Slapd(host="ldap2", pid=4100, client="10.0.0.2", begin=350_000).lines()
    for form in ("iso", "journal_json", "kubectl"):
        folder = tmp_path / form
        folder.mkdir()
        (folder / "log").write_bytes(b"".join(map(FORMS[form], interleaved(one, two))))

    named = same(tmp_path)
    monkeypatch.setattr(discovery, "MANY", 1)  # so that workers sample the files
    sampled = same(tmp_path)

    for reading in (named, sampled):
        assert [len(stream.stream.duplicates) for stream in reading.streams] == [2, 2]
