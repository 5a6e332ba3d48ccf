"""Lasting findings: those of the last run, and since when every run has had them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.history import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ldapdiag.evidence.history import RecordedFinding


@dataclass(frozen=True, slots=True, kw_only=True)
class LastingFindings:
    """Findings of one check and severity in the last run that began in the same run."""

    check: str
    severity: str
    findings: int
    since: datetime
    """The first run from which on every run has them."""
    runs: int
    """Those runs, the last one included."""


def lasting(runs: Sequence[tuple[datetime, Sequence[RecordedFinding]]]) -> list[LastingFindings]:
    """Return the findings of the last of several runs, which are in order of time; the most severe first."""
    if not runs:
        return []
    begins: dict[tuple[str, str], int] = {}
    open_ones = {(one.check, one.digest) for one in runs[-1][1]}
    for place in range(len(runs) - 1, -1, -1):
        open_ones &= {(one.check, one.digest) for one in runs[place][1]}
        if not open_ones:
            break
        begins |= dict.fromkeys(open_ones, place)
    groups: dict[tuple[str, str, int], int] = defaultdict(int)
    for one in runs[-1][1]:
        groups[one.severity, one.check, begins[one.check, one.digest]] += 1
    found = [
        LastingFindings(check=check, severity=severity, findings=count, since=runs[place][0], runs=len(runs) - place)
        for (severity, check, place), count in groups.items()
    ]
    return sorted(found, key=lambda one: (-SEVERITIES.index(one.severity), one.since, one.check))
