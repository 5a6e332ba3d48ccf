"""Scanning: what the parts of a log say, told in the order of the parts, whoever scans them and how many side by side.

The reference scans a small log Here, in this process, and a large one with Workers; Threads use the native scanner.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.evidence.log.dialects import scan_chunk
from ldapdiag.sources.logs.parts import USUAL
from ldapdiag.sources.logs.records import whole_lines

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from threading import Event

    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.sources.logs.border import Period
    from ldapdiag.sources.logs.parts import Part, Sizes

MOMENT = 0.1
"""Seconds between two looks at whether the reading has been stopped."""
PATIENCE = 20
"""Moments in which a thread must end that reads; one that does not waits for a pipe, and ends with the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What a part says, or as much of it as has been scanned."""

    part: Part
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
    """Where the log ended, before the part did: it was cut off meanwhile."""
    too_long: tuple[int, ...] = ()
    """Where records began of which only the beginning was read."""


class Scanning(Protocol):
    """Whoever scans parts."""

    scanner: Scanner
    held: int
    """Files whose parts may be under way at once."""

    def sizes(self, total: int) -> Sizes:
        """Return how large the parts should be of a stream of so many bytes."""

    def scanned(self, parts: Generator[Part], period: Period | None, stop: Event) -> Generator[Scanned]:
        """Yield what the parts say, in order; PartError where one cannot be scanned."""


class PartError(LdapdiagError):
    """A part could not be scanned: which, where, why."""


class Here:
    """Scans parts in this very process."""

    scanner = Scanner.PYTHON
    held = 4

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End nothing."""

    def sizes(self, total: int) -> Sizes:  # noqa: ARG002  they are the same for all
        """Return the usual sizes: each part is read into memory."""
        return USUAL

    def scanned(self, parts: Generator[Part], period: Period | None, stop: Event) -> Generator[Scanned]:
        """Yield what each part says, in order; PartError where one cannot be scanned."""
        with closing(parts):
            for part in parts:
                if stop.is_set():
                    return
                with explained(part):
                    scanned = scan_part(part, period)
                yield scanned


def scan_part(part: Part, period: Period | None) -> Scanned:
    """Return what a part says. OSError is the caller's."""
    data = part.data if part.stretch is None else part.stretch.read()
    if data is None:
        return Scanned(part=part, replaced=True)
    short = part.stretch is not None and (part.stretch.shrunk or len(data) < part.stretch.length)
    shrunk_at = part.at + len(data) if short else None
    before, within, ended = b"", whole_lines(data), False
    if period is not None:
        before, within, ended = period.divide(part.dialect, within, part.hints)
    return Scanned(
        part=part.bare,
        before=scan_chunk(part.dialect, before, part.hints) if before else None,
        within=scan_chunk(part.dialect, within, part.hints) if within else None,
        cost=part.cost,
        ended=ended,
        shrunk_at=shrunk_at,
    )


@contextmanager
def explained(part: Part) -> Iterator[None]:
    """Turn what goes wrong with a part into an error that says which part."""
    try:
        yield
    except PartError:
        raise
    except OSError as error:
        raise PartError(f"cannot read {part.told} at byte {part.at}: {error.strerror or error}") from error
    except Exception as error:
        crash = f"{type(error).__name__}: {error}"
        raise PartError(
            f"the scanner crashed on {part.told} after byte {part.at} ({crash}); please report it"
        ) from error
