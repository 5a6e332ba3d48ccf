"""Listening: a log that runs on (standard input, a member of an archive) is added up chunk by chunk as it passes."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, cast

from ldapdiag.evidence.document import encoding_of
from ldapdiag.sources.logs.files import LogFile
from ldapdiag.sources.logs.parts import CARRIED_BYTES
from ldapdiag.sources.logs.places import Place
from ldapdiag.sources.logs.records import Records, whole_lines
from ldapdiag.sources.logs.samples import sample
from ldapdiag.sources.logs.sums import sum_of

if TYPE_CHECKING:
    from typing import BinaryIO

    from ldapdiag.evidence.log.dialect import Dialect, Scanner
    from ldapdiag.evidence.log.line_scan import Hints
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.logs.border import Period


@dataclass(slots=True)
class Heard:
    """A log that was added up while it passed."""

    file: LogFile
    before: Segment | None
    """Of the time before the period asked for."""
    within: Segment | None
    scanner: Scanner


class Listener:
    """Adds up a log of which one chunk after the other comes by."""

    def __init__(self, dialect: Dialect, period: Period | None, hints: Hints) -> None:
        self._dialect = dialect
        self._hints = hints
        self._decoder: codecs.IncrementalDecoder | None = None
        self._begun = False
        self._head = b""
        self._records = Records(dialect, CARRIED_BYTES)
        self._sum = sum_of(dialect, hints, period)

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
        self._scan(self._records.whole(chunk))

    def end(self, piece: Input) -> Heard | None:
        """Return what it all added up to; None where it held no record."""
        self._scan(self._records.rest())
        told = sample(self._dialect, self._head, self._hints)
        if told is None:
            return None
        before, within = self._sum.total()
        last = [one.last_time for one in (before, within) if one and one.last_time is not None]
        place = Place(path=piece.path, folder=piece.folder, told=piece.label, source=_nothing, again=False)
        last_time = max(last, default=told.last_time)
        file = LogFile(place=place, dialect=self._dialect, hints=self._hints, head=told, last_time=last_time)
        return Heard(file, before, within, self._sum.scanner)

    def _scan(self, data: bytes) -> None:
        if data:
            self._head = self._head or data[: self._dialect.cut(data, 1 << 16) or len(data)]
            self._sum.add(whole_lines(data))


def _nothing() -> BinaryIO:
    """Return no bytes: what has passed cannot be opened again."""
    return cast("BinaryIO", BytesIO())
