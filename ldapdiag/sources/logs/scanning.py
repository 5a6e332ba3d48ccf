"""Scanning: the results of the chunks of a log, in the order of the chunks, even if they are scanned in parallel.

The reference scanner scans a small log in this process and a large one in Workers; Threads use the native scanner.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Protocol

from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.evidence.log.dialects import scan_chunk
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.logs.chunks import USUAL
from ldapdiag.sources.logs.period import Period, Place
from ldapdiag.sources.logs.records import whole_lines
from ldapdiag.sources.logs.samples import sample

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from threading import Event

    from ldapdiag.evidence.log.runs import Run
    from ldapdiag.evidence.log.selection import Selection
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
    """The interface of the ways to scan chunks: in this process, in threads, in worker processes."""

    scanner: Scanner
    most_open: int
    """Limit of the files whose chunks are scanned at the same time."""

    def sizes(self, total: int) -> Sizes:
        """Return the chunk sizes for a stream of `total` bytes."""

    def scanned(self, chunks: Generator[Chunk], period: Period | None, stop: Event) -> Generator[Scanned]:
        """Yield the results of the chunks in order; raise ChunkError if one cannot be scanned."""


class ChunkError(LdapdiagError):
    """A chunk could not be scanned; the message contains the log, the offset and the reason."""


class InProcess:
    """Scans chunks in this process."""

    scanner = Scanner.PYTHON
    most_open = 4

    def sizes(self, total: int) -> Sizes:  # noqa: ARG002  the sizes do not depend on it
        """Return the default sizes: each chunk is read into memory."""
        return USUAL

    def scanned(self, chunks: Generator[Chunk], period: Period | None, stop: Event) -> Generator[Scanned]:
        """Yield the results of the chunks in order; raise ChunkError if one cannot be scanned."""
        with closing(chunks):
            for chunk in chunks:
                if stop.is_set():
                    return
                with explained(chunk):
                    yield from self.scanned_chunk(chunk, period)

    def scanned_chunk(self, chunk: Chunk, period: Period | None) -> Iterator[Scanned]:
        """Yield the results of one chunk."""
        yield scan_whole_chunk(chunk, period)


@dataclass(frozen=True, slots=True, kw_only=True)
class DividedChunk:
    """The records of a chunk, divided by the requested period."""

    parts: list[tuple[Place, bytes]]
    shrunk_at: int | None


def divided(chunk: Chunk, period: Period | None) -> DividedChunk | None:
    """Return the records of a chunk; None if another file has replaced the log. OSError propagates to the caller."""
    data = chunk.data if chunk.byte_range is None else chunk.byte_range.read()
    if data is None:
        return None
    short = chunk.byte_range is not None and (chunk.byte_range.shrunk or len(data) < chunk.byte_range.length)
    parts = (period or ALL).divide(chunk.dialect, whole_lines(data), chunk.hints)
    return DividedChunk(parts=parts, shrunk_at=chunk.at + len(data) if short else None)


def scan_part(
    chunk: Chunk, place: Place, data: bytes, selection: Selection | None = None, run: Run | None = None
) -> Segment:
    """Return the Segment of a part of a chunk; of records after the period only lines and times."""
    if place is not Place.LATER:
        return scan_chunk(chunk.dialect, data, chunk.hints, selection=selection, before=run)
    segment = Segment()
    segment.lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if found := sample(chunk.dialect, data, chunk.hints, 0):
        segment.first_time, segment.last_time = found.earliest, found.latest
        segment.zones, segment.resolution = set(found.zones), found.resolution
    return segment


def scan_whole_chunk(chunk: Chunk, period: Period | None) -> Scanned:
    """Return the result of a chunk. OSError propagates to the caller."""
    records = divided(chunk, period)
    if records is None:
        return Scanned(chunk=chunk, replaced=True)
    return Scanned(
        chunk=chunk.bare,
        parts=tuple((place, scan_part(chunk, place, data)) for place, data in records.parts),
        cost=chunk.cost,
        shrunk_at=records.shrunk_at,
    )


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
