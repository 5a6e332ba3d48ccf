"""Writers: the servers that write into one syslog file, by the host and process in the prefix of each message.

    Nov 20 08:54:04 vm slapd[3989]: conn=1000 op=1 SRCH base=...         two servers that write into one file number
    Nov 20 08:54:04 vm slapd[4100]: conn=1000 op=1 SRCH base=...         their connections alike

A restarted server has another process ID, too; but the lines of the old and the new process do not alternate.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.pattern import pattern
from ldapdiag.evidence.log.syslog import ISO_SYSLOG, RFC5424, TRADITIONAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.evidence.log.dialect import Dialect

WRITERS_NAMED = 3
"""Servers that a note names."""

OPERATION = rb"(?=conn=\d{1,19}+\ (?:op|fd)=\d)"
"""The beginning of a message about a connection; other programs write into the file, too."""

LINES = {
    prefix.name: pattern(rb"^" + prefix.pattern + OPERATION, re.VERBOSE | re.MULTILINE)
    for prefix in (TRADITIONAL, ISO_SYSLOG, RFC5424)
}
"""By dialect; the host follows the group `zone`."""

BEFORE_MESSAGE = pattern(rb"\ (\S{1,255}+)\ (?:\w{1,20}+:\w{1,20}+\ )?+([^\s:\[]{1,128}+(?:\[[^\]\s]{0,32}+\])?+):")
BEFORE_RFC5424 = pattern(rb"\ (\S{1,255}+)\ (\S{1,48}+)\ (\S{1,128}+)\ ")

HARMLESS = pattern(r"[\w.\[\] :-]{1,200}+", re.ASCII)
"""Characters that are safe in a command that is shown for copying."""

Writer = tuple[bytes, bytes]
"""Host; program and process, as in b"slapd[3989]"."""


def concurrent_writers(dialect: Dialect, samples: Iterable[bytes]) -> tuple[Writer, ...]:
    """Return the servers whose lines alternate in the samples of a log; empty if there is only one at a time."""
    seen: dict[Writer, tuple[int, int]] = {}
    """Number of the first and the last line of each writer."""
    for now, writer in enumerate(_writers(dialect, samples)):
        first, _ = seen.get(writer, (now, now))
        seen[writer] = first, now
    concurrent: set[Writer] = set()
    longest, until = (b"", b""), -1
    for writer, (first, last) in seen.items():
        if first < until:
            concurrent |= {longest, writer}
        if last > until:
            longest, until = writer, last
    return tuple(sorted(concurrent))


def remark(name: str, writers: tuple[Writer, ...]) -> str:
    """Return the note on a log into which several servers write."""
    hosts = {host for host, _ in writers}
    processes = {process for _, process in writers}
    names = [_name(writer, hosts, processes) for writer in writers]
    whose = " and ".join(names) if len(names) <= WRITERS_NAMED else f"{', '.join(names[:WRITERS_NAMED])} and more"
    pattern = names[0].replace(".", r"\.").replace("[", r"\[").replace("]", r"\]")
    example = f", for example by grep '{pattern}'" if HARMLESS.fullmatch(names[0]) else ""
    return (
        f"{len(writers)} servers write into {name} ({whose}); split it{example}: "
        "until then the figures of connections are wrong"
    )


def _writers(dialect: Dialect, samples: Iterable[bytes]) -> Iterator[Writer]:
    line = LINES.get(dialect.name)
    if line is None:
        return
    for data in samples:
        for found in line.finditer(data):
            before = data[found.end("zone") : found.end()]
            if dialect.name == RFC5424.name:
                if named := BEFORE_RFC5424.match(before):
                    host, program, process = named.groups()
                    yield host, program + b" " + process
            elif named := BEFORE_MESSAGE.match(before):
                yield named[1], named[2]


def _name(writer: Writer, hosts: set[bytes], processes: set[bytes]) -> str:
    """Return the name that distinguishes a server from the others."""
    host, process = writer
    words = [host] if len(processes) == 1 else [process] if len(hosts) == 1 else [host, process]
    text = b" ".join(words).decode(errors="backslashreplace")
    return "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in text)
