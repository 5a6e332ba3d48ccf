"""Threads: scan chunks in parallel with the native scanner, which releases the interpreter lock while it scans.

One scan covers many chunks, because creating a Segment costs as much as scanning some megabytes. Chunks are therefore
grouped into batches: adjacent byte ranges of plain files, or consecutive decompressed chunks. The batches depend on the
logs alone, never on the number of threads, so that any number of threads gives the same Segment.

    feeder     reads (and decompresses) the chunks, and assigns them to batches
    threads    each takes the next batch, scans its chunks, and puts the results into the batch
    caller     takes the results in the order of the batches
"""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import replace
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, TypeVar

from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.logs import native
from ldapdiag.sources.logs.batches import MOST_FILES, Batch, Counted
from ldapdiag.sources.logs.chunks import Sizes
from ldapdiag.sources.logs.records import whole_lines
from ldapdiag.sources.logs.scanning import MOMENT, PATIENCE, ChunkError, Scanned, explained

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from ldapdiag.sources.logs.chunks import ByteRange, Chunk
    from ldapdiag.sources.logs.native import Scan
    from ldapdiag.sources.logs.period import Period

One = TypeVar("One")

LEAST_BYTES = 32 << 20
"""Least size of a batch."""
MOST_BYTES = 512 << 20
"""Largest size of a batch. After Ctrl-C only the results of the first unfinished batch are used."""
BATCHES = 4
"""Batches of a stream of medium size: enough for a few threads, few because one thread merges them."""
PARTS = 4
"""Chunks per full batch, so that files of any size fill the batches evenly."""
SLACK = 1 << 20
"""Bytes by which a batch may exceed its size: chunks end at record boundaries."""

CARRIED_BYTES = 1 << 19
"""Size of a chunk that carries its data: it is still in the processor cache when it is scanned."""


