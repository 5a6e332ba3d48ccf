"""ThreadActivity: what keeps the threads of a process from work: stopped, running, waiting for a lock or a disk.

Threads that wait for work and threads that wait for a lock look alike in ps; here the system call of each separates
them (evidence/host_formats/proc_threads.py). What a thread does is a reason only for a server that is seen not to
answer: an idle one has only waiting threads, a busy one has running ones.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ldapdiag.evidence.threads import TICKS_PER_SECOND, ProcessThreads, Thread
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

STOPPED = frozenset("Tt")
BY_SIGNAL = "T"
"""Stopped until SIGCONT; "t" is a debugger's, which may only print a stack."""
DISK, RUNNING = "D", "R"
BUSY = 0.25
"""Share of a processor that a busy process uses; a looping thread uses all that other programs leave."""
OTHERS = 4
"""A thread that used less than a fourth of the average beside busy ones listens, or keeps a clock."""
FROZEN = frozenset({"do_freezer_trap", "get_signal", "__refrigerator"})
"""Functions of the kernel in which threads of a frozen control group wait (docker pause); measured on Linux 6.18."""
FUTEX = "futex"
TRANSFERS = frozenset(
    {
        "read",
        "write",
        "writev",
        "connect",
        "sendto",
        "recvfrom",
        "sendmsg",
        "recvmsg",
        "ioctl",
        "fsync",
        "fdatasync",
        "msync",
        "pwrite64",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadActivity:
    """The threads of one server process in the latest reading, compared with the one before."""

    pid: int
    program: str
    threads: int
    readings: int
    seconds: float | None
    """Between the two readings; None: there is one, or their times are unknown."""
    stopped: bool
    running: int
    """Threads that used the processor, where the process used BUSY of one; in a single reading those that run."""
    processor_seconds: float | None
    """Processor time of the whole process between the readings."""
    on_disk: int
    """Threads in uninterruptible sleep that have not run since."""
    locked: int
    """Threads that wait for a lock, the same one as in the reading before."""
    locks: int
    """The locks they wait for."""
    transferring: int
    """Threads that wait in a read or write of a file, a pipe or a connection, as before."""
    waits: tuple[tuple[str, int], ...]
    """What all threads wait in, the commonest first: a system call, else a function of the kernel."""
    reads_waits: bool
    """Whether it is known what the threads wait in; only root may read it."""
    origins: tuple[str, ...]


def thread_activity(readings: Iterable[ProcessThreads]) -> ThreadActivity | None:
    """Return the activity of one process from its last two readings; None without any."""
    ordered = sorted(readings, key=_order)
    if not ordered:
        return None
    latest, before = ordered[-1], ordered[-2] if len(ordered) > 1 else None
    earlier = {thread.number: thread for thread in before.threads} if before else {}
    seconds = _seconds(before, latest)
    same = [thread for thread in latest.threads if before is None or _unmoved(earlier.get(thread.number), thread)]
    locks = Counter(lock for thread in same if (lock := _lock(thread, same)))
    return ThreadActivity(
        pid=latest.pid,
        program=latest.program,
        threads=len(latest.threads),
        readings=len(ordered),
        seconds=seconds,
        stopped=_is_stopped(latest) and (latest.state == BY_SIGNAL or before is None or _is_stopped(before)),
        running=_running(latest, before, earlier, seconds),
        processor_seconds=(latest.ticks - before.ticks) / TICKS_PER_SECOND if before and seconds else None,
        on_disk=sum(thread.state == DISK for thread in same),
        locked=locks.total(),
        locks=len(locks),
        transferring=sum(thread.call in TRANSFERS for thread in same),
        waits=_waits(latest.threads),
        reads_waits=any(thread.call or thread.waits_in for thread in latest.threads),
        origins=tuple(sorted({one.origin.path for one in ordered[-2:]})),
    )


def _is_stopped(reading: ProcessThreads) -> bool:
    """Return whether no thread may run: by a signal, a debugger, or its control group.

    A frozen group of version 1 shows all threads in D, also those that wait for a condition, which is never so else.
    """
    if reading.state in STOPPED or not reading.threads:
        return reading.state in STOPPED
    by_group = all(thread.state == DISK for thread in reading.threads) and any(
        thread.call == FUTEX for thread in reading.threads
    )
    return by_group or all(thread.waits_in in FROZEN for thread in reading.threads)


def _lock(thread: Thread, same: Sequence[Thread]) -> str:
    """Return the lock that a thread waits for.

    Where even the thread that waits for connections waits for a futex, that is one, whatever its kind.
    """
    everywhere = all(one.call == FUTEX for one in same)
    return thread.lock or (FUTEX if everywhere else "")


def _order(reading: ProcessThreads) -> tuple[float, float, str]:
    taken = reading.origin.taken
    return reading.uptime_seconds or 0.0, taken.start.timestamp() if taken else 0.0, reading.origin.path


def _seconds(before: ProcessThreads | None, latest: ProcessThreads) -> float | None:
    if before is None or before.uptime_seconds is None or latest.uptime_seconds is None:
        return None
    return latest.uptime_seconds - before.uptime_seconds or None


def _unmoved(before: Thread | None, after: Thread) -> bool:
    """Return whether a thread has not run between two readings, and waits in the same way."""
    if before is None:
        return False
    waited = (before.state, before.ticks, before.call, before.lock)
    return waited == (after.state, after.ticks, after.call, after.lock)


def _running(
    latest: ProcessThreads, before: ProcessThreads | None, earlier: Mapping[int, Thread], seconds: float | None
) -> int:
    """Return how many threads run; a process that uses little of a processor has only clocks and listeners."""
    if before is None or seconds is None:
        return sum(thread.state == RUNNING for thread in latest.threads)
    used = [thread.ticks - earlier[thread.number].ticks for thread in latest.threads if thread.number in earlier]
    total, moved = latest.ticks - before.ticks, sum(ticks > 0 for ticks in used)
    if total < BUSY * seconds * TICKS_PER_SECOND:
        return 0
    return sum(ticks * OTHERS * moved >= total for ticks in used if ticks > 0)


def _waits(threads: Sequence[Thread]) -> tuple[tuple[str, int], ...]:
    named = Counter(name for thread in threads if (name := thread.call or thread.waits_in))
    return tuple(sorted(named.items(), key=lambda one: (-one[1], one[0])))
