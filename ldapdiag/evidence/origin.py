"""Origin: the input a fact was read from, when it was captured, and how much of it was understood."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The interval in which an input was captured; start and end are aware and may be equal."""

    start: datetime
    end: datetime

    def seconds_apart(self, other: Span) -> float:
        """Return the skew: the longest possible time between a moment of each span, in seconds.

        Times in whole seconds, as `date` writes them, were cut: two of one second may be almost a second apart.
        """
        forward = (self.end - other.start).total_seconds()
        backward = (other.end - self.start).total_seconds()
        return max(abs(forward), abs(backward)) + self._are_cut(other)

    def is_before(self, other: Span) -> bool:
        """Return whether it ended before the other began; of one whole second that is not known."""
        return self.end < other.start or (self.end == other.start and not self._are_cut(other))

    def _are_cut(self, other: Span) -> bool:
        return not any(time.microsecond for one in (self, other) for time in (one.start, one.end))


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """An input of evidence, and how much of it was understood."""

    path: str
    """The input as named in reports: folder/file."""
    folder: str = ""
    """The folder of the input, unique in a run; evidence of one folder is attributed together."""
    host: str = ""
    """The host the input is attributed to; empty until analysis.hosts has set it."""
    server: str = ""
    """The server it is attributed to, by the name of its instance; empty: it is about the host."""
    asked: str = ""
    """The command or the query that it answers, as a target or a manifest names it; empty: unknown."""
    taken: Span | None = None
    """When it was captured; None: unknown."""
    snapshot: int = 0
    """The number of the snapshot that its folder is named after, in order of time; 0: none. Set by analysis.hosts."""
    lines: int = 0
    understood: int = 0
    """Lines that became part of a fact, or that the format ignores on purpose."""
    not_understood: int = 0
    """Lines that the grammar does not match; lines == understood + not_understood."""
    samples: tuple[str, ...] = ()
    """The first few lines that were not understood."""
    notes: tuple[str, ...] = ()
    """Remarks for the report, as complete sentences."""
    sha256: str = ""
    """Of the bytes that were read, decompressed, in hexadecimal digits; empty: not all were, or in parts (logs)."""

    @property
    def order(self) -> tuple[float, int, str]:
        """Return the sort key by which the latest of several inputs is the last: time, snapshot, path."""
        return self.taken.end.timestamp() if self.taken else 0.0, self.snapshot, self.path


class Fact(Protocol):
    """A fact read from evidence: frozen, with its origin."""

    kind: ClassVar[str]
    """The name of this kind of evidence in reports, as in 'socket-table'."""
    how: ClassVar[str]
    """How to collect it: the commands for each product."""

    @property
    def origin(self) -> Origin:
        """Return the input this fact was read from."""
