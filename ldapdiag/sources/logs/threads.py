"""Threads: chunks scanned side by side by the native scanner, which lets go of the interpreter's lock while it works.

A scan goes on from chunk to chunk, because a Segment costs as much to make as some megabytes cost to read. So chunks
are put into batches: neighbouring byte ranges of plain files, or all that is decompressed one after the other.

    feeder     reads (and decompresses) the chunks, and opens one batch after the other
    threads    each takes the next batch, scans its chunks, and puts their results into the batch
    caller     takes the results of the batches, in their order
"""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import replace
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Self, TypeVar

from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.logs import native
from ldapdiag.sources.logs.batches import MOST_FILES, Batch
from ldapdiag.sources.logs.chunks import Sizes
from ldapdiag.sources.logs.records import whole_lines
from ldapdiag.sources.logs.scanning import MOMENT, PATIENCE, ChunkError, Scanned, explained

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from ldapdiag.sources.logs.chunks import ByteRange, Chunk
    from ldapdiag.sources.logs.native import Scan
    from ldapdiag.sources.logs.period import Period

One = TypeVar("One")

LEAST_BYTES = 16 << 20
"""Of plain files that are worth a batch of their own."""
MOST_BYTES = 1 << 30
"""Of plain files in one batch. Where Ctrl-C comes, only the first batch under way is of use."""
PARTS = 4
"""Of a full batch, so that the batches become equally full from files of any size."""
SLACK = 1 << 20
"""Bytes by which chunks may be larger than they should be."""

CARRIED_BYTES = 1 << 19
"""Of a chunk that is carried: it is still in the processor's cache when it is scanned."""


