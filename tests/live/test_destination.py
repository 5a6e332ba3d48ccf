"""A destination on a real file system that is read-only, too small, or fills up."""

from __future__ import annotations

import os
import subprocess
from functools import partial
from typing import TYPE_CHECKING

import pytest

from command import diagnose, ldapdiag
from ldapdiag.errors import UsageError
from ldapdiag.sources.captures import archive
from ldapdiag.sources.captures.find import find
from ldapdiag.sources.files.input import Input

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def mounted(laboratory: object, tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Return a function that mounts a tmpfs with options."""
    del laboratory
    points: list[Path] = []

    def mount(options: str) -> Path:
        point = tmp_path / f"disk{len(points)}"
        point.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", point], check=True)
        points.append(point)
        return point

    yield mount
    for point in points:
        subprocess.run(["umount", "--lazy", point], check=True)  # files found there may still be open


@pytest.mark.parametrize(
    ("options", "name", "reason"),
    [
        ("ro", "capture.tar.gz", "read-only file system"),
        ("size=1m", "capture.tar.gz", "MiB free, and a capture needs 16 MiB or more"),
        ("size=64m,nr_inodes=1", "capture", "no space left on device"),
        ("size=64m", "", "is a mount point"),
    ],
)
def test_a_bad_destination_ends_the_command_before_it_collects(
    mounted: Callable[[str], Path], options: str, name: str, reason: str
) -> None:
    point = mounted(options)
    ran = ldapdiag("collect", "ldap://127.0.0.1:1", "--output", point / name)
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert reason in ran.complaints[0]
    assert list(point.iterdir()) == []


def test_a_report_that_cannot_be_written_ends_the_command_before_it_collects(mounted: Callable[[str], Path]) -> None:
    ran = diagnose("ldap://127.0.0.1:1", "--output", mounted("ro") / "report.txt")
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert "read-only file system" in ran.complaints[0]


@pytest.mark.parametrize("shape", ["capture", "capture.tar.gz", "capture.tar.zst"])
def test_a_destination_that_fills_up_keeps_what_it_has(
    mounted: Callable[[str], Path], tmp_path: Path, shape: str
) -> None:
    point = mounted("size=20m")
    for number in range(5):
        (tmp_path / str(number)).write_bytes(os.urandom(6 << 20))
    inputs = [
        Input(path=f"app1/{number}", folder="app1", label="x", source=partial((tmp_path / str(number)).open, "rb"))
        for number in range(5)
    ]
    with pytest.raises(UsageError, match="no space left on device; it is incomplete"):
        archive.write(point / shape, inputs)
    kept = [one for one in find(str(point / shape)) if isinstance(one, Input)]
    assert 1 <= len(kept) < 5
    for one in kept:
        with one.open() as stream:
            assert stream.read(7 << 20) == (tmp_path / one.name).read_bytes()
