"""Workers: scan chunks in parallel processes with the reference scanner; results come in the order of the chunks.

A small log is scanned in this process (scanning.InProcess): starting a worker takes longer.
"""

from __future__ import annotations

import gc
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from multiprocessing import get_all_start_methods, get_context, parent_process
from queue import Empty, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Self

from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.logs.chunks import USUAL
from ldapdiag.sources.logs.scanning import MOMENT, PATIENCE, ChunkError, explained, scan_whole_chunk

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from concurrent.futures import Future
    from multiprocessing.context import BaseContext

    from ldapdiag.sources.logs.chunks import Chunk, Sizes
    from ldapdiag.sources.logs.period import Period
    from ldapdiag.sources.logs.scanning import Scanned

UNDER_WAY = 2
"""Limit of chunks per worker that are read and not merged yet."""


class Workers:
    """Scans chunks in worker processes; a context manager that ends them."""

    scanner = Scanner.PYTHON

    def __init__(self, count: int) -> None:
        self._count = count
        self.most_open = UNDER_WAY * count + 3
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def sizes(self, total: int) -> Sizes:  # noqa: ARG002  the sizes do not depend on it
        """Return the default sizes: each chunk is read into memory."""
        return USUAL

    def scanned(self, chunks: Generator[Chunk], period: Period | None, stop: Event) -> Generator[Scanned]:
        """Yield the result of each chunk in order; raise ChunkError if one cannot be scanned or a worker dies.

        A thread reads (and decompresses) the chunks while the caller merges results.
        """
        pool = self._pool = self._pool or ProcessPoolExecutor(self._count, _context(), initializer=_start_worker)
        waiting: Queue[_Waiting | BaseException | None] = Queue(UNDER_WAY * self._count)
        over = Event()

        def feed() -> None:
            _block_interrupts()
            try:
                with closing(chunks):
                    for chunk in chunks:
                        if over.is_set() or stop.is_set():
                            break
                        with _died_at(chunk):
                            future = pool.submit(scan_whole_chunk, chunk, period)
                        waiting.put(_Waiting(chunk.bare, future))
                waiting.put(None)
            except BaseException as error:  # noqa: BLE001  the caller of scanned() raises it
                waiting.put(error)

        feeder = Thread(target=feed, name="chunks of logs", daemon=True)
        feeder.start()
        try:
            while (one := _next(waiting, stop)) is not None:
                if isinstance(one, BaseException):
                    raise one
                with explained(one.chunk), _died_at(one.chunk):
                    scanned = one.future.result()
                yield scanned
        except ChunkError:
            self._end()
            raise
        finally:
            over.set()
            _drain(waiting, feeder)

    def _end(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


@dataclass(frozen=True, slots=True)
class _Waiting:
    chunk: Chunk
    future: Future[Scanned]


@contextmanager
def _died_at(chunk: Chunk) -> Iterator[None]:
    """Raise ChunkError with this place where a worker has died: then no chunk can be submitted, nor has a result."""
    try:
        yield
    except BrokenProcessPool as error:
        where = f"a worker process died at byte {chunk.at} of {chunk.label} or shortly after"
        raise ChunkError(f"{where}: killed, perhaps for lack of memory") from error


def _next(waiting: Queue[_Waiting | BaseException | None], stop: Event) -> _Waiting | BaseException | None:
    """Return the next item; None if reading is stopped while a pipe delivers no data."""
    while True:
        with suppress(Empty):
            return waiting.get(timeout=MOMENT)
        if stop.is_set():
            return None


def _drain(waiting: Queue[_Waiting | BaseException | None], feeder: Thread) -> None:
    """Empty the queue, so that the feeder (which may also wait for a pipe) can end, and cancel pending scans."""
    patience = PATIENCE
    while (feeder.is_alive() and patience > 0) or not waiting.empty():
        patience -= 1
        with suppress(Empty):
            one = waiting.get(timeout=MOMENT)
            if isinstance(one, _Waiting):
                one.future.cancel()


def _context() -> BaseContext:
    """Return a start method that is safe in a process with threads; a fork server loads the scanner only once."""
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _block_interrupts() -> None:
    """Block SIGINT (Ctrl-C) in this thread and, from their start, in the processes that it starts."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _start_worker() -> None:
    """Initialise a worker: ignore SIGINT, also where no signal mask is inherited, and end with the parent process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # no cycles are created here, and collection takes 3 % of the time
    Thread(target=_end_with_parent, name="watching the parent", daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
