"""Log files: recognise access logs by content, and sample the times and marks that determine their order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.evidence.log.dialects import recognise
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.sources.files.input import HEAD_BYTES, Input
from ldapdiag.sources.files.unreadable import unreadable
from ldapdiag.sources.logs.interleaving import concurrent_writers
from ldapdiag.sources.logs.log_inputs import as_text, log_inputs
from ldapdiag.sources.logs.samples import Sample, sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.sources.files.open_files import FileRange
    from ldapdiag.sources.logs.interleaving import Writer

NotALog = Gap | PassedOver
"""Why an input is not read: it is unreadable (Gap) or not an access log (PassedOver)."""

MOST_HEAD_BYTES = 1 << 20
"""Bytes searched for the opening of a connection; without one, the marks of a log are its operations."""

TAIL_BYTES = 1 << 16

EMPTY = "is an empty file"

MOST_OF_HEADER = 1 << 12

SAMPLES = 8
"""Number of samples of a log that are searched for the servers that write into it."""

MARKS_WITHIN = 5_000
"""Limit of marks from the middle of a log that is compared with the beginning of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """A recognised log file."""

    input: Input
    """Without its head."""
    dialect: Dialect
    hints: Hints
    head: Sample
    """A sample of its first records."""
    last_time: int | None
    """Time of the last record; None if only reading the whole file would show it."""
    writers: tuple[Writer, ...] = ()
    """The servers whose lines alternate in it; empty if there is only one at a time."""
    note: str = ""
    """A sentence on the part of its beginning that is not read; empty if all of it is read."""

    @property
    def path(self) -> str:
        """The name in the report."""
        return self.input.path

    @property
    def first_time(self) -> int:
        """Time of the first record."""
        return self.head.first_time

    def sample_at(self, time: int) -> Sample | None:
        """Return a sample of the records around a time; None if that requires reading all records before it."""
        if self.head.first_time <= time <= self.head.last_time:
            return self.head
        low = self.offset_of(time)
        return None if low is None or self.input.file_range is None else self.sample_from(self.input.file_range, low)

    def offset_of(self, time: int) -> int | None:
        """Return an offset shortly before the first record at a time; None if random access is impossible."""
        if self.input.file_range is None:
            return None
        low, high = self.input.file_range.bounds()
        while high - low > TAIL_BYTES:
            middle = (low + high) // 2
            sampled = self.sample_from(self.input.file_range, middle)
            if sampled is None:
                return None
            low, high = (middle, high) if sampled.first_time < time else (low, middle)
        return low

    def sample_from(self, found: FileRange, offset: int) -> Sample | None:
        """Return a sample of the records from the first line break after an offset on; None if none has a time."""
        data = found.read_at(offset, 2 * TAIL_BYTES)
        if offset != found.start:
            data = data[data.find(b"\n") + 1 :]
        return sample(self.dialect, _whole(self.dialect, data), self.hints, MARKS_WITHIN)


class NotYet(PassedOver):
    """A file that has no record yet and can be followed."""


def find_logs(named: Iterable[str], zone: tzinfo | None = None) -> Iterator[LogFile | NotALog]:
    """Yield the access logs among the named inputs, and the reasons for all others.

    `zone` applies to timestamps without one.
    """
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
    """Return an input as a log file, or the reason why it is not one; `dialect` saves recognising it again.

    OSError propagates to the caller.
    """
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
        if _is_header_only(found.head):
            return _without_record(found, reason)
        return PassedOver(target=found.label, reason=reason)
    year_end = found.taken.end if found.taken else found.changed
    hints = Hints(year_end=year_end) if zone is None else Hints(year_end=year_end, zone=zone)
    return _sampled(found, dialect, hints, note)


def _sampled(found: Input, dialect: Dialect, hints: Hints, note: str) -> LogFile | NotALog:
    """Return a log file with samples of its first and last records."""
    head = found.head[:HEAD_BYTES]
    sampled = sample(dialect, _whole(dialect, head), hints)
    if not _is_all(found, head) and not (sampled and sampled.openings):
        found = found.with_head(MOST_HEAD_BYTES)
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
        writers=concurrent_writers(dialect, _samples(found, head)),
        note=note,
    )


def _is_all(found: Input, head: bytes) -> bool:
    return found.is_whole and len(found.head) == len(head)


def _is_header_only(head: bytes) -> bool:
    """Return whether all whole lines are empty or begin with a tab, as the header of each 389-ds file does."""
    whole = head.split(b"\n")[:-1]
    return len(head) < MOST_OF_HEADER and all(not line or line.startswith(b"\t") for line in whole)


def _without_record(found: Input, reason: str) -> PassedOver:
    grows = found.file_range is not None and found.file_range.length is None
    return NotYet(target=found.label, reason=reason) if grows else PassedOver(target=found.label, reason=reason)


def _samples(found: Input, head: bytes) -> Iterator[bytes]:
    """Yield whole lines from the beginning of a log and, in a plain file, from SAMPLES - 1 later offsets."""
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
    """Return the time of the last record; None if only reading the whole file would show it."""
    if found.file_range is None and (found.compressed or not found.is_whole):
        return None
    for size in (TAIL_BYTES, 16 * TAIL_BYTES):
        data = _end(found, size)
        sampled = sample(dialect, data[data.find(b"\n") + 1 :], hints)
        if sampled:
            return sampled.last_time
    return None


def _end(found: Input, size: int) -> bytes:
    """Return the last `size` bytes. OSError propagates to the caller."""
    if found.file_range is None:
        return found.head[-size:]
    start, end = found.file_range.bounds()
    return found.file_range.read_at(max(start, end - size), size)


def _lines(head: bytes) -> bytes:
    """Return the whole lines; all data if there is none."""
    return head[: head.rfind(b"\n") + 1] or head


def _whole(dialect: Dialect, data: bytes) -> bytes:
    """Return the whole records; all data if there is none."""
    return data[: dialect.cut(data, len(data))] or data
