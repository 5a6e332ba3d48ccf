"""The counts of one stream, to which its chunks are added in order: in the native scanner, or by the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.logs import native

if TYPE_CHECKING:
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.evidence.log.selection import Selection
    from ldapdiag.sources.logs.period import WholeRecords


class ChunkCounts(Protocol):
    """A chunk: its records, or the counts of the native scanner."""

    @property
    def lines(self) -> int:
        """The number of lines."""

    @property
    def first_time(self) -> int | None:
        """Nanoseconds since 1970: the time of the first record; None if there is none."""

    @property
    def last_time(self) -> int | None:
        """The time of the last record."""


class StreamCounts(Protocol):
    """The counts of all chunks so far; it can be pickled, and continued elsewhere."""

    @property
    def last_time(self) -> int | None:
        """The time of the last record; None before the first."""

    def merge(self, part: Any) -> None:  # noqa: ANN401  of the scanner that counts
        """Add the chunk that follows; it is used up."""

    def merge_state(self, part: Any) -> None:  # noqa: ANN401  of the scanner that counts
        """Add a chunk as one before the period: it only establishes which connections are open."""

    def add_clock(self, part: Any) -> None:  # noqa: ANN401  of the scanner that counts
        """Keep the zones and the resolution of a chunk that is not counted."""

    def reset_counts(self) -> None:
        """Forget all counts, and keep the state of the open connections."""

    def finished(self, *, goes_on: bool = False) -> Segment:
        """Return the Segment of a stream that ends here; with `goes_on` more chunks can be added afterwards."""


class ReferenceCounts:
    """Counts by the reference, which reads the records of a chunk when it is added."""

    def __init__(self, selection: Selection | None = None) -> None:
        from ldapdiag.evidence.log.stream_scan import StreamScan  # noqa: PLC0415  import late: the native scanner has its own

        self.scan = StreamScan(selection=selection)

    @property
    def last_time(self) -> int | None:
        """The time of the last record."""
        return self.scan.last_time

    def merge(self, part: WholeRecords) -> None:
        """Add the chunk that follows."""
        self.scan.feed(part.dialect, part.data, part.hints)

    def merge_state(self, part: WholeRecords) -> None:
        """Add a chunk as one before the period."""
        self.scan.feed_state(part.dialect, part.data, part.hints)

    def add_clock(self, part: WholeRecords) -> None:
        """Keep the zones and the resolution of a chunk that is not counted."""
        if found := part.sample:
            self.scan.total.zones |= found.zones
            self.scan.resolution(found.resolution)

    def reset_counts(self) -> None:
        """Forget all counts, and keep the state of the open connections."""
        self.scan.reset_counts()

    def finished(self, *, goes_on: bool = False) -> Segment:
        """Return the Segment of a stream that ends here."""
        return self.scan.finished(goes_on=goes_on)


def counts_by(scanner: Scanner) -> StreamCounts:
    """Return the counts of a stream before its first chunk, of the kind that a scanner makes."""
    return native.NativeCounts() if scanner is Scanner.NATIVE else ReferenceCounts()
