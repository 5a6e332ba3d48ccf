"""Plausible times: those of a sample without the stamps that a client has forged.

A client that puts a line feed into a filter writes lines with any stamp. Those after it are earlier again, or those
before it are later; so the times of the longest sequence that never goes back are the server's, if they are the most.
At the beginning and the end of a sample, where no order shows it, no record is later than its file, or as early as the
clock of a computer without a battery.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.stamps import EPOCH, SECOND

if TYPE_CHECKING:
    from collections.abc import Sequence

DISORDER = 2 * SECOND
"""Largest disorder of the lines of one server, whose threads write concurrently, in nanoseconds."""

EARLIEST = (datetime(1990, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(seconds=1) * SECOND
"""Before LDAP; nanoseconds."""

SLACK = timedelta(days=1)
"""The clock of the machine with the file may be behind the server's, or in another zone."""


def plausible(times: Sequence[int], end: datetime | None) -> Sequence[int]:
    """Return the plausible ones of these times, in their order, if they are the most; `end` is that of the file."""
    latest = None if end is None else (end + SLACK - EPOCH) // timedelta(seconds=1) * SECOND
    within = [time for time in times if time >= EARLIEST and (latest is None or time <= latest)]
    if 2 * len(within) <= len(times):
        within = list(times)
    low, high, length = _longest(within)
    if 2 * length <= len(times):
        return times
    return [time for time in within if low - DISORDER <= time <= high + DISORDER]


def _longest(times: Sequence[int]) -> tuple[int, int, int]:
    """Return the first and the last time and the length of the longest sequence of times that never goes back."""
    last: list[int] = []
    first: list[int] = []
    """Of the best sequence of each length: that with the earliest last time."""
    for time in times:
        at = bisect_right(last, time)
        begin = first[at - 1] if at else time
        last[at : at + 1] = [time]
        first[at : at + 1] = [begin]
    return (first[-1], last[-1], len(last)) if last else (0, 0, 0)
