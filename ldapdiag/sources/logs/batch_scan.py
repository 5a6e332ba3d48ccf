"""Batch scans: the results of one native scan over the chunks of a batch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.sources.logs import native
from ldapdiag.sources.logs.batches import Counted
from ldapdiag.sources.logs.records import whole_lines
from ldapdiag.sources.logs.scanning import ChunkError, Scanned, explained

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from ldapdiag.sources.logs.chunks import ByteRange, Chunk
    from ldapdiag.sources.logs.native import Watch
    from ldapdiag.sources.logs.period import Period


class BatchScan:
    """One native scan."""

    def __init__(self, first: Chunk, period: Period | None, watch: Watch, is_stopped: Callable[[], bool]) -> None:
        """`first` is the first chunk of the batch; `is_stopped` is asked whether to end early."""
        self._first = first
        self._watch = watch
        self._is_stopped = is_stopped
        self._scan = native.scan(first.dialect, first.hints, period)

    def results(self, chunks: Iterable[Chunk]) -> Iterator[Scanned | Counted]:
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

    def _byte_range(self, chunk: Chunk, byte_range: ByteRange) -> Generator[Counted, None, Scanned]:
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

    def _counted(self, scanned: Scanned) -> Counted:
        """Return a result with the counts of the scan, and reset the scan."""
        return Counted(scanned, native.take_parts(self._scan))
