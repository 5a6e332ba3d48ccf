"""A log that was read in part, in every form in which one is given: with --strict the run ends with 2, and says so."""

from __future__ import annotations

import gzip
import io
import tarfile
from typing import TYPE_CHECKING

import pytest

import log_lines
from command import ldapdiag

if TYPE_CHECKING:
    from pathlib import Path

TEXT = log_lines.header() + log_lines.run(1, 600, every=0.1)
CUT = gzip.compress(TEXT)[:-500]


def given(folder: Path, form: str, data: bytes) -> str:
    """Write a log in a form, and return its name."""
    path = folder / "access.gz"
    path.write_bytes(data)
    if form == "member":
        with tarfile.open(folder / "logs.tar", "w") as archive:
            member = tarfile.TarInfo("ds1/access.gz")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        return str(folder / "logs.tar")
    return f"file://{path}" if form == "object" else str(path)


@pytest.mark.parametrize("command", ["diagnose", "indexes"])
@pytest.mark.parametrize("form", ["file", "member", "object"])
def test_with_strict_it_ends_with_two_and_is_in_the_last_lines(tmp_path: Path, form: str, command: str) -> None:
    name = given(tmp_path, form, CUT)
    ran = ldapdiag(command, name, "--strict", "--fail-on", "never")
    assert ran.code == 2
    assert "is truncated" in " ".join(" ".join(ran.text.splitlines()[-6:]).split())
    assert any("is truncated" in line for line in ran.complaints)
    assert ldapdiag(command, name, "--fail-on", "never").code == 0


@pytest.mark.parametrize("form", ["file", "member", "object"])
def test_a_whole_log_does_not(tmp_path: Path, form: str) -> None:
    assert ldapdiag("diagnose", given(tmp_path, form, gzip.compress(TEXT)), "--strict").code == 1


def test_another_file_that_cannot_be_read_is_no_log_read_in_part(tmp_path: Path) -> None:
    (tmp_path / "access").write_bytes(TEXT)
    assert ldapdiag("diagnose", tmp_path / "access", tmp_path / "nothing", "--strict", "--fail-on", "never").code == 1
