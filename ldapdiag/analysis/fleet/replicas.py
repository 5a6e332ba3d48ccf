"""Replica: the work of one of several servers, in the time that the logs of all have in common.

A server without load, one whose log covers another time, and one whose clock is in doubt do not shorten that time. The
times of a clock that is certainly wrong are shifted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import accumulate
from math import exp, log
from statistics import median
from typing import TYPE_CHECKING

from ldapdiag.analysis.fleet.clocks import ClockShift, TimeRange, clocks_of
from ldapdiag.analysis.log.silences import is_unlikely, shortest_of
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.timeline import slot_of
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.analysis.log.silences import Silence
    from ldapdiag.analysis.log.workload import Workload

IDLE, HARDLY, UNLIKELY = 0.02, 0.1, 1e-6
"""A replica with less than the part IDLE of the even rate of operations is without load, if at a rate of HARDLY of it
so few would be less likely than UNLIKELY."""
SAME_TIME = 0.5
"""Least share of the longest log that the logs of servers whose loads are compared must have in common."""
REFERENCES = 10
"""Servers, the busiest, that show whether others go on while one is silent."""
EDGE, EDGE_SHARE = 300 * SECOND, 20
"""A log begins late or ends early if it does by so much, or by this part (1/20) of the time that all have in common."""
GO_ON = 0.5
"""They go on if they answer in at least this part of the slots in which they do just before and after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One server. Its load is that of the common time: counts for each second that its log covers there."""

    name: str
    workload: Workload
    silences: tuple[Silence, ...]
    """Times without an answer, unlikely at its own rate, in which others go on: no load, or a part of its log is
    missing. By the clock of the others."""
    clock: ClockShift | None
    """None: it agrees with the others', or nothing shows that it does not."""
    is_idle: bool
    """Without load from the beginning to the end."""
    not_compared: str
    """Why its load and the moves of its clients are not compared with the others'; empty: they are."""
    late: int
    """Nanoseconds by which its log begins later than half of them, where its rate makes that unlikely; else 0."""
    early: int
    """The same of its end."""
    connections: float
    """Connections opened each second."""
    operations: float
    """Results each second."""
    etime: float
    """Nanoseconds of operations each second."""

    @property
    def ahead(self) -> int:
        """Return the nanoseconds by which its times are shifted."""
        return shift_of(self.clock)

    @property
    def shortest_silence(self) -> float | None:
        """Return the seconds below which no silence of it is unlikely; None: none is, of whatever length."""
        axis = self.workload.time_axis
        return shortest_of(self.workload.segment.timeline, axis) if axis else None

    @property
    def unindexed(self) -> float | None:
        """Return the share of its searches that were noted as unindexed; None without results of searches."""
        searches = self.workload.plain_searches
        answered = sum(search.answered for search in searches)
        return sum(search.unindexed for search in searches) / answered if answered else None

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
    """The time that the logs of those compared have in common; None: too little of it, so that loads are not."""
    without_record: tuple[str, ...]
    """Servers whose logs have no record."""


def fleet_of(workloads: Iterable[tuple[str, Workload]]) -> Fleet:
    """Return the servers that have records, side by side."""
    every = sorted(workloads, key=lambda pair: pair[0])
    named = [(name, one) for name, one in every if one.time_axis]
    logs = [one for _, one in named]
    spans = [TimeRange(axis.begin, axis.end) for one in logs if (axis := one.time_axis)]
    idle, clocks = _without_load(logs, spans), clocks_of(logs, spans)
    spans = [
        TimeRange(span.begin - shift_of(clock), span.end - shift_of(clock))
        for span, clock in zip(spans, clocks, strict=True)
    ]
    judged = [place for place, clock in enumerate(clocks) if not idle[place] and (clock is None or clock.is_certain)]
    compared, common = _in_common(spans, judged)
    counts = [_answered(one) for one in logs]
    usual = median(counts[place] for place in compared) if compared else 0
    few = [count < IDLE * usual for count in counts]
    busiest = sorted(judged, key=lambda place: -sum(logs[place].segment.operations))[:REFERENCES]
    edges = _edges([(one, shift_of(clock)) for one, clock in zip(logs, clocks, strict=True)], spans, compared)
    references = _References([(logs[place], spans[place], shift_of(clocks[place])) for place in busiest])
    replicas = []
    for place, (name, workload) in enumerate(named):
        one = Replica(
            name=name,
            workload=workload,
            silences=tuple(references.silences(workload, shift_of(clocks[place]))) if place in judged else (),
            clock=clocks[place],
            is_idle=idle[place],
            not_compared=""
            if idle[place] or place in compared
            else _reason(clocks[place], spans[place], common, few=few[place]),
            late=edges[place].begin,
            early=edges[place].end,
            connections=0,
            operations=0,
            etime=0,
        )
        replicas.append(_with_rates(one, common if common and not one.not_compared else spans[place]))
    return Fleet(tuple(replicas), common, tuple(name for name, one in every if not one.time_axis))


