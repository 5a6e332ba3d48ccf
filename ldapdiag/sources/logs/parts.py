"""Parts: a log file cut into pieces of whole records, none of which is larger than can be held.

Where the log's bytes lie plainly in a file and its records are lines, a part only says where they are, and whoever
scans it reads them; what is decompressed, comes through a pipe or has records of many lines is carried along.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ldapdiag.evidence.log.dialect import cut_at_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.tally import Hints
    from ldapdiag.sources.logs.files import LogFile
    from ldapdiag.sources.logs.layers import Opened
    from ldapdiag.sources.logs.places import Region

PART_BYTES = 8 << 20
CARRIED_BYTES = 4 << 20
"""Of a part that is carried: it is in memory four times on its way to a worker."""

LONGEST_RECORD = 64 << 20
"""Servers take requests of 4 MB (slapd, OpenDJ) unless told otherwise, which escaping can make 24 MB in a log."""

KEPT_OF_RECORD = 1 << 16
"""Of a longer one: enough for the scanner to count it."""

WINDOW = 1 << 16


class Held:
    """The files opened last, kept open while workers read them: a rotation may rename them meanwhile."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._streams: deque[FileIO] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._streams:
            self._streams.popleft().close()

    def open(self, location: str) -> FileIO:
        """Open a file, and close the one opened longest ago when there are too many. OSError is the caller's."""
        self._streams.append(FileIO(location))
        if len(self._streams) > self._most:
            self._streams.popleft().close()
        return self._streams[-1]


class ShrunkError(Exception):
    """The file is shorter than it was when it was opened."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes of a file, and by what it is known to be still the same file."""

    location: str
    inode: tuple[int, int]
    start: int
    length: int

    def read(self) -> bytes | None:
        """Return the bytes, fewer where it has shrunk; None where another file is there. OSError is the caller's."""
        with FileIO(self.location) as stream:
            status = os.fstat(stream.fileno())
            if (status.st_dev, status.st_ino) != self.inode:
                return None
            return read_at(stream, self.start, self.length)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some whole records of a log."""

    dialect: Dialect
    hints: Hints
    told: str
    """Which log."""
    at: int
    """Where in the log's own bytes it begins."""
    cost: int
    """Bytes of the file that it took to come so far since the part before: what progress is measured in."""
    data: bytes = b""
    stretch: Stretch | None = None
    """Where the data are, if they are not carried."""


def read_at(stream: FileIO, start: int, length: int) -> bytes:
    """Return bytes of a file; fewer only where it ends."""
    stream.seek(start)
    parts = []
    while length and (part := stream.read(length)):
        parts.append(part)
        length -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def whole_lines(data: bytes) -> bytes:
    """Return the data with an end to the last line: a file may end, or be cut off, in the middle of a record."""
    return data if not data or data.endswith(b"\n") else data + b"\n"


def parts_of(file: LogFile, held: Held, note: Callable[[str], None]) -> Iterator[Part]:
    """Yield a file in parts, in order; `note` hears what of it is not read. OSError is the caller's."""
    part = Part(dialect=file.dialect, hints=file.hints, told=file.place.told, at=0, cost=0)
    if file.place.note:
        note(file.place.note)
    if file.place.region is not None and file.dialect.cut is cut_at_line:
        yield from _stretches(file.place.region, part, held, note)
        return
    with file.place.open() as opened:
        yield from carried(opened, file.dialect, part, note)
        if opened.trouble():
            note(f"{file.place.told} {opened.trouble()}; what came before is counted")


def _stretches(region: Region, part: Part, held: Held, note: Callable[[str], None]) -> Iterator[Part]:
    stream = held.open(region.location)
    status = os.fstat(stream.fileno())
    end = status.st_size if region.length is None else min(status.st_size, region.start + region.length)
    stretch = Stretch(_location(region.location, stream), (status.st_dev, status.st_ino), region.start, 0)
    at = region.start
    while at < end:
        try:
            length, skipped = _lines_from(stream, at, end)
        except ShrunkError:
            note(shrunk(part.told, at - region.start))
            return
        part = replace(part, at=at - region.start, cost=length + skipped)
        if skipped:
            note(_too_long(part.told, part.at))
            yield replace(part, data=read_at(stream, at, length) + b"\n")
        else:
            yield replace(part, stretch=replace(stretch, start=at, length=length))
        at += length + skipped


def _location(location: str, stream: FileIO) -> str:
    """Return a path by which a worker finds this very file, even after it has been renamed or removed by a rotation."""
    held = f"/proc/{os.getpid()}/fd/{stream.fileno()}"
    return held if Path(held).exists() else location


def _lines_from(stream: FileIO, at: int, end: int) -> tuple[int, int]:
    """Return how many bytes of whole lines come next, and how many bytes after them are too many for one line."""
    most = PART_BYTES
    if end - at <= most:
        return end - at, 0
    window = _held(stream, at + most - WINDOW, WINDOW)
    found = window.rfind(b"\n") + 1
    if found:
        return most - WINDOW + found, 0
    offset = at + most - WINDOW
    first = _held(stream, at, most - WINDOW).rfind(b"\n") + 1
    if first:
        return first, 0
    while (window := read_at(stream, offset, most)) and b"\n" not in window:
        offset += len(window)
    found = offset + window.find(b"\n") + 1 if window else end
    length = min(found, end) - at
    return (length, 0) if length <= LONGEST_RECORD else (KEPT_OF_RECORD, length - KEPT_OF_RECORD)


def _held(stream: FileIO, start: int, length: int) -> bytes:
    data = read_at(stream, start, length)
    if len(data) < length:
        raise ShrunkError
    return data


def carried(opened: Opened, dialect: Dialect, part: Part, note: Callable[[str], None]) -> Iterator[Part]:
    """Yield what is read from an open log, in parts that carry their data."""
    rest = b""
    at = cost = 0
    while data := opened.start(max(CARRIED_BYTES - len(rest), CARRIED_BYTES // 2)):
        data = rest + data
        end = dialect.cut(data, len(data))
        if end:
            yield replace(part, at=at, cost=opened.cost - cost, data=data[:end])
            cost = opened.cost
            at += end
            rest = data[end:]
        elif len(data) <= LONGEST_RECORD:
            rest = data
        else:
            note(_too_long(part.told, at))
            yield replace(part, at=at, cost=opened.cost - cost, data=data[:KEPT_OF_RECORD] + b"\n")
            cost = opened.cost
            at += len(data)
            rest = _after_line(opened)
    if rest:
        yield replace(part, at=at, cost=opened.cost - cost, data=rest)


def _after_line(opened: Opened) -> bytes:
    """Return what comes after the end of the line that is being read."""
    while data := opened.read(WINDOW):
        _, end, rest = data.partition(b"\n")
        if end:
            return rest
    return b""


def _too_long(told: str, at: int) -> str:
    return f"{told} has a line of more than {LONGEST_RECORD >> 20} MiB at byte {at}; only its beginning is read"


def shrunk(told: str, at: int) -> str:
    """Return what to say of a file that was cut off while it was read (copytruncate)."""
    return f"{told} became shorter while it was read; what it held up to byte {at} is counted"
