"""The scratch folder: removed by whom it belongs to, and by nobody else."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
from pathlib import Path

import pytest

from ldapdiag.sources.probe.removal import FOLDER
from ldapdiag.sources.probe.scratch import Scratch, scratch_folder, start_time, sweep


@pytest.fixture
def parent(tmp_path: Path):
    descriptor = os.open(tmp_path, FOLDER)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def dead() -> int:
    """Return the id of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        pass
    return process.pid


def folder(path: Path) -> Path:
    path.mkdir()
    (path / "file-00001").write_text("of a probe")
    return path


def test_the_folder_of_a_killed_probe_is_swept(tmp_path: Path, parent: int, dead: int) -> None:
    folder(tmp_path / f".ldapdiag-probe-{dead}-4711")
    folder(tmp_path / f".ldapdiag-probe-{os.getpid()}-1")  # the number of a process that began later
    sweep(parent)
    assert list(tmp_path.iterdir()) == []


def test_what_may_be_in_use_or_of_another_stays(tmp_path: Path, parent: int, dead: int) -> None:
    outside = folder(tmp_path / "database")
    kept = {
        outside,
        folder(tmp_path / f".ldapdiag-probe-{os.getpid()}-{start_time(os.getpid())}"),
        folder(tmp_path / f".ldapdiag-probe-{dead}-12x"),
        folder(tmp_path / f"ldapdiag-probe-{dead}-12"),
        folder(tmp_path / f".ldapdiag-probe-{dead}-7"),
        tmp_path / f".ldapdiag-probe-{dead}-8",
        tmp_path / f".ldapdiag-probe-{dead}-9",
    }
    (tmp_path / f".ldapdiag-probe-{dead}-8").symlink_to(outside)
    (tmp_path / f".ldapdiag-probe-{dead}-9").write_text("a file")
    locked = os.open(tmp_path / f".ldapdiag-probe-{dead}-7", FOLDER)
    fcntl.flock(locked, fcntl.LOCK_EX)
    try:
        sweep(parent)
    finally:
        os.close(locked)
    assert set(tmp_path.iterdir()) == kept
    assert (outside / "file-00001").exists()


def test_a_file_that_no_probe_makes_stays(tmp_path: Path, parent: int, dead: int) -> None:
    path = folder(tmp_path / f".ldapdiag-probe-{dead}-4711")
    (path / "id2entry.db").write_text("of a server, whose folder was renamed")
    sweep(parent)
    assert [each.name for each in path.iterdir()] == ["id2entry.db"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_folder_of_another_account_stays(tmp_path: Path, parent: int, dead: int) -> None:
    path = folder(tmp_path / f".ldapdiag-probe-{dead}-4711")
    os.chown(path, 12345, 12345)
    sweep(parent)
    assert (path / "file-00001").exists()


def test_a_file_of_the_scratch_folder_has_no_name(tmp_path: Path, parent: int) -> None:
    with scratch_folder(parent, tmp_path) as scratch, scratch.file() as descriptor:
        os.write(descriptor, b"x")
        assert os.fstat(descriptor).st_nlink == 0
        assert os.listdir(scratch.folder) == []  # noqa: PTH208  a descriptor has no path
    assert list(tmp_path.iterdir()) == []


def test_where_every_file_has_a_name_it_is_unlinked_at_once(
    tmp_path: Path, parent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def without_unnamed_files(path, flags, *rest, **more):
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", without_unnamed_files)
    with Scratch(parent).file() as descriptor:
        os.write(descriptor, b"x")
        assert os.fstat(descriptor).st_nlink == 0
        assert list(tmp_path.iterdir()) == []