def shift_of(clock: ClockShift | None) -> int:
    """Return the nanoseconds by which the times of a server are shifted."""
    return clock.ahead if clock and clock.is_certain else 0


def _without_load(logs: Sequence[Workload], spans: Sequence[TimeRange]) -> list[bool]:
    """Return which servers have hardly an operation at the rate that each would have of an even load.

    That is the rate of the whole logs, and of the time of its own: where all are quiet, one without load looks alike.
    """
    counts = [_answered(one) for one in logs]
    even, answered = sum(counts) / max(1, sum(span.length for span in spans)), [_Answered(one) for one in logs]
    return [
        _is_hardly(count, even * span.length) and _is_hardly(count, _even_within(span, answered, spans) * span.length)
        for count, span in zip(counts, spans, strict=True)
    ]


def _is_hardly(count: int, even: float) -> bool:
    """Return whether a count is no load beside an even one."""
    hardly = HARDLY * even
    # Chernoff's bound of a Poisson distribution
    chance = exp(count - hardly + (count * log(hardly / count) if count else 0)) if count < hardly else 1.0
    return chance < UNLIKELY and count < IDLE * even


def _even_within(span: TimeRange, logs: Sequence[_Answered], spans: Sequence[TimeRange]) -> float:
    """Return the results in a nanosecond of a time that each server has whose log covers it."""
    covered = sum(max(0, min(one.end, span.end) - max(one.begin, span.begin)) for one in spans)
    return sum(log.until(span.end) - log.until(span.begin) for log in logs) / max(1, covered)


class _Answered:
    """How many results a log has until a time: evenly in each interval of its time axis."""

    def __init__(self, workload: Workload) -> None:
        axis = workload.time_axis
        intervals = axis.intervals if axis else ()
        self._times = [axis.at(place) for place in range(len(intervals) + 1)] if axis else [0]
        self._sums = [0, *accumulate(interval.answered for interval in intervals)]

    def until(self, at: int) -> float:
        """Return the results before a time."""
        place = bisect_right(self._times, at)
        if place in {0, len(self._times)}:
            return self._sums[-1] if place else 0
        (begin, end), (before, after) = (each[place - 1 : place + 1] for each in (self._times, self._sums))
        return before + (after - before) * (at - begin) / (end - begin)


def _answered(workload: Workload) -> int:
    return sum(workload.segment.results.values())


def _in_common(spans: Sequence[TimeRange], judged: Sequence[int]) -> tuple[frozenset[int], TimeRange | None]:
    """Return the servers whose logs have enough time in common, more than half of all, and that time; or none.

    While it is too little, the log goes whose absence leaves the most of it: the last to begin, the first to end or the
    longest one.
    """
    left = set(judged)
    while 2 * len(left) > len(judged):
        last = max(left, key=lambda place: (spans[place].begin, place))
        first = min(left, key=lambda place: (spans[place].end, place))
        longest = max(left, key=lambda place: (spans[place].length, place))
        common = TimeRange(spans[last].begin, spans[first].end)
        if common.length >= SAME_TIME * spans[longest].length > 0:
            return frozenset(left), common
        left.remove(max((last, first, longest), key=lambda place: _share_of([spans[one] for one in left - {place}])))
    return frozenset(), None


def _share_of(spans: Sequence[TimeRange]) -> float:
    """Return the share of the longest log that all have in common; negative: logs that far apart."""
    if not spans:
        return 0.0
    common = min(span.end for span in spans) - max(span.begin for span in spans)
    return common / max(1, *(span.length for span in spans))


