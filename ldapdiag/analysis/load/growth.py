"""Growth of a count over time: what a series of readings allows, as draws of rate, level and fluctuation.

    count = level + rate x time + what a day changes + a random walk + noise

The walk is what a leak does that is not steady (pauses, bursts, other loads); the noise is forgotten at the next
reading. How much of the fluctuation is walk decides how far a series may be extended, and a short one does not show it:
so no share is chosen, but each is weighed by how well it explains the series (a Bayesian mean over a grid). The same
holds for the day: two sine waves are always part of the model, with the amplitudes that are usual (USUAL_SWING). A
series of several days determines them; for a shorter one they widen the rate, as they must: a count that rises in the
morning is no trend.

The draws come from a generator with a fixed seed: the same series gives the same numbers.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

DAY_HOURS = 24.0
WAVES = (24.0, 12.0)
"""The periods of a daily rhythm, in hours."""
USUAL_SWING = 0.07
"""Of the connections: the standard deviation of the amplitude of each wave, before the series is looked at."""
SWING_OF_RATE = 0.5
SWINGS = ((0.1, 0.7), (0.7, 0.3))
"""Multiples of what is usual, and the chance of each."""
KNOWN_DAYS = 2
"""A series of so many days shows its rhythm itself:"""
ANY_SWING = (5.0, 0.3)
"""may it be unusual."""
"""The same of the rate."""
WALK_SHARES = (0.003, 0.1, 0.5, 0.95)
"""The share of the walk in the fluctuation between two readings."""
TURNS = ((0.03, 0.6), (0.4, 0.4))
"""By how much of itself the rate changes over a series, and the chance of that."""
SCALES = (0.5, 0.8, 1.3, 2.2)
"""The variance, as multiples of the most plausible one."""
DRAWS = 500
SEED = 18
ROUNDING = 1 / 12
"""The variance of a number that is counted in wholes."""

Matrix = list[list[float]]


@dataclass(frozen=True, slots=True)
class GrowthDraw:
    """One possible truth. Hours; connections."""

    rate: float
    """Now."""
    level: float
    """Now, without the daily waves."""
    turn: float
    """Variance of the rate per hour."""
    walk: float
    """Variance of the level per hour."""
    noise: float
    """Variance of a reading."""
    waves: tuple[float, ...]
    """Cosine and sine of each wave, by hours from now."""


@dataclass(frozen=True, slots=True)
class _Filtered:
    """A series whose fluctuation has been made independent (a Kalman filter); variances for a scale of 1."""

    products: Matrix
    """Of the regressors; the counts are the last one."""
    levels: list[float]
    """What the walk has added at the end, for each regressor."""
    rates: list[float]
    """What the turns of the rate have added."""
    spread: tuple[float, float, float]
    """The variance of the one, the covariance, and the variance of the other."""
    log_determinant: float
    turn: float
    walk: float
    noise: float


def draw_growth(series: Sequence[tuple[float, float]]) -> list[GrowthDraw]:
    """Return possible truths of a series of (hours from now, count) in order of time, at least three."""
    begin, end = series[0][0], series[-1][0]
    step = (end - begin) / (len(series) - 1)
    crude = (series[-1][1] - series[0][1]) / (len(series) - 1)
    rows = [_row(time, count, begin, step) for time, count in series]
    knows_day = end - begin >= KNOWN_DAYS * DAY_HOURS and len(series) > 4 * len(WAVES)
    swings = (*SWINGS, ANY_SWING) if knows_day else SWINGS
    priors = [_priors(min(count for _, count in series), crude / step, factor) for factor, _ in swings]
    candidates: list[tuple[float, _Filtered, float, Matrix, list[float]]] = []
    for share in WALK_SHARES:
        steady = _filter(rows, share, 0.0)
        explained = 2 + 2 * len(WAVES) if knows_day else 2
        guess = max(ROUNDING + 0.25 * abs(crude), _residual(steady, explained) / (len(rows) - explained))
        for turn, likely in TURNS:
            filtered = _filter(rows, share, (turn * max(abs(crude), 0.1)) ** 2 / (len(rows) * guess))
            for scale in SCALES:
                for prior, (_, chance) in zip(priors, swings, strict=True):
                    weight, factor, means = _fit(filtered, guess * scale, prior, len(rows))
                    weight += math.log(chance * likely)
                    candidates.append((weight, filtered, guess * scale, factor, means))
    best = max(weight for weight, *_ in candidates)
    sums = list(accumulate(math.exp(weight - best) for weight, *_ in candidates))
    draw = Random(SEED)  # noqa: S311  a reproducible sample, no secret
    draws = []
    for number in range(DRAWS):
        _, filtered, variance, factor, means = candidates[bisect_left(sums, (number + 0.5) / DRAWS * sums[-1])]
        truth = _around(means, factor, draw)
        draws.append(_now(filtered, variance, truth, rows[-1][1], -end / step, step, draw))
    return draws


def _now(
    filtered: _Filtered, variance: float, truth: list[float], span: float, since: float, step: float, draw: Random
) -> GrowthDraw:
    """Draw the level and the rate now: `since` steps after the last reading, which is `span` steps after the first."""
    parts = [*(-value for value in truth), 1.0]
    level = sum(a * b for a, b in zip(parts, filtered.levels, strict=True))
    rate = sum(a * b for a, b in zip(parts, filtered.rates, strict=True))
    one, both, two = (value * variance for value in filtered.spread)
    first, second = draw.gauss(0, 1), draw.gauss(0, 1)
    root = math.sqrt(max(one, 1e-12))
    level += root * first + truth[0] + truth[1] * span
    rate += both / root * first + math.sqrt(max(0.0, two - both * both / max(one, 1e-12))) * second + truth[1]
    return GrowthDraw(
        rate=rate / step,
        level=level + rate * since,
        turn=filtered.turn * variance / step**3,
        walk=filtered.walk * variance / step,
        noise=filtered.noise * variance,
        waves=tuple(truth[2:]),
    )


def _row(time: float, count: float, begin: float, step: float) -> list[float]:
    """Return the regressors of one reading: the level, the steps since the first one, the waves; and the count."""
    row = [1.0, (time - begin) / step]
    for period in WAVES:
        angle = 2 * math.pi * time / period
        row += [math.cos(angle), math.sin(angle)]
    return [*row, count]


def _priors(level: float, rate: float, factor: float) -> list[float]:
    """Return the precision of each wave before the series is looked at."""
    swing = (USUAL_SWING * level) ** 2 + (SWING_OF_RATE * rate * DAY_HOURS / (2 * math.pi)) ** 2
    return [1 / (swing * (factor * period / DAY_HOURS) ** 2 + ROUNDING) for period in WAVES for _ in range(2)]


def _filter(rows: list[list[float]], share: float, turn: float) -> _Filtered:
    """Filter each column: level and rate of the fluctuation, as far as the readings so far show it."""
    walk, noise = share, (1 - share) / 2
    size = len(rows[0])
    products = [[0.0] * size for _ in range(size)]
    levels, rates = [0.0] * size, [0.0] * size
    one = both = two = log_determinant = 0.0
    before = 0.0
    for row in rows:
        step = row[1] - before
        before = row[1]
        one += step * (2 * both + step * two + walk + turn * step * step / 3)
        both += step * (two + turn * step / 2)
        two += turn * step
        total = one + noise
        gain, gain_of_rate = one / total, both / total
        log_determinant += math.log(total)
        root = 1 / math.sqrt(total)
        white = []
        for place, value in enumerate(row):
            error = value - levels[place] - step * rates[place]
            white.append(error * root)
            levels[place] += step * rates[place] + gain * error
            rates[place] += gain_of_rate * error
        two -= gain_of_rate * both
        both -= gain_of_rate * one
        one -= gain * one
        for i, x in enumerate(white):
            line = products[i]
            for j in range(i + 1):
                line[j] += x * white[j]
    for i in range(size):
        for j in range(i):
            products[j][i] = products[i][j]
    return _Filtered(products, levels, rates, (one, both, two), log_determinant, turn, walk, noise)


def _residual(filtered: _Filtered, explained: int) -> float:
    """Return the sum of squares that the first regressors leave: a level and a steady rate, or the waves as well."""
    factor = _cholesky([line[:explained] for line in filtered.products[:explained]])
    half = _forward(factor, [line[-1] for line in filtered.products[:explained]])
    return max(0.0, filtered.products[-1][-1] - sum(x * x for x in half))


def _fit(filtered: _Filtered, variance: float, priors: list[float], readings: int) -> tuple[float, Matrix, list[float]]:
    """Return the log of the weight of this variance, the root of the precision, and the most plausible values."""
    size = len(priors) + 2
    precision = [[value / variance for value in line[:size]] for line in filtered.products[:size]]
    for number, prior in enumerate(priors, 2):
        precision[number][number] += prior
    right = [line[-1] / variance for line in filtered.products[:size]]
    factor = _cholesky(precision)
    half = _forward(factor, right)
    weight = -0.5 * (
        readings * math.log(variance)
        + filtered.log_determinant
        + 2 * sum(math.log(factor[i][i]) for i in range(size))
        + filtered.products[-1][-1] / variance
        - sum(x * x for x in half)
        - sum(math.log(prior) for prior in priors)
    )
    return weight, factor, _backward(factor, half)


def _around(means: list[float], factor: Matrix, draw: Random) -> list[float]:
    """Draw values around the most plausible ones."""
    away = _backward(factor, [draw.gauss(0, 1) for _ in means])
    return [mean + distance for mean, distance in zip(means, away, strict=True)]


def _cholesky(matrix: Matrix) -> Matrix:
    """Return the lower triangle whose product with its transpose is the matrix."""
    size = len(matrix)
    factor = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            rest = matrix[i][j] - sum(factor[i][k] * factor[j][k] for k in range(j))
            factor[i][j] = math.sqrt(max(rest, 1e-12 * matrix[i][i])) if i == j else rest / factor[j][j]
    return factor


def _forward(factor: Matrix, right: list[float]) -> list[float]:
    solved: list[float] = []
    for i, value in enumerate(right):
        solved.append((value - sum(factor[i][k] * solved[k] for k in range(i))) / factor[i][i])
    return solved


def _backward(factor: Matrix, right: list[float]) -> list[float]:
    size = len(right)
    solved = [0.0] * size
    for i in reversed(range(size)):
        solved[i] = (right[i] - sum(factor[k][i] * solved[k] for k in range(i + 1, size))) / factor[i][i]
    return solved
