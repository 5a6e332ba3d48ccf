"""Writers: the servers that write into one syslog file, by the host and process in the prefix of each message.

    Nov 20 08:54:04 vm slapd[3989]: conn=1000 op=1 SRCH base=...         two servers that write into one file number
    Nov 20 08:54:04 vm slapd[4100]: conn=1000 op=1 SRCH base=...         their connections alike

A restarted server has another process ID, too; but the lines of the old and the new process do not alternate.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.line_envelopes import TOOL, writer_of
from ldapdiag.evidence.log.syslog import ISO_SYSLOG, RFC5424, TRADITIONAL
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.envelope import Envelope, Writer

WRITERS_NAMED = 3
"""Servers that a note names."""

OPERATION = rb"(?=conn=\d{1,19}+\ (?:op|fd)=\d)"
"""The beginning of a message about a connection; other programs write into the file, too."""

LINES = {
    prefix.name: (prefix, pattern(rb"^" + prefix.pattern + OPERATION, re.VERBOSE | re.MULTILINE))
    for prefix in (TRADITIONAL, ISO_SYSLOG, RFC5424)
}
"""By dialect; the host follows the group `zone`."""

HARMLESS = pattern(r"[\w.\[\] :-]{1,200}+", re.ASCII)
"""Characters that are safe in a command that is shown for copying."""


def concurrent_writers(
    dialect: Dialect, samples: Iterable[bytes], envelopes: Sequence[Envelope] = ()
) -> tuple[Writer, ...]:
    """Return the servers whose lines alternate in the samples of a log; empty if there is only one at a time.

    The lines are in these envelopes, which also name their writers.
    """
    seen: dict[Writer, tuple[int, int]] = {}
    """Number of the first and the last line of each writer."""
    for now, writer in enumerate(_writers(dialect, samples, envelopes)):
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


def _writers(dialect: Dialect, samples: Iterable[bytes], envelopes: Sequence[Envelope]) -> Iterator[Writer]:
    line = LINES.get(dialect.name)
    for data in samples:
        if envelopes:
            yield from _within(dialect, data, envelopes)
        elif line is not None:
            for found in line[1].finditer(data):
                if writer := writer_of(line[0], data[found.end("zone") : found.end()]):
                    yield writer
        elif not TOOL.carries(data):
            return  # its lines name no writer, and the other samples need not be read
        else:
            pieces = map(TOOL.piece, data.split(b"\n"))
            yield from (piece.writer for piece in pieces if piece and piece.writer and b" conn=" in piece.text)


def _within(dialect: Dialect, data: bytes, envelopes: Sequence[Envelope]) -> Iterator[Writer]:
    """Yield the writer of each line of the dialect, as the innermost envelope that has one names it."""
    for line in data.split(b"\n"):
        text, writer = line, None
        for envelope in envelopes:
            if (piece := envelope.piece(text)) is None:
                break
            text, writer = piece.text, piece.writer or writer
        if writer and dialect.recognised(text):
            yield writer


def _name(writer: Writer, hosts: set[bytes], processes: set[bytes]) -> str:
    """Return the name that distinguishes a server from the others."""
    host, process = writer
    words = [host] if len(processes) == 1 else [process] if len(hosts) == 1 else [host, process]
    text = b" ".join(words).decode(errors="backslashreplace")
    return "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in text)
