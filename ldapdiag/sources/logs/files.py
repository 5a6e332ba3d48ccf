"""Log files: what was named, told apart by content, each with the times and marks that put it in its place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import FileIO
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.evidence.log.dialects import recognise
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.sources.files.unreadable import unreadable
from ldapdiag.sources.logs.places import HEAD_BYTES, Place, places, slice_of
from ldapdiag.sources.logs.samples import Sample, sample
from ldapdiag.sources.logs.writers import writers_beside_each_other

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.sources.logs.places import NotALog, Region
    from ldapdiag.sources.logs.writers import Writer

MOST_HEAD_BYTES = 1 << 20
"""So far a log is read for the opening of a connection; one that has none there is known by its operations."""

TAIL_BYTES = 1 << 16

EMPTY = "is an empty file"

MOST_OF_HEADER = 1 << 12

SAMPLES = 8
"""Looks into a log for whose lines it holds."""

MARKS_WITHIN = 5_000
"""Kept of the middle of a log while it is compared with the beginning of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """One log file, recognised."""

    place: Place
    dialect: Dialect
    hints: Hints
    head: Sample
    """What its first records tell."""
    last_time: int | None
    """Of the last record; None where only reading all of it would tell."""
    writers: tuple[Writer, ...] = ()
    """The servers that write into it side by side, where one alone should."""

    @property
    def path(self) -> str:
        """What the report shows."""
        return self.place.path

    @property
    def first_time(self) -> int:
        """Of the first record."""
        return self.head.first_time

    def sample_at(self, time: int) -> Sample | None:
        """Return what the records about a time tell; None where they cannot be had without reading all before."""
        if self.head.first_time <= time <= self.head.last_time:
            return self.head
        low = self.offset_of(time)
        return None if low is None or self.place.region is None else self.sample_from(self.place.region, low)

    def offset_of(self, time: int) -> int | None:
        """Return a place in the file shortly before the first record of a time; None where it cannot be had so."""
        if self.place.region is None:
            return None
        low, high = bounds(self.place.region)
        while high - low > TAIL_BYTES:
            middle = (low + high) // 2
            there = self.sample_from(self.place.region, middle)
            if there is None:
                return None
            low, high = (middle, high) if there.first_time < time else (low, middle)
        return low

    def sample_from(self, region: Region, offset: int) -> Sample | None:
        """Return what the records tell that begin at a place in the file or after it."""
        data = slice_of(region, offset, 2 * TAIL_BYTES)
        if offset != region.start:
            data = data[data.find(b"\n") + 1 :]
        return sample(self.dialect, _whole(self.dialect, data), self.hints, MARKS_WITHIN)


class NotYet(PassedOver):
    """A file that has no record yet, and can be followed until it has."""


def find_logs(named: Iterable[str], zone: tzinfo | None = None) -> Iterator[LogFile | NotALog]:
    """Yield the access logs of what was named, and why the rest is none. `zone` is that of stamps without one."""
    for name in named:
        for one in places(name):
            if not isinstance(one, Place):
                yield one
                continue
            try:
                yield log_file(one, zone)
            except OSError as error:
                yield unreadable(one.told, error)


def log_file(place: Place, zone: tzinfo | None = None) -> LogFile | NotALog:
    """Return the log that lies somewhere, or why it is none. OSError is the caller's."""
    head = place.head
    if not head:
        with place.open() as opened:
            trouble = "" if opened.start(1) else opened.trouble()
        return Gap(target=place.told, reason=trouble) if trouble else _without_record(place, EMPTY)
    dialect = recognise(_lines(head))
    if dialect is None:
        reason = f"is no access log I know (first bytes: {head[:4].hex(' ')})"
        return _without_record(place, reason) if _begins(head) else PassedOver(target=place.told, reason=reason)
    hints = Hints(year_end=place.changed) if zone is None else Hints(year_end=place.changed, zone=zone)
    ended = len(head) < HEAD_BYTES
    found = sample(dialect, _whole(dialect, head), hints)
    if not ended and not (found and found.openings):
        with place.open() as opened:
            head = opened.start(MOST_HEAD_BYTES)
        ended = len(head) < MOST_HEAD_BYTES
        found = sample(dialect, _whole(dialect, head), hints)
    if found is None:
        return _without_record(place, f"is a log ({dialect.name}) without a record that is of use here")
    return LogFile(
        place=replace(place, head=b""),
        dialect=dialect,
        hints=hints,
        head=found,
        last_time=found.last_time if ended else _last_time(place, dialect, hints),
        writers=writers_beside_each_other(dialect, _samples(place, head)),
    )


def _begins(head: bytes) -> bool:
    """Tell whether there is no whole line yet but a header, as 389-ds begins each file with: lines behind a tab."""
    whole = head.split(b"\n")[:-1]
    return len(head) < MOST_OF_HEADER and all(not line or line.startswith(b"\t") for line in whole)


def _without_record(place: Place, reason: str) -> PassedOver:
    grows = place.region is not None and place.region.length is None
    return NotYet(target=place.told, reason=reason) if grows else PassedOver(target=place.told, reason=reason)


def _samples(place: Place, head: bytes) -> Iterator[bytes]:
    """Yield the beginning of a log and, where that costs nothing, what stands here and there in it."""
    yield _lines(head)
    if place.region is None:
        return
    start, end = bounds(place.region)
    for number in range(1, SAMPLES):
        offset = start + (end - start) * number // SAMPLES
        if offset >= start + len(head):
            data = slice_of(place.region, offset, TAIL_BYTES)
            yield data[data.find(b"\n") + 1 : data.rfind(b"\n") + 1]


def _last_time(place: Place, dialect: Dialect, hints: Hints) -> int | None:
    if place.region is None:
        return None
    start, end = bounds(place.region)
    for size in (TAIL_BYTES, 16 * TAIL_BYTES):
        data = slice_of(place.region, max(start, end - size), size)
        found = sample(dialect, data[data.find(b"\n") + 1 :], hints)
        if found:
            return found.last_time
    return None


def bounds(region: Region) -> tuple[int, int]:
    """Return where a region begins and ends in its file, as that is now. OSError is the caller's."""
    with FileIO(region.location) as stream:
        size = stream.seek(0, 2)
    return region.start, size if region.length is None else min(size, region.start + region.length)


def _lines(head: bytes) -> bytes:
    """Return whole lines, if there is one."""
    return head[: head.rfind(b"\n") + 1] or head


def _whole(dialect: Dialect, data: bytes) -> bytes:
    """Return whole records, if there is one."""
    return data[: dialect.cut(data, len(data))] or data
