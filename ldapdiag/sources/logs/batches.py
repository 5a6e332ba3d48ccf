"""Batches: the consecutive chunks that one native scan processes.

They depend on the logs alone, never on who scans them, so that any number of threads or workers gives the same Segment.

Batch scans: the results of one native scan over the chunks of a batch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.sources.logs import native
from ldapdiag.sources.logs.chunks import Sizes, has_byte_ranges, parts_of
from ldapdiag.sources.logs.records import whole_lines
from ldapdiag.sources.logs.scanning import ChunkError, Scanned, explained

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from ldapdiag.sources.logs.chunks import ByteRange, Chunk
    from ldapdiag.sources.logs.log_files import LogFile
    from ldapdiag.sources.logs.native import Watch
    from ldapdiag.sources.logs.period import Period

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

MOST_FILES = 16
"""Limit of files in one batch; all stay open, because rotation may rename them."""

SHRINKS = 12
"""Compression ratio of gzip for an access log."""


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


class BatchScan:
    """One native scan."""

    def __init__(self, first: Chunk, period: Period | None, watch: Watch, is_stopped: Callable[[], bool]) -> None:
        """`first` is the first chunk of the batch; `is_stopped` is asked whether to end early."""
        self._first = first
        self._watch = watch
        self._is_stopped = is_stopped
        self._scan = native.scan(first.dialect, first.hints, period)

    def results(self, chunks: Iterable[Chunk]) -> Iterator[Scanned]:
        """Scan the chunks and yield the results in order; raise ChunkError if one cannot be scanned."""
        shrunk: set[str] = set()
        unreported = 0  # bytes of byte ranges without an irregularity: one result at the end reports them all
        for chunk in chunks:
            if chunk.label in shrunk:
                unreported += chunk.cost
                continue
            try:
                with explained(chunk), native.guarded():
                    if chunk.byte_range is None:
                        self._scan.feed(whole_lines(chunk.data))
                        scanned = Scanned(chunk=chunk.bare, cost=chunk.cost)
                    else:
                        scanned = yield from self._byte_range(chunk, chunk.byte_range)
            except ChunkError as error:
                if isinstance(error.__cause__, OSError):
                    yield self._counted(Scanned(chunk=self._first))  # the records before the error count
                raise
            if scanned.ended or scanned.replaced:
                yield self._counted(Scanned(chunk=self._first))
                yield replace(scanned, ended=True)
                return
            if scanned.shrunk_at is not None:
                shrunk.add(chunk.label)
            if chunk.byte_range is None or scanned.shrunk_at is not None or scanned.too_long:
                yield scanned
            else:
                unreported += scanned.cost
            if self._scan.is_heavy:
                yield self._counted(Scanned(chunk=self._first))
        yield self._counted(Scanned(chunk=self._first, cost=unreported, ended=self._is_stopped()))

    def _byte_range(self, chunk: Chunk, byte_range: ByteRange) -> Generator[Scanned, None, Scanned]:
        """Scan a byte range of a file; yield partial results when the scan is heavy, and return the last one."""
        at, end = byte_range.start, byte_range.start + byte_range.length
        long: list[int] = []
        while True:
            start = at
            read = self._scan.read(byte_range.location, byte_range.inode, at, end, self._watch)
            if read.to is None:
                return Scanned(chunk=chunk, replaced=True)
            at = read.to
            long += read.too_long
            stopped = self._is_stopped()
            if at >= end or read.shrunk or stopped:
                break
            if at == start and not self._scan.is_heavy:
                raise RuntimeError("the native scanner makes no progress")
            yield self._counted(Scanned(chunk=chunk))
        from_log = chunk.at - byte_range.start
        return Scanned(
            chunk=chunk,
            cost=chunk.cost,
            ended=stopped and at < end,
            shrunk_at=at + from_log if read.shrunk or byte_range.shrunk else None,
            too_long=tuple(place + from_log for place in long),
        )

    def _counted(self, scanned: Scanned) -> Scanned:
        """Return a result with the counts of the scan, and reset the scan."""
        return replace(scanned, parts=native.take_parts(self._scan))
