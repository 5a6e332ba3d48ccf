"""Processes as the kernel prints them: /proc/PID/stat of one or more, with /proc/uptime or /proc/stat in the same file.

    12269.03 6003.09                               /proc/uptime: an age needs no other clock
    btime 1795327433                               /proc/stat: when the host booted, in seconds since 1970
    1171 (ns-slapd) S 1 1171 1171 0 -1 4194560 …   the 22nd field: its start, in ticks after the boot

Ticks are hundredths of a second (USER_HZ) on all systems that matter here. Without either of the first two lines only
numbers, names and states are read.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.host_formats.ps import program_name
from ldapdiag.evidence.processes import Process, ProcessTable
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

STAT = pattern(r"(\d{1,10}) \((.{0,64})\) ([A-Za-z])((?: -?\d{1,20}){19,60})", re.ASCII)
FLAGS, STARTED = 5, 18
"""Indexes among the numbers after the state."""
KERNEL_THREAD = 0x00200000
TICKS = 100
TICK = 2 / TICKS
BTIME = pattern(r"btime (\d{1,11})", re.ASCII)
UPTIME = pattern(r"(\d{1,10}\.\d{1,2}) \d{1,12}\.\d{1,2}", re.ASCII)
NOISE = pattern(r"(?:cpu\d*|intr|ctxt|softirq|page|swap|processes|procs_running|procs_blocked|disk_io:?) .*|\d{2,4}")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOST = 10_000


def recognises(head: Head) -> bool:
    """Recognise the file by a process."""
    return any(STAT.fullmatch(line) for line in head.lines)


def read(document: Document) -> Iterator[ProcessTable]:
    """Read each process except the kernel's threads; the times of the boot may come before or after them."""
    booted: float | None = None
    up: float | None = None
    found_processes: list[re.Match[str]] = []
    for line in document.lines:
        if found := STAT.fullmatch(line):
            if len(found_processes) < MOST:
                found_processes.append(found)
        elif found := BTIME.fullmatch(line):
            booted = float(found[1])
        elif found := UPTIME.fullmatch(line):
            up = float(found[1])
        elif line.strip() and not NOISE.fullmatch(line):
            document.misread(line)
    processes = [_process(found, booted, up) for found in found_processes]
    if kept := tuple(process for process in processes if process):
        yield ProcessTable(origin=document.origin(), processes=kept, rounding_seconds=TICK)


def _process(found: re.Match[str], booted: float | None, up: float | None) -> Process | None:
    numbers = [int(number) for number in found[4].split()]
    if numbers[FLAGS] & KERNEL_THREAD:
        return None
    seconds = numbers[STARTED] / TICKS
    return Process(
        pid=int(found[1]),
        program=program_name(found[2].replace(" ", "-")),
        state=found[3],
        started=None if booted is None else EPOCH + timedelta(seconds=min(booted + seconds, 1e11)),
        age_seconds=None if up is None or seconds > up else round(up - seconds, 2),
    )


FORMAT = Format(name="proc-stat", title="/proc/PID/stat", recognises=recognises, read=read)
