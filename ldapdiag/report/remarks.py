"""Remarks on a finding: what is known of it besides what its check has found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.report.changes import change_of, change_word

if TYPE_CHECKING:
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.finding import Finding


def remarks_on(diagnosis: Diagnosis, check: str, finding: Finding) -> tuple[str, ...]:
    """Return what became of a finding since the baseline; nothing without one."""
    changed = change_of(diagnosis.changes, check, finding)
    return tuple(filter(None, (change_word({"severity": str(finding.severity)} | changed),)))
