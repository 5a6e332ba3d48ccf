"""A history on a real file system that is full or read-only: the diagnosis is printed, and nothing is lost."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from command import INCIDENT, diagnose, ldapdiag
from histories import run, whole_run
from ldapdiag.sources.history.database import HistoryError
from ldapdiag.sources.history.recorded_runs import read
from ldapdiag.sources.history.recording import Bounds, record

if TYPE_CHECKING:
    from collections.abc import Iterator

KEEPS = Bounds(days=9999)
DAYS = ("--record-days", "9999")


@pytest.fixture
def disk(laboratory: object, tmp_path: Path) -> Iterator[Path]:
    """Return a file system of half a megabyte with a history of two runs."""
    del laboratory
    point = tmp_path / "disk"
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k,mode=0777", "tmpfs", point], check=True)
    for number in range(2):
        record(point / "history", whole_run(number), KEEPS)
    yield point
    subprocess.run(["umount", "--lazy", point], check=True)


def fill(disk: Path, *, free_kilobytes: int = 0) -> None:
    """Fill a file system, up to so many kilobytes."""
    with (disk / "filler").open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
        file.truncate(max(0, file.tell() - 1024 * free_kilobytes))


@pytest.mark.parametrize("free", [0, 4, 8, 16])
def test_on_a_full_disk_the_report_is_printed_and_the_earlier_runs_stay(disk: Path, free: int) -> None:
    fill(disk, free_kilobytes=free)
    ran = diagnose(INCIDENT, "--record", disk / "history", *DAYS)
    assert ran.code == 1
    assert ran.out.startswith(b"ldap        389 Directory Server")
    kept = read(disk / "history").runs
    assert kept[:2] == (whole_run(0), whole_run(1))
    if len(kept) == 2:
        assert len(ran.complaints) == 1
        assert "no space is left on its file system; free some space" in ran.complaints[0]
    else:  # there was room enough
        assert (free > 0, ran.err) == (True, b"")
    (disk / "filler").unlink()
    assert diagnose(INCIDENT, "--record", disk / "history", *DAYS).err == b""
    assert len(read(disk / "history").runs) == 3


def test_on_a_disk_that_is_full_from_the_beginning_the_report_is_printed(disk: Path) -> None:
    fill(disk)
    ran = diagnose(INCIDENT, "--record", disk / "another", *DAYS)
    assert (ran.code, len(ran.complaints)) == (1, 1)
    assert "no space is left" in ran.complaints[0]
    assert "no run in it" in ldapdiag("history", disk / "another").complaints[0]


def test_a_read_only_disk_ends_the_command_before_it_collects_and_can_be_read(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    for name in ("history", "another"):
        ran = diagnose(INCIDENT, "--record", disk / name, *DAYS)
        assert (ran.code, ran.out, len(ran.complaints)) == (2, b"", 1)
        assert "cannot record in" in ran.complaints[0]
    with pytest.raises(HistoryError, match="it cannot be written; run as its owner"):
        record(disk / "history", run(5), KEEPS)
    assert ldapdiag("history", disk / "history").code == 0


@pytest.fixture
def open_folder(laboratory: object) -> Iterator[Path]:
    """Return a folder that other users may read: pytest's own are private."""
    del laboratory
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_user_who_may_not_write_may_read(open_folder: Path) -> None:
    path = open_folder / "history"
    record(path, whole_run(0), KEEPS)
    path.chmod(0o644)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
    if subprocess.run([*nobody, "test", "-r", __file__], check=False).returncode:
        pytest.skip("another user cannot read this checkout")
    before = path.read_bytes()
    read_by_nobody = ldapdiag("history", path, before=nobody)
    assert (read_by_nobody.code, read_by_nobody.err) == (0, b"")
    refused = diagnose(INCIDENT, "--record", path, before=nobody)
    assert (refused.code, refused.out) == (2, b"")
    assert "cannot be written; run as its owner" in refused.complaints[-1]
    assert path.read_bytes() == before
