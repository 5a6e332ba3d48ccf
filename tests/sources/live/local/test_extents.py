"""The extents of files, as the file system of this machine maps them."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from functools import partial
from io import BytesIO
from pathlib import Path

import pytest

from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.local import extents
from ldapdiag.sources.live.local.extents import EXTENT, NOT_REPORTED, REQUEST, file_map, with_extents

LATER = time.monotonic() + 3600
LAST = extents.LAST


def scattered(folder: Path, pieces: int = 6) -> Path:
    """Return a file whose pieces are separated by holes, so that they are extents of their own."""
    file = folder / "data.mdb"
    with file.open("wb") as stream:
        for number in range(pieces):
            stream.seek(number * (1 << 20))
            stream.write(os.urandom(8192))
        stream.flush()
        os.fsync(stream.fileno())
    return file


def counted_by_filefrag(file: Path) -> int | None:
    """Return the number that filefrag prints; None where it prints none."""
    done = subprocess.run(["filefrag", file], capture_output=True, text=True, check=False)
    found = done.stdout.rpartition(": ")[2].partition(" extent")[0]
    return int(found) if found.isdigit() else None


@pytest.mark.skipif(not shutil.which("filefrag"), reason="filefrag is not installed")
def test_a_file_has_as_many_extents_as_filefrag_counts(tmp_path) -> None:
    file = scattered(tmp_path)
    expected = counted_by_filefrag(file)
    found = file_map(str(file), LATER)
    assert found.extents == expected, "both count, or the file system reports none to either"
    assert found.remark == ("" if expected is not None else NOT_REPORTED)
    assert found.size_bytes == file.stat().st_size
    assert found.allocated_bytes == 512 * file.stat().st_blocks


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no files in memory")
def test_a_file_of_a_file_system_without_extents_has_a_remark() -> None:
    file = os.memfd_create("data.mdb")
    try:
        os.write(file, b"x" * 5000)
        number, remark = extents._count(file, LATER)
    finally:
        os.close(file)
    assert (number, remark) == (None, NOT_REPORTED)


def test_what_is_no_regular_file_is_not_read(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(scattered(tmp_path))
    found = {name: file_map(str(tmp_path / name), LATER) for name in ("pipe", "link", "absent", ".")}
    assert found["pipe"].remark == found["."].remark == "it is no regular file"
    assert found["link"].remark == "cannot open it: too many levels of symbolic links"
    assert found["absent"].remark == "cannot open it: no such file or directory"
    assert {one.extents for one in found.values()} == {None}


def test_after_the_deadline_no_file_is_counted(tmp_path) -> None:
    found = file_map(str(scattered(tmp_path)), time.monotonic() - 1)
    assert (found.extents, found.remark) == (None, "the time limit has passed")


class Kernel:
    """Answers questions for the extents of a file as a kernel does: those from an offset on, up to the room."""

    def __init__(self, rows: list[tuple[int, int, int, int]]) -> None:
        self.rows = rows
        self.flags: set[int] = set()

    def __call__(self, _: int, __: int, buffer: bytearray) -> None:
        start, length, flags, _, room, _ = REQUEST.unpack_from(buffer)
        self.flags.add(flags)
        rows = [row for row in self.rows if row[0] + row[2] > start][:room]
        REQUEST.pack_into(buffer, 0, start, length, flags, len(rows), room, 0)
        for number, row in enumerate(rows):
            EXTENT.pack_into(buffer, REQUEST.size + number * EXTENT.size, *row)


@pytest.fixture
def kernel(monkeypatch):
    def made(*rows: tuple[int, int, int, int]) -> Kernel:
        kernel = Kernel(list(rows))
        monkeypatch.setattr(extents, "ioctl", kernel)
        return kernel

    return made


MIB = 1 << 20


@pytest.mark.parametrize(
    ("rows", "number", "remark"),
    [
        ([], 0, ""),
        ([(0, 8 * MIB, MIB, 0), (MIB, 9 * MIB, MIB, LAST)], 1, ""),
        ([(0, 8 * MIB, MIB, 0), (2 * MIB, 10 * MIB, MIB, LAST)], 1, ""),
        ([(0, 8 * MIB, MIB, 0), (MIB, 7 * MIB, MIB, LAST)], 2, ""),
        ([(0, 8 * MIB, MIB, 8), (MIB, 7 * MIB, MIB, 8 | LAST)], 2, "compressed"),
        ([(0, 8 * MIB, MIB, 0), (MIB, 0, MIB, 2 | 4 | LAST)], 1, ""),
        ([(0, 0, MIB, 2 | 4), (MIB, 0, MIB, 2 | 4 | LAST)], 1, ""),
    ],
    ids=["none", "one run", "one run with a hole", "back", "compressed", "end not yet placed", "not yet placed"],
)  # fmt: skip
def test_extents_that_follow_each_other_on_the_disk_are_one(kernel, tmp_path, rows, number, remark) -> None:
    asked = kernel(*rows)
    found = file_map(str(scattered(tmp_path)), LATER)
    assert (found.extents, found.remark) == (number, remark)
    assert asked.flags == {0}, "nothing is written to the disk first"


@pytest.mark.parametrize("number", [extents.ROOM - 1, extents.ROOM, extents.ROOM + 1, 5 * extents.ROOM])
def test_many_extents_are_read_in_several_answers(kernel, tmp_path, number) -> None:
    rows = [(one * 4096, (number - one) * 8192, 4096, 0) for one in range(number)]
    kernel(*rows[:-1], (*rows[-1][:3], LAST))
    assert file_map(str(scattered(tmp_path)), LATER).extents == number


def test_counting_ends_at_a_limit(kernel, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(extents, "MOST_EXTENTS", 1000)
    kernel(*((one * 4096, (9000 - one) * 8192, 4096, 0) for one in range(9000)))
    found = file_map(str(scattered(tmp_path)), LATER)
    assert found.extents is not None
    assert 1000 <= found.extents < 1000 + extents.ROOM
    assert found.remark == "at least: counting ends at 1,000"


def listed(*lines: str, asked: str = "the database files of process 41 on ldap", name: str = "database-files") -> Input:
    text = "".join(f"{line}\n" for line in lines).encode()
    return Input(
        path=f"ldap/{name}-2.txt",
        folder="ldap",
        label=f"{name}-2.txt of local:",
        source=partial(BytesIO, text),
        asked=asked,
    )


def text_of(piece: Input) -> str:
    with piece.open() as stream:
        return stream.read().decode()


def test_a_list_of_files_becomes_their_extents(tmp_path) -> None:
    file = scattered(tmp_path)
    lines = (f"12 {file}", f"7 {tmp_path}/absent", "not a line", "3 relative", f"4 {tmp_path}/a b")
    piece = with_extents(listed(*lines), LATER)
    assert (piece.path, piece.label) == ("ldap/file-extents-2.txt", "file-extents-2.txt of local:")
    assert piece.asked == "FIEMAP of the database files of process 41 on ldap"
    assert piece.taken is not None
    first, second = text_of(piece).splitlines()
    assert first.split("\t")[:3] == [str(file), str(file.stat().st_size), str(512 * file.stat().st_blocks)]
    assert second == f"{tmp_path}/absent\t-\t-\t-\tcannot open it: no such file or directory"


def test_paths_are_those_that_the_server_sees() -> None:
    text = text_of(with_extents(listed("12 /proc/41/root/var/lib/ldap/data.mdb", "12 /proc/411/root/x"), LATER))
    assert [line.split("\t")[0] for line in text.splitlines()] == ["/var/lib/ldap/data.mdb", "/proc/411/root/x"]


def test_only_the_largest_files_are_opened(monkeypatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(extents, "file_map", lambda path, _: opened.append(path) or extents.FileMap(
        size_bytes=1, allocated_bytes=1, extents=1))  # fmt: skip
    text = text_of(with_extents(listed(*(f"{900 - number} /db/{number}.db" for number in range(201))), LATER))
    assert len(opened) == 200
    assert text.splitlines()[-1] == "# only the largest 200 files"


def test_any_other_piece_stays_as_it_is() -> None:
    piece = listed("12 /x", name="directory-sizes")
    assert with_extents(piece, LATER) is piece


def test_the_time_limit_is_that_of_the_target_or_of_one_server(tmp_path, monkeypatch) -> None:
    files = listed(*[f"9 {scattered(tmp_path)}"] * 3)
    late = [["-", "the time limit has passed"]] * 3
    rows = text_of(with_extents(files, time.monotonic() - 1)).splitlines()
    assert [row.split("\t")[3:] for row in rows] == late
    monkeypatch.setattr(extents, "MOST_SECONDS", -1)
    rows = text_of(with_extents(files, LATER)).splitlines()
    assert [row.split("\t")[3:] for row in rows] == late
