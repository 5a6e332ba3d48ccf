"""The severity of searches by what they cost, and its thresholds, which the checks on searches share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ldapdiag.check_setting import Threshold
from ldapdiag.finding import Severity
from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.wording import duration

if TYPE_CHECKING:
    from ldapdiag.analysis.indexes.unhelped_scans import UnhelpedScans

LOAD_SEARCHES, LOAD_SECONDS = 10, 1.0
"""Fewer searches, or less time, are no load, however short the log is."""


class CostLimits(NamedTuple):
    """The settings of a check: percents of all search time, seconds, and percents of the time of the log."""

    high_percent: Annotated[float, Threshold("%", "so much of all search time or more is high", most=100)] = 50.0
    high_seconds: Annotated[float, Threshold("s", "what is high takes so long or longer")] = 60.0
    high_load: Annotated[float, Threshold("%", "or so much of the time of the log, in 10 searches and 1 s or more")] = (
        5.0
    )
    medium_percent: Annotated[float, Threshold("%", "so much of all search time or more is medium", most=100)] = 10.0
    medium_seconds: Annotated[float, Threshold("s", "what is medium takes so long or longer; all else is low")] = 10.0
    medium_load: Annotated[
        float, Threshold("%", "or so much of the time of the log, in 10 searches and 1 s or more")
    ] = 1.0


COST_LIMITS = CostLimits()


class Cost(NamedTuple):
    """What searches cost."""

    share: float
    """Of all search time, 0 to 1."""
    seconds: float
    searches: int
    log_seconds: float
    """Between the first record of the log and the last."""
    refused: int = 0
    """Of the searches, those that are refused."""
    failing: int = 0
    """Of these, those of kinds of which no search is answered."""

    @classmethod
    def of(cls, scans: UnhelpedScans, log_seconds: float) -> Cost:
        """Return the cost of scans in a log of so many seconds."""
        return cls(scans.share, scans.seconds, scans.count, log_seconds, scans.refused, scans.failing)

    def without(self, slowest: float, part: float) -> Cost:
        """Return the cost without one search of so many seconds, of which `part` are in the cost."""
        rest = max(0.0, self.seconds - part)
        total = self.seconds / self.share if self.share else 0.0
        share = rest / (total - slowest) if total > slowest else 0.0
        return self._replace(share=share, seconds=rest, searches=self.searches - 1)

    @property
    def load(self) -> float:
        """Return the seconds of search for each second of log; 0 for a few searches, or little time."""
        if self.searches < LOAD_SEARCHES or self.seconds < LOAD_SECONDS:
            return 0.0
        return self.seconds / max(self.log_seconds, self.seconds / self.searches)


def severity_of_cost(cost: Cost, limits: CostLimits) -> Severity:
    """Return the severity of searches: by their share of all search time, and how long they take or load the server.

    Refused ones are failures of an application, whatever time they take.
    """

    def reaches(percent: float, seconds: float, load: float) -> bool:
        return cost.share >= percent / 100 and (cost.seconds >= seconds or cost.load >= load / 100)

    if cost.failing >= LOAD_SEARCHES or reaches(limits.high_percent, limits.high_seconds, limits.high_load):
        return Severity.HIGH
    is_medium = reaches(limits.medium_percent, limits.medium_seconds, limits.medium_load)
    return Severity.MEDIUM if is_medium or cost.refused else Severity.LOW


def rests_on_one(severity: Severity, cost: Cost, slowest: float, limits: CostLimits, part: float | None = None) -> str:
    """Return a sentence if the severity of several is that of one search of so many seconds; else an empty one.

    `part`: how many of its seconds are in the cost; None: all.
    """
    others = severity_of_cost(cost.without(slowest, slowest if part is None else part), limits)
    if others == severity or cost.searches == 1:
        return ""
    return f"Its severity rests on one search of {duration(slowest)}: without that one it is {others}."