class Threads:
    """Scans chunks in threads with the native scanner."""

    scanner = Scanner.NATIVE

    def __init__(self, count: int, meanwhile: Callable[[], object] | None = None) -> None:
        """Use `count` threads; `meanwhile` is called once in the calling thread while they scan."""
        self._count = count
        self._meanwhile = meanwhile
        self._batch_bytes = LEAST_BYTES
        self.most_open = (count + 2) * MOST_FILES

    def sizes(self, total: int) -> Sizes:
        """Return the chunk sizes for a stream of `total` bytes, the same for any number of threads."""
        self._batch_bytes = min(max(total // BATCHES, LEAST_BYTES), MOST_BYTES) + SLACK
        return Sizes(byte_range=self._batch_bytes // PARTS, carried=CARRIED_BYTES)

    def scanned(self, chunks: Generator[Chunk], period: Period | None, stop: Event) -> Generator[Scanned]:
        """Yield the results of the chunks in order; raise ChunkError if one cannot be scanned."""
        run = _Run(self._count, self._batch_bytes, period, stop)
        threads = [Thread(target=run.work, name="scanning logs", daemon=True) for _ in range(self._count)]
        threads.append(Thread(target=run.feed, args=(chunks,), name="chunks of logs", daemon=True))
        for thread in threads:
            thread.start()
        try:
            if self._meanwhile is not None:
                self._meanwhile()
                self._meanwhile = None
            yield from run.results()
        finally:
            run.end()
            for thread in threads:
                thread.join(PATIENCE * MOMENT)


class _Run:
    """The state of the scan of one stream."""

    def __init__(self, count: int, batch_bytes: int, period: Period | None, stop: Event) -> None:
        self._count = count
        self._batch_bytes = batch_bytes
        self._period = period
        self._stop = stop
        self._over = Event()
        """The caller takes no more results."""
        self._watch = native.watch()
        self._batches: Queue[Batch | BaseException | None] = Queue(count)
        """In order; None marks the end, an exception is raised to the caller."""
        self._waiting: Queue[Batch | None] = Queue()
        """Batches that no thread has taken; None ends a thread."""
        self._given = self._carried = self._done = self._reported = 0
        """Bytes of files: assigned to batches; carried and scanned; in results; reported as progress."""

    def end(self) -> None:
        """Make all threads end soon."""
        self._over.set()
        self._watch.stop()
        for _ in range(self._count):
            self._waiting.put(None)

    # -- in the feeder

    def feed(self, chunks: Generator[Chunk]) -> None:
        """Assign the chunks to batches."""
        last: BaseException | None = None
        batch: Batch | None = None
        try:
            with closing(chunks):
                for chunk in chunks:
                    if self._over.is_set() or self._stop.is_set():
                        break
                    most = MOST_BYTES if chunk.byte_range is None else self._batch_bytes
                    if batch is None or not batch.takes(chunk, most):
                        batch = self._opened(chunk, batch)
                    batch.count(chunk)
                    self._given += chunk.cost
                    self._put(batch.chunks, chunk)
        except BaseException as error:  # noqa: BLE001  the caller of scanned() raises it
            last = error
        if batch is not None:
            self._put(batch.chunks, None)
        self._put(self._batches, last)

    def _opened(self, first: Chunk, before: Batch | None) -> Batch:
        if before is not None:
            self._put(before.chunks, None)
        batch = Batch(first.bare)
        self._put(self._batches, batch)
        self._waiting.put(batch)
        return batch

    # -- in the scanning threads

    def work(self) -> None:
        """Scan batches until None is received or the run is over."""
        while (batch := self._get(self._waiting)) is not None:
            try:
                with explained(batch.first), native.guarded():
                    for scanned in self._scanned(batch):
                        self._put(batch.results, scanned)
                self._put(batch.results, None)
            except BaseException as error:  # noqa: BLE001  the caller of scanned() raises it
                self._put(batch.results, error)

    def _scanned(self, batch: Batch) -> Iterator[Scanned | Counted]:
        scan = native.scan(batch.first.dialect, batch.first.hints, self._period)
        chunk = batch.first
        shrunk: set[str] = set()
        unreported = 0  # bytes of byte ranges without an irregularity: one result at the end reports them all
        while (following := self._get(batch.chunks, or_stop=True)) is not None:
            chunk = following
            if chunk.label in shrunk:
                unreported += chunk.cost
                continue
            try:
                with explained(chunk), native.guarded():
                    if chunk.byte_range is None:
                        scan.feed(whole_lines(chunk.data))
                        scanned = Scanned(chunk=chunk.bare, cost=chunk.cost)
                    else:
                        scanned = yield from self._byte_range(scan, chunk, chunk.byte_range)
            except ChunkError as error:
                if isinstance(error.__cause__, OSError):
                    yield _counted(scan, Scanned(chunk=batch.first))  # the records before the error count
                raise
            if scanned.ended or scanned.replaced:
                yield _counted(scan, Scanned(chunk=batch.first))
                yield replace(scanned, ended=True)
                return
            if scanned.shrunk_at is not None:
                shrunk.add(chunk.label)
            if chunk.byte_range is None or scanned.shrunk_at is not None or scanned.too_long:
                yield scanned
            else:
                unreported += scanned.cost
            if scan.is_heavy:
                yield _counted(scan, Scanned(chunk=batch.first))
        yield _counted(scan, Scanned(chunk=batch.first, cost=unreported, ended=self._stop.is_set()))

    def _byte_range(self, scan: Scan, chunk: Chunk, byte_range: ByteRange) -> Generator[Counted, None, Scanned]:
        """Scan a byte range of a file; yield partial results when the scan is heavy, and return the last one."""
        at, end = byte_range.start, byte_range.start + byte_range.length
        long: list[int] = []
        while True:
            start = at
            read = scan.read(byte_range.location, byte_range.inode, at, end, self._watch)
            if read.to is None:
                return Scanned(chunk=chunk, replaced=True)
            at = read.to
            long += read.too_long
            stopped = self._stop.is_set() or self._over.is_set()
            if at >= end or read.shrunk or stopped:
                break
            if at == start and not scan.is_heavy:
                raise RuntimeError("the native scanner makes no progress")
            yield _counted(scan, Scanned(chunk=chunk))
        from_log = chunk.at - byte_range.start
        return Scanned(
            chunk=chunk,
            cost=chunk.cost,
            ended=stopped and at < end,
            shrunk_at=at + from_log if read.shrunk or byte_range.shrunk else None,
            too_long=tuple(place + from_log for place in long),
        )

    # -- in the caller

    def results(self) -> Generator[Scanned]:
        """Yield the results of the batches in order, and progress between them."""
        while (batch := self._get(self._batches, or_stop=True)) is not None:
            if isinstance(batch, BaseException):
                raise batch
            yield from self._batch_results(batch)

    def _batch_results(self, batch: Batch) -> Generator[Scanned]:
        while True:
            try:
                scanned = batch.results.get(timeout=MOMENT)
            except Empty:
                if self._stop.is_set():
                    self._watch.stop()
                yield Scanned(chunk=batch.first, cost=self._progress())
                continue
            if scanned is None:
                return
            if isinstance(scanned, BaseException):
                raise scanned
            if isinstance(scanned, Counted):
                with explained(batch.first), native.guarded():
                    scanned = scanned.with_segments
            self._done += scanned.cost
            if scanned.chunk.byte_range is None:
                self._carried += scanned.cost
            yield replace(scanned, cost=self._progress())

    def _progress(self) -> int:
        """Return the number of bytes read since the last call."""
        read = max(self._done, min(self._carried + self._watch.read, self._given), self._reported)
        before, self._reported = self._reported, read
        return read - before

    # -- in every thread

    def _put(self, queue: Queue[One], one: One) -> None:
        """Put an item into a queue, unless the run is over."""
        while not self._over.is_set():
            with suppress(Full):
                queue.put(one, timeout=MOMENT)
                return

    def _get(self, queue: Queue[One], *, or_stop: bool = False) -> One | None:
        """Return the next item; None at the end or when the run is over (with `or_stop` also after a stop)."""
        while not self._over.is_set():
            with suppress(Empty):
                return queue.get(timeout=MOMENT)
            if or_stop and self._stop.is_set():
                break
        return None


def _counted(scan: Scan, scanned: Scanned) -> Counted:
    """Return a result with the counts of a scan, and reset the scan."""
    return Counted(scanned, native.take_parts(scan))
