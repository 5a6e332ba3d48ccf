"""LoggedLoad: the connections that a log shows over its time, and how many had been idle for how long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.time_axis import TimeAxis
from ldapdiag.evidence.log.idle_times import TIMEOUTS
from ldapdiag.evidence.log.stamps import SECOND

if TYPE_CHECKING:
    from ldapdiag.analysis.log.traffic import Traffic


NONE = (0, 0, 0)
SHOWS = 60.0
"""Seconds of the log that a request shows at least, however short the idle times are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """The connections that reached one idle timeout, by interval of the time axis."""

    before: int
    """Before the axis begins: those that reached it, less those used again or closed."""
    reached: tuple[int, ...]
    """Connections whose idle time reached the timeout."""
    used: tuple[int, ...]
    """Connections used again after that: their clients connect anew."""
    closed: tuple[int, ...]
    """Connections closed after that, or ended by a restart of the server."""

    def away(self, late: int) -> Iterator[int]:
        """Yield how many connections the timeout has at least closed at the beginning of each interval.

        `late`: intervals from the timeout until the server closes a connection, rounded up.
        """
        reached = (*(0,) * late, self.before, *self.reached)
        ended = (0, *(used + closed for used, closed in zip(self.used, self.closed, strict=True)))
        return accumulate(came - went for came, went in zip(reached, ended, strict=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedLoad:
    """The connections of an access log over its time."""

    seconds: float
    """From its first record to its last."""
    resolution: float
    """Seconds: how coarse its stamps are."""
    origins: tuple[str, ...]
    peak: int
    """The most connections at once."""
    connection_seconds: float
    """The time that its connections were open, at the resolution of the time axis."""
    quiet_seconds: float
    """No time without any record of the server was longer, at the resolution of the time axis."""
    silences: tuple[tuple[float, float], ...]
    """When the log has no record, in seconds since its first one: runs of whole intervals of the time axis."""
    step: int
    """Seconds of an interval of the time axis."""
    open: tuple[int, ...]
    """Open connections at the beginning of each interval."""
    begins: float
    """Seconds from the beginning of the first interval to the first record."""
    opened: tuple[int, ...]
    """Connections opened in each interval."""
    answered: tuple[int, ...]
    """Requests answered in each interval."""
    parked: Mapping[int, Parked]
    """By timeout in seconds (evidence.log.idle_times.TIMEOUTS)."""

    def stretches(self, longest_idle: float) -> tuple[float, ...]:
        """Return the lengths, in seconds, of the parts of its time that it is sure to show, at least.

        A silence that is longer than any idle time may be a part of the log that is not in the evidence (files that
        were rotated away, logging that was off), or a server without work: it does not show what is used again.
        An interval beside it may have its only record at its far end.
        """
        gaps = [(begin - self.step, end + self.step) for begin, end in self.silences if end - begin > longest_idle]
        gaps = sorted([*gaps, *self._sparse(longest_idle)])
        begins, ends = accumulate((0.0, *(end for _, end in gaps)), max), [*(begin for begin, _ in gaps), self.seconds]
        whole = (max(0.0, end - begin) for begin, end in zip(begins, ends, strict=True))
        return (*whole, *self._sparse(longest_idle).values())

    def silent_seconds(self, longest_idle: float) -> float:
        """Return the time of the silences that are longer than any idle time, those within intervals included."""
        silent = sum(end - begin for begin, end in self.silences if end - begin > longest_idle)
        sparse = self._sparse(longest_idle).items()
        return silent + sum(end - begin - shown for (begin, end), shown in sparse)

    def _sparse(self, longest_idle: float) -> dict[tuple[float, float], float]:
        """Return the intervals that must have such a silence, and the seconds that each shows.

        A request shows the time since the one before it, if that is not longer than any idle time.
        """
        shows = max(SHOWS, longest_idle)
        intervals = ((self._interval(place), answered * shows) for place, answered in enumerate(self.answered))
        return {(begin, end): shown for (begin, end), shown in intervals if 0 < shown < end - begin}

    def _interval(self, place: int) -> tuple[float, float]:
        """Return when an interval begins and ends, in seconds since the first record, within the log's time."""
        begin = place * self.step - self.begins
        return max(0.0, begin), min(self.seconds, begin + self.step)

    def peak_under(self, timeout: int, late_seconds: float = 0.0, exempt: int = 0) -> int | None:
        """Return an upper bound of the most connections at once under a timeout; None: the log is not counted for it.

        Each interval is taken as if all that opened or came back in it did so first. The server closes a connection
        at most `late_seconds` after the timeout. `exempt`: idle times beyond it of connections it does not apply to.
        """
        parked = self.parked.get(timeout)
        if parked is None:
            return None
        away = parked.away(ceil(late_seconds / self.step))
        intervals = zip(self.open, away, self.opened, parked.used, strict=False)
        most = max((before - max(0, gone) + opened + back for before, gone, opened, back in intervals), default=0)
        return min(self.peak, max(0, most + exempt))


def logged_load(traffic: Traffic) -> LoggedLoad | None:
    """Return the connections of a server's access logs over their time; None for logs without records."""
    segment, axis = traffic.segment, traffic.workload.time_axis
    if axis is None:
        return None
    first = axis.open[0] - axis.intervals[0].opened + axis.intervals[0].closed
    opened = (max(0, first), *axis.open[:-1])
    middle = sum((before + after) / 2 for before, after in zip(opened, axis.open, strict=True)) * axis.step
    covered = len(axis.intervals) * axis.step
    return LoggedLoad(
        seconds=traffic.seconds,
        resolution=segment.resolution / SECOND,
        origins=traffic.origins,
        peak=segment.peak,
        connection_seconds=middle * traffic.seconds / covered,
        quiet_seconds=_longest_quiet(axis),
        silences=tuple(_silences(axis, traffic.seconds)),
        step=axis.step,
        open=opened,
        begins=(axis.begin - axis.at(0)) / SECOND,
        opened=tuple(interval.opened for interval in axis.intervals),
        answered=tuple(interval.answered for interval in axis.intervals),
        parked={timeout: _parked(traffic, axis, timeout) for timeout in TIMEOUTS},
    )


def _silences(axis: TimeAxis, seconds: float) -> Iterator[tuple[float, float]]:
    """Yield the runs of intervals without a record, in seconds since the first record."""
    for run in axis.silences:
        since, until = ((axis.at(place) - axis.begin) / SECOND for place in (run.start, run.stop))
        yield max(0.0, since), min(seconds, until)


def _longest_quiet(axis: TimeAxis) -> float:
    """Return an upper bound: the longest run of intervals without a record, and those beside it."""
    return (max(map(len, axis.silences), default=0) + 2) * axis.step


def _parked(traffic: Traffic, axis: TimeAxis, timeout: int) -> Parked:
    timeline = traffic.segment.timeline
    begin = axis.first * axis.step // timeline.step
    earlier = [one.idle.get(timeout, NONE) for number, one in timeline.intervals.items() if number < begin]
    cells = [interval.idle.get(timeout, NONE) for interval in axis.intervals]
    reached, used, closed = zip(*cells, strict=True)
    before = sum(came - back - gone for came, back, gone in earlier)
    return Parked(before=before, reached=reached, used=used, closed=closed)
