"""Overlapping copies: where one file of a log goes on after the end of another, so that no record counts twice.

    head -n 60% access > one; tail -n 60% access > two          two is read from where one ends

A copy is known by its bytes. Other duplicates of a run (a syslog beside slapd's stderr) have not a byte in common.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.dialect import cut_at_line
from ldapdiag.sources.logs.log_files import TAIL_BYTES

if TYPE_CHECKING:
    from ldapdiag.sources.files.open_files import FileRange
    from ldapdiag.sources.logs.log_files import LogFile

COMPARED_BYTES = 1 << 12
"""Before the end of one file and before the place in the other: more than one line, so that it is that place."""

WINDOW = 16 * TAIL_BYTES
"""Read of the later file around the time at which the earlier one ends."""


def divided(earlier: LogFile, later: LogFile) -> tuple[LogFile, LogFile | None] | None:
    """Return the earlier file as far as it has whole lines, and the later one from there on (None: nothing is left).

    None where the end of the one is not found in the other, or that would take reading all of it. OSError is the
    caller's.
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
    """Return where in its file the last line of a tail ends that lies about a time; None if it is not there."""
    line = tail[tail.rfind(b"\n", 0, -1) + 1 :]
    if not line or line == tail:  # longer than what was read of it
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
    """Return a file from an offset on; None if no record follows."""
    length = None if found.length is None else found.start + found.length - at
    rest = replace(found, start=at, length=length)
    head = file.sample_from(rest, at)
    if head is None:
        return None
    note = f"{file.path} begins with records of {other}; its first {at - found.start} bytes are not read again"
    return replace(file, head=head, input=file.input.ranged(rest), note=note)
