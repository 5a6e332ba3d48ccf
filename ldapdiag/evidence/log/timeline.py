"""Timeline: what happened in each interval of a log, in at most 240 intervals that have a record or an idle time.

The intervals begin at multiples of their length since 1970 (UTC). The length is the smallest step for which no more
than 240 of them have one; it depends on the records alone, not on their order, so timelines are merged exactly.
A record with a wild time takes one interval and does not lengthen the others.

Each interval keeps in which of its 300 slots (of 1 s or longer) an operation was answered: a silence within it.
"""

from __future__ import annotations

from bisect import bisect_right

from ldapdiag.evidence.log.idle_times import TIMEOUTS
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.tables import OTHER_RESULT

MOST = 240
"""Intervals with records."""
DAY = 86_400
STEPS: tuple[int, ...] = (1, 5, 15, 60, 300, 900, 3600, 21_600, DAY, *(DAY << 2 * power for power in range(1, 10)))
"""Seconds. Each is a multiple of those before it, so intervals are regrouped exactly."""
SLOTS = 300
"""Slots of an interval, at most."""
SLOW = SECOND
"""Nanoseconds: an operation that takes at least this long is slow."""
MOST_RESULTS = 100
"""Different result codes in one interval."""


class Interval:
    """The records of one interval. Times in nanoseconds."""

    __slots__ = (
        "answered",
        "closed",
        "etime",
        "failed_binds",
        "idle",
        "longest_queue",
        "most_busy",
        "opened",
        "results",
        "search_etime",
        "searches",
        "slots",
        "slow",
        "writing",
    )

    def __init__(self) -> None:
        self.answered = 0
        """Results of operations of any kind."""
        self.etime = 0
        """The time of these operations."""
        self.searches = 0
        self.search_etime = 0
        self.slow = 0
        """Operations that took at least SLOW."""
        self.failed_binds = 0
        self.writing = 0
        """The time of the writes, without their waits for each other (write_times.py)."""
        self.opened = 0
        self.closed = 0
        """Connections closed, or ended by a restart of the server."""
        self.most_busy = (0, 0)
        """The most busy worker threads in any result, and how many threads there were."""
        self.longest_queue = 0
        """The most operations in the queue for a worker thread in any result."""
        self.results: dict[int, int] = {}
        """By result code."""
        self.idle: dict[int, list[int]] = {}
        """By timeout in seconds: [connections whose idle time reached it; used again after that; closed after that]."""
        self.slots = 0
        """Bits: the slots in which an operation was answered. The Timeline has their length, and merges them."""

    @property
    def recorded(self) -> bool:
        """Return whether it has a record; idle times reach timeouts in intervals without any."""
        return bool(self.results or self.answered or self.opened or self.closed or self.most_busy != (0, 0))

    def result(self, err: int, count: int = 1) -> None:
        """Count results by code."""
        if err not in self.results and len(self.results) >= MOST_RESULTS:
            err = OTHER_RESULT
        self.results[err] = self.results.get(err, 0) + count

    def merge(self, other: Interval) -> None:
        """Add the counts of another interval."""
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.most_busy = max(self.most_busy, other.most_busy)
        self.longest_queue = max(self.longest_queue, other.longest_queue)
        for err, count in other.results.items():
            self.result(err, count)
        for timeout, counts in other.idle.items():
            self.idle_times(timeout, *counts)

    def idle_times(self, timeout: int, reached: int, used: int, closed: int) -> None:
        """Count connections whose idle time reached a timeout, and those used again or closed after that."""
        cell = self.idle.get(timeout)
        if cell is None:
            cell = self.idle[timeout] = [0, 0, 0]
        cell[0] += reached
        cell[1] += used
        cell[2] += closed


COUNTED = ("answered", "etime", "searches", "search_etime", "slow", "failed_binds", "writing", "opened", "closed")
"""Fields of an Interval that are added up; the order of the plain form."""


