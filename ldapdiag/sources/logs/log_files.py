"""Log files: what was named, recognised by content, each with the times and marks that put it in its place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.evidence.log.dialects import recognise
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.sources.files.input import HEAD_BYTES, Input
from ldapdiag.sources.files.unreadable import unreadable
from ldapdiag.sources.logs.interleaving import writers_beside_each_other
from ldapdiag.sources.logs.log_inputs import as_text, log_inputs
from ldapdiag.sources.logs.samples import Sample, sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.sources.files.open_files import FileRange
    from ldapdiag.sources.logs.interleaving import Writer

NotALog = Gap | PassedOver
"""Why an input is not read: it could not be (Gap), or is no access log (PassedOver)."""

MOST_HEAD_BYTES = 1 << 20
"""So far a log is read for the opening of a connection; one that has none there is known by its operations."""

TAIL_BYTES = 1 << 16

EMPTY = "is an empty file"

MOST_OF_HEADER = 1 << 12

SAMPLES = 8
"""Places at which a log is sampled for the servers that write into it."""

MARKS_WITHIN = 5_000
"""Kept of the middle of a log while it is compared with the beginning of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """One log file, recognised."""

    input: Input
    """Without its head."""
    dialect: Dialect
    hints: Hints
    head: Sample
    """A sample of its first records."""
    last_time: int | None
    """Of the last record; None where it is unknown until all of it is read."""
    writers: tuple[Writer, ...] = ()
    """The servers that write into it side by side, where one alone should."""
    note: str = ""
    """What of its beginning is not read, and why: a sentence."""

    @property
    def path(self) -> str:
        """What the report shows."""
        return self.input.path

    @property
    def first_time(self) -> int:
        """Of the first record."""
        return self.head.first_time

    def sample_at(self, time: int) -> Sample | None:
        """Return a sample of the records about a time; None where all before them would have to be read."""
        if self.head.first_time <= time <= self.head.last_time:
            return self.head
        low = self.offset_of(time)
        return None if low is None or self.input.file_range is None else self.sample_from(self.input.file_range, low)

    def offset_of(self, time: int) -> int | None:
        """Return an offset shortly before the first record of a time; None where all before would have to be read."""
        if self.input.file_range is None:
            return None
        low, high = self.input.file_range.bounds()
        while high - low > TAIL_BYTES:
            middle = (low + high) // 2
            there = self.sample_from(self.input.file_range, middle)
            if there is None:
                return None
            low, high = (middle, high) if there.first_time < time else (low, middle)
        return low

    def sample_from(self, found: FileRange, offset: int) -> Sample | None:
        """Return a sample of the records that begin at an offset of the file or after it."""
        data = found.read_at(offset, 2 * TAIL_BYTES)
        if offset != found.start:
            data = data[data.find(b"\n") + 1 :]
        return sample(self.dialect, _whole(self.dialect, data), self.hints, MARKS_WITHIN)


class NotYet(PassedOver):
    """A file that has no record yet, and can be followed until it has."""


def find_logs(named: Iterable[str], zone: tzinfo | None = None) -> Iterator[LogFile | NotALog]:
    """Yield the access logs of what was named, and why the rest is none. `zone` is that of stamps without one."""
    for name in named:
        for one in log_inputs(name):
            if not isinstance(one, Input):
                yield one
                continue
            try:
                yield log_file(one, zone)
            except OSError as error:
                yield unreadable(one.label, error)


def log_file(found: Input, zone: tzinfo | None = None, dialect: Dialect | None = None) -> LogFile | NotALog:
    """Return the log that an input is, or why it is none; its dialect may be known already. OSError is the caller's."""
    if not found.head:
        with found.open() as opened:
            trouble = "" if opened.read(1) else opened.trouble()
        return Gap(target=found.label, reason=trouble) if trouble else _without_record(found, EMPTY)
    text = as_text(found)
    if isinstance(text, PassedOver):
        return text
    found, note = text
    dialect = dialect or recognise(_lines(found.head[:HEAD_BYTES]))
    if dialect is None:
        reason = f"is not an access log (first bytes: {found.head[:4].hex(' ')})"
        if _begins(found.head):
            return _without_record(found, reason)
        return PassedOver(target=found.label, reason=reason)
    year_end = found.taken.end if found.taken else found.changed
    hints = Hints(year_end=year_end) if zone is None else Hints(year_end=year_end, zone=zone)
    return _sampled(found, dialect, hints, note)


def _sampled(found: Input, dialect: Dialect, hints: Hints, note: str) -> LogFile | NotALog:
    """Return a log with the facts of the records at its beginning and its end."""
    head = found.head[:HEAD_BYTES]
    sampled = sample(dialect, _whole(dialect, head), hints)
    if not _is_all(found, head) and not (sampled and sampled.openings):
        found = found.looked_at(MOST_HEAD_BYTES)
        head = found.head[:MOST_HEAD_BYTES]
        sampled = sample(dialect, _whole(dialect, head), hints)
    if sampled is None:
        return _without_record(found, f"is a log ({dialect.name}) without a usable record")
    return LogFile(
        input=replace(found.without_head(), budget=None),
        dialect=dialect,
        hints=hints,
        head=sampled,
        last_time=sampled.last_time if _is_all(found, head) else _last_time(found, dialect, hints),
        writers=writers_beside_each_other(dialect, _samples(found, head)),
        note=note,
    )


def _is_all(found: Input, head: bytes) -> bool:
    return found.is_whole and len(found.head) == len(head)


def _begins(head: bytes) -> bool:
    """Tell whether there is no whole line yet but a header, as 389-ds begins each file with: lines behind a tab."""
    whole = head.split(b"\n")[:-1]
    return len(head) < MOST_OF_HEADER and all(not line or line.startswith(b"\t") for line in whole)


def _without_record(found: Input, reason: str) -> PassedOver:
    grows = found.file_range is not None and found.file_range.length is None
    return NotYet(target=found.label, reason=reason) if grows else PassedOver(target=found.label, reason=reason)


def _samples(found: Input, head: bytes) -> Iterator[bytes]:
    """Yield the beginning of a log and, where that costs nothing, what stands here and there in it."""
    yield _lines(head)
    if found.file_range is None:
        return
    start, end = found.file_range.bounds()
    for number in range(1, SAMPLES):
        offset = start + (end - start) * number // SAMPLES
        if offset >= start + len(head):
            data = found.file_range.read_at(offset, TAIL_BYTES)
            yield data[data.find(b"\n") + 1 : data.rfind(b"\n") + 1]


def _last_time(found: Input, dialect: Dialect, hints: Hints) -> int | None:
    """Return the time of the last record; None where only reading all of it would show it."""
    if found.file_range is None and (found.compressed or not found.is_whole):
        return None
    for size in (TAIL_BYTES, 16 * TAIL_BYTES):
        data = _end(found, size)
        sampled = sample(dialect, data[data.find(b"\n") + 1 :], hints)
        if sampled:
            return sampled.last_time
    return None


def _end(found: Input, size: int) -> bytes:
    """Return the last bytes. OSError is the caller's."""
    if found.file_range is None:
        return found.head[-size:]
    start, end = found.file_range.bounds()
    return found.file_range.read_at(max(start, end - size), size)


def _lines(head: bytes) -> bytes:
    """Return whole lines, if there is one."""
    return head[: head.rfind(b"\n") + 1] or head


def _whole(dialect: Dialect, data: bytes) -> bytes:
    """Return whole records, if there is one."""
    return data[: dialect.cut(data, len(data))] or data
