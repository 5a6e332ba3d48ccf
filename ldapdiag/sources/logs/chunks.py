"""Chunks: a log file cut into whole records, none of them too large for memory.

Of a plain file a chunk is a range of bytes, which the scanner reads; what is decompressed, comes through a pipe, or has
record borders that depend on all bytes before them is carried in the chunk.

Some chunks are empty: the caller can stop between them while the end of a long record is searched.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ldapdiag.sources.files.open_files import OpenFile
from ldapdiag.sources.logs import records
from ldapdiag.sources.logs.records import Records, first_border, too_long

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.line_scan import Hints
    from ldapdiag.sources.files.layers import Opened
    from ldapdiag.sources.files.open_files import FileRange
    from ldapdiag.sources.logs.log_files import LogFile

CHUNK_BYTES = 8 << 20
"""Of a chunk that one scan reads into memory at once."""
CARRIED_BYTES = 4 << 20
"""Of a chunk that is carried: it is in memory four times on its way to a worker."""

WINDOW = 1 << 16

WINDOWS = 1 << 10
"""So many are looked into before the next chance to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large chunks should be for a scanner; None: the usual size."""

    byte_range: int | None = None
    """Bytes of a plain file, for a scanner that reads them bit by bit and skips most of a record that is too long."""
    carried: int | None = None
    """Bytes that are carried."""


USUAL = Sizes()


class KeptOpen:
    """The files opened last, kept open while workers read them: a rotation may rename them meanwhile."""

    def __init__(self, most: int) -> None:
        self._files: deque[OpenFile] = deque(maxlen=most)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.clear()

    def open(self, found: FileRange) -> OpenFile:
        """Open a file, and let go of the one opened longest ago when there are too many. OSError is the caller's."""
        self._files.append(found.file())
        return self._files[-1]


class EndedEarlyError(Exception):
    """All chunks of a log came, but it is truncated or damaged; the text is the end of a sentence: 'is truncated'."""


class ShrunkError(Exception):
    """The file is shorter than it was when it was opened."""


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes of a file, and by what it is known to be still the same file."""

    location: str
    inode: tuple[int, int]
    start: int
    length: int
    shrunk: bool = False
    """The file had ended before, when it was looked at."""

    def read(self) -> bytes | None:
        """Return the bytes, fewer where it has shrunk; None where another file is there. OSError is the caller's."""
        file = OpenFile(self.location)
        if (file.status.st_dev, file.status.st_ino) != self.inode:
            return None
        return file.read_at(self.start, self.length)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Some whole records of a log."""

    dialect: Dialect
    hints: Hints
    label: str
    """Which log."""
    at: int
    """Where in the log's own bytes it begins."""
    cost: int
    """Bytes of the file that it took to come so far since the chunk before: what progress is measured in."""
    data: bytes = b""
    byte_range: ByteRange | None = None
    """Where the data are, if they are not carried."""

    @property
    def bare(self) -> Chunk:
        """Return the same without its data, of which there may be much."""
        return replace(self, data=b"") if self.data else self


def chunks_of(file: LogFile, kept_open: KeptOpen, note: Callable[[str], None], sizes: Sizes = USUAL) -> Iterator[Chunk]:
    """Yield a file in chunks, in order; `note` is called with what of it is not read. OSError, EndedEarlyError."""
    chunk = Chunk(dialect=file.dialect, hints=file.hints, label=file.input.label, at=0, cost=0)
    if file.note:
        note(file.note)
    if file.input.file_range is not None and file.dialect.anywhere:
        yield from _byte_ranges(file.input.file_range, chunk, kept_open, note, sizes.byte_range)
        return
    with file.input.open() as opened:
        yield from carried(opened, chunk, note, sizes.carried or CARRIED_BYTES)
        if opened.trouble():
            raise EndedEarlyError(opened.trouble())


def _byte_ranges(
    found: FileRange, chunk: Chunk, kept_open: KeptOpen, note: Callable[[str], None], most: int | None
) -> Iterator[Chunk]:
    stream = kept_open.open(found)
    status = stream.status
    at, end = found.bounds()
    byte_range = ByteRange(_location(found.location, stream), (status.st_dev, status.st_ino), at, 0)
    while at < end:
        nothing = replace(chunk, at=at - found.start, cost=0, byte_range=replace(byte_range, start=at))
        try:
            length = yield from _records_from(stream, at, end, most or CHUNK_BYTES, nothing)
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
    """Return a path by which a worker finds this very file, even after it has been renamed or removed by a rotation."""
    path = f"/proc/{os.getpid()}/fd/{file.descriptor}"
    return path if Path(path).exists() else location


def _records_from(stream: OpenFile, at: int, end: int, most: int, nothing: Chunk) -> Generator[Chunk, None, int]:
    """Return how many bytes of whole records come next: at most so many, or one record that is longer.

    A border shows in two bytes, so windows overlap by one.
    """
    if end - at <= most:
        return end - at
    low, size = at + most, WINDOW
    while low > at:
        high, low = min(low + 1, at + most), max(low - size, at)
        window = _held(stream, low, high - low)
        if border := nothing.dialect.cut(window, len(window)):
            return low + border - at
        if size == CHUNK_BYTES:
            yield nothing
        size = CHUNK_BYTES
    for number, offset in enumerate(range(at + most - 1, end, WINDOW - 1), 1):
        window = stream.read_at(offset, WINDOW)
        if border := first_border(nothing.dialect, window):
            return min(offset + border, end) - at
        if not window:
            break
        if number % WINDOWS == 0:
            yield nothing
    return end - at


def _held(stream: OpenFile, start: int, length: int) -> bytes:
    data = stream.read_at(start, length)
    if len(data) < length:
        raise ShrunkError
    return data


def carried(opened: Opened, chunk: Chunk, note: Callable[[str], None], size: int) -> Iterator[Chunk]:
    """Yield what is read from an open log, in chunks that carry their data."""
    coming = Records(chunk.dialect)
    cost = 0
    while came := opened.read(max(size - coming.waiting, size // 2)):
        data = coming.whole(came)
        if data and coming.too_long:
            note(too_long(chunk.label, coming.at))
        yield replace(chunk, at=coming.at, cost=opened.cost - cost, data=data)
        cost = opened.cost
    if data := coming.rest():
        yield replace(chunk, at=coming.at, cost=opened.cost - cost, data=data)


def shrunk(label: str, at: int) -> str:
    """Return the note on a file that was truncated while it was read (copytruncate)."""
    return f"{label} became shorter while it was read; its content up to byte {at} is counted"
