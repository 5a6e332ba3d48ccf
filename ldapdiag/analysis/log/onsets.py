"""Onsets: whether the rates of the parts of a log grow by one step, throughout, or neither.

step      ▂▂▂▂▂▂▅██████     two levels; the part of the step shows where in it the step is
steady    ▁▂▂▃▃▄▄▅▅▆▆▇█     a straight line
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

BESIDE = 2
"""Parts on each side of a step, at least."""
UNEXPLAINED = 0.25
"""Of the variance of the rates; neither a step nor a line explains them if more is left."""


@dataclass(frozen=True, slots=True)
class Onset:
    """How rates grow."""

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
