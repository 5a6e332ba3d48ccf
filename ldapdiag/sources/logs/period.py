"""Periods: divide the records of a chunk into those before, inside and after a period.

Each record is placed by its own time. A client that puts a line feed into a filter writes lines with any time; none of
them decides about the records behind it.

Places of a log: lines from its middle and its end, out of their envelopes, without reading all before them.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.envelope import decoded
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.logs.samples import Sample, sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.line_scan import Hints
    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.files.open_files import FileRange


class Place(StrEnum):
    """Where records are in time."""

    UNTIMED = "untimed"
    """Lines without a time at the beginning of a chunk: they belong to the records before them."""
    BEFORE = "before"
    """Before the period: such records only establish which connections are open."""
    WITHIN = "within"
    LATER = "later"
    """After the period: such records are not counted."""


@dataclass(frozen=True, slots=True)
class Period:
    """A period in nanoseconds since 1970, both ends included; None: no limit on that side."""

    since: int | None = None
    until: int | None = None
    """The last time inside the period."""

    def place(self, time: int) -> Place:
        """Return where a record with this time is."""
        if self.until is not None and time > self.until:
            return Place.LATER
        return Place.BEFORE if self.since is not None and time < self.since else Place.WITHIN

    def divide(self, dialect: Dialect, data: bytes, hints: Hints) -> list[tuple[Place, bytes]]:
        """Return the parts of a chunk in their order: consecutive records in one place."""
        if self.since is None and self.until is None:
            return [(Place.WITHIN, data)] if data else []
        division = _Division(self, dialect, data, hints)
        division.divide(0, len(data))
        return [(place, data[start:end]) for place, start, end in division.parts]


class _Division:
    """The parts found so far. Each step scans half of the remaining data, so a border costs about two scans of it."""

    def __init__(self, period: Period, dialect: Dialect, data: bytes, hints: Hints) -> None:
        self._period = period
        self._dialect = dialect
        self._data = data
        self._hints = hints
        self.parts: list[tuple[Place, int, int]] = []

    def divide(self, start: int, end: int, place: Place | None = None) -> None:
        """Add the records between two offsets to the parts; `place` is that of all that have a time, if known."""
        if start == end:
            return
        place = place or self._place(start, end)
        current = self.parts[-1][0] if self.parts else None
        if place is Place.UNTIMED or (place is not None and place is current):
            self._add(current or Place.UNTIMED, start, end)
            return
        first = start + _first_record(self._dialect, self._data[start:end])
        if place is not None and (first == end or self._place(start, first) is place):
            self._add(place, start, end)
        elif first == end:
            self._add(self._place_of_one(start, end), start, end)
        else:
            middle = self._middle(start, end, first)
            self.divide(start, middle)
            self.divide(middle, end, place)

    def _add(self, place: Place, start: int, end: int) -> None:
        if self.parts and self.parts[-1][0] is place:
            start = self.parts.pop()[1]
        self.parts.append((place, start, end))

    def _middle(self, start: int, end: int, first: int) -> int:
        data = self._data[start:end]
        middle = start + self._dialect.cut(data, len(data) // 2)
        return middle if middle > start else first

    def _place(self, start: int, end: int) -> Place | None:
        """Return the place of the records with a time; UNTIMED if none has one, None if they are in several."""
        found = sample(self._dialect, self._data[start:end], self._hints, 0)
        if found is None:
            return Place.UNTIMED
        place = self._period.place(found.latest)
        return place if place is self._period.place(found.earliest) else None

    def _place_of_one(self, start: int, end: int) -> Place:
        """Return the place of one record; one with a request and its result is written at the time of the result."""
        found = sample(self._dialect, self._data[start:end], self._hints, 0)
        return Place.UNTIMED if found is None else self._period.place(found.latest)


def _first_record(dialect: Dialect, data: bytes) -> int:
    """Return the offset of the end of the first record."""
    at = 0
    while at := data.find(b"\n", at) + 1:
        if end := dialect.cut(data, at):
            return end
    return len(data)


@dataclass(frozen=True)
class WholeRecords:
    """Whole records of a chunk that are in one place of the period."""

    dialect: Dialect
    data: bytes
    hints: Hints

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.data.count(b"\n") + (not self.data.endswith(b"\n"))

    @property
    def first_time(self) -> int | None:
        """Nanoseconds since 1970: the earliest time of a record; None if none has one."""
        return self.sample.earliest if self.sample else None

    @property
    def last_time(self) -> int | None:
        """The latest time of a record."""
        return self.sample.latest if self.sample else None

    @cached_property
    def sample(self) -> Sample | None:
        """The times, zones and resolution of the records, which are read once for all that asks for them."""
        return sample(self.dialect, self.data, self.hints, 0)


TAIL_BYTES = 1 << 16

SAMPLES = 8
"""Number of samples of a log that are searched for the servers that write into it."""


def place_of(found: Input) -> FileRange | None:
    """Return where a file contains a log, or the lines that contain its lines; None if only reading it shows that."""
    return found.carrier.file_range if found.carrier else found.file_range


def lines_of(head: bytes) -> bytes:
    """Return the whole lines; all data if there is none."""
    return head[: head.rfind(b"\n") + 1] or head


def samples_of(found: Input, head: bytes) -> Iterator[bytes]:
    """Yield whole lines, in their envelopes, from the beginning of a log and from SAMPLES - 1 later offsets."""
    place = place_of(found)
    if place is None or found.carrier is None:
        yield lines_of(found.carrier.head if found.carrier else head)
    if place is None:
        return
    start, end = place.bounds()
    mark = _mark(found)
    for number in range(SAMPLES):
        offset = start + (end - start) * number // SAMPLES
        if found.carrier is not None or offset >= start + len(head):
            data = place.read_at(offset, TAIL_BYTES)
            begin, last = data.find(mark), data.rfind(mark)
            yield data[begin + len(mark) if number and begin >= 0 else 0 : last + len(mark) if last >= 0 else 0]


def _mark(found: Input) -> bytes:
    """Return what ends the lines of the outermost envelope."""
    return found.carrier.envelopes[0].end if found.carrier else b"\n"


def end_of(found: Input, size: int) -> bytes:
    """Return whole lines from the last `size` bytes. OSError propagates to the caller."""
    place = place_of(found)
    if place is None:
        data, is_cut = found.head[-size:], len(found.head) > size
    else:
        start, end = place.bounds()
        data, is_cut = place.read_at(max(start, end - size), size), end - start > size
    if is_cut:
        before, mark, after = data.partition(_mark(found) if place else b"\n")
        data = after if mark else before
    for envelope in found.carrier.envelopes if found.carrier and place else ():
        data = decoded(envelope, data)
    return data
