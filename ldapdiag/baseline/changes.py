"""Changes between two reports: one for each finding of the later, and the earlier ones that it does not have."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from ldapdiag.baseline.reported import ReportedFinding
    from ldapdiag.finding import Severity


class FindingChange(StrEnum):
    """What became of a finding since the earlier report."""

    NEW = "new"
    WORSE = "worse"
    BETTER = "better"
    SAME = "same"
    GONE = "gone"
    """Judged clear now."""
    NOT_SEEN = "not seen"
    """Not judged now: whether it is gone is not known."""


GROWN = frozenset({FindingChange.NEW, FindingChange.WORSE})
"""Changes that `--fail-on-new` counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFinding:
    """How a finding of the present report compares with the earlier one."""

    change: FindingChange
    outcome: str
    """What the earlier report has about it: finding; of a new one clear, not-judged, crashed, not-listed or absent."""
    severity: Severity | None = None
    """Before; None if it was no finding."""
    key: str = ""
    """The main number of its check; empty if the check names none."""
    number: float | None = None
    """Before."""
    now: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerFinding:
    """A finding of the earlier report that the present one does not have."""

    finding: ReportedFinding
    reason: str
    """Why it is gone, or why it is not seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """All changes since an earlier report."""

    origin: str
    """The file of the earlier report."""
    taken_at: datetime | None
    version: str
    """Of ldapdiag, which wrote it."""
    findings: Mapping[str, ChangedFinding]
    """By the id of the present finding."""
    gone: Sequence[FormerFinding] = ()
    not_seen: Sequence[FormerFinding] = ()
    notes: Sequence[str] = field(default=())
    """What limits the comparison, as sentences without a full stop."""

    def has_grown(self, finding_id: str) -> bool:
        """Return whether a present finding is new or worse; one that was not compared counts as new."""
        changed = self.findings.get(finding_id)
        return changed is None or changed.change in GROWN

    @property
    def counts(self) -> dict[FindingChange, int]:
        """Return how many findings have changed in each way, in the order of `FindingChange`."""
        counts = Counter(finding.change for finding in self.findings.values())
        counts[FindingChange.GONE], counts[FindingChange.NOT_SEEN] = len(self.gone), len(self.not_seen)
        return {change: counts[change] for change in FindingChange}
