"""Scanning: the results of the chunks of a log, in the order of the chunks, however many are scanned side by side.

The reference scans a small log in this process and a large one with Workers; Threads use the native scanner.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.evidence.log.dialects import scan_chunk
from ldapdiag.sources.logs.chunks import USUAL
from ldapdiag.sources.logs.records import whole_lines

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from threading import Event

    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.sources.logs.chunks import Chunk, Sizes
    from ldapdiag.sources.logs.period import Period

MOMENT = 0.1
"""Seconds between two looks at whether the reading has been stopped."""
PATIENCE = 20
"""Moments in which a thread must end that reads; one that does not waits for a pipe, and ends with the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """The result of a chunk, or of as much of it as has been scanned."""

    chunk: Chunk
    before: Segment | None = None
    """Of the time before the period asked for."""
    within: Segment | None = None
    cost: int = 0
    """Bytes of the file that were read for it: what progress is measured in."""
    ended: bool = False
    """Nothing after this is of use: a record past the period came, or the reading was stopped."""
    replaced: bool = False
    """Another file was in its place."""
    shrunk_at: int | None = None
    """Where the log ended, before the chunk did: it was cut off meanwhile."""
    too_long: tuple[int, ...] = ()
    """Where records began of which only the beginning was read."""


class Scanning(Protocol):
    """The interface of everything that scans chunks: this process, threads or worker processes."""

    scanner: Scanner
    most_open: int
    """Files whose chunks may be under way at once."""

    def sizes(self, total: int) -> Sizes:
        """Return how large the chunks should be of a stream of so many bytes."""

    def scanned(self, chunks: Generator[Chunk], period: Period | None, stop: Event) -> Generator[Scanned]:
        """Yield the results of the chunks, in order; ChunkError where one cannot be scanned."""


class ChunkError(LdapdiagError):
    """A chunk could not be scanned: which, where, why."""


class InProcess:
    """Scans chunks in this very process."""

    scanner = Scanner.PYTHON
    most_open = 4

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End nothing."""

    def sizes(self, total: int) -> Sizes:  # noqa: ARG002  they are the same for all
        """Return the usual sizes: each chunk is read into memory."""
        return USUAL

    def scanned(self, chunks: Generator[Chunk], period: Period | None, stop: Event) -> Generator[Scanned]:
        """Yield the result of each chunk, in order; ChunkError where one cannot be scanned."""
        with closing(chunks):
            for chunk in chunks:
                if stop.is_set():
                    return
                with explained(chunk):
                    scanned = scan_whole_chunk(chunk, period)
                yield scanned


def scan_whole_chunk(chunk: Chunk, period: Period | None) -> Scanned:
    """Return the result of a chunk. OSError is the caller's."""
    data = chunk.data if chunk.byte_range is None else chunk.byte_range.read()
    if data is None:
        return Scanned(chunk=chunk, replaced=True)
    short = chunk.byte_range is not None and (chunk.byte_range.shrunk or len(data) < chunk.byte_range.length)
    shrunk_at = chunk.at + len(data) if short else None
    before, within, ended = b"", whole_lines(data), False
    if period is not None:
        before, within, ended = period.divide(chunk.dialect, within, chunk.hints)
    return Scanned(
        chunk=chunk.bare,
        before=scan_chunk(chunk.dialect, before, chunk.hints) if before else None,
        within=scan_chunk(chunk.dialect, within, chunk.hints) if within else None,
        cost=chunk.cost,
        ended=ended,
        shrunk_at=shrunk_at,
    )


@contextmanager
def explained(chunk: Chunk) -> Iterator[None]:
    """Turn what goes wrong with a chunk into an error that names the chunk."""
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
