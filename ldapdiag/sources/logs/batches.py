"""Batches: the consecutive chunks that one native scan processes."""

from __future__ import annotations

from dataclasses import replace
from queue import Queue
from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.sources.logs import native

if TYPE_CHECKING:
    from ldapdiag.sources.logs.chunks import Chunk
    from ldapdiag.sources.logs.scanning import Scanned

MOST_FILES = 8
"""Limit of files in one batch; all stay open, because rotation may rename them."""

CARRIED = 4
"""Limit of decompressed chunks that wait to be scanned."""


class Counted(NamedTuple):
    """A result whose counts become Segments only when they are merged: as Segments they take more memory."""

    scanned: Scanned
    parts: native.Parts

    @property
    def with_segments(self) -> Scanned:
        """The result with its Segments."""
        return replace(self.scanned, parts=native.segments(self.parts))


class Batch:
    """Consecutive chunks for one scan, and the results of that scan."""

    def __init__(self, first: Chunk) -> None:
        self.first = first
        self.chunks: Queue[Chunk | None] = Queue(0 if first.byte_range else CARRIED)
        """None marks the end."""
        self.results: Queue[Scanned | Counted | BaseException | None] = Queue(1)
        """None marks the end."""
        self.bytes = 0
        self._files: set[str] = set()

    def takes(self, chunk: Chunk, most: int) -> bool:
        """Return whether a chunk may be added to this batch; `most` is the size limit of the batch in bytes."""
        if (chunk.byte_range is None) is not (self.first.byte_range is None) or chunk.dialect is not self.first.dialect:
            return False
        if chunk.dialect.name == native.YEARLESS and chunk.hints != self.first.hints:
            return False  # the year depends on the file
        if self.bytes + _length(chunk) > most:
            return False
        if chunk.byte_range is None:
            return True
        if chunk.label != self.first.label and self.first.at > 0:
            return False  # its results are discarded if its file turns out to be truncated before it
        return len(self._files | {chunk.label}) <= MOST_FILES

    def count(self, chunk: Chunk) -> None:
        """Count the file and bytes of an added chunk."""
        self.bytes += _length(chunk)
        if chunk.byte_range is not None:
            self._files.add(chunk.label)


def _length(chunk: Chunk) -> int:
    return len(chunk.data) if chunk.byte_range is None else chunk.byte_range.length
