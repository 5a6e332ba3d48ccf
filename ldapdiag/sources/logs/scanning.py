"""Scanning: the results of the chunks of a log, in the order of the chunks, even if they are scanned in parallel.

Threads use the native scanner. For the reference the records of a chunk are its result: they are counted one after the
other, with what came before them (stream_counts).
"""

from __future__ import annotations

from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol

from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.logs.chunks import USUAL
from ldapdiag.sources.logs.period import Period, Place, WholeRecords
from ldapdiag.sources.logs.records import whole_lines

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from ldapdiag.sources.logs.chunks import Chunk, Sizes
    from ldapdiag.sources.logs.stream_counts import ChunkCounts

MOMENT = 0.1
"""Seconds between two checks whether reading has been stopped."""
ALL = Period()

PATIENCE = 20
"""Intervals of MOMENT to wait for a reading thread; one that still waits for a pipe ends with the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """The result of a chunk, or of the part of it that has been scanned."""

    chunk: Chunk
    parts: tuple[tuple[Place, ChunkCounts], ...] = ()
    """In their order; all records are WITHIN if no period was requested."""
    cost: int = 0
    """Bytes of the file read since the previous result: the unit of progress."""
    ended: bool = False
    """True if this is the last result: reading was stopped."""
    replaced: bool = False
    """True if another file has taken the place of the log."""
    shrunk_at: int | None = None
    """Offset of the end of the log, if it was truncated before the end of the chunk."""
    too_long: tuple[int, ...] = ()
    """Offsets of the overlong records, of which only the beginning was read."""


class Scanning(Protocol):
    """The interface of the ways to scan chunks: in order, in threads."""

    scanner: Scanner
    most_open: int
    """Limit of the files whose chunks are scanned at the same time."""

    def sizes(self, total: int) -> Sizes:
        """Return the chunk sizes for a stream of `total` bytes."""

    def scanned(self, chunks: Generator[Chunk], period: Period | None, stop: Event) -> Generator[Scanned]:
        """Yield the results of the chunks in order; raise ChunkError if one cannot be scanned."""


class ChunkError(LdapdiagError):
    """A chunk could not be scanned; the message contains the log, the offset and the reason."""


class InOrder:
    """Reads chunks for the reference, one after the other."""

    scanner = Scanner.PYTHON
    most_open = 4

    def sizes(self, total: int) -> Sizes:  # noqa: ARG002  the sizes do not depend on it
        """Return the default sizes: each chunk is read into memory."""
        return USUAL

    def scanned(self, chunks: Generator[Chunk], period: Period | None, stop: Event) -> Generator[Scanned]:
        """Yield the results of the chunks in order; raise ChunkError if one cannot be scanned."""
        with closing(ReadAhead(chunks, stop)) as ahead:
            for chunk in ahead:
                with explained(chunk):
                    yield from self.scanned_chunk(chunk, period)

    def scanned_chunk(self, chunk: Chunk, period: Period | None) -> Iterator[Scanned]:
        """Yield the results of one chunk."""
        yield read_whole(chunk, period)


class ReadAhead:
    """Chunks that another thread reads, so that a pipe without data does not delay a stop."""

    def __init__(self, chunks: Generator[Chunk], stop: Event) -> None:
        self._waiting: Queue[Chunk | BaseException | None] = Queue(1)
        """None marks the end."""
        self._stop = stop
        self._over = Event()
        self._feeder = Thread(target=self._feed, args=(chunks,), name="chunks of logs", daemon=True)
        self._feeder.start()

    def __iter__(self) -> Iterator[Chunk]:
        while True:
            try:
                one = self._waiting.get(timeout=MOMENT)
            except Empty:
                if self._stop.is_set():
                    return
                continue
            if one is None:
                return
            if isinstance(one, BaseException):
                raise one
            yield one

    def close(self) -> None:
        """End the thread; one that waits for a pipe ends with the program."""
        self._over.set()
        self._feeder.join(PATIENCE * MOMENT)

    def _feed(self, chunks: Generator[Chunk]) -> None:
        last: BaseException | None = None
        try:
            with closing(chunks):
                for chunk in chunks:
                    if self._over.is_set() or self._stop.is_set():
                        break
                    self._put(chunk)
        except BaseException as error:  # noqa: BLE001  the reader of the chunks raises it
            last = error
        self._put(last)

    def _put(self, one: Chunk | BaseException | None) -> None:
        while not self._over.is_set():
            with suppress(Full):
                self._waiting.put(one, timeout=MOMENT)
                return


def records_of(chunk: Chunk, period: Period | None) -> tuple[Scanned, list[tuple[Place, WholeRecords]]]:
    """Return a chunk without counts, and its records divided by the period. OSError propagates to the caller."""
    data = chunk.data if chunk.byte_range is None else chunk.byte_range.read()
    if data is None:
        return Scanned(chunk=chunk, replaced=True), []
    short = chunk.byte_range is not None and (chunk.byte_range.shrunk or len(data) < chunk.byte_range.length)
    parts = (period or ALL).divide(chunk.dialect, whole_lines(data), chunk.hints)
    scanned = Scanned(chunk=chunk.bare, cost=chunk.cost, shrunk_at=chunk.at + len(data) if short else None)
    return scanned, [(place, WholeRecords(chunk.dialect, part, chunk.hints)) for place, part in parts]


def read_whole(chunk: Chunk, period: Period | None) -> Scanned:
    """Return the result of a chunk for the reference: its records. OSError propagates to the caller."""
    scanned, parts = records_of(chunk, period)
    return replace(scanned, parts=tuple(parts))


@contextmanager
def explained(chunk: Chunk) -> Iterator[None]:
    """Raise any error in the scan of a chunk as a ChunkError that names the log and the offset."""
    try:
        yield
    except ChunkError:
        raise
    except OSError as error:
        raise ChunkError(f"cannot read {chunk.label} at byte {chunk.at}: {error.strerror or error}") from error
    except Exception as error:
        crash = f"{type(error).__name__}: {error}"
        raise ChunkError(
            f"the scanner crashed on {chunk.label} after byte {chunk.at} ({crash}); please report it"
        ) from error
