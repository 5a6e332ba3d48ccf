"""What the threads of a process do: their stat, wchan and syscall in /proc/PID/task, as grep prints them.

    x86_64                                                              (uname -m: the numbers of system calls differ)
    /proc/uptime:86403.18 6114.98
    /proc/29/stat:29 (slapd) S 0 0 0 0 -1 4194560 4345 0 0 0 0 2 …      (state; utime and stime are fields 14 and 15)
    /proc/29/task/36/stat:36 (slapd) S 0 0 0 0 -1 4194624 33 0 0 0 0 0 …
    /proc/29/task/36/wchan:futex_do_wait                                (0: it does not wait, or it is not shown)
    /proc/29/task/36/syscall:202 0x7f5cf7561040 0x0 0x80000022 …        (running; or the number and its arguments)
    /proc/29/samples:40 202=40 232=40 75=36 running=2    (of 40 looks, in how many a thread was in each system call)

A futex with FUTEX_WAIT is a lock (pthread_mutex_lock); a condition, a semaphore and a read-write lock use
FUTEX_WAIT_BITSET. So a thread that waits for work and one that waits for a lock differ (measured: slapd 2.5.13, glibc
2.36, Linux 6.18). A thread that waits in fcntl or flock waits for the lock of a file.
Source: proc(5), futex(2).
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.threads import RUNNING, ProcessThreads, Samples, Thread
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

LINE = pattern(r"/proc/(\d{1,10})/(?:task/(\d{1,10})/)?(stat|wchan|syscall|samples):(.*)", re.ASCII)
UPTIME = pattern(r"/proc/uptime:(\d{1,12}\.\d{1,6}) .*", re.ASCII)
MACHINE = pattern(r"(?:x86_64|aarch64|riscv64|ppc64|ppc64le|s390x|i[3-6]86|armv\w{1,10})", re.ASCII)
STAT = pattern(r"\d{1,10} \((.{0,64})\) ([A-Za-z])(?: -?\d{1,20}){10} (\d{1,20}) (\d{1,20})(?: .*)?", re.ASCII)
WCHAN = pattern(r"[A-Za-z_][A-Za-z0-9_.]{0,80}", re.ASCII)
SYSCALL = pattern(r"(\d{1,5})((?: 0x[0-9a-f]{1,16}){0,9})", re.ASCII)
SAMPLES = pattern(r"(\d{1,6})((?: (?:-1|\d{1,5}|running)=\d{1,6}){1,64})", re.ASCII)
PROGRAM = pattern(r"[^A-Za-z0-9._-]")
MOST_THREADS = 4096
"""Of a file; a directory server has tens, in Java a few hundred."""

CALLS = {
    "x86_64": {
        0: "read", 1: "write", 7: "poll", 16: "ioctl", 18: "pwrite64", 20: "writev", 23: "select", 26: "msync",
        42: "connect", 43: "accept", 44: "sendto", 45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 61: "wait4",
        72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync", 202: "futex", 230: "clock_nanosleep",
        232: "epoll_wait", 270: "pselect6", 271: "ppoll", 281: "epoll_pwait", 288: "accept4",
    },
    "aarch64": {
        22: "epoll_pwait", 25: "fcntl", 29: "ioctl", 32: "flock", 63: "read", 64: "write", 66: "writev", 68: "pwrite64",
        72: "pselect6", 73: "ppoll", 82: "fsync", 83: "fdatasync", 98: "futex", 115: "clock_nanosleep",
        202: "accept", 203: "connect", 206: "sendto", 207: "recvfrom", 211: "sendmsg", 212: "recvmsg",
        227: "msync", 242: "accept4", 260: "wait4",
    },
}  # fmt: skip
"""System calls that wait, by machine and number (asm/unistd_64.h, asm-generic/unistd.h)."""
FUTEX_COMMAND, FUTEX_WAIT = 0x7F, 0
FILE_LOCKS = frozenset({"fcntl", "flock"})


@dataclass(slots=True)
class Lines:
    """The lines of one process or thread while a file is read."""

    stat: re.Match[str] | None = None
    wchan: str = ""
    syscall: re.Match[str] | None = None
    samples: re.Match[str] | None = None


@dataclass(slots=True)
class File:
    """What a file contains, by process and thread; thread 0 is the process itself."""

    machine: str = ""
    uptime: float | None = None
    lines: dict[int, dict[int, Lines]] = field(default_factory=dict)
    count: int = 0


def recognises(head: Head) -> bool:
    """Recognise the file by the state of a thread, or of a process with its name in front."""
    return any((found := LINE.fullmatch(line)) and found[3] == "stat" for line in head.lines)


def read(document: Document) -> Iterator[ProcessThreads]:
    """Read every process in the file."""
    file = File()
    for line in document.lines:
        if not _take(line, file) and line.strip():
            document.misread(line)
    for pid, lines in file.lines.items():
        whole = lines.get(0, Lines()).stat or lines.get(pid, Lines()).stat
        if whole is not None:
            yield ProcessThreads(
                origin=document.origin(),
                pid=pid,
                program=PROGRAM.sub("-", whole[1]),
                state=whole[2],
                ticks=int(whole[3]) + int(whole[4]),
                uptime_seconds=file.uptime,
                threads=tuple(_threads(lines, file.machine)),
                samples=_samples(lines.get(0, Lines()).samples, file.machine),
            )


def _take(line: str, file: File) -> bool:
    """Add a line to what the file contains; return whether it was understood."""
    if found := UPTIME.fullmatch(line):
        file.uptime = float(found[1])
    elif MACHINE.fullmatch(line):
        file.machine = line
    elif (found := LINE.fullmatch(line)) and (lines := _lines_of(found, file)) is not None:
        return _keep(found[3], found[4], lines)
    else:
        return found is not None
    return True


def _lines_of(found: re.Match[str], file: File) -> Lines | None:
    """Return where the lines of a thread are kept; None for one beyond the limit."""
    threads = file.lines.setdefault(int(found[1]), {}) if file.count < MOST_THREADS else file.lines.get(int(found[1]))
    number = int(found[2] or 0)
    if threads is not None and number not in threads and file.count < MOST_THREADS:
        file.count += 1
        threads[number] = Lines()
    return threads.get(number) if threads is not None else None


def _keep(name: str, text: str, lines: Lines) -> bool:
    if name == "stat":
        lines.stat = STAT.fullmatch(text) or lines.stat
        return lines.stat is not None
    if name == "wchan":
        lines.wchan = text if WCHAN.fullmatch(text) else ""
        return bool(lines.wchan) or text in {"0", ""}
    if name == "samples":
        lines.samples = SAMPLES.fullmatch(text)
        return lines.samples is not None
    lines.syscall = SYSCALL.fullmatch(text)
    return lines.syscall is not None or text.startswith(("running", "-1 "))


def _threads(lines: dict[int, Lines], machine: str) -> Iterator[Thread]:
    for number, one in sorted(lines.items()):
        if number and one.stat is not None:
            call, lock = _call(one.syscall, machine)
            ticks = int(one.stat[3]) + int(one.stat[4])
            yield Thread(number=number, state=one.stat[2], ticks=ticks, waits_in=one.wchan, call=call, lock=lock)


def _samples(samples: re.Match[str] | None, machine: str) -> Samples | None:
    """Return how often threads were seen in each system call; None: not looked, or of an unknown kind of machine."""
    if samples is None or machine not in CALLS:
        return None
    names = CALLS[machine] | {RUNNING: RUNNING}
    counts = [(number, int(count)) for number, _, count in (one.partition("=") for one in samples[2].split())]
    looks = int(samples[1])
    seen = {names.get(int(number) if number.isdigit() else number, ""): min(count, looks) for number, count in counts}
    return Samples(looks=looks, seen=tuple(sorted((name, count) for name, count in seen.items() if name)))


def _call(syscall: re.Match[str] | None, machine: str) -> tuple[str, str]:
    """Return the name of a system call, and the address of the lock it waits for."""
    if syscall is None:
        return "", ""
    name, arguments = CALLS.get(machine, {}).get(int(syscall[1]), ""), syscall[2].split()
    if name in FILE_LOCKS:
        return name, f"{name} {arguments[0]}" if arguments else name
    waits = name == "futex" and len(arguments) > 1 and int(arguments[1], 16) & FUTEX_COMMAND == FUTEX_WAIT
    return name, arguments[0] if waits else ""


FORMAT = Format(name="proc-threads", title="the threads of a process", recognises=recognises, read=read)
