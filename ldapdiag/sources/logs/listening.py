"""Listening: a log that runs on (standard input, a member of an archive) is added up chunk by chunk as it passes."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, cast

from ldapdiag.evidence.document import encoding_of
from ldapdiag.evidence.log.dialects import scan_chunk
from ldapdiag.evidence.log.merge import merge
from ldapdiag.sources.logs.files import LogFile
from ldapdiag.sources.logs.parts import CARRIED_BYTES, KEPT_OF_RECORD, LONGEST_RECORD
from ldapdiag.sources.logs.places import Place
from ldapdiag.sources.logs.samples import sample

if TYPE_CHECKING:
    from typing import BinaryIO

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.evidence.log.tally import Hints
    from ldapdiag.sources.capture import Piece
    from ldapdiag.sources.logs.border import Period


@dataclass(slots=True)
class Heard:
    """A log that was added up while it passed."""

    file: LogFile
    before: Segment | None
    """Of the time before the period asked for."""
    within: Segment | None


class Listener:
    """Adds up a log of which one chunk after the other comes by."""

    def __init__(self, dialect: Dialect, period: Period | None, hints: Hints) -> None:
        self._dialect = dialect
        self._period = period
        self._hints = hints
        self._decoder: codecs.IncrementalDecoder | None = None
        self._begun = False
        self._head = b""
        self._rest = bytearray()
        self._skips = False
        """The rest of a line too long to be read comes."""
        self._before: Segment | None = None
        self._within: Segment | None = None

    def hear(self, chunk: bytes) -> None:
        """Take in the next bytes."""
        if not self._begun:
            self._begun = True
            encoding = encoding_of(chunk)
            if encoding != "utf-8":
                self._decoder = codecs.getincrementaldecoder(encoding)(errors="backslashreplace")
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
        if self._decoder:
            chunk = self._decoder.decode(chunk).encode()
        if self._skips:
            _, end, chunk = chunk.partition(b"\n")
            self._skips = not end
        self._rest += chunk
        if len(self._rest) >= CARRIED_BYTES:
            self._scan_whole()

    def end(self, piece: Piece) -> Heard | None:
        """Return what it all added up to; None where it held no record."""
        self._scan(bytes(self._rest))
        told = sample(self._dialect, self._head, self._hints)
        if told is None:
            return None
        last = [one.last_time for one in (self._before, self._within) if one and one.last_time is not None]
        place = Place(path=piece.path, folder=piece.folder, told=piece.told, source=_nothing, again=False)
        last_time = max(last, default=told.last_time)
        file = LogFile(place=place, dialect=self._dialect, hints=self._hints, head=told, last_time=last_time)
        return Heard(file, self._before, self._within)

    def _scan_whole(self) -> None:
        data = bytes(self._rest)
        end = self._dialect.cut(data, len(data))
        if not end and len(data) > LONGEST_RECORD:
            self._skips = True
            data, end = data[:KEPT_OF_RECORD] + b"\n", KEPT_OF_RECORD + 1
            self._rest.clear()
        del self._rest[:end]
        self._scan(data[:end])

    def _scan(self, data: bytes) -> None:
        if not data:
            return
        self._head = self._head or data[: self._dialect.cut(data, 1 << 16) or len(data)]
        before, within = b"", data
        if self._period is not None:
            before, within, _ = self._period.divide(self._dialect, data, self._hints)
        if before:
            self._before = self._added(self._before, before)
        if within:
            self._within = self._added(self._within, within)

    def _added(self, total: Segment | None, data: bytes) -> Segment:
        data = data if data.endswith(b"\n") else data + b"\n"
        segment = scan_chunk(self._dialect, data, self._hints)
        return segment if total is None else merge(total, segment)


def _nothing() -> BinaryIO:
    """Return no bytes: what has passed cannot be opened again."""
    return cast("BinaryIO", BytesIO())
