"""Batches: which chunks one native scan takes in, one after the other."""

from __future__ import annotations

from queue import Queue
from typing import TYPE_CHECKING

from ldapdiag.sources.logs import native

if TYPE_CHECKING:
    from ldapdiag.sources.logs.chunks import Chunk
    from ldapdiag.sources.logs.scanning import Scanned

MOST_FILES = 8
"""In one batch; all are kept open, for a rotation may rename them."""

CARRIED = 4
"""Chunks that were decompressed and are not scanned yet."""


class Batch:
    """Chunks that one scan takes in, one after the other, and the results of that scan."""

    def __init__(self, first: Chunk) -> None:
        self.first = first
        self.chunks: Queue[Chunk | None] = Queue(0 if first.byte_range else CARRIED)
        """None: there are no more."""
        self.results: Queue[Scanned | BaseException | None] = Queue(1)
        """None: that was all."""
        self.bytes = 0
        self._files: set[str] = set()

    def takes(self, chunk: Chunk, most: int) -> bool:
        """Return whether a chunk may follow in this batch."""
        if (chunk.byte_range is None) is not (self.first.byte_range is None) or chunk.dialect is not self.first.dialect:
            return False
        if chunk.dialect.name == native.YEARLESS and chunk.hints != self.first.hints:
            return False  # the year depends on the file
        if chunk.byte_range is None:
            return True
        if chunk.label != self.first.label and self.first.at > 0:
            return False  # should its file turn out to be cut off before it, its results are dropped
        return self.bytes + chunk.byte_range.length <= most and len(self._files | {chunk.label}) <= MOST_FILES

    def count(self, chunk: Chunk) -> None:
        """Count a chunk that is given to it."""
        if chunk.byte_range is not None:
            self._files.add(chunk.label)
            self.bytes += chunk.byte_range.length
