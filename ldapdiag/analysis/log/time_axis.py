"""TimeAxis: what happened in each interval of a log, from its first record to its last, the empty intervals included.

Records whose time is far from that of all others are left out: a forged time stamp, or a clock that was not yet set.

    records       x                              xxxx xxxxxxx xxx xxxxxxx
                  left out                       the axis: at most 240 intervals of equal length
"""

from __future__ import annotations

from itertools import accumulate, groupby
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.timeline import DAY, MOST, STEPS, Interval
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.evidence.log.timeline import Timeline

FAR = 30
"""Records are far from the others if the gap is more than so many times as long as the time of the others."""
NEAR = 7 * DAY
"""Seconds: a gap that is never far. After a busy hour come quiet days and weekends."""
FEW = 20
"""Records are left out if they are at most one of so many."""
NOTHING = Interval()


@dataclass(frozen=True, slots=True, kw_only=True)
class FarRecords:
    """Records that are left out of the axis. Times in nanoseconds since 1970."""

    records: int
    begin: int
    """The first interval that has one."""
    end: int
    """The end of the last interval that has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """Intervals of equal length without gaps."""

    step: int
    """Seconds of an interval. Each begins at a multiple of it since 1970 (UTC)."""
    first: int
    """The number of the first interval since 1970."""
    intervals: tuple[Interval, ...]
    """At least one; an interval without a record has zeros."""
    open: tuple[int, ...]
    """Open connections at the end of each interval."""
    begin: int
    """The time of the first record on the axis, in nanoseconds since 1970; as exact as the intervals if records are
    left out before it."""
    end: int
    """The same of the last record."""
    left_out: tuple[FarRecords, ...] = ()

    def at(self, place: int) -> int:
        """Return the time at which an interval begins, in nanoseconds since 1970."""
        return (self.first + place) * self.step * SECOND

    @property
    def silences(self) -> Iterator[range]:
        """Yield the runs of intervals without a record, by their places."""
        place = 0
        for recorded, run in groupby(interval.recorded for interval in self.intervals):
            begin, place = place, place + len(list(run))
            if not recorded:
                yield range(begin, place)

    @property
    def busiest(self) -> int:
        """Return the place of the interval with the most search time, the earliest of equal ones."""
        return max(range(len(self.intervals)), key=lambda place: (self.intervals[place].search_etime, -place))


def time_axis(segment: Segment, most: int = MOST) -> TimeAxis | None:
    """Return the axis with the smallest step that gives at most `most` intervals; None for a log without records."""
    timeline = segment.timeline
    if not timeline.intervals or segment.first_time is None or segment.last_time is None:
        return None
    ends = {time // SECOND // timeline.step for time in (segment.first_time, segment.last_time)}
    recorded = (number for number, interval in timeline.intervals.items() if interval.recorded)
    numbers = sorted({*recorded, *ends})  # a request without a result is in no interval
    weights = [_records(timeline.intervals.get(number, NOTHING)) for number in numbers]
    low, high = _coherent(numbers, weights, timeline.step)
    level = timeline.level
    while numbers[high] * timeline.step // STEPS[level] - numbers[low] * timeline.step // STEPS[level] >= most:
        level += 1
    begin, end = numbers[low] * timeline.step * SECOND, (numbers[high] + 1) * timeline.step * SECOND - 1
    first, intervals = _laid_out(timeline, numbers[low], numbers[high], STEPS[level])
    opened_before = sum(_opened(timeline.intervals.get(number, NOTHING)) for number in numbers[:low])
    return TimeAxis(
        step=STEPS[level],
        first=first,
        intervals=intervals,
        open=_open(segment.open_before + opened_before, intervals),
        begin=max(segment.first_time, begin) if low == 0 else begin,
        end=min(segment.last_time, end) if high == len(numbers) - 1 else end,
        left_out=tuple(
            FarRecords(
                records=sum(weights[part]),
                begin=numbers[part][0] * timeline.step * SECOND,
                end=(numbers[part][-1] + 1) * timeline.step * SECOND,
            )
            for part in (slice(low), slice(high + 1, None))
            if numbers[part]
        ),
    )


def _records(interval: Interval) -> int:
    return max(1, sum(interval.results.values()) + interval.opened + interval.closed)


def _coherent(numbers: list[int], weights: list[int], step: int) -> tuple[int, int]:
    """Return the first and the last place of the intervals that are not far from the others."""
    sums = list(accumulate(weights))
    total = sums[-1]
    low = high = next(place for place, records in enumerate(sums) if 2 * records >= total)
    while True:
        near = max(FAR * (numbers[high] - numbers[low] + 1) * step, NEAR)
        before, after = sums[low] - weights[low], total - sums[high]
        if low and ((numbers[low] - numbers[low - 1]) * step <= near or before * FEW > total):
            low -= 1
        elif after and ((numbers[high + 1] - numbers[high]) * step <= near or after * FEW > total):
            high += 1
        else:
            return low, high


def _laid_out(timeline: Timeline, begin: int, end: int, step: int) -> tuple[int, tuple[Interval, ...]]:
    """Return the number of the first interval of `step` seconds, and all intervals from it on."""
    by = step // timeline.step
    first = begin // by
    intervals = tuple(Interval() for _ in range(end // by - first + 1))
    for number, interval in timeline.intervals.items():
        if begin <= number <= end:
            intervals[number // by - first].merge(interval)
    return first, intervals


def _opened(interval: Interval) -> int:
    return interval.opened - interval.closed


def _open(before: int, intervals: tuple[Interval, ...]) -> tuple[int, ...]:
    """Return the open connections at the end of each interval; where clocks jump, a close may precede its opening."""
    sums = accumulate((_opened(interval) for interval in intervals), initial=before)
    return tuple(max(0, count) for count in list(sums)[1:])


def result_counts(axis: TimeAxis) -> Mapping[int, tuple[int, ...]]:
    """Return the results of each interval, by code."""
    codes = sorted({code for interval in axis.intervals for code in interval.results})
    return {code: tuple(interval.results.get(code, 0) for interval in axis.intervals) for code in codes}
