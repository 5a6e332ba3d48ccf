"""A whole probe of a real directory: measured within its limits, and nothing remains, however it ends."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import pytest

import examples
from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.storage.probe import FileOperation
from ldapdiag.sources.probe.limits import ProbeLimits
from ldapdiag.sources.probe.probing import risk, run_probe
from ldapdiag.sources.progress import NoProgress

QUICK = ProbeLimits(seconds=4, blocks=5, committers=(1, 3), small_files=30, free_bytes=0, free_share=0)
STEPS = 11
KILLED = """
import sys
from pathlib import Path
from ldapdiag.sources.probe.limits import ProbeLimits
from ldapdiag.sources.probe.probing import run_probe
from ldapdiag.sources.progress import NoProgress

class Announced(NoProgress):
    def measuring(self, what):
        print(what, flush=True)

run_probe(Path(sys.argv[1]), ProbeLimits(seconds=9, blocks=9, small_files=100_000, free_bytes=0), Announced())
"""


class Steps(NoProgress):
    """The measurements that began; `then` is called at each."""

    def __init__(self, then=lambda _: None) -> None:
        self.names: list[str] = []
        self.then = then

    def measuring(self, what: str) -> None:
        self.names.append(what)
        self.then(what)


def test_every_measurement_is_made_and_nothing_remains(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("of the server")
    steps = Steps()
    probe = run_probe(tmp_path, QUICK, steps)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert len(steps.names) == STEPS
    assert [one.name for one in probe.syncs] == steps.names[:8]
    assert all(one.count == QUICK.blocks for one in probe.syncs)
    assert [one.committers for one in probe.commits] == [1, 3]
    assert all(1 <= one.syncs <= one.commits for one in probe.commits)
    assert [one.operation for one in probe.files] == list(FileOperation)
    assert {one.count for one in probe.files} == {QUICK.small_files}
    assert probe.access_times
    assert probe.access_times.files == QUICK.small_files
    assert probe.stopped_because == ""
    assert probe.written_bytes >= sum(one.count * one.block_bytes for one in probe.syncs) + 512 * 2
    assert probe.directory == str(tmp_path)
    assert os.path.ismount(probe.mount_point)
    assert probe.device == f"{os.major(tmp_path.stat().st_dev)}:{os.minor(tmp_path.stat().st_dev)}"


def test_an_interrupted_probe_keeps_what_was_measured(tmp_path: Path) -> None:
    stop = Event()
    steps = Steps(lambda what: stop.set() if what.startswith("overwrite") else None)
    probe = run_probe(tmp_path, QUICK, steps, stop)
    assert [one.name for one in probe.syncs] == steps.names[:4]
    assert (probe.commits, probe.files, probe.access_times) == ((), (), None)
    assert probe.stopped_because == "it was interrupted"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"bytes": 1 << 20}, "the limit of 1 MiB was reached"), ({"seconds": 0.05}, "the limit of 0.05 s was reached")],
)
def test_a_limit_ends_the_probe_with_what_was_measured(tmp_path: Path, limits, reason: str) -> None:
    bounds = ProbeLimits(**{"seconds": 20.0, "free_bytes": 0, "free_share": 0, **limits})
    begun = time.monotonic()
    probe = run_probe(tmp_path, bounds)
    assert probe.stopped_because == reason
    assert probe.written_bytes <= bounds.bytes
    assert time.monotonic() - begun < 10
    assert not probe.files


def test_a_volume_that_fills_up_meanwhile_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = iter([0, 0, 0, 1])
    monkeypatch.setattr(
        "ldapdiag.sources.probe.limits.low_space",
        lambda *_: "1 MiB are free, less than 1,024 MiB" if next(full) else "",
    )
    probe = run_probe(tmp_path, QUICK)
    assert probe.stopped_because == "1 MiB are free, less than 1,024 MiB"
    assert len(probe.syncs) == 3


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"free_bytes": 1 << 60}, r"MiB are free, less than 1,099,511,627,776 MiB"),
        ({"free_share": 1.0}, r"MiB of [\d,]+ MiB are free, less than 100 %"),
    ],
)
def test_too_little_free_space_is_refused_before_anything_is_written(tmp_path: Path, limits, reason: str) -> None:
    steps = Steps()
    with pytest.raises(LdapdiagError, match=rf"^cannot probe {tmp_path}: [\d,]+ {reason}; a full volume stops"):
        run_probe(tmp_path, ProbeLimits(**{"free_bytes": 0, **limits}), steps)
    assert steps.names == []
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_directory_is_refused_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path)
    for name, reason in (
        ("file", "not a directory; name one on the server's volume"),
        ("link", f"it is a symbolic link; name what it points to: {tmp_path}"),
        ("absent", "no such file or directory; name a directory on the server's volume"),
    ):
        with pytest.raises(LdapdiagError) as refused:
            run_probe(tmp_path / name, QUICK)
        assert str(refused.value) == f"cannot probe {tmp_path / name}: {reason}"


def test_a_file_system_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(LdapdiagError, match=r"^cannot probe /sys: "):
        run_probe(Path("/sys"), QUICK)


def test_a_sync_that_fails_ends_the_probe_with_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    steps = Steps(lambda what: monkeypatch.setattr(os, "fdatasync", fail) if "committer" in what else None)
    probe = run_probe(tmp_path, QUICK, steps)
    assert probe.stopped_because == "commits of 1 committer failed: Input/output error"
    assert len(probe.syncs) == 8
    assert probe.commits == ()


def test_the_risk_names_the_limits() -> None:
    assert risk(ProbeLimits()).startswith("The probe writes at most 128 MiB in at most 30 s and removes all of it.")


STEPS_TO_KILL = ["small files", "append 4 KiB, fsync", "commits of 80 committers"]
"""At the desk only the first, for the same process removes what any of them leaves."""


@pytest.mark.parametrize("step", examples.some(STEPS_TO_KILL, 3))
def test_nothing_remains_after_kill_9(tmp_path: Path, step: str) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        for line in process.stdout:
            if line.strip() == step:
                break
        time.sleep(0.05)
        seen = list(tmp_path.iterdir())
        os.killpg(process.pid, signal.SIGKILL)
    assert [path.name.split("-")[:3] for path in seen] == [[".ldapdiag", "probe", str(process.pid)]]
    until = time.monotonic() + 20
    while list(tmp_path.iterdir()) and time.monotonic() < until:
        time.sleep(0.02)
    assert list(tmp_path.iterdir()) == []
