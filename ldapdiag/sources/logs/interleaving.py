"""Writers: the servers whose lines a syslog contains, by the host and process before each message.

    Nov 20 08:54:04 vm slapd[3989]: conn=1000 op=1 SRCH base=...         two servers that write into one file number
    Nov 20 08:54:04 vm slapd[4100]: conn=1000 op=1 SRCH base=...         their connections alike

A server that was started again has another process, too; but the one before it writes no more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.pattern import pattern
from ldapdiag.evidence.log.syslog import ISO_SYSLOG, RFC5424, TRADITIONAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.evidence.log.dialect import Dialect

MOST_TOLD = 3
"""Servers named in a remark."""

OPERATION = rb"(?=conn=\d{1,19}+\ (?:op|fd)=\d)"
"""How a message begins that is of a connection: other programs write into the file, too."""

LINES = {
    prefix.name: pattern(rb"^" + prefix.pattern + OPERATION, re.VERBOSE | re.MULTILINE)
    for prefix in (TRADITIONAL, ISO_SYSLOG, RFC5424)
}
"""The group `zone` ends where the host begins."""

BEFORE_MESSAGE = pattern(rb"\ (\S{1,255}+)\ (?:\w{1,20}+:\w{1,20}+\ )?+([^\s:\[]{1,128}+(?:\[[^\]\s]{0,32}+\])?+):")
BEFORE_RFC5424 = pattern(rb"\ (\S{1,255}+)\ (\S{1,48}+)\ (\S{1,128}+)\ ")

HARMLESS = pattern(r"[\w.\[\] :-]{1,200}+", re.ASCII)
"""What may stand in a command that is shown to be copied."""

Writer = tuple[bytes, bytes]
"""Host; program and process, as in b"slapd[3989]"."""


def writers_beside_each_other(dialect: Dialect, samples: Iterable[bytes]) -> tuple[Writer, ...]:
    """Return the servers that write into a log side by side, by samples of it in their order; none if only one does."""
    seen: dict[Writer, tuple[int, int]] = {}
    """In which samples each was first and last seen."""
    for now, writer in enumerate(_writers(dialect, samples)):
        first, _ = seen.get(writer, (now, now))
        seen[writer] = first, now
    beside: set[Writer] = set()
    longest, until = (b"", b""), -1
    for writer, (first, last) in seen.items():
        if first < until:
            beside |= {longest, writer}
        if last > until:
            longest, until = writer, last
    return tuple(sorted(beside))


def remark(name: str, writers: tuple[Writer, ...]) -> str:
    """Return the note on a log into which several servers write."""
    hosts = {host for host, _ in writers}
    processes = {process for _, process in writers}
    names = [_name(writer, hosts, processes) for writer in writers]
    whose = " and ".join(names) if len(names) <= MOST_TOLD else f"{', '.join(names[:MOST_TOLD])} and more"
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
