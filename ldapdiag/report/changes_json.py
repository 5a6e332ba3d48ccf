"""The changes since a baseline in the report object (docs/contract.md, `baseline`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.baseline.changes import FindingChange
from ldapdiag.finding import finding_id

if TYPE_CHECKING:
    from ldapdiag.baseline.changes import ChangedFinding, Changes, FormerFinding
    from ldapdiag.finding import Finding


def changes_as_data(changes: Changes | None) -> dict[str, Any] | None:
    """Return what has changed, without the findings that are there now; None without a baseline."""
    if changes is None:
        return None
    return {
        "origin": changes.origin,
        "taken_at": changes.taken_at.isoformat().replace("+00:00", "Z") if changes.taken_at else None,
        "version": changes.version,
        "counts": {str(change): count for change, count in changes.counts.items()},
        "gone": [_former(one) for one in changes.gone],
        "not_seen": [_former(one) for one in changes.not_seen],
        "notes": list(changes.notes),
    }


def change_of(changes: Changes | None, check: str, finding: Finding) -> dict[str, Any]:
    """Return what became of a finding, and what it was before; both null without a baseline."""
    changed = changes.findings.get(finding_id(check, finding)) if changes is not None else None
    if changed is None:
        return {"change": None, "before": None}
    return {"change": str(changed.change), "before": None if changed.change is FindingChange.NEW else _before(changed)}


def _before(changed: ChangedFinding) -> dict[str, Any]:
    return {
        "severity": None if changed.severity is None else str(changed.severity),
        "key": changed.key or None,
        "number": changed.number,
        "now": changed.now,
    }


def _former(former: FormerFinding) -> dict[str, Any]:
    finding = former.finding
    return {
        "id": finding.id,
        "check": finding.check,
        "severity": str(finding.severity),
        "title": finding.title,
        "reason": former.reason,
    }
