"""Processes as ps(1) lists them, with their start (lstart) or their age (etime, etimes); with or without other columns.

        PID                  STARTED STAT COMMAND
          1 Sat Nov 20 06:03:53 2026 Ss   systemd
       1171 Sat Nov 20 08:00:02 2026 Ssl  ns-slapd

    PID     ELAPSED COMMAND
      1  3-02:24:11 init

    PID      NETNS                  STARTED STAT COMMAND
      2 4026531833 Mon Nov 23 17:44:50 2026 S    kthreadd

lstart is in the host's time zone, which is not printed. ps lists itself, so the youngest ps shows when the list was
taken in the same zone, and an age needs no zone. Of a command line only the program's name is kept.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.processes import Process, ProcessTable
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

COMMANDS = frozenset({"COMMAND", "CMD", "COMM", "UCMD", "UCOMM", "ARGS"})
STARTED, ELAPSED, NAMESPACE = "STARTED", "ELAPSED", "NETNS"
STATES = ("STAT", "S", "STATE")
OTHERS = pattern(r"[A-Z%][A-Z0-9%_/-]{0,14}", re.ASCII)
NOT_PS = frozenset({"FD", "NODE", "DEVICE", "PROTO"})
"""Columns of lsof and netstat, which also have a PID."""
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
LSTART = pattern(
    r"[A-Z][a-z]{2} (?:(?P<month>[A-Z][a-z]{2}) +(?P<day>\d\d?)|(?P<day2>\d\d?) (?P<month2>[A-Z][a-z]{2}))"
    r" (?P<time>\d\d:\d\d:\d\d) (?P<year>\d{4})",
    re.ASCII,
)
ETIME = pattern(r"(?:(?:(\d{1,6})-)?(\d{1,2}):)?(\d{1,2}):(\d\d)", re.ASCII)
NUMBER = pattern(r"[0-9]{1,10}", re.ASCII)
UNSAFE = pattern(r"[^A-Za-z0-9._-]", re.ASCII)
PLACEHOLDER = "lstart"
LISTER = "ps"
MOST = 10_000
"""Of a longer list the last one that is kept has no namespace: the others' are not known."""
UNREAD = "(a row that is not shown, because it may be part of a command line)"
NOISE = ("+ ", "$ ", "# ")


def recognises(head: Head) -> bool:
    """Recognise the list by its header."""
    return any(_is_header(line) for line in head.lines[:5])


def _is_header(line: str) -> bool:
    words = line.split()
    is_header = "PID" in words and bool(words) and words[-1] in COMMANDS and not NOT_PS.intersection(words)
    return is_header and all(OTHERS.fullmatch(word) for word in words)


def read(document: Document) -> Iterator[ProcessTable]:
    """Read each process; its columns are those of the last header."""
    header: list[str] = []
    processes: list[Process] = []
    for line in document.lines:
        if _is_header(line):
            header = line.split()
        elif process := _process(line, header):
            processes.append(process if len(processes) < MOST else replace(processes.pop(), namespace=""))
        elif line.strip() and not line.startswith(NOISE):
            document.misread(UNREAD)
    if processes:
        aged = _aged(processes)
        yield ProcessTable(origin=document.origin(), processes=aged, zoned=not any(one.started for one in aged))


def _process(line: str, header: list[str]) -> Process | None:
    """Return the process in a row; None if it does not fit the header."""
    start = LSTART.search(line) if STARTED in header else None
    if start:
        line = f"{line[: start.start()]}{PLACEHOLDER}{line[start.end() :]}"
    words = line.split(None, len(header) - 1)
    if not header or len(words) < len(header):
        return None
    row = dict(zip(header, words, strict=False))
    if not (row["PID"].isascii() and row["PID"].isdigit() and len(row["PID"]) <= 10):
        return None
    state = next((row[name][:1] for name in STATES if name in row), "")
    namespace = row.get(NAMESPACE, "")
    return Process(
        pid=int(row["PID"]),
        program=program_name(words[-1]),
        state=state if state.isalpha() else "",
        started=_moment(start) if start and row[STARTED] == PLACEHOLDER else None,
        age_seconds=_elapsed(row.get(ELAPSED, "")),
        namespace=f"net:[{namespace}]" if NUMBER.fullmatch(namespace) else "",
    )


def program_name(command: str) -> str:
    """Return the program in a command or a command line, as one plain word."""
    first = command.split(None, 1)[0] if command.strip() else ""
    return UNSAFE.sub("-", first if first.startswith("[") else first.rpartition("/")[2])[:64] or "-"


def _moment(found: re.Match[str]) -> datetime | None:
    month, day = found["month"] or found["month2"], found["day"] or found["day2"]
    if month not in MONTHS:
        return None
    try:
        date = f"{found['year']}-{MONTHS.index(month) + 1:02}-{int(day):02}"
        return datetime.fromisoformat(f"{date}T{found['time']}").replace(tzinfo=UTC)
    except ValueError:
        return None


def _elapsed(text: str) -> float | None:
    """Return [[days-]hours:]minutes:seconds, or seconds, in seconds."""
    if text.isascii() and text.isdigit() and len(text) <= 10:
        return float(text)
    found = ETIME.fullmatch(text)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _aged(processes: list[Process]) -> tuple[Process, ...]:
    """Return the processes with their ages, where the list contains the ps that printed it."""
    times = [process.started for process in processes if process.program == LISTER and process.started]
    if not times:
        return tuple(processes)
    listed = max(times)
    return tuple(
        replace(process, age_seconds=(listed - process.started).total_seconds())
        if process.started and process.started <= listed and process.age_seconds is None
        else process
        for process in processes
    )


FORMAT = Format(name="ps", title="a process list of ps", recognises=recognises, read=read)
