"""A remedy, and the work of a cluster, in a report object (docs/contract.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldapdiag.documents.log import Cluster
    from ldapdiag.evidence.cluster_work import ClusterWork
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


def cluster_as_data(work: ClusterWork | None) -> Cluster | None:
    """Return it as plain values; None: the logs were read here."""
    if work is None:
        return None
    return {
        "engine": work.engine,
        "workers": work.workers,
        "tasks": work.tasks,
        "retried": work.retried,
        "task_bytes": work.task_bytes,
        "read_here": list(work.read_here),
    }
