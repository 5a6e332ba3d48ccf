"""The text of one input: bytes decoded to lines, and the count of lines read and not understood."""

from __future__ import annotations

import codecs
from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.evidence.origin import Origin, Span
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LONGEST_LINE = 1 << 20
"""Characters; longer lines are split there, so that no file can fill the memory."""

SAMPLE = 64
"""Bytes from which the encoding is guessed where there is no byte-order mark."""

SAMPLES = 3
SAMPLE_LENGTH = 120


def encoding_of(head: bytes) -> str:
    """Return the codec of a text by its first bytes: UTF-16 by its byte-order mark or its zero bytes, else UTF-8."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    high, low = head[1:SAMPLE:2].count(0), head[:SAMPLE:2].count(0)
    if len(head) >= 4 and high * 4 > len(head[:SAMPLE]) and low * 2 < high:  # as many of both: no text
        return "utf-16-le"  # PowerShell without a byte-order mark; zeros left by a crash are at the end, not here
    return "utf-8"


def lines_of(chunks: Iterable[bytes], unfinished: Callable[[str], object] | None = None) -> Iterator[str]:
    r"""Yield the lines of a byte stream without line ends; bytes that cannot be decoded become \xNN.

    `unfinished` is called with a last line that has no line end.
    """
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
        if unfinished is not None:
            unfinished(carry)
        yield carry.removesuffix("\r")


@dataclass(slots=True)
class Document:
    """The text of one input while it is read, with the counts for its Origin.

    A format iterates `lines` once, which counts them, and passes each line that its grammar does not match to
    `misread`. All other lines count as understood.
    """

    path: str
    source: Iterable[str] = ()
    folder: str = ""
    raw: Iterable[bytes] = ()
    """The bytes that `source` decodes, for the binary format inet_diag. A format reads one of the two."""
    asked: str = ""
    """The command or the query that it answers; empty where that is not recorded."""
    taken: Span | None = None
    """When it was captured; None where that is not recorded."""
    asked_by: str = ""
    """The collector's own connection, from its comment in the LDIF (monitor/own_connection.py)."""
    notes: list[str] = field(default_factory=list)
    rows: Callable[[], int] | None = None
    """Return the rows of the table that is being read, by which its memory is limited; None: a format without rows."""
    seen: int = 0
    missed: int = 0
    missed_line: int = 0
    """The number of the last line that was not understood."""
    samples: list[str] = field(default_factory=list)
    unfinished: str = ""
    """The last line, if it has no line end."""

    @property
    def name(self) -> str:
        """The file's name, without its folder."""
        return self.path.rpartition("/")[2]

    @property
    def lines(self) -> Iterator[str]:
        """Yield the lines, and count them."""
        for self.seen, line in enumerate(self.source, self.seen + 1):  # noqa: B020  the count survives the loop
            yield line

    def misread(self, line: str) -> None:
        """Count a line as not understood, and keep the first few as samples."""
        self.missed += 1
        self.missed_line = self.seen
        if len(self.samples) < SAMPLES:
            self.samples.append(line[:SAMPLE_LENGTH])

    def ends_with(self, line: str) -> None:
        """Keep the last line of a text that ends without a line end."""
        self.unfinished = line

    def note(self, sentence: str) -> None:
        """Add a sentence to the notes of the report, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def origin(self) -> Origin:
        """Return the origin of this text's facts, with the counts so far."""
        return Origin(
            path=self.path,
            folder=self.folder,
            asked=self.asked,
            taken=self.taken,
            lines=self.seen,
            understood=self.seen - self.missed,
            not_understood=self.missed,
            samples=tuple(self.samples),
            notes=tuple(self.notes),
        )