def _edges(
    logs: Sequence[tuple[Workload, int]], spans: Sequence[TimeRange], compared: frozenset[int]
) -> list[TimeRange]:
    """Return by how much each log begins later and ends earlier than at least half of the compared ones; 0: hardly."""
    begins, ends = (sorted(spans[place][side] for place in compared) for side in (0, 1))
    if not compared:
        return [TimeRange(0, 0)] * len(logs)
    begin, end = begins[(len(begins) - 1) // 2], ends[len(ends) // 2]
    least = min(EDGE, (ends[0] - begins[-1]) // EDGE_SHARE)
    found = []
    for place, ((workload, ahead), span) in enumerate(zip(logs, spans, strict=True)):
        late, early = (
            until - since
            if place in compared
            and until - since >= least
            and is_unlikely(workload.segment.timeline, since + ahead, until + ahead)
            else 0
            for since, until in ((begin, span.begin), (span.end, end))
        )
        found.append(TimeRange(late, early))
    return found


def _reason(clock: ClockShift | None, span: TimeRange, common: TimeRange | None, *, few: bool) -> str:
    if clock is not None and not clock.is_certain:
        later = "later" if clock.ahead > 0 else "earlier"
        return (
            f"clients begin and end to use it {duration(abs(clock.ahead) / SECOND)} {later} than the other servers, "
            "but its log does not end so: whether its clock is wrong is not judged, and its silences are not"
        )
    if common is None:
        return ""
    shared = max(0, min(span.end, common.end) - max(span.begin, common.begin))
    have = f"{duration(shared / SECOND)} of" if shared else "nothing of"
    idle = ": it is idle, or the rest of its log is missing" if few else ""
    return f"its log has {have} the {duration(common.length / SECOND)} that the logs of the others have in common{idle}"


class _References:
    """When the busiest servers answered: each with its log, that log's time and the shift of its clock."""

    def __init__(self, servers: Sequence[tuple[Workload, TimeRange, int]]) -> None:
        self._servers = servers
        self._answered: dict[int, list[int]] = {}

    def silences(self, workload: Workload, ahead: int) -> Iterator[Silence]:
        """Yield the silences of a server in which others go on."""
        for silence in workload.silences:
            one = replace(silence, begin=silence.begin - ahead, end=silence.end - ahead)
            if self._go_on(workload, one):
                yield one

    def _go_on(self, silent: Workload, silence: Silence) -> bool:
        meanwhile, usual = 0, 0.0
        for place, (workload, span, _) in enumerate(self._servers):
            if workload is not silent and span.begin <= silence.begin and silence.end <= span.end:
                before = max(span.begin, silence.begin - silence.length)
                after = min(span.end, silence.end + silence.length)
                near = self._count(place, before, silence.begin) + self._count(place, silence.end, after)
                meanwhile += self._count(place, silence.begin, silence.end)
                usual += near * silence.length / max(1, after - before - silence.length)
        return meanwhile > 0 and meanwhile >= GO_ON * usual

    def _count(self, place: int, begin: int, end: int) -> int:
        """Return in how many slots a server answered between two times."""
        workload, _, ahead = self._servers[place]
        timeline = workload.segment.timeline
        if place not in self._answered:
            self._answered[place] = timeline.answered()
        slot, answered = slot_of(timeline.step) * SECOND, self._answered[place]
        return bisect_left(answered, (end + ahead) // slot) - bisect_left(answered, (begin + ahead) // slot)


def _with_rates(one: Replica, within: TimeRange) -> Replica:
    """Return a replica with its rates in a time."""
    axis = one.workload.time_axis
    if axis is None:
        return one
    begin, end = within.begin + one.ahead, within.end + one.ahead
    middles = [axis.at(place) + axis.step * SECOND // 2 for place in range(len(axis.intervals))]
    places = [place for place, middle in enumerate(middles) if begin <= middle <= end] or [len(middles) // 2]
    silent = sum(each.length for each in one.silences if each.begin < within.end and each.end > within.begin) / SECOND
    seconds = within.length / SECOND if one.is_idle else float(len(places) * axis.step)
    if silent < seconds / 2:  # a server that is mostly silent is without load rather than without log
        seconds -= silent
    intervals = [axis.intervals[place] for place in places]
    seconds = max(1.0, seconds)
    return replace(
        one,
        connections=sum(interval.opened for interval in intervals) / seconds,
        operations=sum(interval.answered for interval in intervals) / seconds,
        etime=sum(interval.etime for interval in intervals) / seconds,
    )
