"""Replica: the work of one of several servers, in the time that the logs of all have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.lazy_dataclass import NamedTuple, dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.analysis.log.time_axis import TimeAxis
    from ldapdiag.analysis.log.workload import Workload

IDLE = 0.01
"""A replica with less than this share of what one of equal ones would have is without load."""
SILENT = 300
"""Seconds of a slot of time; three of them without a record, or two intervals of the time axis, are a silence."""
SAME_TIME = 0.5
"""Least share of the longest log that all logs must have in common, to compare their loads."""


class TimeRange(NamedTuple):
    """A time in nanoseconds since 1970, from its beginning to its end."""

    begin: int
    end: int

    @property
    def length(self) -> int:
        """Return its length in nanoseconds."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One server. Its load is that of the common time: counts for each second that its log covers there."""

    name: str
    workload: Workload
    silences: tuple[TimeRange, ...]
    """Times without a record of this server in which others have records: no load, or a part of the log is missing."""
    connections: float
    """Connections opened each second."""
    operations: float
    """Results each second."""
    etime: float
    """Nanoseconds of operations each second."""

    @property
    def unindexed(self) -> float | None:
        """Return the share of its searches that were noted as unindexed; None without results of searches."""
        answered = sum(search.answered for search in self.workload.searches)
        return self.workload.unindexed / answered if answered else None

    @property
    def errors(self) -> float | None:
        """Return the share of its results that are errors; None without results."""
        results = self.workload.segment.results
        total = sum(results.values())
        return 1 - sum(results.get(code, 0) for code in GOOD) / total if total else None


GOOD = frozenset({0, 5, 6, 10, 14})
"""Result codes that are no errors (RFC 4511, 4.1.9): success, compareFalse, compareTrue, referral, BIND in progress."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Several servers, and whether their loads can be compared."""

    replicas: tuple[Replica, ...]
    """By name."""
    common: TimeRange | None
    """The time that all their logs have in common; None: too little of it, so that loads are not compared."""


def fleet_of(workloads: Iterable[tuple[str, Workload]]) -> Fleet:
    """Return the servers that have records, side by side."""
    named = sorted(((name, one) for name, one in workloads if one.time_axis), key=lambda pair: pair[0])
    axes = [one.time_axis for _, one in named if one.time_axis]
    common = _common([TimeRange(axis.begin, axis.end) for axis in axes])
    busy = _recorded(axes)
    replicas = (
        _replica(name, workload, axis, common or TimeRange(axis.begin, axis.end), busy)
        for (name, workload), axis in zip(named, axes, strict=True)
    )
    return Fleet(tuple(replicas), common)


def _common(spans: Sequence[TimeRange]) -> TimeRange | None:
    if not spans:
        return None
    common = TimeRange(max(span.begin for span in spans), min(span.end for span in spans))
    longest = max(span.length for span in spans)
    return common if common.length >= SAME_TIME * longest > 0 else None


def _replica(name: str, workload: Workload, axis: TimeAxis, within: TimeRange, busy: set[int]) -> Replica:
    places = [
        place
        for place in range(len(axis.intervals))
        if within.begin <= axis.at(place) + axis.step * SECOND // 2 <= within.end
    ] or [len(axis.intervals) // 2]
    silences = tuple(_silences(axis, busy))
    silent = (
        sum(silence.length for silence in silences if silence.begin < within.end and silence.end > within.begin)
        / SECOND
    )
    seconds = len(places) * axis.step
    if silent < seconds / 2:  # a server that is mostly silent is without load rather than without log
        seconds -= round(silent)
    intervals = [axis.intervals[place] for place in places]
    return Replica(
        name=name,
        workload=workload,
        silences=silences,
        connections=sum(interval.opened for interval in intervals) / max(1, seconds),
        operations=sum(interval.answered for interval in intervals) / max(1, seconds),
        etime=sum(interval.etime for interval in intervals) / max(1, seconds),
    )


def _recorded(axes: Sequence[TimeAxis]) -> set[int]:
    """Return the slots of SILENT seconds since 1970 in which a server has records."""
    return {
        slot
        for axis in axes
        for place, interval in enumerate(axis.intervals)
        if interval.recorded
        for slot in _slots(TimeRange(axis.at(place), axis.at(place + 1)))
    }


def _slots(span: TimeRange) -> range:
    """Return the slots that a time touches."""
    return range(span.begin // SECOND // SILENT, (span.end - 1) // SECOND // SILENT + 1)


def _silences(axis: TimeAxis, busy: set[int]) -> Iterator[TimeRange]:
    """Yield the runs of intervals without a record between records, if another server has some in that time."""
    for run in axis.silences:
        if run.start == 0 or run.stop == len(axis.intervals):
            continue
        span = TimeRange(axis.at(run.start), axis.at(run.stop))
        inside = _slots(TimeRange(span.begin + SILENT * SECOND, span.end - SILENT * SECOND))
        if span.length >= max(3 * SILENT, 2 * axis.step) * SECOND and not busy.isdisjoint(inside):
            yield span
