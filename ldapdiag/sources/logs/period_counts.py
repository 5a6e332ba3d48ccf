"""Counts of a period: merge the parts of a stream so that only the records inside the period are counted.

The others are used or left out, each by its own time: those before the period establish which connections are open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.sources.logs.period import Period, Place
from ldapdiag.sources.logs.samples import DISORDER
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from ldapdiag.sources.logs.stream_counts import ChunkCounts, StreamCounts

ENOUGH_LATER = 250_000
"""Lines in a row after the period that end the reading. One request of 4 MB can forge half of them."""


class PeriodCounts:
    """The counts of a stream within a period, wherever the stream is cut."""

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
