"""BusiestWorkers: how busy the worker threads were, where the results of a log report it (389-ds)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldapdiag.evidence.log.segment import Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class BusiestWorkers:
    """The worst of the worker threads in any interval of the log (wbusy, wqdepth)."""

    busy: int
    threads: int
    busy_since: int
    """The beginning of the interval, in seconds since 1970."""
    queued: int
    """The most operations that waited for a thread."""
    queued_since: int
    busy_meanwhile: int
    """The most busy threads in the interval with the longest queue."""
    intervals: int
    """Intervals with a result that reports them."""
    seconds: int
    """The length of an interval."""


def busiest_workers(segment: Segment) -> BusiestWorkers | None:
    """Return the worst of the worker threads; None where the log does not report them."""
    step = segment.timeline.step
    reported = {number: one for number, one in segment.timeline.intervals.items() if one.most_busy[1]}
    if not reported:
        return None
    busiest = max(reported, key=lambda number: (reported[number].most_busy, -number))
    longest = max(reported, key=lambda number: (reported[number].longest_queue, -number))
    busy, threads = reported[busiest].most_busy
    return BusiestWorkers(
        busy=busy,
        threads=threads,
        busy_since=busiest * step,
        queued=reported[longest].longest_queue,
        queued_since=longest * step,
        busy_meanwhile=reported[longest].most_busy[0],
        intervals=len(reported),
        seconds=step,
    )
