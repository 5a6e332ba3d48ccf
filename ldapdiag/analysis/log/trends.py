"""Trend: when the searches of one filter shape came, and whether they take a growing part of the time.

The parts of the log are those of Series (evidence/log/series.py): intervals of a power of two seconds, the shortest
that gives at most 16 for the whole log. They are the same for all shapes, so shares in a part are exact.

Trends in words: since when operations come, and how fast their time grows; and as data for a finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.series import MOST
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND, moment, when
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import duration, rounded, seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.analysis.log.time_axis import TimeAxis
    from ldapdiag.evidence.log.operation_row import OperationRow
    from ldapdiag.evidence.log.series import Series

BESIDE = 2
"""Parts on each side of a step, at least."""
UNEXPLAINED = 0.25
"""Of the variance of the rates; neither a step nor a line explains them if more is left."""


@dataclass(frozen=True, slots=True)
class Onset:
    """How rates grow: by one step, or throughout.

    step      ▂▂▂▂▂▂▅██████     two levels; the part of the step shows where in it the step is
    steady    ▁▂▂▃▃▄▄▅▅▆▆▇█     a straight line
    """

    place: int | None
    """The part that contains the step; None: they grow throughout."""
    fraction: float = 0.0
    """Of this part, before the step."""


def onset_of(lengths: Sequence[int], sums: Sequence[int]) -> Onset | None:
    """Return how the rates (sum by length) of consecutive parts grow; None if neither a step nor a line shows it."""
    rates = [each / max(1, length) for each, length in zip(sums, lengths, strict=True)]
    fits = [_line(lengths, rates), *(_step(lengths, rates, place) for place in range(BESIDE, len(rates) - BESIDE))]
    error, onset = min(fits, key=lambda fit: fit[0])
    return onset if error <= UNEXPLAINED * _error(lengths, rates) else None


def _mean(weights: Sequence[float], values: Sequence[float]) -> float:
    weighted = sum(weight * value for weight, value in zip(weights, values, strict=True))
    return weighted / max(1, sum(weights))


def _error(weights: Sequence[float], values: Sequence[float]) -> float:
    """Return the sum of squares around the mean."""
    mean = _mean(weights, values)
    return sum(weight * (value - mean) ** 2 for weight, value in zip(weights, values, strict=True))


def _step(lengths: Sequence[int], rates: Sequence[float], place: int) -> tuple[float, Onset]:
    sides = [(lengths[part], rates[part]) for part in (slice(place), slice(place + 1, None))]
    before, after = (_mean(*side) for side in sides)
    within = min(max(rates[place], min(before, after)), max(before, after))
    error = sum(_error(*side) for side in sides) + lengths[place] * (rates[place] - within) ** 2
    return error, Onset(place, (after - within) / (after - before) if after != before else 0.0)


def _line(lengths: Sequence[int], rates: Sequence[float]) -> tuple[float, Onset]:
    """Fit a line by the middles of the parts."""
    middles = [sum(lengths[:place]) + length / 2 for place, length in enumerate(lengths)]
    middle, mean = _mean(lengths, middles), _mean(lengths, rates)
    parts = list(zip(lengths, middles, rates, strict=True))
    slope = sum(length * (at - middle) * (rate - mean) for length, at, rate in parts) / max(1, _error(lengths, middles))
    return sum(length * (rate - mean - slope * (at - middle)) ** 2 for length, at, rate in parts), Onset(None)


CHANCE = 0.01
"""Searches begin later than the log if those that come at any time would do so less often than this."""
CLEARLY = 60 * SECOND
"""Searches that begin less after the log begin with it."""
SEVERAL = 3
"""Results; fewer have no beginning."""
SHORTEST = 60
"""Seconds of a quarter; shorter ones show no growth."""
FEWEST = 10
"""Results; fewer do not show growth."""
QUARTER = 4
TIMES, MORE, MOST_OF_ALL = 2, 0.05, 0.5
"""Searches are growing if their time per hour at least doubles, and so does its ratio to that of all other searches;
and their share rises by 5 % or more. Of searches that take half of all time throughout, the first suffices."""
ALIKE = 1.25
"""Numbers and means that differ by less than this factor are alike."""
ENOUGH = 0.99
"""Of the search time; it must be in the series of all shapes, or shares are not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of a log. Times in nanoseconds since 1970."""

    begin: int
    end: int
    """Of the log."""
    shift: int
    """A part takes 2**shift seconds."""
    first: int
    """The number of the first part since 1970."""
    count: int

    def at(self, place: int) -> int:
        """Return the time at which a part begins."""
        return ((self.first + place) << self.shift) * SECOND

    def within(self, place: int) -> int:
        """Return the time at which a part begins, or the log within it."""
        return min(max(self.at(place), self.begin), self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The time of a shape's searches between two times. Nanoseconds."""

    begin: int
    end: int
    etime: int
    total: int
    """The time of all searches."""
    count: int = 0
    """Its searches."""

    @property
    def share(self) -> float:
        """Return the share, 0 to 1."""
        return self.etime / self.total

    @property
    def per_hour(self) -> int:
        """Return the nanoseconds that the searches take per hour."""
        return self.etime * 3600 * SECOND // max(SECOND, self.end - self.begin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A time at which the searches began to take more, and what they took before and after."""

    at: int
    before: Share
    after: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The first and the last quarter of the log, or of the time since the searches began."""

    first: Share
    last: Share
    step: Step | None = None
    """None: more than one, or none, or the searches do not grow."""
    is_steady: bool = False
    """It grows throughout."""

    @property
    def is_growing(self) -> bool:
        """Return whether the searches take clearly more of the time, and more time, than at first."""
        first, last = self.first, self.last
        if not first.etime or last.per_hour < TIMES * first.per_hour:
            return False
        if min(first.share, last.share) >= MOST_OF_ALL:
            return True
        outgrown = last.etime * (first.total - first.etime) >= TIMES * first.etime * (last.total - last.etime)
        return outgrown and last.share - first.share >= MORE


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The results of one shape over the time of the log. Times in nanoseconds."""

    parts: Parts
    first: int
    last: int
    """Times of the first and the last result."""
    counts: tuple[int, ...]
    etimes: tuple[int, ...]
    """Results and their time in each part; empty if the shape has results with wild times."""
    since: int | None
    """The first result, if it is clearly later than the beginning of the log."""
    until: int | None
    """The last result, if it is clearly earlier than the end of the log."""
    growth: Growth | None
    """None if the log does not show it."""

    @property
    def is_growing(self) -> bool:
        """Return whether the searches take a growing part of the time."""
        return self.growth is not None and self.growth.is_growing


