"""Write times: how long a server worked on each write, without the time that the write waited for those before it.

389-ds, DSEE and slapd apply one write to a database at a time, so a write begins when it has left the queue of the
worker threads and the write before it has ended. What is left is the same with one writer and with forty:

    write      |··· wait ···|··· until its turn ···|=== its own time ===|
    before     ...=================================|                    |
                                                   result of that one   its result

The first write of a log is not counted, because the one before it is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.durations import Durations
from ldapdiag.evidence.log.operation_kinds import ADD, DELETE, MODIFY, MODRDN
from ldapdiag.evidence.log.stamps import SECOND

if TYPE_CHECKING:
    from ldapdiag.evidence.log.timeline import Timeline

WRITES = frozenset({ADD, DELETE, MODIFY, MODRDN})


class WriteTimes:
    """The times of the successful writes of a server, in the order of their results. All in nanoseconds."""

    __slots__ = ("last", "own")

    def __init__(self) -> None:
        self.last: int | None = None
        """The time of the last result; None before the first, and at the end of the stream."""
        self.own = Durations()
        """The time of each write from its start, or from the result of the write before it if that came later."""

    def add(self, timeline: Timeline, time: int, duration: int) -> None:
        """Count a write that took this long after its wait for a worker thread."""
        if self.last is not None:
            own = max(0, min(duration, time - self.last))
            self.own.add(own)
            timeline.at(time // SECOND).writing += own
        self.last = time
