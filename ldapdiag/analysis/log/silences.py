"""Silences: the longest times without an answer that the rate of the log around them makes unlikely.

    answered  x x xx x  xx x x xx                      xx x x  x xx x x
                                 a silence of 180 s

Times are divided into slots of 1 s, longer in a log of more than 20 hours (Timeline). If slots with an answer came by
chance, as often as in the hour around, so many empty ones in a row would come less than once in a million days.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.timeline import DAY, slot_of
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.log.time_axis import TimeAxis
    from ldapdiag.evidence.log.timeline import Timeline

SHORTEST = 10
"""Seconds; shorter silences are not reported."""
HOUR = 3600
UNLIKELY = 1e-6
"""A day."""
FEWEST = 30
"""Slots with an answer; fewer show no rate. On each side so many slots are looked at, where an hour has fewer."""
MOST = 10
RECUR, OFTEN = 4, 0.3
"""Silences are usual where so many of similar length take such a share of the time: jobs by the clock, nights."""
SIMILAR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A time without an answer: from the first slot without one to the end of the last. Nanoseconds since 1970."""

    begin: int
    end: int
    usual: float
    """Answers per second in the hour around it."""

    @property
    def length(self) -> int:
        """Return its length in nanoseconds; as exact as the slots."""
        return self.end - self.begin


def silences_of(timeline: Timeline, axis: TimeAxis) -> tuple[Silence, ...]:
    """Return the longest unlikely silences, the longest first."""
    slot = slot_of(timeline.step)
    first, last = axis.begin // SECOND // slot, axis.end // SECOND // slot
    answered = [place for place in timeline.answered() if first <= place <= last]
    pairs = ((begin + 1, end) for begin, end in pairwise(answered))
    gaps = sorted((gap for gap in pairs if _length(gap) * slot >= SHORTEST), key=lambda gap: (-_length(gap), gap))
    lengths = [_length(gap) for gap in reversed(gaps)]
    found = (
        gap
        for gap in gaps
        if _is_unlikely(answered, gap, slot) and not _is_usual(lengths, _length(gap), last - first + 1)
    )
    return tuple(
        Silence(
            begin=begin * slot * SECOND, end=end * slot * SECOND, usual=_usual(timeline, axis, begin * slot, end * slot)
        )
        for begin, end in islice(found, MOST)
    )


def _length(gap: tuple[int, int]) -> int:
    begin, end = gap
    return end - begin


def _is_unlikely(answered: Sequence[int], gap: tuple[int, int], slot: int) -> bool:
    """Return whether so many empty slots in a row are less likely than UNLIKELY."""
    half = max(FEWEST, HOUR // 2 // slot)
    begin, end = max(gap[0] - half, answered[0]), min(gap[1] + half, answered[-1] + 1)
    there = bisect_left(answered, end) - bisect_left(answered, begin)
    slots = end - begin - _length(gap)
    return there >= FEWEST and DAY / slot * ((slots - there + 1) / (slots + 2)) ** _length(gap) < UNLIKELY


def _is_usual(lengths: Sequence[int], length: int, slots: int) -> bool:
    """Return whether similar silences recur; `lengths`: of all silences, the shortest first."""
    similar = lengths[bisect_left(lengths, length / SIMILAR) : bisect_right(lengths, length * SIMILAR)]
    return len(similar) >= RECUR and sum(similar) >= OFTEN * slots


def _usual(timeline: Timeline, axis: TimeAxis, begin: int, end: int) -> float:
    """Return the answers per second in the intervals of the hour around a silence."""
    step = timeline.step
    numbers = range((begin - HOUR // 2) // step, (end + HOUR // 2) // step + 1)
    count = sum(sum(one.results.values()) for number, one in timeline.intervals.items() if number in numbers)
    since, until = max(numbers[0] * step, axis.begin // SECOND), min(numbers[-1] * step + step, axis.end // SECOND + 1)
    return count / max(1, until - since - (end - begin))
