"""The severity of searches by what they cost, and its thresholds, which the checks on searches share."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ldapdiag.check_setting import Threshold
from ldapdiag.finding import Severity

HighPercent = Annotated[float, Threshold("%", "so much of all search time or more is high", most=100)]
HighSeconds = Annotated[float, Threshold("s", "what is high takes so long or longer")]
MediumPercent = Annotated[float, Threshold("%", "so much of all search time or more is medium", most=100)]
MediumSeconds = Annotated[float, Threshold("s", "what is medium takes so long or longer; all else is low")]


class CostLimits(NamedTuple):
    """The settings of a check: percents of all search time, and seconds."""

    high_percent: float
    high_seconds: float
    medium_percent: float
    medium_seconds: float


def severity_of_cost(share: float, seconds: float, limits: CostLimits) -> Severity:
    """Return the severity of searches that take this share of all search time, and this many seconds."""
    if share >= limits.high_percent / 100 and seconds >= limits.high_seconds:
        return Severity.HIGH
    is_medium = share >= limits.medium_percent / 100 and seconds >= limits.medium_seconds
    return Severity.MEDIUM if is_medium else Severity.LOW
