"""First passage: after how many hours a growing count reaches a limit for the first time, in each possible truth."""

from __future__ import annotations

import math
from bisect import bisect_left
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING

from ldapdiag.analysis.load.growth import DAY_HOURS, SEED, WAVES, GrowthDraw

if TYPE_CHECKING:
    from collections.abc import Sequence

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
