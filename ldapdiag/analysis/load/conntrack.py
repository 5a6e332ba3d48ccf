"""ConntrackUsage: how full the connection tracking table of a host is (conntrack(8))."""

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
"""Two names of one value (Documentation/networking/nf_conntrack-sysctl.rst)."""
KERNEL = "nf_conntrack_count"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConntrackUsage:
    """The fill level of one host's connection tracking table. None: not collected."""

    host: str
    used: int | None
    used_source: str
    is_counted: bool = True
    """The kernel counted; else the rows of its table are the least, because a listing may be a selection."""
    limit: int | None
    """0: no limit."""
    origins: tuple[str, ...]


def conntrack_usage(kernels: Iterable[KernelSettings], flows: Iterable[FlowTable]) -> tuple[ConntrackUsage, ...]:
    """Return the fill level for every host whose table, or whose kernel settings for it, were collected.

    The larger of the kernel's count and the rows is used: in a network namespace the count may read 0 while the table
    has rows (measured), and a table may list some protocols only.
    """
    settings = [kernel for kernel in kernels if any(name in kernel.values for name in (CONNTRACK_COUNT, *LIMITS))]
    tables = [table for table in flows if table.tool == "conntrack"]
    hosts = sorted({origin.host for origin in _origins(settings, tables)})
    return tuple(
        _usage(
            host,
            [kernel for kernel in settings if kernel.origin.host == host],
            [table for table in tables if table.origin.host == host],
        )
        for host in hosts
    )


def _usage(host: str, settings: list[KernelSettings], tables: list[FlowTable]) -> ConntrackUsage:
    counts = [(len(table.state), "the rows of its table") for table in tables]
    counts += [(count, KERNEL) for kernel in settings if (count := kernel.number(CONNTRACK_COUNT)) is not None]
    limits = [limit for kernel in settings for name in LIMITS if (limit := kernel.number(name)) is not None]
    used, source = max(counts, key=lambda count: count[0], default=(None, "unknown"))
    return ConntrackUsage(
        host=host,
        used=used,
        used_source=source,
        is_counted=any(source == KERNEL for _, source in counts),
        limit=min(limits, default=None),
        origins=tuple(sorted({origin.path for origin in _origins(settings, tables)})),
    )


def _origins(settings: Iterable[KernelSettings], tables: Iterable[FlowTable]) -> list[Origin]:
    return [kernel.origin for kernel in settings] + [table.origin for table in tables]
