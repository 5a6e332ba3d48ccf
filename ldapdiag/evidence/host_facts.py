"""What a host says of its kernel and of the directory's process."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.evidence.origin import Origin, Span

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDescription:
    """Which machine and network namespace a host is, as it told ldapdiag itself. None: it did not tell."""

    kind: ClassVar[str] = "host-description"
    how: ClassVar[str] = "ldapdiag collect ssh://HOST, or the script that ldapdiag collect --print-script prints"

    origin: Origin
    name: str
    system: str = ""
    """What uname -srm prints."""
    clock: datetime | None = None
    """The host's own clock when it answered."""
    booted: datetime | None = None
    """When it booted, by the same clock."""
    machine: str = ""
    """Linux' boot_id: the same in all namespaces and containers of one machine, until it boots."""
    namespace: str = ""
    """The network namespace, as in net:[4026531840]."""
    namespaces_read: int | None = None
    """Network namespaces of the machine whose sockets were read, this one included."""
    namespaces_unread: int | None = None
    """Others that could not be read; None: whoever asked may not see whether there are any."""
    addresses: frozenset[str] = frozenset()
    """Of its interfaces, normalised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSettings:
    """Kernel parameters, as sysctl names them; values are the text as printed."""

    kind: ClassVar[str] = "kernel-settings"
    how: ClassVar[str] = "on that host: sysctl -a > sysctl.txt"

    origin: Origin
    values: Mapping[str, str]

    def number(self, name: str) -> int | None:
        """Return a parameter as a whole number, or None when it is not there or is no number."""
        text = self.values.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpCounters:
    """Counters of the TCP stack since boot, as nstat names them (TcpExtListenOverflows…)."""

    kind: ClassVar[str] = "tcp-counters"
    how: ClassVar[str] = "on that host: nstat -az > nstat.txt"

    origin: Origin
    values: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """The descriptor limit of one process, from /proc/PID/limits; None is unlimited."""

    kind: ClassVar[str] = "process-limits"
    how: ClassVar[str] = "on the server: cat /proc/PID/limits > proc-limits.txt"

    origin: Origin
    open_files_soft: int | None
    open_files_hard: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptorCount:
    """How many descriptors the directory's process has open, from /proc/PID/fd."""

    kind: ClassVar[str] = "descriptor-count"
    how: ClassVar[str] = "on the server: ls /proc/PID/fd | wc -l > proc-fd-count.txt"

    origin: Origin
    open: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureTimes:
    """When the evidence of one folder was taken, from a file that holds only times."""

    kind: ClassVar[str] = "capture-times"
    how: ClassVar[str] = "beside each table: date -u +%FT%TZ > captured-at.txt"

    origin: Origin
    span: Span
