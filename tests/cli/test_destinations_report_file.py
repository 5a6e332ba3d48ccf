"""Files that reports are written to: replaced as a whole, and as they were otherwise."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from ldapdiag.cli.destinations import MEMORY, check_file, write_files
from ldapdiag.errors import UsageError

if TYPE_CHECKING:
    from typing import TextIO


def write(path: Path, text: str = "new") -> None:
    write_files([(path, lambda stream: stream.write(text))])


class Broken(Exception):  # noqa: N818  not an error
    """What a report that cannot be made raises."""


def fails(stream: TextIO) -> None:
    stream.write("half")
    raise Broken


def no_space(*_: object) -> None:
    raise OSError(28, os.strerror(28))


class TestWriting:
    def test_makes_a_file_as_any_program_does(self, tmp_path: Path) -> None:
        write(tmp_path / "ours")
        (tmp_path / "theirs").write_text("new")
        ours, theirs = (tmp_path / "ours").stat(), (tmp_path / "theirs").stat()
        assert (tmp_path / "ours").read_text() == "new"
        assert ours.st_mode == theirs.st_mode

    def test_keeps_the_permissions_of_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("old")
        (tmp_path / "file").chmod(0o640)
        write(tmp_path / "file")
        assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file to another user")
    def test_keeps_the_owner_of_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("old")
        os.chown(tmp_path / "file", 12_345, 23_456)
        check_file(tmp_path / "file")
        write(tmp_path / "file")
        found = (tmp_path / "file").stat()
        assert (found.st_uid, found.st_gid, (tmp_path / "file").read_text()) == (12_345, 23_456, "new")

    def test_keeps_links(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("old")
        (tmp_path / "symbolic").symlink_to("file")
        write(tmp_path / "symbolic")
        assert (tmp_path / "file").read_text() == "new"
        assert (tmp_path / "symbolic").is_symlink()
        (tmp_path / "to nothing").symlink_to("made")
        write(tmp_path / "to nothing")
        assert (tmp_path / "made").read_text() == "new"

    def test_keeps_a_link_to_no_file_when_it_is_checked(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to("made")
        check_file(tmp_path / "link")
        assert [path.name for path in tmp_path.iterdir()] == ["link"]

    def test_reaches_who_reads_a_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        read: list[str] = []
        reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
        reader.start()
        check_file(tmp_path / "pipe")
        write(tmp_path / "pipe")
        reader.join()
        assert read == ["new"]

    def test_reaches_an_open_file_through_its_descriptor(self, tmp_path: Path) -> None:
        with (tmp_path / "file").open("wb") as file:
            path = Path(f"/proc/self/fd/{file.fileno()}")
            check_file(path)
            write(path)
            assert (tmp_path / "file").stat().st_ino == os.fstat(file.fileno()).st_ino
        assert (tmp_path / "file").read_text() == "new"

    @pytest.mark.skipif(not MEMORY.is_dir(), reason="this system has no /dev/shm")
    def test_replaces_a_file_in_memory_as_any_other(self) -> None:
        with TemporaryDirectory(dir=MEMORY) as folder:
            path = Path(folder, "file")
            path.write_text("old")
            with path.open() as reader:
                write(path)
                assert (reader.read(), path.read_text()) == ("old", "new")

    def test_survives_a_lone_surrogate(self, tmp_path: Path) -> None:
        write(tmp_path / "file", "a\udcffb")
        assert (tmp_path / "file").read_text() == "a\\udcffb"


class TestAFailure:
    @pytest.mark.parametrize("step", ["os.fsync", "os.open", "os.fchmod"])
    def test_leaves_the_former_file(self, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").write_text("old")
        monkeypatch.setattr(step, no_space)
        with pytest.raises(
            UsageError, match="no space left on device; its content is as it was; choose another --output"
        ):
            write(tmp_path / "file")
        monkeypatch.undo()
        assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("file", "old")]

    def test_of_a_file_with_two_names_is_found_before_anything_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("old")
        (tmp_path / "hard").hardlink_to(tmp_path / "file")
        for attempt in (check_file, write):
            with pytest.raises(UsageError, match="2 names"):
                attempt(tmp_path / "hard")
        assert {(one.name, one.read_text()) for one in tmp_path.iterdir()} == {("file", "old"), ("hard", "old")}

    def test_of_one_file_keeps_them_all(self, tmp_path: Path) -> None:
        paths = [tmp_path / name for name in ("one", "two")]
        for path in paths:
            path.write_text("old")
        (tmp_path / "hard").hardlink_to(tmp_path / "two")
        with pytest.raises(UsageError, match="its content is as it was"):
            write_files([(path, lambda stream: stream.write("new")) for path in paths])
        assert [path.read_text() for path in paths] == ["old", "old"]
        assert len(list(tmp_path.iterdir())) == 3

    def test_of_the_report_leaves_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(Broken):
            write_files([(tmp_path / "other", lambda stream: stream.write("new")), (tmp_path / "file", fails)])
        assert list(tmp_path.iterdir()) == []

    def test_is_found_before_anything_is_read(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="is a directory"):
            check_file(tmp_path)
        check_file(tmp_path / "file")
        assert list(tmp_path.iterdir()) == []
