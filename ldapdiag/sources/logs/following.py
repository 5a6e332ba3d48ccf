"""Following a log as `tail -F` does: what is added to it, through rotation (renamed and made anew) and truncation."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.sources.files.open_files import OpenFile
from ldapdiag.sources.logs.chunks import CHUNK_BYTES
from ldapdiag.sources.logs.records import LONGEST_RECORD, Records, whole_lines

if TYPE_CHECKING:
    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.line_scan import Hints
    from ldapdiag.sources.logs.log_files import LogFile


@dataclass(slots=True, kw_only=True)
class Tail:
    """The end of one log file that is being written."""

    location: str
    dialect: Dialect
    hints: Hints
    at: int
    """How far it has been read."""
    file: OpenFile | None = None
    records: Records = field(init=False)
    """Of them the last may not have been written to its end yet."""
    truncated: int = 0
    """How often it began anew in the same file: what was written right before that may not have been seen."""

    def __post_init__(self) -> None:
        self.records = Records(self.dialect)

    def more(self) -> bytes:
        """Return the whole records that have come since, in chunks that can be held; nothing while there are none.

        A file that is not there for a moment is in the middle of a rotation. OSError is the caller's.
        """
        if self.file is None:
            self._begin()
        if self.file is None:
            return b""
        status = self.file.status
        if status.st_size < self.at:
            self.truncated += 1
            self.at = 0
            return whole_lines(self.records.rest()) or self.more()
        self.hints = replace(self.hints, year_end=datetime.fromtimestamp(status.st_mtime, UTC))
        data = self._read(self.file)
        if data:
            return self.records.whole(data)
        if self._replaced(status):
            self._end()
            return whole_lines(self.records.rest()) or self.more()
        return b""

    def close(self) -> None:
        """Read no more."""
        self.file = None

    def _read(self, file: OpenFile) -> bytes:
        """Return what comes next, without the zeros that a server makes which writes on after copytruncate."""
        while data := file.read_at(self.at, CHUNK_BYTES):
            self.at += len(data)
            if self.records.waiting or (data := data.lstrip(b"\0")):
                break
        return data

    def _begin(self) -> None:
        try:
            self.file = OpenFile(self.location)
        except FileNotFoundError:
            self.file = None

    def _end(self) -> None:
        self.close()
        self.at = 0

    def _replaced(self, mine: os.stat_result) -> bool:
        """Tell whether another file has the name now; until it does, the old one may still be written to."""
        try:
            now = Path(self.location).stat()
        except FileNotFoundError:
            return False
        return (now.st_dev, now.st_ino) != (mine.st_dev, mine.st_ino)


def tail_of(file: LogFile) -> tuple[LogFile, Tail] | None:
    """Return a file as far as it is written in whole records by now, and the tail after that; None if not plain."""
    found = file.input.file_range
    if found is None or found.length is not None:
        return None
    start, end = found.bounds()
    at = max(start, end - LONGEST_RECORD // 16)
    written = at + file.dialect.cut(found.read_at(at, end - at), end - at)
    tail = Tail(location=found.location, dialect=file.dialect, hints=file.hints, at=written)
    tail.file = found.file()
    whole = replace(found, length=written - start)
    return replace(file, input=replace(file.input, source=whole.stream, file_range=whole)), tail
