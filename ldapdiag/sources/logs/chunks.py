"""Chunks: split a log file into sequences of whole records that fit into memory.

A chunk of a plain file is a byte range, which the scanner reads. A chunk carries its data if the data are decompressed
or come from a pipe, or if the record boundaries depend on all bytes before them.

Some chunks are empty, so that the caller can stop while the end of a long record is searched.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.allocation import keep_freed_memory
from ldapdiag.sources.files.open_files import OpenFile
from ldapdiag.sources.logs import records
from ldapdiag.sources.logs.records import Records, first_boundary, too_long

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.line_scan import Hints
    from ldapdiag.sources.files.layers import Opened
    from ldapdiag.sources.files.open_files import FileRange
    from ldapdiag.sources.logs.log_files import LogFile

CHUNK_BYTES = 8 << 20
"""Size of a byte range that a scan reads into memory at once."""
CARRIED_BYTES = 4 << 20
"""Size of a chunk that carries its data: four copies exist on the way to a worker."""

WINDOW = 1 << 16

WINDOWS = 1 << 10
"""Windows searched between two opportunities to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The chunk sizes in bytes that suit a scanner; None: the default."""

    byte_range: int | None = None
    """For byte ranges of a plain file; set by a scanner that reads in steps and truncates overlong records itself."""
    carried: int | None = None
    """For chunks that carry their data."""


USUAL = Sizes()


class KeptOpen:
    """The most recently opened files, kept open while workers read them: rotation may rename them."""

    def __init__(self, most: int) -> None:
        self._files: deque[OpenFile] = deque(maxlen=most)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.clear()

    def keep(self, file: OpenFile) -> None:
        """Keep a file open; close the one opened first if the limit is exceeded."""
        self._files.append(file)


class EndedEarlyError(Exception):
    """The log is truncated or damaged after its last chunk; the message is the end of a sentence: 'is truncated'."""


class ShrunkError(Exception):
    """The file is shorter than it was when it was opened."""


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A range of bytes of a file, with the identity of the file."""

    location: str
    inode: tuple[int, int]
    start: int
    length: int
    shrunk: bool = False
    """True if the file ended before the range when the chunks were planned."""

    def read(self) -> bytes | None:
        """Return the bytes, fewer if the file has shrunk; None if it was replaced. OSError propagates to the caller."""
        file = OpenFile(self.location)
        if (file.status.st_dev, file.status.st_ino) != self.inode:
            return None
        return file.read_at(self.start, self.length)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Consecutive whole records of a log."""

    dialect: Dialect
    hints: Hints
    label: str
    """Name of the log in messages."""
    at: int
    """Offset of the chunk in the (decompressed) log."""
    cost: int
    """Bytes of the (compressed) file read since the previous chunk: the unit of progress."""
    group: int = 0
    """Of chunks that carry their data: the number of the group of their files (batches.groups)."""
    data: bytes = b""
    byte_range: ByteRange | None = None
    """The location of the data, if the chunk does not carry them."""

    @property
    def bare(self) -> Chunk:
        """Return the chunk without its data, to free memory."""
        return replace(self, data=b"") if self.data else self


def has_byte_ranges(file: LogFile) -> bool:
    """Return whether the chunks of a file are byte ranges; else they carry their data."""
    return file.dialect.anywhere and file.input.file_range is not None and file.input.file_range.is_local


def parts_of(file: LogFile, most: int) -> Iterator[LogFile]:
    """Yield a file; a plain object of more than `most` bytes in parts, so that several workers can read it.

    A part ends at the last record boundary before `most` bytes, and later where none is near. If a boundary cannot be
    read, the rest is one part, which becomes a gap when it is read.
    """
    found, start = file.input.file_range, 0
    if found is not None and file.dialect.anywhere and not found.is_local and file.part_at is None:
        begin, end = found.bounds()
        to = begin + most
        while to < end:
            try:
                boundary = _boundary_before(file, found, begin + start, to)
            except OSError:
                break
            if boundary:
                yield _part(file, found, start, boundary - begin)
                start = boundary - begin
            to = (boundary or to) + most
        if start:
            yield _part(file, found, start, end - begin)
            return
    yield file


def _part(file: LogFile, found: FileRange, start: int, end: int) -> LogFile:
    part = file.input.ranged(replace(found, start=found.start + start, length=end - start))
    return replace(file, input=replace(part, size_bytes=end - start), part_at=start)


def _boundary_before(file: LogFile, found: FileRange, start: int, to: int) -> int:
    """Return the end of the last whole record in a range; 0 if none ends near its end. OSError propagates."""
    for size in (WINDOW, CHUNK_BYTES):
        low = max(start, to - size)
        window = found.read_at(low, to - low)
        if boundary := file.dialect.cut(window, len(window)):
            return low + boundary
    return 0


def chunks_of(
    file: LogFile, kept_open: KeptOpen, note: Callable[[str], None], sizes: Sizes = USUAL, group: int = 0
) -> Iterator[Chunk]:
    """Yield the chunks of a file in order; report skipped parts to `note`. OSError, EndedEarlyError propagate."""
    for chunk in _of_any_time(file, kept_open, note, sizes, group):
        yield from _in_turns(chunk, file) if file.turns else (chunk,)


def _in_turns(chunk: Chunk, file: LogFile) -> Iterator[Chunk]:
    """Yield a chunk in parts with the same hints."""
    found, at, cost = chunk.byte_range, chunk.at, chunk.cost
    end = at + (found.length if found else len(chunk.data))
    for turn in (*(turn for turn, _ in file.turns if at < turn < end), end):
        part = replace(chunk, at=at, hints=file.hints_at(at), cost=cost if turn == end else 0)
        if found:
            start = found.start + at - chunk.at
            yield replace(part, byte_range=replace(found, start=start, length=turn - at))
        else:
            yield replace(part, data=chunk.data[at - chunk.at : turn - chunk.at])
        at = turn


def _of_any_time(
    file: LogFile, kept_open: KeptOpen, note: Callable[[str], None], sizes: Sizes, group: int
) -> Iterator[Chunk]:
    chunk = Chunk(
        dialect=file.dialect, hints=file.hints, label=file.input.label, at=file.part_at or 0, cost=0, group=group
    )
    if file.note and not file.part_at:
        note(file.note)
    found = file.input.file_range
    if has_byte_ranges(file) and found is not None and (local := found.local_file()) is not None:
        kept_open.keep(local)
        status, known = local.status, file.input.identity
        # More files than are kept open. The inode is 0 in a listing of a folder on Windows.
        if known and known[1] and known != (status.st_dev, status.st_ino):
            raise EndedEarlyError("was replaced by another file before it was read (rotation)")
        start, end = found.bounds()
        yield from _byte_ranges(found, local, chunk, note, sizes.byte_range)
        if found.length is None and end < start + (file.input.size_bytes or 0):
            raise EndedEarlyError("became shorter before it was read (copytruncate)")
        return
    with file.input.open() as opened:
        yield from carried(opened, chunk, note, sizes.carried or CARRIED_BYTES)
        if opened.trouble():
            raise EndedEarlyError(opened.trouble())


def _byte_ranges(
    found: FileRange, stream: OpenFile, chunk: Chunk, note: Callable[[str], None], most: int | None
) -> Iterator[Chunk]:
    status = stream.status
    at, end = found.bounds()
    byte_range = ByteRange(_location(found.location, stream), (status.st_dev, status.st_ino), at, 0)
    while at < end:
        empty = replace(chunk, at=at - found.start, cost=0, byte_range=replace(byte_range, start=at))
        try:
            length = yield from _records_from(stream, at, end, most or CHUNK_BYTES, empty)
        except ShrunkError:
            length, end = min(end - at, most or CHUNK_BYTES), at
            byte_range = replace(byte_range, shrunk=True)
        chunk = replace(chunk, at=at - found.start, cost=length)
        if length > records.LONGEST_RECORD and most is None:
            note(too_long(chunk.label, chunk.at))
            yield replace(chunk, data=stream.read_at(at, records.KEPT_OF_RECORD) + b"\n")
        else:
            yield replace(chunk, byte_range=replace(byte_range, start=at, length=length))
        at += length


def _location(location: str, file: OpenFile) -> str:
    """Return a path by which a worker can open this file even after rotation has renamed or removed it."""
    path = f"/proc/{os.getpid()}/fd/{file.descriptor}"
    return path if Path(path).exists() else location


def _records_from(stream: OpenFile, at: int, end: int, most: int, empty: Chunk) -> Generator[Chunk, None, int]:
    """Return the length of the next whole records in bytes: at most `most`, or one record if that is longer.

    Yield `empty` during long searches. Windows overlap by one byte, because a record boundary is recognised by two.
    """
    if end - at <= most:
        return end - at
    low, size = at + most, WINDOW
    while low > at:
        high, low = min(low + 1, at + most), max(low - size, at)
        window = _read_exactly(stream, low, high - low)
        if boundary := empty.dialect.cut(window, len(window)):
            return low + boundary - at
        if size == CHUNK_BYTES:
            yield empty
        size = CHUNK_BYTES
    for number, offset in enumerate(range(at + most - 1, end, WINDOW - 1), 1):
        window = stream.read_at(offset, WINDOW)
        if boundary := first_boundary(empty.dialect, window):
            return min(offset + boundary, end) - at
        if not window:
            break
        if number % WINDOWS == 0:
            yield empty
    return end - at


def _read_exactly(stream: OpenFile, start: int, length: int) -> bytes:
    data = stream.read_at(start, length)
    if len(data) < length:
        raise ShrunkError
    return data


def carried(opened: Opened, chunk: Chunk, note: Callable[[str], None], size: int) -> Iterator[Chunk]:
    """Yield an open log in chunks that carry their data; `size` is their size in bytes."""
    keep_freed_memory()
    splitter = Records(chunk.dialect)
    cost = 0
    while read := opened.read(max(size - splitter.waiting, size // 2)):
        data = splitter.whole(read)
        if data and splitter.too_long:
            note(too_long(chunk.label, chunk.at + splitter.at))
        yield replace(chunk, at=chunk.at + splitter.at, cost=opened.cost - cost, data=data)
        cost = opened.cost
    if data := splitter.remainder():
        yield replace(chunk, at=chunk.at + splitter.at, cost=opened.cost - cost, data=data)


def shrunk(label: str, at: int) -> str:
    """Return the note on a file that was truncated while it was read (logrotate's copytruncate)."""
    return f"{label} became shorter while it was read; its content up to byte {at} is counted"
