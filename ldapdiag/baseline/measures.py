"""Measures: the main number of a finding as it is compared, by what its check declares it to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.baseline.chance import HOUR, Measure, Measured, number_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ldapdiag.baseline.log_extent import LogExtent
    from ldapdiag.check import MainNumber

OPERATIONS = 1_000
UNKNOWN_SCATTER = 4.0
"""Variance of times of which the report does not show it, in squares of their mean: more than most logs have."""


def measured(number: MainNumber, observed: Mapping[str, Any], log: LogExtent | None) -> Measured | None:
    """Return the main number as it is compared; None if the finding, or what is known of its log, has not enough."""
    value, of = number_of(observed, number.key), number_of(observed, number.of)
    if value is None:
        return None
    if number.quantity in {"value", "count"}:
        measures = [Measure(value=value, events=value if number.quantity == "count" else None)]
    elif number.quantity == "share":
        measures = [Measure(value=100 * value / of, events=value)] if of else []
    else:
        events, scatter = (
            (value, 1.0) if number.quantity == "logged" else (of or 0.0, _scatter(value, of or 0.0, observed))
        )
        measures = [Measure(value=value * share, events=events, scatter=scatter) for share in _shares(log)]
    unit = "%" if number.quantity == "share" else "s" if number.key.endswith("_seconds") else ""
    return Measured(key=number.key, measures=tuple(measures), unit=unit) if measures else None


def _shares(log: LogExtent | None) -> list[float]:
    """Return what 1,000 operations are of a log, and an hour; nothing if its operations are not known."""
    if log is None or not log.operations:
        return []
    return [OPERATIONS / log.operations, *([HOUR / log.seconds] if log.seconds else [])]


def _scatter(total: float, count: float, observed: Mapping[str, Any]) -> float:
    """Return 1 + (spread / mean)² of the times of so many operations."""
    spread, worst = number_of(observed, "spread_seconds"), number_of(observed, "worst_seconds")
    if total and count and spread is not None:
        relative = spread * count / total
        return 1 + relative * relative
    if total and worst:
        return max(1.0, worst * count / total)  # times of one mean and maximum scatter no more (Bhatia and Davis, 2000)
    return 1 + UNKNOWN_SCATTER
