"""Following a log as `tail -F` does: read additions across rotation (renamed and created again) and truncation."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.files.open_files import OpenFile
from ldapdiag.sources.logs.chunks import CHUNK_BYTES
from ldapdiag.sources.logs.records import LONGEST_RECORD, Records, whole_lines

if TYPE_CHECKING:
    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.line_scan import Hints
    from ldapdiag.sources.logs.log_files import LogFile

ROTATED = pattern(r"[.-]\d")
"""After the name of a log; access.rotationinfo of 389-ds is none."""

COMPARED_BYTES = 256
"""More than one record: its stamp and its numbers tell it from every other."""


@dataclass(slots=True, kw_only=True)
class Tail:
    """The end of one log file that is being written."""

    location: str
    dialect: Dialect
    hints: Hints
    at: int
    """Offset of the next byte to read."""
    file: OpenFile | None = None
    records: Records = field(init=False)
    """Splits the data into records; holds back the last one until it is written completely."""
    truncated: int = 0
    """Number of truncations of the file, and of rotations past another file; lines before one may be missing."""
    generation: int = 0
    """Number of times that it began again: after a rotation or a truncation."""
    before: bytes = b""
    """The last bytes before `at`: other bytes there mean that the log was truncated, and has grown past `at` since."""

    def __post_init__(self) -> None:
        self.records = Records(self.dialect)

    def more(self) -> bytes:
        """Return the next whole records written since the last call; empty if there are none.

        One call returns a limited amount: call it until the result is empty.
        A file that is absent for a moment is being rotated. OSError propagates to the caller.
        """
        if self.file is None:
            self._open()
        if self.file is None:
            return b""
        status = self.file.status
        if status.st_size < self.at or self.file.read_at(self.at - len(self.before), len(self.before)) != self.before:
            self.truncated += 1
            self._begin_again()
            return whole_lines(self.records.remainder()) or self.more()
        written = datetime.fromtimestamp(status.st_mtime, UTC)
        self.hints = replace(self.hints, year_end=written, fold=written.astimezone(self.hints.zone).fold)
        data = self._read(self.file)
        if data:
            return self.records.whole(data)
        if self._replaced(status):
            self.truncated += self._has_between(status)
            self.close()
            self._begin_again()
            return whole_lines(self.records.remainder()) or self.more()
        return b""

    def rest(self) -> bytes:
        """Return what is left of a file that ends in the middle of a line, and close it."""
        self.close()
        return whole_lines(self.records.remainder())

    def close(self) -> None:
        """Close the file."""
        self.file = None

    def inodes(self) -> set[tuple[int, int]]:
        """Return (device, inode) of the file, and of the one that has its name now and is read next."""
        found = [self.file.status] if self.file is not None else []
        with suppress(OSError):
            found.append(Path(self.location).stat())
        return {(status.st_dev, status.st_ino) for status in found}

    def beginning(self, size: int) -> bytes:
        """Return the first bytes of the file, as far as they have been read."""
        return self.file.read_at(0, min(size, self.at)) if self.file is not None else b""

    def _read(self, file: OpenFile) -> bytes:
        """Return the next bytes, without the zeros that appear if a server keeps its offset after copytruncate."""
        while data := file.read_at(self.at, CHUNK_BYTES):
            self.at += len(data)
            self.before = (self.before + data)[-COMPARED_BYTES:]
            if self.records.waiting or (data := data.lstrip(b"\0")):
                break
        return data

    def _open(self) -> None:
        try:
            self.file = OpenFile(self.location)
        except FileNotFoundError:
            self.file = None

    def _begin_again(self) -> None:
        self.generation += 1
        self.at, self.before = 0, b""

    def _replaced(self, status: os.stat_result) -> bool:
        """Return whether another file has the name now; until then the server may still write to the old one."""
        try:
            now = Path(self.location).stat()
        except FileNotFoundError:
            return False
        return (now.st_dev, now.st_ino) != (status.st_dev, status.st_ino)

    def _has_between(self, status: os.stat_result) -> bool:
        """Return whether a rotated file is newer than this one: it was rotated twice between two looks."""
        path, read = Path(self.location), self.inodes()
        with suppress(OSError):  # a file that goes meanwhile may have been one
            for one in path.parent.iterdir():
                if one.name.startswith(path.name) and ROTATED.match(one.name, len(path.name)):
                    found = one.stat()
                    if (found.st_dev, found.st_ino) not in read and found.st_mtime_ns > status.st_mtime_ns:
                        return True
            return False
        return True


def tail_of(file: LogFile) -> tuple[LogFile, Tail] | None:
    """Return the file up to its last whole record, and the Tail after it; None if it is not a plain file."""
    found = file.input.file_range
    if found is None or found.length is not None:
        return None
    start, end = found.bounds()
    at = max(start, end - LONGEST_RECORD // 16)
    written = at + file.dialect.cut(found.read_at(at, end - at), end - at)
    tail = Tail(location=found.location, dialect=file.dialect, hints=file.hints_at(written - start), at=written)
    tail.file = found.local_file()
    tail.before = found.read_at(max(start, written - COMPARED_BYTES), min(COMPARED_BYTES, written - start))
    whole = replace(found, length=written - start)
    return replace(file, input=replace(file.input, source=whole.stream, file_range=whole)), tail


def tail_from_start(file: LogFile) -> Tail | None:
    """Return a Tail that begins with the first record of a plain file; None for any other."""
    found = file.input.file_range
    if found is None:
        return None
    return Tail(location=found.location, dialect=file.dialect, hints=file.hints, at=found.start)
