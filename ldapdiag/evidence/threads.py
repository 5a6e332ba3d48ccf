"""ProcessThreads: what the threads of one process did at one moment, from /proc/PID/task."""

from __future__ import annotations

from typing import ClassVar

from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass

TICKS_PER_SECOND = 100
"""Of utime and stime in /proc/PID/stat: USER_HZ, the same on all machines that a directory server runs on."""

RUNNING = "running"
"""What Samples show of a thread that is in no system call."""

THREADS_COMMAND = (
    "(uname -m; grep '' /proc/uptime /proc/PID/stat /proc/PID/task/*/stat /proc/PID/task/*/wchan "
    "/proc/PID/task/*/syscall) > threads-1.txt"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """One thread: its state as in proc(5), the processor time it has used, and what it waits for."""

    number: int
    state: str
    """R running, S waiting, D waiting for a disk (uninterruptible), T stopped, t traced, Z ended."""
    ticks: int
    """Processor time, user and system, in TICKS_PER_SECOND."""
    waits_in: str = ""
    """The kernel function it waits in (wchan); empty: unknown, or it does not wait."""
    call: str = ""
    """The name of its system call; empty: none, unknown, or of an unknown kind of machine."""
    lock: str = ""
    """The address of the lock it waits for; empty: it waits for none, or for a signal of another thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """What the threads of a process were in, in looks some milliseconds apart."""

    looks: int
    seen: tuple[tuple[str, int], ...]
    """(System call, the looks in which at least one thread was in it); "running" is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessThreads:
    """The threads of one process, and the time of the reading."""

    kind: ClassVar[str] = "process-threads"
    how: ClassVar[str] = f"on the server as root, twice, 5 s apart, with the server's process as PID: {THREADS_COMMAND}"

    origin: Origin
    pid: int
    program: str
    state: str
    ticks: int
    """Processor time of all its threads, ended ones included."""
    uptime_seconds: float | None
    """Since boot, when it was read; None: not in the file."""
    threads: tuple[Thread, ...]
    """Those listed: a process may have more."""
    samples: Samples | None = None
    """None: the reading is a single look, or its system calls cannot be named."""
