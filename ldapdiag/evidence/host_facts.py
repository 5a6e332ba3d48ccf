"""Facts of a host: its identity, routes, kernel settings and TCP counters, and the limits of the server process."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.evidence.origin import Origin, Span
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDescription:
    """The identity of a host: machine, network namespace, clock. None: the host did not report it."""

    kind: ClassVar[str] = "host-description"
    how: ClassVar[str] = "ldapdiag collect ssh://HOST, or the script of ldapdiag collect --print-script"

    origin: Origin
    name: str
    system: str = ""
    """The output of uname -srm."""
    clock: datetime | None = None
    """The host's clock at the time of collection."""
    booted: datetime | None = None
    """When the host booted, by the same clock."""
    machine: str = ""
    """Linux' boot_id: equal in all namespaces and containers of a machine, and new at each boot."""
    namespace: str = ""
    """The network namespace, as in net:[4026531840]."""
    namespaces_read: int | None = None
    """Number of the machine's network namespaces whose sockets were read, this one included."""
    namespaces_unread: int | None = None
    """Number of namespaces that could not be read; None: unknown, because listing them needs root."""
    addresses: frozenset[str] = frozenset()
    """The addresses of its interfaces, normalised."""


@dataclass(frozen=True, slots=True)
class Route:
    """One route: where packets to a network go. Neither on-link nor with a gateway: they are discarded."""

    network: str
    """In CIDR notation: 10.77.2.0/24, 0.0.0.0/0, fd00::/64."""
    gateways: tuple[str, ...] = ()
    """Next hops; several share the traffic."""
    on_link: bool = False
    """The network is attached to an interface of the host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteTable:
    """The routes of one host, and the addresses of its interfaces that they name."""

    kind: ClassVar[str] = "routes"
    how: ClassVar[str] = "on that host: (ip route; ip -6 route) > ip-route.txt; ip addr > ip-addr.txt"

    origin: Origin
    routes: tuple[Route, ...]
    addresses: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSettings:
    """Kernel parameters by their sysctl names; the values are text as printed."""

    kind: ClassVar[str] = "kernel-settings"
    how: ClassVar[str] = "on that host: sysctl -a > sysctl.txt"

    origin: Origin
    values: Mapping[str, str]

    def number(self, name: str) -> int | None:
        """Return a parameter as an integer; None if it is missing or not a number."""
        text = self.values.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventThresholds:
    """What a domain controller logs a search by (event 1644); None: not set, so that its default applies."""

    kind: ClassVar[str] = "event-thresholds"
    how: ClassVar[str] = (
        r"on the domain controller: reg query HKLM\SYSTEM\CurrentControlSet\Services\NTDS /s > registry.txt"
    )

    origin: Origin
    level: int | None = None
    """Of "15 Field Engineering"; 5 logs searches."""
    visited: int | None = None
    visited_in_vain: int | None = None
    milliseconds: int | None = None
    service: str = ""
    """Whose values these are: NTDS (AD DS), or an instance of AD LDS."""
    others: tuple[str, ...] = ()
    """The other services in the export, whose values are not here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpCounters:
    """Counters of the TCP stack since boot, by their nstat names (TcpExtListenOverflows…)."""

    kind: ClassVar[str] = "tcp-counters"
    how: ClassVar[str] = "on that host: nstat -az > nstat.txt"

    origin: Origin
    values: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """The descriptor limits of one process, from /proc/PID/limits; None: unlimited."""

    kind: ClassVar[str] = "process-limits"
    how: ClassVar[str] = "on the server: cat /proc/PID/limits > proc-limits.txt"

    origin: Origin
    open_files_soft: int | None
    open_files_hard: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptorCount:
    """The number of descriptors the server process has open, from /proc/PID/fd."""

    kind: ClassVar[str] = "descriptor-count"
    how: ClassVar[str] = "on the server: ls /proc/PID/fd | wc -l > proc-fd-count.txt"

    origin: Origin
    open: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureTimes:
    """When the evidence of one folder was captured, from a file that contains only times."""

    kind: ClassVar[str] = "capture-times"
    how: ClassVar[str] = "beside each table: date -u +%FT%TZ > captured-at.txt"

    origin: Origin
    span: Span
