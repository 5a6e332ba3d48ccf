"""WriteService: how long a server works on one write, and how much of the time writes take.

The time of a write runs from its start, or from the end of the write before it if that came later, to its result
(evidence/log/write_times.py). A server that applies one write at a time is saturated when these times fill the clock,
whatever number of clients writes.

WriteRate: how many changes a server acknowledges, by its access log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.durations import edges, quantile
from ldapdiag.evidence.log.operation_kinds import ADD, DELETE, MODIFY, MODRDN
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND
from ldapdiag.evidence.log.timeline import STEPS
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import counted, rounded

if TYPE_CHECKING:
    from ldapdiag.analysis.log.traffic import Traffic
    from ldapdiag.evidence.log.segment import Segment

FEWEST = 20
"""Writes; the tenth of fewer is one or two."""
COARSEST = MILLISECOND
"""Stamps that are less exact do not show when the write before ended."""
SPAN = 60
"""Seconds over which the share is taken: a second is full with few writes."""
FLAT = 1.2
"""A flush takes at least its time, so of writes that wait for one, half take nearly what the quickest tenth takes.
Measured: 1.00 to 1.15 on disks with a flush of 20 ms, also with random pauses and on a busy machine; 1.3 to 3 in
memory, with memberOf, and with a group of 5,000 members in 389-ds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteService:
    """The times of the writes of one server. Seconds, within 4 %."""

    count: int
    p10: float
    p50: float
    p90: float
    total: float
    """Of all writes."""
    busiest_share: float
    """The share of the fullest interval of a minute or more (or of a shorter log) in which a write was applied."""
    busiest_time: int
    """The beginning of this interval, in nanoseconds since 1970."""

    @property
    def is_flat(self) -> bool:
        """Return whether half of them took nearly as long as the quickest tenth, as those that wait for a flush do."""
        return self.p50 <= FLAT * self.p10


def write_service(segment: Segment, seconds: float) -> WriteService | None:
    """Return the times of the writes; None where the log does not show them. `seconds`: the time of the log."""
    own = segment.writes.own
    count = sum(own.values())
    if count < FEWEST or segment.resolution > COARSEST:
        return None
    longest = edges(max(own))[1]
    p10, p50, p90 = (quantile(own, percent, longest) / SECOND for percent in (10, 50, 90))
    level = max(segment.timeline.level, STEPS.index(SPAN))
    intervals = segment.timeline.at_level(level)
    number = max(intervals, key=lambda one: (intervals[one].writing, -one))
    span = max(1.0, min(seconds, STEPS[level]))
    return WriteService(
        count=count,
        p10=p10,
        p50=p50,
        p90=p90,
        total=sum(interval.writing for interval in intervals.values()) / SECOND,
        busiest_share=min(1.0, intervals[number].writing / SECOND / span),
        busiest_time=max(number * STEPS[level] * SECOND, segment.first_time or 0),
    )


SHORTEST = 10.0
"""Seconds of a log that show a rate."""
UNITS = (("a second", 1), ("a minute", 60), ("an hour", 3_600), ("a day", 86_400))


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRate:
    """The changes in an access log: ADD, MODIFY, DELETE and MODRDN operations of clients."""

    changes: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Return the average."""
        return self.changes / self.seconds

    def sentence(self, window_seconds: int | None) -> str:
        """Return what a window of so many seconds means in changes; None: its length is not known."""
        base = f"The access log has {counted(self.changes, 'change')} in {self.seconds:,.0f} s"
        if not self.changes:
            return f"{base}: little is at risk."
        if window_seconds is None:
            unit, length = next((one for one in UNITS if one[1] * self.per_second >= 1), UNITS[-1])
            return f"{base}, on average {rounded(length * self.per_second)} in {unit}."
        within = self.per_second * window_seconds
        some = f"about {rounded(within)}" if within >= 1 else "less than one"
        return f"{base}, on average {some} in {window_seconds} s."


def write_rate(traffic: Traffic | None) -> WriteRate | None:
    """Return the rate of a server's access logs; None without a log of 10 s or more."""
    if traffic is None or traffic.seconds < SHORTEST:
        return None
    changes = sum(traffic.segment.operations[kind] for kind in (ADD, MODIFY, DELETE, MODRDN))
    return WriteRate(changes=changes, seconds=traffic.seconds)
