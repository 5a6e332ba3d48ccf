"""The processes of a host, written by ldapdiag's collection script (sources/live/ssh/collect/processes.sh).

    ldapdiag-processes 1
    clock: 1795339761.17
    process: 1171 ns-slapd S 1795327433.24 net:[4026532177]     PID PROGRAM STATE STARTED NAMESPACE; '-': unknown
    listener: 1171 0.0.0.0 389
    configuration: 1171 /etc/dirsrv/slapd-ldap/dse.ldif

Times are seconds since 1970 by the host's clock. Unknown keys are ignored.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import normalise_address
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.processes import Process, ProcessListener, ProcessTable
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

FIRST = "ldapdiag-processes 1"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIME = r"(\d{1,11}(?:\.\d{1,9})?)"
CLOCK = pattern(rf"clock: {TIME}", re.ASCII)
PROCESS = pattern(
    rf"process: (\d{{1,10}}) ([A-Za-z0-9._-]{{1,64}}) ([A-Za-z-])\S{{0,9}} (?:{TIME}|-) (net:\[\d{{1,20}}\]|-)",
    re.ASCII,
)
LISTENER = pattern(r"listener: (\d{1,10}) ([0-9A-Fa-f:.*%a-z]{1,60}) (\d{1,5})", re.ASCII)
CONFIGURATION = pattern(r"configuration: (\d{1,10}) (/[ -~]{0,1000})", re.ASCII)
OTHER = pattern(r"[a-z][a-z-]{0,30}:(?: .{0,1000})?", re.ASCII)
KNOWN = ("clock: ", "process: ", "listener: ", "configuration: ")
TICK = 0.02
"""Seconds: the start and the clock are each in hundredths."""
MOST = 10_000
"""Lines of each kind that are kept."""


def recognises(head: Head) -> bool:
    """Recognise the list by its first line."""
    return head.lines[:1] == (FIRST,)


def read(document: Document) -> Iterator[ProcessTable]:
    """Read processes, listeners and configurations; the clock comes before the processes."""
    clock: float | None = None
    processes: list[Process] = []
    listeners: list[ProcessListener] = []
    configurations: list[tuple[int, str]] = []
    for line in document.lines:
        if (found := PROCESS.fullmatch(line)) and len(processes) < MOST:
            processes.append(_process(found, clock))
        elif (found := LISTENER.fullmatch(line)) and len(listeners) < MOST and int(found[3]) < 65536:
            address = normalise_address(found[2])
            listeners.append(ProcessListener(pid=int(found[1]), address=address, port=int(found[3])))
        elif (found := CONFIGURATION.fullmatch(line)) and len(configurations) < MOST:
            configurations.append((int(found[1]), found[2]))
        elif found := CLOCK.fullmatch(line):
            clock = float(found[1])
        elif line and line != FIRST and (line.startswith(KNOWN) or not OTHER.fullmatch(line)):
            document.misread(line)
    if processes or listeners or configurations:
        yield ProcessTable(
            origin=document.origin(),
            processes=tuple(processes),
            listeners=tuple(listeners),
            configurations=tuple(configurations),
            rounding_seconds=TICK,
        )


def _process(found: re.Match[str], clock: float | None) -> Process:
    started = float(found[4]) if found[4] else None
    age = None if started is None or clock is None or started > clock else round(clock - started, 3)
    return Process(
        pid=int(found[1]),
        program=found[2],
        state=found[3].strip("-"),
        started=None if started is None else EPOCH + timedelta(seconds=started),
        age_seconds=age,
        namespace=found[5].strip("-"),
    )


FORMAT = Format(name="processes", title="the processes of a host", recognises=recognises, read=read)
