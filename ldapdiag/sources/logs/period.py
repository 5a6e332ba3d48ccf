"""The borders of a time: which records of a chunk come before it, within it and after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.sources.logs.samples import sample

if TYPE_CHECKING:
    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.line_scan import Hints


@dataclass(frozen=True, slots=True)
class Period:
    """From one time to another, nanoseconds since 1970; None: no border on that side."""

    since: int | None = None
    until: int | None = None
    """Its own records are within."""

    def divide(self, dialect: Dialect, data: bytes, hints: Hints) -> tuple[bytes, bytes, bool]:
        """Return the records before `since`, those within, and whether a later one than `until` comes next."""
        before, within = 0, len(data)
        if self.since is not None:
            before = first_at(dialect, data, hints, self.since)
        if self.until is not None:
            within = max(before, first_at(dialect, data, hints, self.until + 1))
        return data[:before], data[before:within], within < len(data)


def first_at(dialect: Dialect, data: bytes, hints: Hints, time: int) -> int:
    """Return where the first record at or past a time begins; the length of the data if there is none.

    Half of what is left is looked at in each step, so it costs as much as reading the data once or twice.
    """
    low, high = 0, len(data)
    if not _reaches(dialect, data, hints, time):
        return high
    while True:
        piece = data[low:high]
        middle = dialect.cut(piece, len(piece) // 2) or _first_record(dialect, piece)
        if _reaches(dialect, piece[:middle], hints, time):
            if middle == len(piece) or middle == _first_record(dialect, piece):
                return low
            high = low + middle
        else:
            low += middle


def _reaches(dialect: Dialect, data: bytes, hints: Hints, time: int) -> bool:
    found = sample(dialect, data, hints, 0)
    return found is not None and found.last_time >= time


def _first_record(dialect: Dialect, data: bytes) -> int:
    """Return where the first record ends."""
    at = 0
    while at := data.find(b"\n", at) + 1:
        if end := dialect.cut(data, at):
            return end
    return len(data)
