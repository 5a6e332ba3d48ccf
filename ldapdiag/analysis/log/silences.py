"""Silences: the longest times without an answer that the rate of the log around them makes unlikely.

    answered  x x xx x  xx x x xx                      xx x x  x xx x x
                                 a silence of 180 s

Times are divided into slots of 1 s, longer in a log of more than 20 hours (Timeline). If slots with an answer came by
chance, as often as in the hour around, so many empty ones in a row would come less than once in a million days.
Load pauses for longer than by chance: the other gaps there, extrapolated by their own tail, must say the same.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import islice, pairwise
from math import ceil, exp, log, sqrt
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
STEP = 4
"""A gap that is so many times as long as the next one may be a silence, too."""
UNSIMILAR = STEP**3
"""Where they are not of similar length: the step raised to the power of their number."""
FEWEST_GAPS, TAIL, PART = 4, 10, 3
"""Fewer gaps do not show how they fall off; the longest third (1/3), ten or more, do."""
DOUBT = 1.2
"""Over the root of their number: the standard error of the shape of an exponential law."""
TINY = 1e-3
"""A shape that makes no difference."""
SHOW, FURTHER = 300, 4
"""Gaps within an hour that show it; where there are fewer, those of so many hours are looked at."""


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


def shortest_of(timeline: Timeline, axis: TimeAxis) -> float | None:
    """Return the seconds from which on a silence is unlikely at the mean rate of a log; None: too few answers for any.

    Load in bursts needs longer ones.
    """
    slot = slot_of(timeline.step)
    slots, answered = (axis.end - axis.begin) // SECOND // slot + 1, len(timeline.answered())
    if answered < FEWEST:
        return None
    in_a_row = log(UNLIKELY * slot / DAY) / log((max(0, slots - answered) + 1) / (slots + 2))
    return float(max(SHORTEST, ceil(in_a_row) * slot))


def is_unlikely(timeline: Timeline, begin: int, end: int) -> bool:
    """Return whether a time without an answer before or after a log (nanoseconds) is unlikely at the log's rate."""
    slot = slot_of(timeline.step)
    gap = (begin // SECOND // slot + 1, end // SECOND // slot)
    return _is_unlikely(sorted({*timeline.answered(), gap[0] - 1, gap[1]}), gap, slot)


def _length(gap: tuple[int, int]) -> int:
    begin, end = gap
    return end - begin


def _is_unlikely(answered: Sequence[int], gap: tuple[int, int], slot: int) -> bool:
    """Return whether so many empty slots in a row are less likely than UNLIKELY."""
    half = max(FEWEST, HOUR // 2 // slot)
    near = _near(answered, gap, half)
    slots = near[-1] + 1 - near[0] - _length(gap) if near else 0
    if len(near) < FEWEST or DAY / slot * ((slots - len(near) + 1) / (slots + 2)) ** _length(gap) >= UNLIKELY:
        return False
    gaps = _gaps(near, gap)
    if len(gaps) < SHOW:
        near = _near(answered, gap, FURTHER * half)
        gaps = _gaps(near, gap)
    if len(gaps) < PART * TAIL and len(near) < (near[-1] - near[0] - _length(gap)) / 2:  # rather seldom than busy
        near, gaps = answered, _gaps(answered, gap)
        if len(gaps) < FEWEST_GAPS:
            return False
    return DAY / slot / (near[-1] - near[0]) * _expected(gaps, _length(gap)) < UNLIKELY


def _near(answered: Sequence[int], gap: tuple[int, int], half: int) -> Sequence[int]:
    """Return the slots with an answer within so many slots of a gap."""
    return answered[bisect_left(answered, gap[0] - half) : bisect_left(answered, gap[1] + half)]


def _gaps(answered: Sequence[int], besides: tuple[int, int]) -> list[int]:
    """Return the lengths of the other gaps, the shortest first, without up to MOST that may be silences.

    Those are the longest ones if they are STEP times as long as the next one, then those after them. Of a Pareto law
    with an exponent of 1.5 so many have such a step in 1 of 8 logs if they are of similar length, else in 1 of 500.
    """
    pairs = ((earlier + 1, later) for earlier, later in pairwise(answered) if later - earlier > 1)
    gaps = sorted(_length(gap) for gap in pairs if gap != besides)
    least = max(1, len(gaps) - MOST)
    while len(gaps) > least:
        step = next((place for place in range(len(gaps) - 1, least - 1, -1) if _is_step(gaps, place)), None)
        if step is None:
            break
        del gaps[step:]
    return gaps


def _is_step(gaps: Sequence[int], place: int) -> bool:
    """Return whether the gaps from a place on are longer than the others by more than chance makes them."""
    factor = gaps[place] / gaps[place - 1]
    is_similar = SIMILAR * gaps[place] >= gaps[-1]
    return factor >= STEP and (is_similar or factor ** (len(gaps) - place) >= UNSIMILAR)


def _expected(gaps: Sequence[int], length: int) -> float:
    """Return how many gaps of a length or more are to be expected beside others; 0 if too few show it.

    Their tail is a generalized Pareto distribution, by its first two L-moments (Hosking and Wallis 1987): a shape of 0
    is an exponential law. They fall off at half of the speed that they show.
    """
    begin = max(0, len(gaps) - max(TAIL, len(gaps) // PART))
    if begin:  # equal ones are all in the tail, or none
        longer = bisect_right(gaps, gaps[begin - 1])
        begin = longer if len(gaps) - longer >= TAIL else bisect_left(gaps, gaps[begin - 1])
    tail = gaps[begin:]
    count = len(tail)
    if count < FEWEST_GAPS:
        return 0.0
    least = tail[0] - 0.5  # they are whole slots
    mean = sum(tail) / count - least
    spread = sum((2 * place + 1 - count) * gap for place, gap in enumerate(tail)) / (count * (count - 1))
    shape = max(0.0, 2 - mean / spread - DOUBT / sqrt(count)) if spread else 0.0
    beyond = max(0.0, length - least) / max(2.0, 2 * mean * (1 - shape))
    return count * (exp(-beyond) if shape < TINY else (1 + shape * beyond) ** (-1 / shape))


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
