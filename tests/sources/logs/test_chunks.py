"""A file is cut into whole records and nothing of it is lost, whatever lies in it and happens to it."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path

import pytest

import log_lines
from ldapdiag.evidence.log.dialects import named
from ldapdiag.sources.logs import chunks, records
from ldapdiag.sources.logs.access_log import read
from ldapdiag.sources.logs.chunks import Chunk, EndedEarlyError, KeptOpen, Sizes, chunks_of
from ldapdiag.sources.logs.log_files import LogFile, find_logs
from ldapdiag.sources.logs.records import Records

TEXT = log_lines.header() + log_lines.run(1, 300)
DIALECT = named("389-text")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make parts so small that a small log has many."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 4096)
    monkeypatch.setattr(chunks, "CARRIED_BYTES", 4096)
    monkeypatch.setattr(chunks, "WINDOW", 128)
    monkeypatch.setattr(records, "LONGEST_RECORD", 20_000)
    monkeypatch.setattr(records, "KEPT_OF_RECORD", 100)


def log(path: Path) -> LogFile:
    (file,) = (one for one in find_logs([str(path)]) if isinstance(one, LogFile))
    return file


def cut(path: Path) -> tuple[list[bytes], list[str], list[Chunk]]:
    """Return the data of each part, the notes with what ended the log early, and the parts."""
    notes: list[str] = []
    found, data = [], []
    with KeptOpen(3) as held:
        try:
            for part in chunks_of(log(path), held, notes.append):
                found.append(part)
                data.append(part.data if part.byte_range is None else part.byte_range.read() or b"")
        except EndedEarlyError as error:
            notes.append(str(error))
    return data, notes, found


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("end", [b"", b"[20/Nov/2026:08:00:00 +0000] conn=9 op=1 RES"])
def test_parts_are_whole_records_and_together_the_file(tmp_path: Path, packed: bool, end: bytes) -> None:  # noqa: FBT001  a parameter of the test
    (tmp_path / "access").write_bytes(gzip.compress(TEXT + end) if packed else TEXT + end)

    data, notes, found = cut(tmp_path / "access")

    assert b"".join(data) == TEXT + end
    assert all(one.endswith(b"\n") for one in data[:-1])
    assert len(data) > 10
    assert max(map(len, data)) <= 4096
    assert notes == []
    assert sum(part.cost for part in found) == (tmp_path / "access").stat().st_size
    assert [part.at for part in found] == [sum(map(len, data[:number])) for number in range(len(data))]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("length", [3_000, 5_000, 15_000, 50_000, 500_000])
def test_a_line_of_any_length_costs_bounded_memory(tmp_path: Path, packed: bool, length: int) -> None:  # noqa: FBT001  a parameter of the test
    long = b"x" * length + b"\n"
    (tmp_path / "access").write_bytes(gzip.compress(TEXT + long + TEXT) if packed else TEXT + long + TEXT)

    data, notes, _ = cut(tmp_path / "access")

    joined = b"".join(data)
    if length <= 15_000:
        assert joined == TEXT + long + TEXT
        assert notes == []
    else:
        assert joined == TEXT + b"x" * 100 + b"\n" + TEXT
        assert len(notes) == 1
        assert "only its beginning is read" in notes[0]
    assert max(map(len, data)) < 30_000


@pytest.mark.usefixtures("small")
def test_a_file_that_is_cut_off_while_it_is_read_ends_there(tmp_path: Path) -> None:
    path = tmp_path / "access"
    path.write_bytes(TEXT)
    notes: list[str] = []
    with KeptOpen(3) as held:
        going = chunks_of(log(path), held, notes.append)
        first = next(going)
        os.truncate(path, 100)
        rest = list(going)

        assert first.byte_range is not None
        assert first.byte_range.read() == TEXT[:100]
        (last,) = rest
        assert last.byte_range is not None
        assert (last.byte_range.shrunk, last.byte_range.read()) == (True, b"")
    assert notes == []


@pytest.mark.usefixtures("small")
def test_a_file_that_is_renamed_while_it_is_read_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "access"
    path.write_bytes(TEXT)
    data = b""
    with KeptOpen(3) as held:
        for part in chunks_of(log(path), held, pytest.fail):
            if not data:
                path.rename(tmp_path / "access.1")
                path.write_bytes(b"something else entirely\n" * 1000)
            assert part.byte_range is not None
            data += part.byte_range.read() or b""

    assert data == TEXT


def test_where_descriptors_have_no_paths_another_file_is_not_taken_for_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "access"
    path.write_bytes(TEXT)
    monkeypatch.setattr(chunks, "_location", lambda location, _: location)
    with KeptOpen(3) as held:
        (part,) = chunks_of(log(path), held, pytest.fail)
        path.rename(tmp_path / "access.1")
        path.write_bytes(TEXT)

        assert part.byte_range is not None
        assert part.byte_range.read() is None


def test_a_file_that_grows_is_read_as_long_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "access"
    path.write_bytes(TEXT)
    with KeptOpen(3) as held:
        (part,) = chunks_of(log(path), held, pytest.fail)
        with path.open("ab") as stream:
            stream.write(TEXT)

        assert part.byte_range is not None
        assert part.byte_range.read() == TEXT


def test_a_compressed_log_that_is_damaged_gives_what_came_before(tmp_path: Path) -> None:
    (tmp_path / "access.gz").write_bytes(gzip.compress(TEXT * 50)[:-3000])

    data, notes, _ = cut(tmp_path / "access.gz")

    assert (TEXT * 50).startswith(b"".join(data))
    assert len(b"".join(data)) > len(TEXT)
    assert notes == ["is truncated"]
    (reading,) = read([str(tmp_path / "access.gz")]).streams
    assert [note.rpartition("/")[2] for note in reading.notes] == [
        "access.gz is truncated; the records before that are counted"
    ]


@pytest.mark.usefixtures("small")
def test_records_of_many_lines_are_carried_whole(tmp_path: Path) -> None:
    """As 389-ds writes JSON when it is to be pretty: a record ends with a line that is a closing brace."""
    record = b'{\n  "operation": "SEARCH",\n  "filter": "(a=b)"\n}\n'
    (tmp_path / "access").write_bytes(TEXT)
    pretty = replace(
        DIALECT, cut=lambda data, at: data.rfind(b"\n}\n", 0, at) + 3 if b"\n}\n" in data[:at] else 0, anywhere=False
    )
    file = replace(log(tmp_path / "access"), dialect=pretty)
    (tmp_path / "access").write_bytes(record * 1000)

    with KeptOpen(3) as held:
        found = list(chunks_of(file, held, pytest.fail))

    assert b"".join(part.data for part in found) == record * 1000
    assert all(part.data.startswith(b"{\n") and part.data.endswith(b"}\n") for part in found)
    assert len(found) > 10


OBJECT = (
    b'{\n  "local_time": "2026-11-20T08:00:00.1 +0000",\n  "operation": "UNBIND",\n  "conn_id": 1,\n  "op_id": 1\n}\n'
)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("sizes", [Sizes(), Sizes(byte_range=10_000)])
def test_objects_of_many_lines_are_cut_where_one_begins(tmp_path: Path, sizes: Sizes) -> None:
    (tmp_path / "access").write_bytes(OBJECT * 1000)
    file = log(tmp_path / "access")
    assert file.dialect.name == "389-json"
    with KeptOpen(3) as held:
        found = [part.byte_range for part in chunks_of(file, held, pytest.fail, sizes)]
        data = [one.read() for one in found if one]

    assert all(one and one.startswith(b"{\n") and one.endswith(b"}\n") for one in data)
    assert b"".join(one or b"" for one in data) == OBJECT * 1000
    assert len(found) > 5


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("length", [3_000, 50_000, 500_000])
def test_whoever_reads_little_by_little_gets_long_lines_too(tmp_path: Path, length: int) -> None:
    long = b"x" * length + b"\n"
    (tmp_path / "access").write_bytes(TEXT + long + TEXT)
    with KeptOpen(3) as held:
        found = [
            part.byte_range for part in chunks_of(log(tmp_path / "access"), held, pytest.fail, Sizes(byte_range=20_000))
        ]
        data = [one.read() for one in found if one and one.length]

    assert b"".join(one or b"" for one in data) == TEXT + long + TEXT
    assert all(one and one.endswith(b"\n") for one in data)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("packed", [False, True])
def test_what_comes_before_a_long_line_comes_first_and_its_end_is_looked_for_bit_by_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, packed: bool
) -> None:
    monkeypatch.setattr(chunks, "WINDOWS", 8)
    data = TEXT[: TEXT.index(b"\n", 9_000) + 1] + bytes(1 << 20)
    (tmp_path / "access").write_bytes(gzip.compress(data) if packed else data)
    with KeptOpen(3) as held:
        going = chunks_of(log(tmp_path / "access"), held, lambda _: None, Sizes(byte_range=50_000))
        came = bytearray()
        for part in going:
            came += part.data if part.byte_range is None else part.byte_range.read() or b""
            if len(came) >= 9_000:
                break
        empty = [next(going) for _ in range(20)]

    assert bytes(came) == data[: len(came)]
    assert sum(1 for part in empty if not (part.byte_range.length if part.byte_range else part.data)) >= 18


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("chunk", [1, 7, 999, 9_000])
@pytest.mark.parametrize("name", ["389-text", "389-json"])
def test_of_a_record_that_is_too_long_only_the_beginning_is_handed_over(name: str, chunk: int) -> None:
    record = OBJECT if name == "389-json" else TEXT.splitlines(keepends=True)[5]
    long = record[:2] + b"x" * 30_000 + (b"\n  and\n  so on\n}\n" if name == "389-json" else b"\n")
    data = record * 3 + long + record * 4
    coming = Records(named(name), least=500)
    whole, long_at = [], []
    for start in range(0, len(data), chunk):
        whole.append(coming.whole(data[start : start + chunk]))
        if coming.too_long and whole[-1]:
            long_at.append(coming.at)
            assert whole.pop() == (long[:100] + b"\n")
    whole.append(coming.remainder())

    assert b"".join(whole) == record * 7
    assert long_at == [len(record) * 3]
    assert coming.at + len(whole[-1]) == len(data)