class Threads:
    """Scans chunks in threads, with the native scanner."""

    scanner = Scanner.NATIVE

    def __init__(self, count: int, meanwhile: Callable[[], object] | None = None) -> None:
        """`meanwhile`: what else there is to do, once, in the thread that waits for the others."""
        self._count = count
        self._meanwhile = meanwhile
        self._batch_bytes = LEAST_BYTES
        self.most_open = (count + 2) * MOST_FILES

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End nothing: threads end with what they scan."""

    def sizes(self, total: int) -> Sizes:
        """Return how large the chunks should be of a stream of so many bytes: each thread has as many batches."""
        each = max(total // self._count, LEAST_BYTES)
        self._batch_bytes = each // -(-each // MOST_BYTES) + SLACK
        return Sizes(byte_range=self._batch_bytes // PARTS, carried=CARRIED_BYTES)

    def scanned(self, chunks: Generator[Chunk], period: Period | None, stop: Event) -> Generator[Scanned]:
        """Yield the results of the chunks, in order; ChunkError where one cannot be scanned."""
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
    """The chunks of one stream, being scanned."""

    def __init__(self, count: int, batch_bytes: int, period: Period | None, stop: Event) -> None:
        self._count = count
        self._batch_bytes = batch_bytes
        self._period = period
        self._stop = stop
        self._over = Event()
        """The caller takes no more results."""
        self._watch = native.watch()
        self._batches: Queue[Batch | BaseException | None] = Queue(count)
        """In order; None: there are no more."""
        self._waiting: Queue[Batch | None] = Queue()
        """Those that no thread has taken yet; None: a thread is to end."""
        self._given = self._carried = self._done = self._reported = 0
        """Bytes of files: of all in batches; of what was carried; of the results taken; of what was reported."""

    def end(self) -> None:
        """End all threads soon."""
        self._over.set()
        self._watch.stop()
        for _ in range(self._count):
            self._waiting.put(None)

    # -- the feeder

    def feed(self, chunks: Generator[Chunk]) -> None:
        """Put the chunks into batches."""
        last: BaseException | None = None
        batch: Batch | None = None
        try:
            with closing(chunks):
                for chunk in chunks:
                    if self._over.is_set() or self._stop.is_set():
                        break
                    if batch is None or not batch.takes(chunk, self._batch_bytes):
                        batch = self._opened(chunk, batch)
                    batch.count(chunk)
                    self._given += chunk.cost
                    self._put(batch.chunks, chunk)
        except BaseException as error:  # noqa: BLE001  it is raised where the chunks are used
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

    # -- a thread

    def work(self) -> None:
        """Scan the next batch, and the next."""
        while (batch := self._get(self._waiting)) is not None:
            try:
                with explained(batch.first), native.guarded():
                    for scanned in self._scanned(batch):
                        self._put(batch.results, scanned)
                self._put(batch.results, None)
            except BaseException as error:  # noqa: BLE001  it is raised where the chunks are used
                self._put(batch.results, error)

    def _scanned(self, batch: Batch) -> Iterator[Scanned]:
        scan = native.scan(batch.first.dialect, batch.first.hints, self._period, self._count)
        chunk = batch.first
        shrunk: set[str] = set()
        untold = 0  # of byte ranges that ended well: the batch does not wait for its turn to report them
        while (following := self._get(batch.chunks, or_stop=True)) is not None:
            chunk = following
            if chunk.label in shrunk:
                untold += chunk.cost
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
                    yield _taken(scan, Scanned(chunk=batch.first))  # what came before is of use
                raise
            if scanned.ended or scanned.replaced or scan.is_over:
                yield _taken(scan, Scanned(chunk=batch.first))
                yield replace(scanned, ended=True)
                return
            if scanned.shrunk_at is not None:
                shrunk.add(chunk.label)
            if chunk.byte_range is None or scanned.shrunk_at is not None or scanned.too_long:
                yield scanned
            else:
                untold += scanned.cost
            if scan.is_heavy:
                yield _taken(scan, Scanned(chunk=batch.first))
        yield _taken(scan, Scanned(chunk=batch.first, cost=untold, ended=self._stop.is_set()))

    def _byte_range(self, scan: Scan, chunk: Chunk, byte_range: ByteRange) -> Generator[Scanned, None, Scanned]:
        """Scan a byte_range of a file, and return how that ended."""
        at, end = byte_range.start, byte_range.start + byte_range.length
        long: list[int] = []
        while True:
            begun = at
            read = scan.read(byte_range.location, byte_range.inode, at, end, self._watch)
            if read.to is None:
                return Scanned(chunk=chunk, replaced=True)
            at = read.to
            long += read.too_long
            stopped = self._stop.is_set() or self._over.is_set()
            if at >= end or read.shrunk or scan.is_over or stopped:
                break
            if at == begun and not scan.is_heavy:
                raise RuntimeError("the native scanner makes no progress")
            yield _taken(scan, Scanned(chunk=chunk))
        from_log = chunk.at - byte_range.start
        return Scanned(
            chunk=chunk,
            cost=chunk.cost,
            ended=stopped and at < end,
            shrunk_at=at + from_log if read.shrunk or byte_range.shrunk else None,
            too_long=tuple(place + from_log for place in long),
        )

    # -- we

    def results(self) -> Generator[Scanned]:
        """Yield the results of the batches, in order, and in between the progress."""
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
                yield Scanned(chunk=batch.first, cost=self._came_on())
                continue
            if scanned is None:
                return
            if isinstance(scanned, BaseException):
                raise scanned
            self._done += scanned.cost
            if scanned.chunk.byte_range is None:
                self._carried += scanned.cost
            yield replace(scanned, cost=self._came_on())

    def _came_on(self) -> int:
        """Return how many bytes have been read since this was asked last."""
        came = max(self._done, min(self._carried + self._watch.read, self._given), self._reported)
        before, self._reported = self._reported, came
        return came - before

    # -- all

    def _put(self, queue: Queue[One], one: One) -> None:
        """Put something into a queue, unless the run is over."""
        while not self._over.is_set():
            with suppress(Full):
                queue.put(one, timeout=MOMENT)
                return

    def _get(self, queue: Queue[One], *, or_stop: bool = False) -> One | None:
        """Return what comes next; nothing where there is no more, or the run is over (or the reading stops)."""
        while not self._over.is_set():
            with suppress(Empty):
                return queue.get(timeout=MOMENT)
            if or_stop and self._stop.is_set():
                break
        return None


def _taken(scan: Scan, scanned: Scanned) -> Scanned:
    """Return a result with what a scan has added up so far."""
    before, within = native.taken(scan)
    return replace(scanned, before=before, within=within)
