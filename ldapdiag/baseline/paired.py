"""A finding of both reports: worse or better by its severity and by the main number of its check, or the same.

A severity that follows from how much log there is, at the same rate, is no change; nor is less severity, or less
certainty, where evidence is missing that the earlier report had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.baseline.chance import HOUR, Measure, Measured, difference, number_of
from ldapdiag.baseline.changes import ChangedFinding, FindingChange
from ldapdiag.baseline.reported import KeptNumber
from ldapdiag.check import Worse
from ldapdiag.finding import Confidence, Severity
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from ldapdiag.baseline.log_extent import LogExtent
    from ldapdiag.baseline.reported import ReportedFinding
    from ldapdiag.baseline.what_became import WhatBecame
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


NAMES = {"logged": "{} per 1,000 operations", "spent": "{} per 1,000 operations", "share": "share of {}"}
"""How a number is called, by its quantity."""
CHANGES = {1: FindingChange.WORSE, 0: FindingChange.SAME, -1: FindingChange.BETTER}
MIXED = "less severe, but more of it: neither better nor worse"
CERTAINTY = list(Confidence)
"""The most certain first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedNumber:
    """A number of both reports."""

    number: MainNumber
    before: KeptNumber
    now: Measured

    @property
    def worse(self) -> int:
        """Return 1 if it is worse, -1 if better, 0 if chance or little explains the difference."""
        return difference(self.before.number, self.now) * (1 if self.number.worse is Worse.MORE else -1)

    @property
    def is_better_rate(self) -> bool:
        """Return whether it is better, and does not depend on how long a log is."""
        return self.number.is_of_a_log and self.worse == -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedFinding:
    """A finding of both reports, with what the logs of its server cover."""

    former: ReportedFinding
    now: ReportedFinding
    taken_at: datetime | None
    """Of the earlier report."""
    logs: tuple[LogExtent | None, LogExtent | None]

    def changed(self, number: MainNumber | None, became: WhatBecame) -> ChangedFinding:
        """Return how it has changed, by the main number of its check, unless evidence is missing."""
        compared = next(self._compared(number), None)
        worse = compared.worse if compared else None
        rises = self._rise(compared)
        is_mixed = rises == -1 and worse == 1  # the limit may have been raised, or what shows its severity is missing
        change = FindingChange.SAME if is_mixed else CHANGES[rises or worse or 0]
        by_rate = compared is not None and compared.is_better_rate and not (rises or self._is_doubtful)
        is_milder = change is FindingChange.BETTER or (change is FindingChange.SAME and self._is_milder)
        lacks = became.lacks(self.former, by_rate=by_rate) if is_milder else ""
        return ChangedFinding(
            change=FindingChange.LESS_SEEN if lacks else change,
            outcome="finding",
            severity=self.former.severity,
            confidence=self.former.confidence,
            name=_name(compared.number) if compared else "",
            before=compared.before if compared else None,
            now=compared.now if compared else None,
            reason=lacks or (MIXED if is_mixed else "one report lacks it" if number and not compared else ""),
        )

    def _compared(self, number: MainNumber | None) -> Iterator[ComparedNumber]:
        """Yield the numbers that both reports have."""
        for one in number.alternatives if number else ():
            now, kept = measured(one, self.now.observed, self.logs[1]), self.former.reference
            if kept is None or kept.number.key != one.key:
                before = measured(one, self.former.observed, self.logs[0])
                kept = KeptNumber(number=before, taken_at=self.taken_at) if before else None
            if kept is not None and now is not None:
                yield ComparedNumber(number=one, before=kept, now=now)

    def _rise(self, compared: ComparedNumber | None) -> int:
        """Return 1 if it is more severe, -1 if less; 0 also if a longer or shorter log alone may explain it."""
        rises = (self.now.severity > self.former.severity) - (self.now.severity < self.former.severity)
        return 0 if compared is not None and self._is_by_amount(compared.number) else rises

    def _is_by_amount(self, number: MainNumber) -> bool:
        """Return whether the two severities may follow from how much log there is."""
        highest = max(self.former.severity, self.now.severity)
        by_sign = any((number_of(self.now.observed, key) or 0.0) >= least for key, least in number.signs)
        return highest <= Severity[number.up_to.upper()] and not by_sign

    @property
    def _is_milder(self) -> bool:
        """Return whether it is less severe or less certain than before."""
        return self._is_doubtful or self.now.severity < self.former.severity

    @property
    def _is_doubtful(self) -> bool:
        return CERTAINTY.index(self.now.confidence) > CERTAINTY.index(self.former.confidence)


def _name(number: MainNumber) -> str:
    name = number.name or number.key.removesuffix("_seconds").replace("_", " ")
    return NAMES.get(number.quantity, "{}").format(name)
