"""Workers: parts scanned side by side on all cores, their Segments handed back in the order of the parts.

A small log is scanned right here: a worker takes longer to start than such a log to read.
"""

from __future__ import annotations

import gc
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import get_all_start_methods, get_context, parent_process
from queue import Empty, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Self

from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.log.dialects import scan_chunk
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.sources.logs.parts import whole_lines

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from concurrent.futures import Future
    from multiprocessing.context import BaseContext

    from ldapdiag.sources.logs.border import Period
    from ldapdiag.sources.logs.parts import Part

MOMENT = 0.1
"""Seconds between two looks at whether the reading has been stopped."""
PATIENCE = 20
"""Moments in which a thread must end that reads; one that does not waits for a pipe, and ends with the program."""

UNDER_WAY = 2
"""Parts per worker that are read and not merged yet."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a part says."""

    before: Segment | None
    """Of the time before the period asked for."""
    within: Segment | None
    ended: bool
    """A record past the period came: nothing after this part is of use."""
    size: int
    """Bytes that were there."""


class PartError(LdapdiagError):
    """A part could not be scanned: which, where, why."""


def scan_part(part: Part, period: Period | None) -> Scanned | None:
    """Return what a part says; None where its file is another one by now. OSError is the caller's."""
    data = part.data if part.stretch is None else part.stretch.read()
    if data is None:
        return None
    size = len(data)
    data = whole_lines(data)
    if period is None:
        return Scanned(None, scan_chunk(part.dialect, data, part.hints), ended=False, size=size)
    before, within, ended = period.divide(part.dialect, data, part.hints)
    return Scanned(
        scan_chunk(part.dialect, before, part.hints) if before else None,
        scan_chunk(part.dialect, within, part.hints) if within else None,
        ended,
        size,
    )


class Here:
    """Scans parts in this very process."""

    depth = 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End nothing."""

    def scanned(
        self, parts: Generator[Part], period: Period | None, stop: Event
    ) -> Generator[tuple[Part, Scanned | None]]:
        """Yield each part with what it says, in order; PartError where one cannot be scanned."""
        with closing(parts):
            for part in parts:
                if stop.is_set():
                    return
                with _explained(part):
                    scanned = scan_part(part, period)
                yield part, scanned


class Workers:
    """Scans parts in processes of their own, which end with the `with` that this is used in."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.depth = UNDER_WAY * count
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def scanned(
        self, parts: Generator[Part], period: Period | None, stop: Event
    ) -> Generator[tuple[Part, Scanned | None]]:
        """Yield each part with what it says, in order; PartError where one cannot be scanned or a worker dies.

        A thread reads (and decompresses) the parts while what comes back is merged.
        """
        pool = self._pool = self._pool or ProcessPoolExecutor(self._count, _context(), initializer=_begin)
        waiting: Queue[_Waiting | BaseException | None] = Queue(self.depth)
        over = Event()

        def feed() -> None:
            _be_deaf()
            try:
                with closing(parts):
                    for part in parts:
                        if over.is_set() or stop.is_set():
                            break
                        waiting.put(_Waiting(replace(part, data=b""), pool.submit(scan_part, part, period)))
                waiting.put(None)
            except BaseException as error:  # noqa: BLE001  it is raised where the parts are used
                waiting.put(error)

        feeder = Thread(target=feed, name="parts of logs", daemon=True)
        feeder.start()
        try:
            while (one := _next(waiting, stop)) is not None:
                if isinstance(one, BaseException):
                    raise one
                with _explained(one.part):
                    scanned = one.future.result()
                yield one.part, scanned
        except BrokenProcessPool as error:
            self._end()
            raise PartError("a worker process died: killed, perhaps for want of memory") from error
        except PartError:
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
    part: Part
    future: Future[Scanned | None]


def _next(waiting: Queue[_Waiting | BaseException | None], stop: Event) -> _Waiting | BaseException | None:
    """Return what comes next; nothing when the reading is stopped while a pipe says nothing."""
    while True:
        with suppress(Empty):
            return waiting.get(timeout=MOMENT)
        if stop.is_set():
            return None


def _drain(waiting: Queue[_Waiting | BaseException | None], feeder: Thread) -> None:
    """Let the feeder end, which may wait for a place (or for a pipe), and cancel what nobody will ask for."""
    patience = PATIENCE
    while (feeder.is_alive() and patience > 0) or not waiting.empty():
        patience -= 1
        with suppress(Empty):
            one = waiting.get(timeout=MOMENT)
            if isinstance(one, _Waiting):
                one.future.cancel()


@contextmanager
def _explained(part: Part) -> Iterator[None]:
    """Turn what goes wrong with a part into an error that says which part."""
    try:
        yield
    except BrokenProcessPool as error:
        where = f"a worker process died at byte {part.at} of {part.told} or shortly after"
        raise PartError(f"{where}: killed, perhaps for want of memory") from error
    except OSError as error:
        raise PartError(f"cannot read {part.told} at byte {part.at}: {error.strerror or error}") from error
    except Exception as error:
        crash = f"{type(error).__name__}: {error}"
        raise PartError(
            f"the scanner crashed on {part.told} after byte {part.at} ({crash}); please report it"
        ) from error


def _context() -> BaseContext:
    """Return a way to start processes that is safe beside threads, and has the grammars loaded once where it can."""
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _be_deaf() -> None:
    """Let this thread, and the processes it starts, hear nothing of Ctrl-C from their first moment on."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _begin() -> None:
    """Begin a worker: Ctrl-C is for the parent (where no mask is inherited, too), and none outlives it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # nothing here makes a cycle, and looking for some takes 3 % of the time
    Thread(target=_end_with_parent, name="watching the parent", daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
