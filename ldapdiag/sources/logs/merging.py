"""Merging: the results of a stream's chunks are added up, in the order of the chunks.

It can be pickled between two results, and continued elsewhere.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.logs.chunks import shrunk
from ldapdiag.sources.logs.period_counts import PeriodCounts
from ldapdiag.sources.logs.records import too_long
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from ldapdiag.sources.logs.period import Period
    from ldapdiag.sources.logs.scanning import Scanned
    from ldapdiag.sources.logs.stream_counts import StreamCounts


@dataclass(slots=True, kw_only=True)
class Remarks:
    """What is to be said about the files of a stream besides their counts."""

    notes: list[str] = field(default_factory=list)
    """Irregularities of the files (a truncated file, a line that is too long), one sentence each."""
    gaps: list[Gap] = field(default_factory=list)
    """The parts that could not be read."""
    truncated: list[Gap] = field(default_factory=list)
    """The files that end early or became shorter; `notes` has a sentence for each of them."""

    def add(self, other: Remarks) -> None:
        """Add later remarks."""
        self.notes += other.notes
        self.gaps += other.gaps
        self.truncated += other.truncated


class Merging:
    """The counts of a stream, and the remarks that follow from the results."""

    def __init__(self, stream: str, counts: StreamCounts, period: Period | None = None) -> None:
        """Begin with the first chunk of a stream, which has this name in the report."""
        self.remarks = Remarks()
        self.ended = False
        """True if no result of a later chunk is to be taken."""
        self._stream = stream
        self._counts = PeriodCounts(counts, period)
        self._shrunk: dict[str, int] = {}
        """Files that were truncated while being read, and the offset; later chunks do not adjoin the records before."""

    @property
    def counts(self) -> StreamCounts:
        """The counts of the results taken so far."""
        return self._counts.counts

    def take(self, scanned: Scanned) -> None:
        """Merge the next result."""
        remarks, chunk = self.remarks, scanned.chunk
        if chunk.at <= self._shrunk.get(chunk.label, chunk.at):
            for place, part in scanned.parts:
                self._counts.add(place, part, in_order=not chunk.dialect.is_export)
        remarks.notes += (too_long(chunk.label, place) for place in scanned.too_long)
        if scanned.shrunk_at is not None and chunk.label not in self._shrunk:
            remarks.notes.append(shrunk(chunk.label, scanned.shrunk_at))
            reason = f"became shorter while it was read, to {counted(scanned.shrunk_at, 'byte')}"
            remarks.truncated.append(Gap(target=chunk.label, reason=reason, how="read it again, with the rotated file"))
            self._shrunk[chunk.label] = scanned.shrunk_at
        if scanned.replaced:
            reason = f"was replaced by another file while it was read, at byte {chunk.at}"
            remarks.gaps.append(Gap(target=chunk.label, reason=reason, how="read it again, with the rotated file"))
        self.ended = scanned.ended or scanned.replaced or self._counts.is_over

    def finish(self) -> None:
        """End the stream."""
        self._counts.finish()
        if self._counts.note:
            self.remarks.notes.append(f"{self._stream}: {self._counts.note}")
