"""Tally: how well a log could be read, and what it says besides its operations."""

# ruff: noqa: PLR1730  max() and min() are calls, and `at` runs for most records

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from ldapdiag.evidence.log.segment import SAMPLE_BYTES, SAMPLES, Segment
from ldapdiag.evidence.log.tables import CAPS, Caps

NEVER = 1 << 63
"""Nanoseconds; later than any time of a log (stamps.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What the text of a log does not say, and whoever opened the file knows."""

    year_end: datetime | None = None
    """No line of the file is later than this: the year of stamps without one."""
    zone: tzinfo = UTC
    """Of stamps without one."""


class Tally:
    """The lines of one piece of a log, its clock, and what its headers say."""

    def __init__(self, hints: Hints | None = None, caps: Caps = CAPS) -> None:
        self.hints = hints or Hints()
        self.segment = Segment(caps)
        self.first = NEVER
        self.last = -NEVER

    @property
    def lines(self) -> int:
        """Lines read; each dialect counts its own."""
        return self.segment.lines

    @lines.setter
    def lines(self, count: int) -> None:
        self.segment.lines = count

    def named(self, instance: bytes, version: bytes = b"") -> None:
        """Keep what a header says of the server."""
        self.segment.instances.count((instance[:SAMPLE_BYTES], version[:SAMPLE_BYTES]))

    def lost(self, lines: int) -> None:
        """Count lines that the log itself says are missing."""
        self.segment.lost += lines

    def not_indexed(self, attribute: bytes, kind: bytes) -> None:
        """Count slapd's word that a candidate lookup had no index."""
        self.segment.not_indexed.count((attribute[:SAMPLE_BYTES], kind[:SAMPLE_BYTES]))

    def looked_up(self, attribute: bytes, kind: bytes, ids: int) -> None:
        """Count 389-ds' word on how many ids a key of an index holds."""
        self.segment.looked_up((type_of(attribute), kind[:SAMPLE_BYTES]), 1, ids, ids)

    def modified(self, attributes: bytes) -> None:
        """Count a MOD request for each attribute that it touches, however often; there are blanks between them."""
        for attribute in dict.fromkeys(type_of(one) for one in attributes.split(b" ") if one):
            self.segment.modified.count(attribute)

    def passed_over(self, lines: int = 1) -> None:
        """Count lines that are understood and of no use here."""
        self.segment.passed_over += lines

    def misread(self, line: bytes) -> None:
        """Count a line no rule fits, and keep the first few."""
        self.segment.misread += 1
        if len(self.segment.samples) < SAMPLES:
            self.segment.samples.append(line[:SAMPLE_BYTES])

    def clock(self, zone: bytes | None) -> None:
        """Keep the zone that stamps are written in; None where the format has none."""
        self.segment.zones.add(zone or b"")

    def resolution(self, nanoseconds: int) -> None:
        """Keep how fine the stamps are."""
        self.segment.resolution = max(self.segment.resolution, nanoseconds)

    def at(self, time: int) -> None:
        """Hear of a time that the log holds."""
        if time > self.last:
            self.last = time
        if time < self.first:
            self.first = time


def type_of(attribute: bytes) -> bytes:
    """Return the attribute type of an attribute description (RFC 4512, 2.5): lower case, without options."""
    return attribute[:SAMPLE_BYTES].partition(b";")[0].lower()
