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

    from ldapdiag.baseline.chance import Measured
    from ldapdiag.baseline.reported import KeptNumber, ReportedFinding
    from ldapdiag.finding import Confidence, Severity


class FindingChange(StrEnum):
    """What became of a finding since the earlier report."""

    NEW = "new"
    WORSE = "worse"
    BETTER = "better"
    SAME = "same"
    GONE = "gone"
    """Judged clear now."""
    LESS_SEEN = "not seen as well"
    """Less severe or less certain now, and there is less evidence: whether it is better is not known."""
    NOT_SEEN = "not seen"
    """Not judged now: whether it is gone is not known."""


GROWN = (FindingChange.NEW, FindingChange.WORSE)
"""Changes that `--fail-on-new` counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFinding:
    """How a finding of the present report compares with the earlier one."""

    change: FindingChange
    outcome: str
    """What the earlier report has about it: finding; of a new one clear, not-judged, crashed, not-listed or absent."""
    severity: Severity | None = None
    """Before; None if it was no finding."""
    confidence: Confidence | None = None
    """Before."""
    name: str = ""
    """What its number counts, in words; empty if the check names none, or one report lacks it."""
    before: KeptNumber | None = None
    """The number as it is compared; None if one report lacks it."""
    now: Measured | None = None
    reason: str = ""
    """Why it is not seen as well, not compared by its number, or neither better nor worse."""

    @property
    def is_by_severity_alone(self) -> bool:
        """Return whether its check names a number that could not be compared."""
        return bool(self.reason) and self.now is None and self.change is not FindingChange.LESS_SEEN

    @property
    def reference(self) -> KeptNumber | None:
        """Return what the next report compares with, unless that is the number of this report.

        A number of less than half as much log (of the first night, a Sunday) is replaced: it would hide what is worse.
        """
        is_kept = self.change in {FindingChange.SAME, FindingChange.LESS_SEEN}
        if not is_kept or self.before is None or self.now is None or self.before.number.by_much_less_than(self.now):
            return None
        return self.before


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
    less_logged: bool = False
    """A log has fewer operations than in the earlier report: what is counted in it may fall below what is reported."""

    @property
    def covers_baseline(self) -> bool:
        """Return whether the present report shows all that the earlier one does, so that it can replace it."""
        lesser = any(one.change is FindingChange.LESS_SEEN for one in self.findings.values())
        return not (self.not_seen or lesser or self.less_logged)

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
