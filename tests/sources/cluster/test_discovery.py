"""Discovery by tasks: the same logs, reasons and order as on this machine, whatever a worker can see."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import tarfile
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

import examples
import log_lines
from in_process import InProcess
from ldapdiag.sources.cluster import cluster_reading, discovery
from ldapdiag.sources.cluster.discovery import discovered
from ldapdiag.sources.cluster.executor import ClusterError, WorkersDiedError
from ldapdiag.sources.cluster.scan_tasks import AnotherInstallationError
from ldapdiag.sources.files.open_files import MOST_OPEN
from ldapdiag.sources.logs import access_log
from ldapdiag.sources.logs.log_files import LogFile, find_logs
from log.reports import document_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = len(examples.some(range(500), 2))
"""More than may stay open, and five groups."""
PIECE = log_lines.header() + log_lines.run(1, 3, every=0.1)


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with files of many kinds, of five servers."""
    monkeypatch.setattr(discovery, "GROUP", FILES // 5)
    monkeypatch.setattr(discovery, "MANY", 2 * FILES // 5)
    for number in range(FILES):
        text = log_lines.header() + log_lines.run(10 * number + 1, 10 * number + 4, every=0.1)
        path = tmp_path / f"ds{number % 5}" / f"access.{number:03}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(CONTENTS.get(number % 25, bytes)(text))
    (tmp_path / "ds1" / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "ds2" / "empty").mkdir()
    return tmp_path


def tar_of(text: bytes) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for name in ("ds9/access.1", "ds9/access.2"):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return written.getvalue()


def in_container(text: bytes) -> bytes:
    lines = [json.dumps({"log": one.decode(), "stream": "stdout"}) for one in text.splitlines(keepends=True)]
    return "".join(f"{one}\n" for one in lines).encode()


CONTENTS: dict[int, Callable[[bytes], bytes]] = {
    3: lambda _: b"no log\n",
    5: gzip.compress,
    7: lambda _: b"",
    9: lambda text: gzip.compress(text)[:-40],
    11: lambda text: gzip.compress(gzip.compress(text)),
    13: tar_of,
    15: lambda text: text.decode().encode("utf-16"),
    17: lambda text: b"\0" * 5000 + text,
    19: lambda _: log_lines.header(),
    21: in_container,
}  # fmt: skip


def shown(found: list[Any]) -> list[Any]:
    """Return what discovery says about each file, without what only opens it."""
    plain: list[Any] = []
    for one in found:
        if not isinstance(one, LogFile):
            plain.append((type(one).__name__, one))
            continue
        inside = one.input
        carrier = inside.carrier and (inside.carrier.file_range, [each.name for each in inside.carrier.envelopes])
        opens = (inside.file_range, carrier, len(inside.layers), inside.identity, inside.size_bytes)
        told = (inside.path, inside.folder, inside.label, inside.compressed, inside.changed, inside.named)
        plain.append(
            (one.dialect.name, one.hints, one.head, one.last_time, one.concurrent, one.turns, one.note, opens, told)
        )
    return plain


def sampled_by(executor: Any) -> list[str]:
    return [label for label in executor.labels if label.startswith("samples of")]


def test_many_files_are_sampled_by_tasks_with_the_same_result(many: Path) -> None:
    executor = InProcess()
    by_tasks = discovered([str(many)], executor, None, Event())
    assert shown(by_tasks) == shown(list(find_logs([str(many)])))
    assert len(by_tasks) > FILES
    assert len(sampled_by(executor)) == FILES // discovery.GROUP
    assert all(task.released for task in executor.tasks)


def test_the_report_is_the_same_to_the_byte(many: Path) -> None:
    on_cluster = cluster_reading.read([str(many)], InProcess())
    here = access_log.read([str(many)])
    report = json.dumps({**document_of(on_cluster), "cluster": None})
    assert report == json.dumps(document_of(here))
    assert on_cluster.not_logs == here.not_logs
    assert [one.notes for one in on_cluster.streams] == [one.notes for one in here.streams]
    assert [[file.input.label for file in one.stream.files] for one in on_cluster.streams] == [
        [file.input.label for file in one.stream.files] for one in here.streams
    ]


def test_relative_paths_and_several_names(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(many)
    named = ["ds3", "nowhere", "ds0", "ds1/*", "ds3/access.005"]
    executor = InProcess()
    assert shown(discovered(named, executor, None, Event())) == shown(list(find_logs(named)))
    assert sampled_by(executor)


def test_few_files_are_sampled_here(many: Path) -> None:
    executor = InProcess()
    assert shown(discovered([str(many / "ds1")], executor, None, Event())) == shown(
        list(find_logs([str(many / "ds1")]))
    )
    assert executor.labels == []


def test_no_file_stays_open(many: Path) -> None:
    executor = InProcess()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208  a count
    found = discovered([str(many)], executor, None, Event())
    assert len(os.listdir("/proc/self/fd")) - before <= 2 * MOST_OPEN  # noqa: PTH208  as above
    assert found
    assert not any(f"/proc/{os.getpid()}".encode() in one for one in executor.pickles)


def test_a_task_that_fails_leaves_its_files_to_this_machine(many: Path) -> None:
    executor = InProcess(dies_of="samples of", error=WorkersDiedError)
    assert shown(discovered([str(many)], executor, None, Event())) == shown(list(find_logs([str(many)])))


def test_what_a_worker_does_not_see_as_it_was_listed_is_sampled_here(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rotation between the listing and the tasks: a worker samples another file, or none."""
    submit = InProcess.submit

    def rotating(self: InProcess, function: Any, /, *arguments: Any, label: str) -> Any:
        if not self.labels:
            (many / "ds0" / "access.000").rename(many / "ds0" / "older")
            (many / "ds0" / "access.000").write_bytes(PIECE * 3)
            (many / "ds0" / "access.010").unlink()
        return submit(self, function, *arguments, label=label)

    monkeypatch.setattr(InProcess, "submit", rotating)
    found = discovered([str(many)], InProcess(), None, Event())
    replaced = next(one for one in found if isinstance(one, LogFile) and one.input.label.endswith("ds0/access.000"))
    expected = next(iter(find_logs([str(many / "ds0" / "access.000")])))
    assert isinstance(expected, LogFile)
    assert replaced.head == expected.head
    (gone,) = (one for one in found if not isinstance(one, LogFile) and one.target.endswith("access.010"))
    assert "no such file" in gone.reason


def test_a_file_of_the_same_size_and_time_that_is_another_one_here_is_sampled_here(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = many / "ds0" / "access.000"
    status, text = path.stat(), path.read_bytes()
    asked: list[bytes] = []
    submit = InProcess.submit

    def replacing(self: InProcess, function: Any, /, *arguments: Any, label: str) -> Any:
        task = submit(self, function, *arguments, label=label)
        if not asked:
            asked.append(pickle.dumps(label))
            (many / "new").write_bytes(text.replace(b"10.", b"11."))
            os.utime(many / "new", ns=(status.st_atime_ns, status.st_mtime_ns))
            (many / "new").rename(path)
        return task

    monkeypatch.setattr(InProcess, "submit", replacing)
    found = discovered([str(many)], InProcess(), None, Event())
    replaced = next(one for one in found if isinstance(one, LogFile) and one.input.label == str(path))
    expected = next(iter(find_logs([str(path)])))
    assert isinstance(expected, LogFile)
    assert replaced.head == expected.head
    assert replaced.input.identity != (status.st_dev, status.st_ino)


def test_a_worker_that_joins_with_another_grammar_ends_the_run(many: Path) -> None:
    with pytest.raises(ClusterError, match="a worker that joined later"):
        discovered([str(many)], InProcess(dies_of="samples of", error=AnotherInstallationError), None, Event())


def test_after_ctrl_c_no_worker_is_waited_for(many: Path) -> None:
    stop = Event()
    stop.set()
    executor = InProcess()
    assert shown(discovered([str(many)], executor, None, stop)) == shown(list(find_logs([str(many)])))
    assert executor.labels == []
