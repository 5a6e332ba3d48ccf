"""The destination of a capture is checked before anything is collected, and keeps what was written when it fills up."""

from __future__ import annotations

import errno
import io
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ldapdiag.errors import UsageError
from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources.captures import archive
from ldapdiag.sources.captures import archive as destination
from ldapdiag.sources.captures.find import find
from ldapdiag.sources.files.input import Input

if TYPE_CHECKING:
    from pathlib import Path

SHAPES = ("capture", "capture.tar.gz", "capture.tar.zst")
SIZE = 200_000


def noise(name: str) -> Input:
    """Return an input that no compression makes shorter."""
    content = os.urandom(SIZE)
    return Input(path=f"app1/{name}", folder="live/app1", label=name, source=lambda: io.BytesIO(content))


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a destination be full after two and a half inputs."""
    room = [SIZE * 5 // 2]
    write = destination.Guarded.write

    def limited(self: destination.Guarded, data: bytes) -> int:
        if len(data) > room[0]:
            raise destination.FullError(errno.ENOSPC, "No space left on device")
        room[0] -= len(data)
        return write(self, data)

    monkeypatch.setattr(destination.Guarded, "write", limited)


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("shape", SHAPES)
def test_what_was_written_before_it_was_full_can_be_read(
    tmp_path: Path, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "CHUNK", 1 << 14)
    inputs = [noise(str(number)) for number in range(4)]
    with pytest.raises(UsageError, match="no space left on device; it is incomplete"):
        archive.write(tmp_path / shape, inputs)
    assert [one.name for one in tmp_path.iterdir()] == [shape]
    read = list(find(str(tmp_path / shape)))
    kept = [one for one in read if isinstance(one, Input)]
    assert kept
    for one in kept:  # whole, or not there
        with one.open() as stream:
            assert len(stream.read(2 * SIZE)) == SIZE
    assert any(isinstance(one, Gap) and "files not in it" in one.reason.replace("that are ", "") for one in read)


def test_evidence_that_cannot_be_read_is_not_a_full_destination(tmp_path: Path) -> None:
    def opening() -> io.BytesIO:
        raise OSError(errno.ENOSPC, "No space left on device")

    kept = archive.write(tmp_path / "capture", [noise("a"), replace(noise("b"), source=opening)])
    assert len(kept.gaps) == 1


@pytest.mark.parametrize("shape", SHAPES)
def test_too_little_space_is_noticed_before(tmp_path: Path, shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(destination, "_free_bytes", lambda _: 1 << 20)
    with pytest.raises(UsageError, match=r"1\.0 MiB free, and a capture needs 16 MiB or more"):
        archive.ready(tmp_path / shape)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("full")
def test_a_quota_is_noticed_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(destination, "PROBE_BYTES", 4 * SIZE)
    with pytest.raises(UsageError, match="no space left on device; choose another --output"):
        archive.ready(tmp_path / "capture.tgz")
    assert list(tmp_path.iterdir()) == []


def test_a_mount_point_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "usb").mkdir()
    monkeypatch.setattr("pathlib.Path.is_mount", lambda _: True)
    with pytest.raises(UsageError, match="it is a mount point; name an archive or a folder in it"):
        archive.ready(tmp_path / "usb")