def parts_of(axis: TimeAxis) -> Parts:
    """Return the parts of a log."""
    first, last, shift = axis.begin // SECOND, axis.end // SECOND, 0
    while (last >> shift) - (first >> shift) >= MOST:
        shift += 1
    return Parts(
        begin=axis.begin,
        end=axis.end,
        shift=shift,
        first=first >> shift,
        count=(last >> shift) - (first >> shift) + 1,
    )


class Trends:
    """The trends of the shapes of one log; `whole`: the rows of all results of each shape are there, none is cut."""

    def __init__(self, axis: TimeAxis, rows: Iterable[OperationRow], *, whole: bool) -> None:
        self.parts = parts_of(axis)
        self._whole = whole
        rows = list(rows)
        laid_out = [_laid_out(row.series, self.parts) for row in rows]
        self._totals = [sum(cells[place][1] for cells in laid_out if cells) for place in range(self.parts.count)]
        self._comparable = whole and sum(self._totals) >= ENOUGH * sum(row.etime for row in rows)

    def of(self, row: OperationRow) -> Trend | None:
        """Return the trend of a row; None if it has no result."""
        if not row.answered:
            return None
        cells, parts = _laid_out(row.series, self.parts), self.parts
        since = row.first if self._whole and _is_later(row.first - parts.begin, parts, row.answered) else None
        until = row.last if self._whole and _is_later(parts.end - row.last, parts, row.answered) else None
        return Trend(
            parts=parts,
            first=row.first,
            last=row.last,
            counts=tuple(count for count, _ in cells),
            etimes=tuple(etime for _, etime in cells),
            since=since,
            until=until,
            growth=self._growth(cells, since) if self._comparable and row.answered >= FEWEST else None,
        )

    def _growth(self, cells: list[tuple[int, int]], since: int | None) -> Growth | None:
        """Compare the first quarter with the last, where both have searches; since the first whole part."""
        parts = self.parts
        begin = (
            0 if since is None else next((place for place in range(len(cells)) if parts.at(place) >= since), len(cells))
        )
        each = (len(cells) - begin) // QUARTER
        if each << parts.shift < SHORTEST:
            return None
        first, last = self._share(cells, begin, begin + each), self._share(cells, len(cells) - each, len(cells))
        if not first.total or not last.total:
            return None
        growth = Growth(first=first, last=last)
        if not growth.is_growing:
            return growth
        times = [parts.within(place) for place in range(begin, len(cells) + 1)]
        onset = onset_of([end - at for at, end in pairwise(times)], [etime for _, etime in cells[begin:]])
        step = None if onset is None or onset.place is None else self._step(cells, begin, onset.place, onset.fraction)
        return replace(growth, step=step, is_steady=onset is not None and step is None)

    def _step(self, cells: list[tuple[int, int]], begin: int, place: int, fraction: float) -> Step:
        at, end = (self.parts.within(begin + place + further) for further in range(2))
        return Step(
            at=at + int(fraction * (end - at)),
            before=self._share(cells, begin, begin + place),
            after=self._share(cells, begin + place + 1, len(cells)),
        )

    def _share(self, cells: list[tuple[int, int]], begin: int, end: int) -> Share:
        return Share(
            begin=self.parts.within(begin),
            end=self.parts.within(end),
            etime=sum(etime for _, etime in cells[begin:end]),
            total=sum(self._totals[begin:end]),
            count=sum(count for count, _ in cells[begin:end]),
        )


