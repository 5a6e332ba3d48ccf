"""Forecast: when the descriptors run out, with an interval that contains the truth in 90 % of cases.

docs/how-it-decides.md ("When the descriptors run out") describes the method and its measured coverage,
docs/decisions.md what else was tried.

First passage: after how many hours a growing count reaches a limit for the first time, in each possible truth.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING

from ldapdiag.analysis.load.growth import DAY_HOURS, KNOWN_DAYS, SEED, WAVES, GrowthDraw, draw_growth
from ldapdiag.analysis.load.readings import GrowthSeries, Reading, growth_series
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import counted, rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

FEWEST_READINGS = 5
SHORTEST_HOURS = 1 / 60
LATEST_HOURS = 1
"""A series may end so long before the present count, or as long as it lasts."""
LEAST_GAIN = 30
"""Connections; fewer may be chance, or clients that come in the morning."""
FAST_HOURS = 7 * DAY_HOURS
"""A rate that also fills twice the limit within this time is a leak."""
NEAR = 0.8
"""The share of the limit from which a steady count needs a higher one."""
RHYTHM = 0.02
"""The share of the connections from which a daily rhythm is worth a remark."""


WITHIN = (0.02, 0.94)
"""The shares of the draws between which the hours until the limit are in 90 % of leaks drawn by a rate (tests/leaks/
drawn_rates.py, seeds of their own); those between 5 and 95 % of the draws were it in 87 %, and too late rather than too
early: what makes growth faster than before is not in the model."""
RATES_WITHIN = (0.05, 0.95)


class Problem(StrEnum):
    """What a growing or large count is due to."""

    LEAK = "leak"
    """Any limit is filled within days: connections are opened and never closed."""
    LIMIT = "limit"
    """The count is near the limit and steady: the limit is too low for these clients."""
    FILLING = "filling"
    """Growth that ends by itself: pools refill after a restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitForecast:
    """When the limit is reached; or why that is not forecast."""

    not_because: str = ""
    """Why there is no forecast; empty: there is one."""
    rates: tuple[float, float, float] | None = None
    """Connections an hour: low, median, high; between the first and the last in 90 % of the draws."""
    earliest: float | None = None
    """Hours from the last reading, as the two below; the truth is between this and `latest` in 90 % of cases."""
    median: float | None = None
    latest: float | None = None
    """None: possibly never."""
    source: str = ""
    readings: int = 0
    hours: float = 0.0
    """The length of the series that is used."""
    since: datetime | None = None
    """The time of the last reading."""
    room: int | None = None
    """The connections, as the readings count them, with which the limit is reached; None: not known, or some of those
    in the last reading were closed before the limit was compared."""
    remarks: tuple[str, ...] = ()
    """What was left out and why, and what widens the interval."""
    problem: Problem | None = None

    @property
    def is_over(self) -> bool:
        """Return whether the limit is reached already."""
        return self.latest == 0

    @property
    def over(self) -> LimitForecast:
        """Return the forecast with no time left, of a server that has run out by its present numbers."""
        return self if self.median is None else replace(self, earliest=0.0, median=0.0, latest=0.0)

    @property
    def numbers(self) -> dict[str, float | None]:
        """Return rate and time left with their bounds, by the keys of the contract."""
        low, rate, high = self.rates or (None, None, None)
        return {
            "rate_per_hour": rate,
            "rate_per_hour_low": low,
            "rate_per_hour_high": high,
            "hours_left": self.median,
            "hours_left_earliest": self.earliest,
            "hours_left_latest": self.latest,
        }


@dataclass(frozen=True, slots=True)
class _Series:
    """The readings of one source, and what they forecast."""

    readings: tuple[Reading, ...]
    forecast: LimitForecast


@dataclass(frozen=True, slots=True, kw_only=True)
class InUse:
    """What is in use of a limit, which may be more than the connections that are counted over time."""

    count: int
    at: datetime | None = None
    """None: at the last reading."""


def forecast(readings: Sequence[Reading], limit: int | None, used: InUse | None = None) -> LimitForecast:
    """LimitForecast from the longest series; where a later one forecasts an earlier end, from that one.

    `limit` counts what `used` counts. None: what the readings count.
    """
    by_source = groupby(sorted(readings, key=lambda one: one.source), lambda one: one.source)
    series = []
    for source, group in by_source:
        one = tuple(group)
        series.append(_Series(one, _of_series(source, one, limit, used)))
    if not series:
        return LimitForecast(not_because="no evidence shows its connections at two times")
    series.sort(key=lambda one: (bool(one.forecast.not_because), -one.forecast.hours))
    chosen, *others = series
    sooner = [other for other in others if _is_later(other, chosen) and _is_sooner(other.forecast, chosen.forecast)]
    chosen = sooner[0] if sooner else chosen
    unused = [one.forecast for one in series if one is not chosen]
    return replace(chosen.forecast, remarks=(*chosen.forecast.remarks, *(_unused(one, chosen) for one in unused)))


def _is_later(one: _Series, other: _Series) -> bool:
    return max(each.time for each in one.readings) > max(each.time for each in other.readings)


