"""Logs are found in whatever holds them, told by their bytes, and opened as often as it takes."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd

import log_lines
from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources.files import layers
from ldapdiag.sources.files.compressed import Decompressed
from ldapdiag.sources.files.input import HEAD_BYTES, Input
from ldapdiag.sources.logs.access_log import read
from ldapdiag.sources.logs.log_files import LogFile, NotALog, NotYet, find_logs
from ldapdiag.sources.logs.log_inputs import as_text, log_inputs

pytestmark = pytest.mark.usefixtures("scanner")

TEXT = log_lines.header() + log_lines.run(1, 20)
COMPRESSORS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd.compress}


def found(*named: Path | str) -> tuple[dict[str, LogFile], list[NotALog]]:
    logs, others = {}, []
    for one in find_logs([str(name) for name in named]):
        if isinstance(one, LogFile):
            logs[one.path] = one
        else:
            others.append(one)
    return logs, others


def content(file: LogFile) -> bytes:
    with file.input.open() as opened:
        return opened.read()


def tar(members: dict[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1_795_000_000
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_a_compressed_log_is_read_whatever_its_name_says(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"access.1.{suffix}").write_bytes(COMPRESSORS[suffix](TEXT))
    (tmp_path / "oddly-named").write_bytes(COMPRESSORS[suffix](TEXT))

    logs, others = found(tmp_path)

    assert not others
    assert sorted(logs) == [f"{tmp_path.name}/access.1", f"{tmp_path.name}/oddly-named"]
    assert {content(file) for file in logs.values()} == {TEXT}
    assert all(file.input.file_range is None and file.input.compressed for file in logs.values())


LONG = log_lines.header() + log_lines.run(1, 3000)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "bz2": bz2.compress,
    "utf-16": lambda data: data.decode().encode("utf-16"),
    "mark": lambda data: codecs.BOM_UTF8 + data,
}


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_the_beginning_of_a_long_log_is_whole_whatever_it_is_packed_in(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    (tmp_path / "access").write_bytes(pack(LONG))

    (found,) = log_inputs(str(tmp_path / "access"))

    assert isinstance(found, Input)
    text = as_text(found)
    assert isinstance(text, tuple)
    assert text[0].head == LONG[:HEAD_BYTES]
    with text[0].open() as opened:
        assert opened.read() == LONG


def test_a_file_that_holds_its_log_plainly_can_be_read_by_anybody(tmp_path: Path) -> None:
    (tmp_path / "access").write_bytes(TEXT)

    logs, _ = found(tmp_path / "access")

    (file,) = logs.values()
    assert file.input.file_range is not None
    assert Path(file.input.file_range.location).read_bytes() == TEXT
    assert (file.first_time, file.last_time) == (log_lines.at(0), log_lines.at(19.3))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_what_windows_made_of_a_log_is_read(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "access").write_bytes(TEXT.decode().encode(encoding))

    logs, others = found(tmp_path)

    assert not others
    (file,) = logs.values()
    assert content(file) == TEXT
    if file.input.file_range is not None:
        assert Path(file.input.file_range.location).read_bytes()[file.input.file_range.start :] == TEXT


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_an_archive_gives_each_of_its_logs_in_any_order(tmp_path: Path, mode: str) -> None:
    parts = {
        "box/slapd-corp/access": log_lines.header() + log_lines.run(11, 20),
        "box/slapd-corp/access.1.gz": gzip.compress(log_lines.header() + log_lines.run(1, 10)),
        "box/slapd-corp/errors": b"nothing of use\n",
    }
    (tmp_path / "logs.tar").write_bytes(tar(parts, mode))

    logs, others = found(tmp_path / "logs.tar")

    assert sorted(logs) == ["slapd-corp/access", "slapd-corp/access.1"]
    for _ in range(2):
        for path in sorted(logs):
            assert content(logs[path]) in (
                parts["box/slapd-corp/access"],
                gzip.decompress(parts["box/slapd-corp/access.1.gz"]),
            )
    assert content(logs["slapd-corp/access"]).endswith(log_lines.connection(20, 19))
    assert [one.target.rpartition("/")[2] for one in others] == ["errors"]
    assert (logs["slapd-corp/access"].input.file_range is not None) == (mode == "w")
    assert logs["slapd-corp/access"].input.folder == logs["slapd-corp/access.1"].input.folder
    changed = logs["slapd-corp/access"].input.changed
    assert changed is not None
    assert changed.timestamp() == 1_795_000_000


def test_a_compressed_archive_is_unpacked_once_for_logs_that_are_read_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logs.tar.gz").write_bytes(tar({f"access.{number}": TEXT for number in range(20)}, "w:gz"))
    logs, _ = found(tmp_path / "logs.tar.gz")
    opened = []
    monkeypatch.setattr(layers, "Decompressed", lambda *told: opened.append(told) or Decompressed(*told))

    assert {content(logs[path]) for path in sorted(logs, key=len)} == {TEXT}
    assert len(opened) == 1
    assert content(logs["logs/access.3"]) == TEXT
    assert len(opened) == 2


def test_a_member_of_a_plain_archive_is_where_it_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "logs.tar").write_bytes(tar({"a": b"x" * 1000, "access": TEXT}))

    logs, _ = found(tmp_path / "logs.tar")

    (file,) = logs.values()
    region = file.input.file_range
    assert region is not None
    assert region.length is not None
    assert Path(region.location).read_bytes()[region.start : region.start + region.length] == TEXT


def test_a_glob_that_the_shell_left_alone_is_expanded(tmp_path: Path) -> None:
    for name in ("access", "access.1", "errors"):
        (tmp_path / name).write_bytes(TEXT)
    (tmp_path / "odd[1]").write_bytes(TEXT)

    assert sorted(found(tmp_path / "access*")[0]) == [f"{tmp_path.name}/access", f"{tmp_path.name}/access.1"]
    assert sorted(found(tmp_path / "odd[1]")[0]) == [f"{tmp_path.name}/odd[1]"]
    assert "no such file" in str(found(tmp_path / "nothing*")[1])


def test_a_folder_is_read_with_its_sub_folders(tmp_path: Path) -> None:
    for folder in ("", "one", "one/two"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "access").write_bytes(TEXT)

    logs, others = found(tmp_path)

    assert sorted(logs) == sorted([f"{tmp_path.name}/access", "one/access", "two/access"])
    assert others == []


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_is_looked_at_and_then_read_from_its_beginning(tmp_path: Path, pack: type[bytes]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(pack(TEXT),))
    writer.start()

    logs, others = found(pipe)

    assert not others
    (file,) = logs.values()
    assert content(file) == TEXT
    writer.join()


def test_what_is_no_access_log_says_why_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "netstat.txt").write_bytes(b"Active Internet connections\n")
    (tmp_path / "fresh").write_bytes(log_lines.header())
    (tmp_path / "twice.gz.gz").write_bytes(gzip.compress(gzip.compress(TEXT)))
    (tmp_path / "nested.tar").write_bytes(tar({"inner.tar": tar({"access": TEXT})}))
    (tmp_path / "damaged.gz").write_bytes(gzip.compress(TEXT)[:15])

    logs, others = found(tmp_path, tmp_path / "absent")

    assert not logs
    told = {one.target.rpartition("/")[2]: (type(one), one.reason) for one in others}
    assert told["empty"] == (NotYet, "is an empty file")
    assert told["netstat.txt"][1].startswith("is not an access log")
    assert told["fresh"][0] is NotYet
    assert told["twice.gz.gz"][1].startswith("is compressed twice")
    assert told["inner.tar"][1].startswith("is an archive inside an archive")
    assert told["damaged.gz"] == (Gap, "is truncated")
    assert told["absent"][0] is Gap


def test_a_tar_that_is_cut_off_gives_what_came_before(tmp_path: Path) -> None:
    (tmp_path / "logs.tar").write_bytes(tar({"access": TEXT, "access.2": TEXT})[: len(TEXT) + 2000])

    logs, others = found(tmp_path / "logs.tar")

    assert "logs/access" in logs
    assert any(isinstance(one, Gap) and "truncated" in one.reason for one in others)


def test_an_open_input_counts_how_much_of_its_file_has_been_read(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT)
    (tmp_path / "access.gz").write_bytes(packed)

    (found,) = log_inputs(str(tmp_path / "access.gz"))

    assert isinstance(found, Input)
    with found.without_head().open() as opened:
        opened.read(1 << 20)
        assert opened.cost == len(packed)
        assert opened.trouble() == ""


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("zeros", [100, HEAD_BYTES, 3_000_000])
def test_zeros_before_a_log_are_passed_over_and_told(tmp_path: Path, zeros: int, pack: type[bytes]) -> None:
    """Copytruncate, while the server holds the log open without O_APPEND."""
    (tmp_path / "access").write_bytes(pack(bytes(zeros) + TEXT))

    logs, others = found(tmp_path)

    assert not others
    (file,) = logs.values()
    assert content(file) == TEXT
    assert f"begins with {zeros} zero bytes" in file.note
    (stream,) = read([str(tmp_path)]).streams
    assert stream.notes == [file.note]
    assert (stream.counts.finished().lines, stream.counts.finished().misread) == (TEXT.count(b"\n"), 0)


def test_a_hole_of_a_terabyte_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "access").open("wb") as stream:
        stream.seek(1 << 40)
        stream.write(TEXT)
    with (tmp_path / "nothing").open("wb") as stream:
        stream.truncate(1 << 20)

    logs, others = found(tmp_path)

    assert [file.input.file_range and file.input.file_range.start for file in logs.values()] == [1 << 40]
    assert [one.reason for one in others] == ["contains only zero bytes at its beginning"]


def test_stamped_lines_none_of_which_is_understood_are_no_log(tmp_path: Path) -> None:
    """By their times alone they would be a log without a search, and its audit a clean bill."""
    lines = "".join(f"[20/Nov/2026:09:00:{n:02}.1 +0000] conn={n} op=1 FROBNICATE x=1\n" for n in range(60))
    (tmp_path / "access").write_text(lines)
    files, (refused,) = found(tmp_path / "access")
    assert (files, refused.reason) == ({}, "is a log (389-text) without a usable record")
