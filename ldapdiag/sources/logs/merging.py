"""Merging: the results of a stream's chunks are added up, in the order of the chunks.

It can be pickled between two results, and continued elsewhere.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.logs.chunks import shrunk
from ldapdiag.sources.logs.period import Period, Place
from ldapdiag.sources.logs.records import too_long
from ldapdiag.sources.logs.samples import DISORDER
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from ldapdiag.sources.logs.scanning import Scanned
    from ldapdiag.sources.logs.stream_counts import ChunkCounts, StreamCounts

ENOUGH_LATER = 250_000
"""Lines in a row after the period that end the reading. One request of 4 MB can forge half of them."""


class PeriodCounts:
    """The counts of a stream within a period, wherever the stream is cut.

    The records outside are used or left out, each by its own time: those before establish which connections are open.
    """

    def __init__(self, counts: StreamCounts, period: Period | None) -> None:
        self.counts = counts
        self.is_over = False
        """True if so many records after the period were read that no other is expected."""
        self._period = period or Period()
        self._place = Place.WITHIN if self._period.since is None else Place.BEFORE
        """Where the last record was."""
        self._waits = self._period.since is not None
        """True until the first record inside the period."""
        self._lines = 0
        self._outside = 0
        """Lines in a row outside the period: after it, or before it though others inside it came before."""
        self._are_far = False
        """True if the times of these are too far outside for a disorder of the log."""
        self._left_out = 0

    def add(self, place: Place, part: ChunkCounts, *, in_order: bool = True) -> None:
        """Merge a part, or leave it out; without an order no part is the last one."""
        if self.is_over:
            return
        place = self._place if place is Place.UNTIMED else place
        if place is Place.LATER or (place is Place.BEFORE and not self._waits):
            self._outside += part.lines
            self._are_far |= self._is_far(part)
        else:
            if self._are_far and self._outside < self._lines:
                self._left_out += self._outside
            self._outside, self._are_far = 0, False
            self._lines += part.lines
        self._merge(place, part)
        self.is_over = in_order and self._outside >= ENOUGH_LATER and place is Place.LATER
        self._place = place

    def _merge(self, place: Place, part: ChunkCounts) -> None:
        if place is Place.LATER:
            self.counts.add_clock(part)
        elif place is Place.BEFORE and not self._waits:
            self.counts.merge_state(part)
        else:
            if place is Place.WITHIN:
                self.finish()
            self.counts.merge(part)

    def finish(self) -> None:
        """Reset the counts from before the period, once."""
        if self._waits:
            self.counts.reset_counts()
            self._waits = False

    @property
    def note(self) -> str:
        """Describe the records left out between others; empty if there are none."""
        if not self._left_out:
            return ""
        lines = counted(self._left_out, "line")
        return f"{lines} among those of the period have a time far outside of it and are not counted: forged or wrong"

    def _is_far(self, part: ChunkCounts) -> bool:
        since, until = self._period.since, self._period.until
        later = until is not None and part.last_time is not None and part.last_time - until > DISORDER
        return later or (since is not None and part.first_time is not None and since - part.first_time > DISORDER)


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