class Timeline:
    """Intervals by their number since 1970."""

    __slots__ = ("_answered", "_last", "_last_number", "intervals", "level")

    def __init__(self) -> None:
        self.level = 0
        """The index of the step in STEPS."""
        self.intervals: dict[int, Interval] = {}
        self._last_number: int | None = None
        self._last = Interval()
        self._answered: int | None = None
        """The second of the last result."""

    @property
    def step(self) -> int:
        """The length of an interval in seconds."""
        return STEPS[self.level]

    def at(self, second: int) -> Interval:
        """Return the interval of a second (since 1970)."""
        number = second // STEPS[self.level]
        if number != self._last_number:
            interval = self.intervals.get(number)
            if interval is None:
                interval = self.intervals[number] = Interval()
                if len(self.intervals) > MOST:
                    self._lengthen(self.level + 1)
                    return self.at(second)
            self._last_number, self._last = number, interval
        return self._last

    def result(self, err: int, second: int) -> None:
        """Count a result by code, at its second."""
        interval = self.at(second)
        interval.result(err)
        if second != self._answered:
            self._answered, step = second, self.step
            interval.slots |= 1 << second % step // slot_of(step)

    def answered(self) -> list[int]:
        """Return the slots in which an operation was answered, by their number since 1970."""
        slots, step = slot_of(self.step), self.step
        return [
            number * (step // slots) + place
            for number, interval in sorted(self.intervals.items())
            for place in _places(interval.slots)
        ]

    def idle_time(self, since: int, ended: int, used: int, closed: int) -> None:
        """Count an idle time of a connection at each timeout that it reached: one `used` again, or `closed`.

        Neither: it goes on at the end of the log.
        """
        second = since // SECOND
        reached = TIMEOUTS[: bisect_right(TIMEOUTS, (ended - since) // SECOND)]
        for timeout in reached:
            self.at(second + timeout).idle_times(timeout, 1, 0, 0)
        if reached and (used or closed):
            interval = self.at(ended // SECOND)
            for timeout in reached:
                interval.idle_times(timeout, 0, used, closed)

    def merge(self, other: Timeline) -> None:
        """Add the intervals of another timeline."""
        if other.level > self.level:
            self._lengthen(other.level)
        for number, interval in other.intervals.items():
            there = self.at(number * other.step)
            there.merge(interval)
            there.slots |= _regrouped(interval.slots, number * other.step, other.step, self.step)

    def at_level(self, level: int) -> dict[int, Interval]:
        """Return the intervals regrouped to a longer step; this timeline is not changed."""
        grouped: dict[int, Interval] = {}
        by = STEPS[level] // self.step
        for number, interval in self.intervals.items():
            there = grouped.get(number // by)
            if there is None:
                there = grouped[number // by] = Interval()
            there.merge(interval)
            there.slots |= _regrouped(interval.slots, number * self.step, self.step, STEPS[level])
        return grouped

    def _lengthen(self, level: int) -> None:
        """Lengthen the intervals to a step, or further until they are few enough."""
        intervals = self.at_level(level)
        self.intervals, self.level, self._last_number = intervals, level, None
        if len(intervals) > MOST:
            self._lengthen(level + 1)

    def __reduce__(self) -> tuple[object, ...]:
        return _timeline, (self.level, self.intervals)


def slot_of(step: int) -> int:
    """Return the length of a slot in an interval of `step` seconds; like steps, each is a multiple of those before."""
    return max(1, step // SLOTS)


def _places(slots: int) -> list[int]:
    return [place for place in range(slots.bit_length()) if slots >> place & 1]


def _regrouped(slots: int, begin: int, step: int, longer: int) -> int:
    """Return the slots of an interval that begins at a second in the interval of `longer` seconds around it."""
    if step == longer:
        return slots
    first, own, length = begin % longer, slot_of(step), slot_of(longer)
    return sum(1 << place for place in {(first + own * place) // length for place in _places(slots)})


def _timeline(level: int, intervals: dict[int, Interval]) -> Timeline:
    timeline = Timeline()
    timeline.level, timeline.intervals = level, intervals
    return timeline
