"""A remedy in a report object (docs/contract.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldapdiag.remedy import Remedy


def remedy_as_data(remedy: Remedy) -> dict[str, Any]:
    """Return a remedy as plain values."""
    return {
        "title": remedy.title,
        "target": remedy.target,
        "where": str(remedy.where),
        "family": str(remedy.family) if remedy.family else None,
        "kind": str(remedy.kind),
        "text": remedy.text,
        "brief": remedy.brief,
        "changes": remedy.changes,
        "needs": str(remedy.needs),
        "risk": remedy.risk,
        "undo": remedy.undo,
        "verify": remedy.verify,
        "alternative": remedy.is_alternative,
    }
