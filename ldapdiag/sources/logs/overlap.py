"""Overlapping copies: find where one file of a log continues after the end of another; no record counts twice.

    head -n 60% access > one; tail -n 60% access > two          two is read from where one ends

A copy is recognised by its bytes. Other duplicates of a run (a syslog and slapd's stderr) differ in every line.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.dialect import cut_at_line
from ldapdiag.sources.logs.log_places import TAIL_BYTES

if TYPE_CHECKING:
    from ldapdiag.sources.files.open_files import FileRange
    from ldapdiag.sources.logs.log_files import LogFile

COMPARED_BYTES = 1 << 12
"""Bytes compared before the end of one file and before the match in the other: several lines, so it is unique."""

WINDOW = 16 * TAIL_BYTES
"""Bytes read of the later file around the time at which the earlier one ends."""


def divided(earlier: LogFile, later: LogFile) -> tuple[LogFile, LogFile | None] | None:
    """Return the whole lines of the earlier file, and the remainder of the later one (None: no record remains).

    None if the end of the earlier file is not found in the later one, or if the search requires reading all of it.
    OSError propagates to the caller.
    """
    one, other = earlier.input.file_range, later.input.file_range
    if one is None or other is None or earlier.last_time is None or earlier.dialect != later.dialect:
        return None
    if earlier.dialect.cut is not cut_at_line:
        return None
    start, end = one.bounds()
    tail = one.read_at(max(start, end - TAIL_BYTES), min(TAIL_BYTES, end - start))
    tail = tail[: tail.rfind(b"\n") + 1]
    at = _end_within(later, other, tail, earlier.last_time)
    if at is None:
        return None
    ended = end - max(start, end - TAIL_BYTES)
    whole = replace(one, length=end - start - ended + len(tail))
    return replace(earlier, input=earlier.input.ranged(whole)), _from(later, other, at, earlier.path)


def _end_within(file: LogFile, found: FileRange, tail: bytes, time: int) -> int | None:
    """Return the offset after the last line of `tail` in a file, searched around a time; None if it is absent."""
    line = tail[tail.rfind(b"\n", 0, -1) + 1 :]
    if not line or line == tail:  # the line is longer than the tail
        return None
    low = file.offset_of(time)
    if low is None:
        return None
    begin = max(found.start, low - TAIL_BYTES)
    data = found.read_at(begin, WINDOW)
    at = data.find(line)
    while at >= 0:
        end = at + len(line)
        length = min(end, len(tail), COMPARED_BYTES)
        if data[end - length : end] == tail[-length:]:
            return begin + end
        at = data.find(line, at + 1)
    return None


def _from(file: LogFile, found: FileRange, at: int, other: str) -> LogFile | None:
    """Return the file from an offset on; None if no record follows."""
    length = None if found.length is None else found.start + found.length - at
    rest = replace(found, start=at, length=length)
    head = file.sample_from(rest, at)
    if head is None:
        return None
    note = f"{file.path} begins with records of {other}; its first {at - found.start} bytes are not read again"
    return replace(file.without(at - found.start), head=head, input=file.input.ranged(rest), note=note)