def _is_sooner(one: LimitForecast, other: LimitForecast) -> bool:
    """Return whether one excludes the other, by an earlier end."""
    return one.latest is not None and other.earliest is not None and one.latest < other.earliest


def _unused(one: LimitForecast, chosen: _Series) -> str:
    reason = one.not_because
    if not reason:
        reason = "it is shorter" if one.hours <= chosen.forecast.hours else "a later series grows faster"
    return f"without {one.source} ({reason.replace(f' in {one.source}', '')})"


def _of_series(source: str, readings: Sequence[Reading], limit: int | None, used: InUse | None) -> LimitForecast:
    """Return the forecast from the readings of one source."""
    trend = growth_series(readings)
    if trend is None:
        return LimitForecast(
            source=source, readings=len(readings), not_because=f"all readings in {source} are of the same time"
        )
    known = LimitForecast(
        source=source, readings=trend.readings, hours=trend.hours, since=trend.end, remarks=trend.left_out
    )
    others = 0 if used is None else _others(readings, trend, used)
    old = "" if used is None else _too_old(trend, source, used)
    if limit is not None and not old and others >= 0:
        known = replace(known, room=limit - others)
    if why := _too_little(trend, source):
        return replace(known, not_because=why, problem=_steady(trend, limit, others))
    if old:
        return replace(known, not_because=old)
    if trend.filling:
        why = f"the growth in {source} slows down, as when pools refill after a restart"
        return replace(known, not_because=why, problem=Problem.FILLING)
    draws = draw_growth(trend.points)
    rates = _quantiles(sorted(_rate(draw, trend.hours) for draw in draws), RATES_WITHIN)
    known = replace(known, rates=rates)
    if rates[0] <= 0:
        between = f"{rounded(rates[0])} to {rounded(rates[2])} an hour"
        why = f"the growth in {source} does not exceed its fluctuation ({between})"
        return replace(known, not_because=why, problem=_steady(trend, limit, others))
    if limit is None:
        return replace(known, not_because="the limit is unknown")
    room = limit - others
    step = trend.hours / (trend.readings - 1)
    earliest, median, latest = _quantiles(hours_until(room, draws, trend.noise, step), WITHIN)
    fills_any = (room + limit - trend.last) / rates[1] <= FAST_HOURS
    return replace(
        known,
        earliest=earliest,
        median=median,
        latest=latest if latest < math.inf else None,
        remarks=(*trend.left_out, *_rhythm(draws, trend)),
        problem=Problem.LEAK if fills_any else None,
    )


def _too_little(trend: GrowthSeries, source: str) -> str:
    """Return why a series is no base for a forecast; empty: it is one."""
    if trend.readings < FEWEST_READINGS:
        return f"{counted(trend.readings, 'reading')} in {source}; {FEWEST_READINGS} are needed"
    if trend.hours < SHORTEST_HOURS:
        return f"{trend.hours * 3600:.0f} s of readings in {source}; {SHORTEST_HOURS * 3600:.0f} s are needed"
    if trend.gained < LEAST_GAIN:
        change = counted(abs(trend.gained), "connection")
        which = "no connections more" if trend.gained == 0 else f"{change} {'more' if trend.gained > 0 else 'fewer'}"
        return f"{which} in {source} than {in_words(trend.hours)} before; {LEAST_GAIN} more are needed"
    return ""


def _others(readings: Sequence[Reading], trend: GrowthSeries, used: InUse) -> int:
    """Return what is in use beside the connections of a series: by its reading at the time of the other count.

    Fewer are in use than its last reading has if connections were closed since; before the last one, they cannot be.
    """
    if used.at is None or used.at >= trend.end:
        return used.count - trend.last
    earlier = [reading for reading in readings if reading.time <= used.at]
    nearest = max(earlier, key=lambda one: one.time) if earlier else min(readings, key=lambda one: one.time)
    return max(0, used.count - nearest.open)


def _too_old(trend: GrowthSeries, source: str, used: InUse) -> str:
    """Return why a trend ended too long ago to be extended to the time of the other count; empty: it did not."""
    age = 0.0 if used.at is None else (used.at - trend.end).total_seconds() / 3600
    if age <= max(trend.hours, LATEST_HOURS):
        return ""
    cover = f"the readings in {source} cover {in_words(trend.hours)}"
    return f"{cover}, and end {in_words(age)} before the present count"


def _steady(trend: GrowthSeries, limit: int | None, others: int) -> Problem | None:
    """Return what it means that the count does not grow, as far as the readings show that."""
    enough = trend.readings >= FEWEST_READINGS and trend.hours >= SHORTEST_HOURS
    near = limit is not None and trend.last + others >= NEAR * limit
    return Problem.LIMIT if enough and near else None


def _rate(truth: GrowthDraw, hours: float) -> float:
    """Return the growth per hour: of a series that is shorter than the day, with what the day adds at present."""
    if hours >= KNOWN_DAYS * DAY_HOURS:
        return truth.rate
    sines = zip(WAVES, truth.waves[1::2], strict=True)
    return truth.rate + sum(sine * 2 * math.pi / period for period, sine in sines)