def _is_later(distance: int, parts: Parts, answered: int) -> bool:
    """Return whether so many results would hardly all be this far from an end of the log by chance."""
    span = parts.end - parts.begin
    return answered >= SEVERAL and CLEARLY <= distance <= span and (1 - distance / span) ** answered < CHANCE


def _laid_out(series: Series, parts: Parts) -> list[tuple[int, int]]:
    """Return results and their time in each part; nothing if a wild time has made the intervals longer than parts."""
    if series.shift > parts.shift:
        return []
    cells = [[0, 0] for _ in range(parts.count)]
    for number, (count, etime) in series.cells.items():
        place = (number >> parts.shift - series.shift) - parts.first
        if 0 <= place < parts.count:
            cells[place][0] += count
            cells[place][1] += etime
    return [(count, etime) for count, etime in cells]


HOUR = 3600 * SECOND
LONG = 2 * HOUR
"""Nanoseconds: times of a longer log are in minutes, rates per hour; else in seconds, per minute."""


def period(trend: Trend) -> str:
    """Return when the searches began or ended, where that is clearly within the log: `since 10:00`; else nothing."""
    if trend.since is None:
        return "" if trend.until is None else f"until {clock(trend.until, trend.parts)}"
    begin = clock(trend.since, trend.parts)
    if trend.until is None:
        return f"since {begin}"
    end = clock(trend.until, trend.parts)
    return f"{begin} to {end}" if begin != end else f"at {begin}"


def clock(nanoseconds: int, parts: Parts, *, exact: bool = False) -> str:
    """Return a time of day, UTC, with the date if the log has several; as exact as the length of the log requires."""
    at, fraction = when(nanoseconds), "" if parts.end - parts.begin >= LONG and not exact else ":%S"
    date = "" if when(parts.begin).date() == when(parts.end).date() else "%Y-%m-%d "
    return f"{at:{date}%H:%M{fraction}}"


def growth(trend: Trend, of: str = "the search time") -> tuple[str, ...]:
    """Return since when and how fast the time of the operations grows, and their share `of` a whole, if it does."""
    if trend.growth is None or not trend.is_growing:
        return ()
    step = trend.growth.step
    first, last = (trend.growth.first, trend.growth.last) if step is None else (step.before, step.after)
    by, unit = (1, "hour") if trend.parts.end - trend.parts.begin >= LONG else (60, "minute")
    shares = [f"{100 * each.share:.0f} %" for each in (first, last)]
    rates = [seconds(each.per_hour / by / SECOND) for each in (first, last)]
    if step is not None:
        grows = f"{rates[1]} per {unit} since about {clock(step.at, trend.parts)}, {rates[0]} before"
    else:
        throughout = " throughout" if trend.growth.is_steady else ""
        grows = f"growing from {rates[0]} to {rates[1]} per {unit}{throughout}"
    return (
        f"{grows}{_why(first, last)}",
        f"from {' to '.join(shares)} of {of}" if shares[0] != shares[1] else f"{shares[0]} of {of} throughout",
    )


def _why(first: Share, last: Share) -> str:
    """Return whether there are more operations, whether each takes longer, or both."""
    if not first.count or not last.count or not first.etime:
        return ""
    more = last.count * (first.end - first.begin) / (first.count * (last.end - last.begin))
    means = [each.etime / each.count for each in (first, last)]
    before, after = (duration(mean / SECOND) for mean in means)
    count = "as many" if 1 / ALIKE < more < ALIKE else f"{rounded(more)} times as many"
    each = "as before" if 1 / ALIKE < means[1] / means[0] < ALIKE else f"and {before} before"
    return f" ({count}, each {after} on average {each})"


def trend_sentences(trend: Trend | None, what: str = "These searches", of: str = "the search time") -> Iterator[str]:
    """Yield sentences for a finding."""
    if trend is None:
        return
    if since := period(trend):
        begins = f"; the log begins at {clock(trend.parts.begin, trend.parts)}" if trend.since is not None else ""
        ends = f"; the log ends at {clock(trend.parts.end, trend.parts)}" if trend.until is not None else ""
        yield f"{what} came {since} UTC{begins}{ends}."
    if grows := growth(trend, of):
        yield f"Their time is {', '.join(grows)}."


def observed_trend(trend: Trend | None) -> dict[str, Any]:
    """Return what a finding observes, by the keys of docs/contract.md."""
    grown = trend.growth if trend else None
    return {
        "since": _moment(trend.since if trend else None),
        "until": _moment(trend.until if trend else None),
        "growing": grown and grown.is_growing,
        "first_share": grown and round(grown.first.share, 6),
        "last_share": grown and round(grown.last.share, 6),
    }


def _moment(time: int | None) -> str | None:
    return None if time is None else moment(time, MILLISECOND)
