"""Facts of a host's processes: when each started, where it listens; and when the host itself booted."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from ldapdiag.evidence.origin import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process. Empty or None: not in the list."""

    pid: int
    program: str
    """Its name, as one word of letters, digits, '.', '_' and '-'."""
    state: str = ""
    """The first letter of its state in ps(1): R, S, D, T, Z …"""
    started: datetime | None = None
    """By the host's clock; a list without a time zone is read as UTC (`ProcessTable.zoned`)."""
    age_seconds: float | None = None
    """Its age when it was listed, which depends on no time zone and no other clock."""
    namespace: str = ""
    """Its network namespace, as in net:[4026531840]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessListener:
    """A TCP port on which a process listens."""

    pid: int
    address: str
    """Normalised; `*` for all."""
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTable:
    """Processes of one host or network namespace: those of interest, not all."""

    kind: ClassVar[str] = "process-table"
    how: ClassVar[str] = "on that host, as root: TZ=UTC ps -eo pid,netns,lstart,stat,comm > processes.txt"

    origin: Origin
    processes: tuple[Process, ...]
    listeners: tuple[ProcessListener, ...] = ()
    configurations: tuple[tuple[int, str], ...] = ()
    """Process and path of its configuration."""
    zoned: bool = True
    """False: start times were printed without a time zone."""
    rounding_seconds: float = 1.0
    """Times and ages are exact to so much."""

    def process(self, pid: int) -> Process | None:
        """Return a process by its number."""
        return next((process for process in self.processes if process.pid == pid), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BootTime:
    """When a host booted, from uptime, who -b, /proc/uptime or btime. One of the two is known."""

    kind: ClassVar[str] = "boot-time"
    how: ClassVar[str] = "on that host: cat /proc/uptime > uptime.txt, or TZ=UTC uptime -s > uptime.txt"

    origin: Origin
    booted: datetime | None = None
    """By the host's clock; without a time zone it is read as UTC."""
    zoned: bool = True
    """False: it was printed without a time zone."""
    up_seconds: float | None = None
    """Time since the boot, when it was printed."""
    rounding_seconds: float = 1.0
    """Both are rounded down by at most so much."""
