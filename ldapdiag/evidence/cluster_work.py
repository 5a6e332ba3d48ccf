"""Cluster work: how the workers of a cluster have read access logs."""

from __future__ import annotations

from ldapdiag.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterWork:
    """What a cluster has done so far, or in all; the counts of a log do not depend on it."""

    engine: str = "dask"
    workers: int
    """Tasks that can run at the same time."""
    tasks: int
    """Tasks that have ended."""
    retried: int
    """Tasks that were begun again because their worker died or got stuck."""
    task_bytes: int
    """Size of the largest task: bytes of files."""
    read_here: tuple[str, ...] = ()
    """The streams that only this machine could open, and has read."""
