"""Tracking: how full a box's table of tracked connections is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.servers.kernel import CONNTRACK_COUNT, CONNTRACK_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.flows import FlowTable
    from ldapdiag.evidence.host_facts import KernelSettings
    from ldapdiag.evidence.origin import Origin

LIMITS = (CONNTRACK_MAX, "net.nf_conntrack_max")
"""One value under two names (Documentation/networking/nf_conntrack-sysctl.rst)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConntrackUsage:
    """One host's table of tracked connections. None: not in the evidence."""

    host: str
    used: int | None
    used_source: str
    limit: int | None
    """0: no limit."""
    origins: tuple[str, ...]


def conntrack_usage(kernels: Iterable[KernelSettings], flows: Iterable[FlowTable]) -> tuple[ConntrackUsage, ...]:
    """Return how full the table of every host is that has one, or that has parameters of one.

    Of the count and the rows the larger holds: in a network namespace the count may read 0 while the table has rows
    (measured), and a table may list some protocols only.
    """
    settings = [kernel for kernel in kernels if any(name in kernel.values for name in (CONNTRACK_COUNT, *LIMITS))]
    tables = [table for table in flows if table.tool == "conntrack"]
    hosts = sorted({origin.host for origin in _origins(settings, tables)})
    return tuple(
        _tracking(
            host,
            [kernel for kernel in settings if kernel.origin.host == host],
            [table for table in tables if table.origin.host == host],
        )
        for host in hosts
    )


def _tracking(host: str, settings: list[KernelSettings], tables: list[FlowTable]) -> ConntrackUsage:
    counts = [(len(table.state), "the rows of its table") for table in tables]
    counts += [(count, "nf_conntrack_count") for one in settings if (count := one.number(CONNTRACK_COUNT)) is not None]
    limits = [limit for one in settings for name in LIMITS if (limit := one.number(name)) is not None]
    used, source = max(counts, key=lambda count: count[0], default=(None, "unknown"))
    return ConntrackUsage(
        host=host,
        used=used,
        used_source=source,
        limit=min(limits, default=None),
        origins=tuple(sorted({origin.path for origin in _origins(settings, tables)})),
    )


def _origins(settings: Iterable[KernelSettings], tables: Iterable[FlowTable]) -> list[Origin]:
    return [one.origin for one in settings] + [one.origin for one in tables]