def _quantiles(values: Sequence[float], within: tuple[float, float]) -> tuple[float, float, float]:
    """Return the value of which a share is below, the median, and the value of which another share is below."""
    low, high = within
    return values[int(len(values) * low)], values[len(values) // 2], values[int(len(values) * high)]


def _rhythm(draws: Sequence[GrowthDraw], trend: GrowthSeries) -> tuple[str, ...]:
    """Return what is known of a daily rhythm."""
    if trend.hours < KNOWN_DAYS * DAY_HOURS:
        return (f"{in_words(trend.hours)} do not show a daily rhythm: the interval allows for a usual one",)
    heights = sorted(math.hypot(*draw.waves[:2]) for draw in draws)
    low, median, _ = _quantiles(heights, RATES_WITHIN)
    if low < RHYTHM * trend.last:
        return ()
    return (f"a daily rhythm of about {median:,.0f} connections up and down is taken into account",)


def in_words(hours: float) -> str:
    """Return a length of time with a unit that fits."""
    if hours < 0.1:
        return f"{hours * 3600:.0f} s"
    if hours < 3:
        return f"{hours * 60:.0f} minutes"
    return f"{hours:.0f} hours" if hours < 2 * DAY_HOURS else f"{hours / DAY_HOURS:.1f} days"


_NORMAL = NormalDist()
NEVER = math.inf
HOURS = range(int(DAY_HOURS))
WAVES_AT = tuple(
    tuple(part(2 * math.pi * hour / period) for period in WAVES for part in (math.cos, math.sin)) for hour in HOURS
)


PEAKS = tuple(number / 20 for number in range(90, -1, -1))
PASSED = tuple(_NORMAL.pdf(z) - z * _NORMAL.cdf(-z) for z in PEAKS)
"""What the chances of such a peak or a higher one add up to while the level rises by one; ascending."""


def hours_until(limit: float, draws: Sequence[GrowthDraw], noise: float, step: float) -> list[float]:
    """Return the hours until so many are open, in each truth, in ascending order; infinite: never.

    `noise`: the least variance of a reading; `step`: the hours in which the noise takes a new value.
    """
    draw = Random(SEED)  # noqa: S311  a reproducible sample, no secret
    return sorted(_hours(limit, truth, noise, step, draw) for truth in draws)


def _hours(limit: float, truth: GrowthDraw, noise: float, step: float, draw: Random) -> float:
    """Draw the first passage: when the mean path reaches the limit, and how far walk and turns lead away from it."""
    climb, rate = limit - truth.level, truth.rate
    mean = _mean_path(climb, rate, truth.waves)
    if 0 < mean < NEVER:
        now = truth.waves[0] + truth.waves[2]
        climb -= _peak(max(0.0, (climb - now) / mean * step), math.sqrt(max(noise, truth.noise)), draw)
        # The mean of a rate that turns, from now to then, is away from the present one by so much.
        rate += math.sqrt(truth.turn * mean / 3) * draw.gauss(0, 1)
        mean = _mean_path(climb, rate, truth.waves)
    climb = max(climb - truth.waves[0] - truth.waves[2], 1e-6)
    if mean == 0:
        return 0.0
    if mean == NEVER:
        if rate > 0 or truth.walk <= 0 or draw.random() >= math.exp(2 * rate * climb / truth.walk):
            return NEVER
        mean = climb / max(-rate, 1e-9)
    # An inverse Gaussian (Michael, Schucany and Haas 1976, in a form without cancellation).
    ratio = mean * truth.walk / (climb * climb) * draw.gauss(0, 1) ** 2 / 2
    low = mean / (1 + ratio + math.sqrt(ratio * (2 + ratio)))
    return low if draw.random() * (mean + low) <= mean else mean * mean / low


def _peak(gain: float, noise: float, draw: Random) -> float:
    """Draw how far the count is above its level when it first reaches the limit: the slower, the higher the peak."""
    passed = draw.expovariate(1) * gain / noise
    return PEAKS[min(bisect_left(PASSED, passed), len(PEAKS) - 1)] * noise


def _mean_path(climb: float, rate: float, waves: Sequence[float]) -> float:
    """Return when a straight line with daily waves on it first reaches the limit: within a day of when it can."""
    reach = sum(math.hypot(waves[place], waves[place + 1]) for place in range(0, len(waves), 2))
    if climb > reach and rate <= 0:
        return NEVER
    begin = int(max(0.0, (climb - reach) / rate)) if rate > 0 else 0
    cosine, sine, cosine_2, sine_2 = waves
    before = 0.0
    for hour in range(begin, begin + len(HOURS) + 1):
        at = WAVES_AT[hour % 24]
        missing = climb - rate * hour - cosine * at[0] - sine * at[1] - cosine_2 * at[2] - sine_2 * at[3]
        if missing <= 0:
            return hour - missing / (missing - before) if hour > begin else float(hour)
        before = missing
    return NEVER if rate <= 0 else climb / rate
