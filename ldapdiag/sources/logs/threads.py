"""Threads: scan chunks in parallel with the native scanner, which releases the interpreter lock while it scans.

One scan covers many chunks, because creating a Segment costs as much as scanning some megabytes. Chunks are therefore
grouped into batches: adjacent byte ranges of plain files, or consecutive decompressed chunks.

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
from ldapdiag.sources.logs import batches, native
from ldapdiag.sources.logs.batches import MOST_FILES, Batch, BatchScan
from ldapdiag.sources.logs.scanning import MOMENT, PATIENCE, Scanned, explained

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from ldapdiag.sources.logs.chunks import Chunk, Sizes
    from ldapdiag.sources.logs.period import Period

One = TypeVar("One")

CARRIED = 4
"""Limit of decompressed chunks that wait to be scanned."""


class _Work(Batch):
    """A batch for a thread, with queues of its chunks and of the results of its scan."""

    def __init__(self, first: Chunk) -> None:
        super().__init__(first)
        self.chunks: Queue[Chunk | None] = Queue(0 if first.byte_range else CARRIED)
        """None marks the end."""
        self.results: Queue[Scanned | BaseException | None] = Queue(1)
        """None marks the end."""


class Threads:
    """Scans chunks in threads with the native scanner."""

    scanner = Scanner.NATIVE

    def __init__(self, count: int, meanwhile: Callable[[], object] | None = None) -> None:
        """Use `count` threads; `meanwhile` is called once in the calling thread while they scan."""
        self._count = count
        self._meanwhile = meanwhile
        self._batch_bytes = batches.LEAST_BYTES
        self.most_open = (count + 2) * MOST_FILES

    def sizes(self, total: int) -> Sizes:
        """Return the chunk sizes for a stream of `total` bytes, the same for any number of threads."""
        self._batch_bytes = batches.batch_bytes(total)
        return batches.sizes(self._batch_bytes)

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
        self._batches: Queue[_Work | BaseException | None] = Queue(count)
        """In order; None marks the end, an exception is raised to the caller."""
        self._waiting: Queue[_Work | None] = Queue()
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
        batch: _Work | None = None
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
        except BaseException as error:  # noqa: BLE001  the caller of scanned() raises it
            last = error
        if batch is not None:
            self._put(batch.chunks, None)
        self._put(self._batches, last)

    def _opened(self, first: Chunk, before: _Work | None) -> _Work:
        if before is not None:
            self._put(before.chunks, None)
        batch = _Work(first.bare)
        self._put(self._batches, batch)
        self._waiting.put(batch)
        return batch

    # -- in the scanning threads

    def work(self) -> None:
        """Scan batches until None is received or the run is over."""
        while (batch := self._get(self._waiting)) is not None:
            try:
                with explained(batch.first), native.guarded():
                    scan = BatchScan(batch.first, self._period, self._watch, self._is_stopped)
                    for scanned in scan.results(self._chunks(batch)):
                        self._put(batch.results, scanned)
                self._put(batch.results, None)
            except BaseException as error:  # noqa: BLE001  the caller of scanned() raises it
                self._put(batch.results, error)

    def _chunks(self, batch: _Work) -> Iterator[Chunk]:
        while (chunk := self._get(batch.chunks, or_stop=True)) is not None:
            yield chunk

    def _is_stopped(self) -> bool:
        return self._stop.is_set() or self._over.is_set()

    # -- in the caller

    def results(self) -> Generator[Scanned]:
        """Yield the results of the batches in order, and progress between them."""
        while (batch := self._get(self._batches, or_stop=True)) is not None:
            if isinstance(batch, BaseException):
                raise batch
            yield from self._batch_results(batch)

    def _batch_results(self, batch: _Work) -> Generator[Scanned]:
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
