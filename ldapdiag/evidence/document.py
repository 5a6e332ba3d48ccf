"""The text of one piece of evidence: bytes to lines, whatever the encoding, and the tally of reading them."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.evidence.origin import Origin, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONGEST_LINE = 1 << 20
"""Characters; a line longer than this is cut there, so that no file can fill the memory."""

SAMPLE = 64
"""Bytes by which an encoding without a mark is judged."""

SAMPLES = 3
SAMPLE_LENGTH = 120


def encoding_of(head: bytes) -> str:
    """Return the codec for text that begins with these bytes: by its byte-order mark, else UTF-8."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if len(head) >= 4 and head[1:SAMPLE:2].count(0) * 4 > len(head[:SAMPLE]):
        return "utf-16-le"  # PowerShell without a mark; judged by the beginning, for a crash can leave zeros at the end
    return "utf-8"


def lines_of(chunks: Iterable[bytes]) -> Iterator[str]:
    r"""Yield the lines of a byte stream without their ends; bytes that are no text become \xNN."""
    decoder = None
    carry = ""
    for chunk in chunks:
        if decoder is None:
            decoder = codecs.getincrementaldecoder(encoding_of(chunk))(errors="backslashreplace")
            chunk = chunk.removeprefix(codecs.BOM_UTF8)  # noqa: PLW2901  Python's utf-8-sig loses half a mark at the end
        lines = (carry + decoder.decode(chunk)).split("\n")
        carry = lines.pop()
        if len(carry) > LONGEST_LINE:
            lines.append(carry)
            carry = ""
        for line in lines:
            yield line.removesuffix("\r")
    if decoder is not None:
        carry += decoder.decode(b"", final=True)
    if carry:
        yield carry.removesuffix("\r")


@dataclass(slots=True)
class Document:
    """A text being read, and how well that goes.

    A reader iterates `lines` once. Each line is counted there; what the grammar does not fit the reader hands
    to `misread`; what it does not hand back counts as understood.
    """

    path: str
    source: Iterable[str]
    folder: str = ""
    raw: Iterable[bytes] = ()
    """The bytes that `source` makes lines of, for the one format that has none; read one of the two."""
    taken: Span | None = None
    """When it was captured, where whoever captured it kept that."""
    asked_by: str = ""
    """Who asked for what follows, where a comment of our own collector says so (monitor/own_connection.py)."""
    notes: list[str] = field(default_factory=list)
    seen: int = 0
    missed: int = 0
    samples: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The file's name, without its folder."""
        return self.path.rpartition("/")[2]

    @property
    def lines(self) -> Iterator[str]:
        """Yield each line, counted."""
        for self.seen, line in enumerate(self.source, self.seen + 1):  # noqa: B020  the count survives the loop
            yield line

    def misread(self, line: str) -> None:
        """Count a line no rule of the grammar fits, and keep the first few to show."""
        self.missed += 1
        if len(self.samples) < SAMPLES:
            self.samples.append(line[:SAMPLE_LENGTH])

    def note(self, sentence: str) -> None:
        """Keep a sentence for the report, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def origin(self) -> Origin:
        """Return where the facts of this text come from, with the tally so far."""
        return Origin(
            path=self.path,
            folder=self.folder,
            taken=self.taken,
            lines=self.seen,
            understood=self.seen - self.missed,
            not_understood=self.missed,
            samples=tuple(self.samples),
            notes=tuple(self.notes),
        )
