"""Where a fact comes from, when it was taken, and how well it could be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The interval in which something was captured; start and end are aware and may be equal."""

    start: datetime
    end: datetime

    def seconds_apart(self, other: Span) -> float:
        """Return the longest time that can lie between a moment of each: the skew, in seconds."""
        forward = (self.end - other.start).total_seconds()
        backward = (other.end - self.start).total_seconds()
        return max(abs(forward), abs(backward))


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """One piece of evidence and the quality of its reading."""

    path: str
    """As the report names it: folder/file."""
    folder: str = ""
    """The folder it lies in, unique in a run; evidence of one folder is attributed together."""
    host: str = ""
    """The host it was attributed to; empty until analysis.hosts has decided."""
    taken: Span | None = None
    """When it was captured, where something says so."""
    lines: int = 0
    understood: int = 0
    """Lines that became part of a fact, or that the grammar knows and has no use for."""
    not_understood: int = 0
    """Lines no rule of the grammar fits; lines == understood + not_understood."""
    samples: tuple[str, ...] = ()
    """The first few lines that were not understood."""
    notes: tuple[str, ...] = ()
    """What a reader of the report should know, in whole sentences."""


class Fact(Protocol):
    """Anything read from evidence: frozen, and able to say where it comes from."""

    kind: ClassVar[str]
    """The name of this kind of evidence in reports, as in 'socket-table'."""
    how: ClassVar[str]
    """How to get it, for those who have none."""

    @property
    def origin(self) -> Origin:
        """Return the piece of evidence this fact was read from."""
