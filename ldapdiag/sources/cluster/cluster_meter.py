"""Cluster meter: the interface of a progress display for logs that a cluster reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ldapdiag.sources.logs.access_log import Meter, NoMeter

if TYPE_CHECKING:
    from ldapdiag.evidence.cluster_work import ClusterWork


class ClusterMeter(Meter, Protocol):
    """Receives the bytes read, as for logs read here, and the state of the cluster."""

    def work(self, work: ClusterWork) -> None:
        """Show the tasks that have ended, those begun again, and the workers."""


class NoClusterMeter(NoMeter):
    """A progress display that shows nothing."""

    def work(self, work: ClusterWork) -> None:
        """Do nothing."""
