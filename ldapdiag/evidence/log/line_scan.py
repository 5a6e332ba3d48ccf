"""LineScan: the lines of a log, its clock, and records that belong to no connection."""

# ruff: noqa: PLR1730  max() and min() are calls, and `at` runs for most records

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from ldapdiag.evidence.log.segment import SAMPLE_BYTES, SAMPLES, Segment
from ldapdiag.evidence.log.tables import CAPS, Caps
from ldapdiag.lazy_dataclass import dataclass

NEVER = 1 << 63
"""Nanoseconds; later than any time of a log (stamps.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What the text of a log does not contain, and the opener of the file knows."""

    year_end: datetime | None = None
    """No line of the file is later than this: it gives the year of stamps without one."""
    zone: tzinfo = UTC
    """The zone of stamps without one."""
    day_first: bool = False
    """05/11 is the fifth of November, not May 11."""
    fold: int = 0
    """1 if an hour that the clock shows twice is the second one, as in datetime (PEP 495)."""


class LineScan:
    """Count the lines of a log, and keep its clock and headers."""

    def __init__(self, hints: Hints | None = None, caps: Caps = CAPS) -> None:
        self.hints = hints or Hints()
        self.total = Segment(caps)
        """The counts of the stream."""
        self.segment = self.total
        """What records are counted in: the same, except while records before the period are read (StreamScan)."""
        self.first = NEVER
        self.last = -NEVER

    @property
    def lines(self) -> int:
        """The number of lines read; each dialect counts its own."""
        return self.segment.lines

    @lines.setter
    def lines(self, count: int) -> None:
        self.segment.lines = count

    def header(self, instance: bytes, version: bytes = b"") -> None:
        """Keep the name and version of the server; how often it is read depends on where a log is cut: not counted."""
        self.segment.instances.count((instance[:SAMPLE_BYTES], version[:SAMPLE_BYTES]), 0)

    def lost(self, lines: int) -> None:
        """Count lines that the log reports as lost."""
        self.segment.lost += lines

    def not_indexed(self, attribute: bytes, kind: bytes) -> None:
        """Count a candidate lookup without an index, as slapd logs it."""
        self.segment.not_indexed.count((attribute[:SAMPLE_BYTES], kind[:SAMPLE_BYTES]))

    def index_lookup(self, attribute: bytes, kind: bytes, ids: int) -> None:
        """Count an index lookup of 389-ds (STAT) and the length of its ID list."""
        self.segment.index_lookup((type_of(attribute), kind[:SAMPLE_BYTES]), 1, ids, ids)

    def modified_attributes(self, attributes: bytes) -> None:
        """Count a MOD request once for each attribute in a list separated by blanks."""
        for attribute in dict.fromkeys(type_of(one) for one in attributes.split(b" ") if one):
            self.segment.modified.count(attribute)

    def passed_over(self, lines: int = 1) -> None:
        """Count lines that are understood and not needed."""
        self.segment.passed_over += lines

    def misread(self, line: bytes) -> None:
        """Count a line that no rule matches, and keep the first few."""
        self.segment.misread += 1
        if len(self.segment.samples) < SAMPLES:
            self.segment.samples.append(line[:SAMPLE_BYTES])

    def clock(self, zone: bytes | None) -> None:
        """Keep the zone of the stamps; None where the format has none."""
        self.segment.zones.add(zone or b"")

    def resolution(self, nanoseconds: int) -> None:
        """Keep the resolution of the stamps, that of the coarsest."""
        self.segment.resolution = max(self.segment.resolution, nanoseconds)

    def at(self, time: int) -> None:
        """Extend the time range of the log to the time of a record."""
        if time > self.last:
            self.last = time
        if time < self.first:
            self.first = time


def type_of(attribute: bytes) -> bytes:
    """Return the attribute type of an attribute description (RFC 4512, 2.5): lower case, without options."""
    return attribute[:SAMPLE_BYTES].partition(b";")[0].lower()
