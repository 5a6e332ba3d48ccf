"""The work of a cluster in the JSON of `log` and `indexes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldapdiag.documents.log import Cluster
    from ldapdiag.evidence.cluster_work import ClusterWork


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
