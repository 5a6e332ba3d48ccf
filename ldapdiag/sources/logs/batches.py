"""Batches: the consecutive chunks that one native scan processes.

They depend on the logs alone, never on who scans them, so that any number of threads or workers gives the same Segment.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.sources.logs import native
from ldapdiag.sources.logs.chunks import Sizes, has_byte_ranges, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.sources.logs.chunks import Chunk
    from ldapdiag.sources.logs.log_files import LogFile
    from ldapdiag.sources.logs.scanning import Scanned

LEAST_BYTES = 32 << 20
"""Least size of a batch."""
MOST_BYTES = 1 << 30
"""Largest size of a batch. After Ctrl-C only the results of the first unfinished batch are used."""
BATCHES = 4
"""Batches of a stream of medium size: enough for a few threads, few because one thread merges them."""
PARTS = 4
"""Chunks per full batch, so that files of any size fill the batches evenly."""
SLACK = 1 << 20
"""Bytes by which a batch may exceed its size: chunks end at record boundaries."""

CARRIED_BYTES = 1 << 19
"""Size of a chunk that carries its data: it is still in the processor cache when it is scanned."""

MOST_FILES = 8
"""Limit of files in one batch; all stay open, because rotation may rename them."""

SHRINKS = 12
"""Compression ratio of gzip for an access log."""


class Counted(NamedTuple):
    """A result whose counts become Segments only when they are merged: as Segments they take more memory."""

    scanned: Scanned
    parts: native.Parts

    @property
    def with_segments(self) -> Scanned:
        """The result with its Segments."""
        return replace(self.scanned, parts=native.segments(self.parts))


def batch_bytes(total: int) -> int:
    """Return the size limit of the batches of a stream of `total` bytes."""
    return min(max(total // BATCHES, LEAST_BYTES), MOST_BYTES) + SLACK


def sizes(most: int) -> Sizes:
    """Return the sizes of the chunks for batches of `most` bytes."""
    return Sizes(byte_range=most // PARTS, carried=CARRIED_BYTES)


def groups(files: Iterable[LogFile]) -> Iterator[tuple[LogFile, int]]:
    """Yield the files with the number of their group: all files without byte ranges that one worker reads.

    No batch of carried data contains more than one group. A group is as large as a batch, by the sizes of the files, so
    that it is known before any file is read; each part of a large object is one.
    """
    number, left = 0, 0
    for file in (part for whole in files for part in parts_of(whole, MOST_BYTES)):
        size = file.input.size_bytes
        expected = MOST_BYTES if size is None else size * (SHRINKS if file.input.compressed else 1)
        if has_byte_ranges(file):
            left = 0
        elif file.part_at is not None:
            number, left = number + 1, 0
        elif expected > left:
            number, left = number + 1, MOST_BYTES - expected
        else:
            left -= expected
        yield file, number


class Batch:
    """The chunks of one batch, as far as they are known."""

    def __init__(self, first: Chunk) -> None:
        self.first = first
        self.bytes = 0
        self._files: set[str] = set()

    def takes(self, chunk: Chunk, most: int) -> bool:
        """Return whether a chunk may be added; `most` is the size limit in bytes for byte ranges."""
        first = self.first
        if (chunk.byte_range is None) is not (first.byte_range is None) or chunk.dialect != first.dialect:
            return False
        if chunk.dialect.name == native.YEARLESS and chunk.hints != first.hints:
            return False  # the year depends on the file
        if chunk.byte_range is None:
            return chunk.group == first.group and self.bytes + _length(chunk) <= MOST_BYTES
        if self.bytes + _length(chunk) > most:
            return False
        if chunk.label != first.label and first.at > 0:
            return False  # its results are discarded if its file turns out to be truncated before it
        return len(self._files | {chunk.label}) <= MOST_FILES

    def count(self, chunk: Chunk) -> None:
        """Count the file and bytes of an added chunk."""
        self.bytes += _length(chunk)
        if chunk.byte_range is not None:
            self._files.add(chunk.label)


def _length(chunk: Chunk) -> int:
    return len(chunk.data) if chunk.byte_range is None else chunk.byte_range.length
