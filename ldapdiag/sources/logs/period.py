"""Periods: divide the records of a chunk into those before, inside and after a period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.sources.logs.samples import sample

if TYPE_CHECKING:
    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.line_scan import Hints


@dataclass(frozen=True, slots=True)
class Period:
    """A period in nanoseconds since 1970, both ends included; None: no limit on that side."""

    since: int | None = None
    until: int | None = None
    """The last time inside the period."""

    def divide(self, dialect: Dialect, data: bytes, hints: Hints) -> tuple[bytes, bytes, bool]:
        """Return the records before `since`, the records inside the period, and whether a later record follows."""
        before, within = 0, len(data)
        if self.since is not None:
            before = first_at(dialect, data, hints, self.since)
        if self.until is not None:
            within = max(before, first_at(dialect, data, hints, self.until + 1))
        return data[:before], data[before:within], within < len(data)


def first_at(dialect: Dialect, data: bytes, hints: Hints, time: int) -> int:
    """Return the offset of the first record at or after a time; the length of the data if there is none.

    Each step of the bisection scans half of the remaining data, so that the total cost is one to two scans of the data.
    """
    low, high = 0, len(data)
    if not _reaches(dialect, data, hints, time):
        return high
    while True:
        remaining = data[low:high]
        middle = dialect.cut(remaining, len(remaining) // 2) or _first_record(dialect, remaining)
        if _reaches(dialect, remaining[:middle], hints, time):
            if middle == len(remaining) or middle == _first_record(dialect, remaining):
                return low
            high = low + middle
        else:
            low += middle


def _reaches(dialect: Dialect, data: bytes, hints: Hints, time: int) -> bool:
    found = sample(dialect, data, hints, 0)
    return found is not None and found.last_time >= time


def _first_record(dialect: Dialect, data: bytes) -> int:
    """Return the offset of the end of the first record."""
    at = 0
    while at := data.find(b"\n", at) + 1:
        if end := dialect.cut(data, at):
            return end
    return len(data)
