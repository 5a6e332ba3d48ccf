"""Writers: the servers that write into one file, by the host and process, pod or container that tags each line.

    Nov 20 08:54:04 vm slapd[3989]: conn=1000 op=1 SRCH base=...         two servers that write into one file number
    Nov 20 08:54:04 vm slapd[4100]: conn=1000 op=1 SRCH base=...         their connections alike

A restarted server has another process ID, too; but the lines of the old and the new process do not alternate. Hosts
are separate servers also where their lines follow each other and their times overlap: `kubectl logs --prefix` prints
one pod after the other.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.envelope import decoded
from ldapdiag.evidence.log.line_envelopes import TAGGED, writer_of
from ldapdiag.evidence.log.syslog import ISO_SYSLOG, RFC5424, TRADITIONAL
from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.logs.samples import DISORDER, sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.envelope import Envelope, Writer
    from ldapdiag.evidence.log.line_scan import Hints

    ServerLine = tuple[tuple[Writer | None, ...], bytes, int]
    """Its writer in each envelope, from the outermost; data, and where in them the line begins as it is read."""

WRITERS_NAMED = 3
"""Servers that a note names."""

OPERATION = rb"(?=conn=\d{1,19}+\ (?:op|fd)=\d)"
"""The beginning of a message about a connection; other programs write into the file, too."""

LINES = {
    prefix.name: (prefix, pattern(rb"^" + prefix.pattern + OPERATION, re.VERBOSE | re.MULTILINE))
    for prefix in (TRADITIONAL, ISO_SYSLOG, RFC5424)
}
"""By dialect; the host follows the group `zone`."""

HARMLESS = pattern(r"\w[\w.\[\] :-]{0,199}+", re.ASCII)
"""Names that are safe in a command that is shown for copying: no quotation mark, and no option."""


class Concurrent(NamedTuple):
    """The writers whose lines alternate in a log."""

    writers: tuple[Writer, ...] = ()
    """Empty: there is only one at a time."""
    level: int = 0
    """Which of the envelopes of the log, from the outermost, names them, or those that were seen."""
    seen: frozenset[Writer] = frozenset()
    """All writers in the samples, one at a time or not."""


def envelopes_with(dialect: Dialect, envelopes: Sequence[Envelope]) -> tuple[Envelope, ...]:
    """Return the envelopes of a log, and as the innermost one the prefix that its dialect reads, if that has a tag."""
    own = TAGGED.get(dialect.name)
    return (*envelopes, own) if own else tuple(envelopes)


def concurrent_writers(
    dialect: Dialect, samples: Iterable[bytes], envelopes: Sequence[Envelope] = (), hints: Hints | None = None
) -> Concurrent:
    """Return the servers whose lines alternate in the samples of a log, as the innermost envelope that can names them.

    The lines are in these envelopes; the times of hosts are compared by the hints.
    """
    lines = list(_server_lines(dialect, samples, envelopes))
    seen = Concurrent()
    for level in reversed(range(len(envelopes_with(dialect, envelopes)))):
        turns = [writer for writers, _, _ in lines if (writer := writers[level])]
        concurrent = _crossing(turns)
        if not concurrent and hints and len({host for host, _ in turns}) > 1:
            concurrent = set(turns) if dialect.is_export else _at_one_time(dialect, lines, level, hints)
        if concurrent:
            return Concurrent(tuple(sorted(concurrent)), level)
        if not seen.seen:
            seen = Concurrent(level=level, seen=frozenset(turns))
    return seen


def _crossing(turns: Iterable[Writer]) -> set[Writer]:
    """Return the writers between whose first and last line others have written, and those others."""
    seen: dict[Writer, tuple[int, int]] = {}
    """Number of the first and the last line of each writer."""
    for now, writer in enumerate(turns):
        first, _ = seen.get(writer, (now, now))
        seen[writer] = first, now
    concurrent: set[Writer] = set()
    longest, until = (b"", b""), -1
    for writer, (first, last) in seen.items():
        if first < until:
            concurrent |= {longest, writer}
        if last > until:
            longest, until = writer, last
    return concurrent


def _at_one_time(dialect: Dialect, found_lines: Iterable[ServerLine], level: int, hints: Hints) -> set[Writer]:
    """Return the writers on hosts whose times overlap, though not their lines."""
    lines: dict[bytes, list[bytes]] = defaultdict(list)
    writers: dict[bytes, set[Writer]] = defaultdict(set)
    for tags, data, begin in found_lines:
        if writer := tags[level]:
            end = data.find(b"\n", begin)
            lines[writer[0]].append(data[begin : len(data) if end < 0 else end])
            writers[writer[0]].add(writer)
    sampled = {host: sample(dialect, b"\n".join(own) + b"\n", hints, 0) for host, own in lines.items()}
    times = {host: (one.first_time, one.last_time) for host, one in sampled.items() if one}
    found: set[Writer] = set()
    for host, (first, last) in times.items():
        others = (times[other] for other in times if other != host)
        if any(min(last, end) - max(first, begin) > DISORDER for begin, end in others):
            found |= writers[host]
    return found


def remark(name: str, writers: tuple[Writer, ...], why: str) -> str:
    """Return the note on a log into which several servers write, and why they are read as one."""
    hosts = {host for host, _ in writers}
    processes = {process for _, process in writers}
    if len(hosts) == len(writers):
        processes = {b""}
    names = [name_of(writer, hosts, processes) for writer in writers]
    whose = " and ".join(names) if len(names) <= WRITERS_NAMED else f"{', '.join(names[:WRITERS_NAMED])} and more"
    example = f", for example by grep -Fw '{names[0]}'" if HARMLESS.fullmatch(names[0]) else ""
    return (
        f"{len(writers)} servers write into {name} ({whose}), and {why}; split it{example}: "
        "until then the figures of connections are wrong"
    )


def _server_lines(dialect: Dialect, samples: Iterable[bytes], envelopes: Sequence[Envelope]) -> Iterator[ServerLine]:
    line = LINES.get(dialect.name)
    every = envelopes_with(dialect, envelopes)
    for data in samples:
        if envelopes or line is None:
            if not envelopes and not (every and every[0].carries(data)):
                return  # its lines name no writer, and the other samples need not be read
            yield from _within(dialect, data, every)
            continue
        for found in line[1].finditer(data):
            if writer := writer_of(line[0], data[found.end("zone") : found.end()]):
                yield (writer,), data, found.start()


def _within(dialect: Dialect, data: bytes, envelopes: Sequence[Envelope]) -> Iterator[ServerLine]:
    """Yield each line of the dialect in these envelopes."""
    undivided = [envelope for envelope in envelopes if envelope.decoding]
    divided = envelopes[len(undivided) :]
    if not divided:
        return
    for envelope in undivided:  # they are the outermost
        data = decoded(envelope, data)
    for line in data.split(divided[0].end):
        text = line
        writers: list[Writer | None] = [None for _ in undivided]
        for envelope in divided:
            if (piece := envelope.piece(text)) is None:
                break
            text = piece.text
            writers.append(piece.writer)
        else:
            if any(writers) and dialect.recognised(text):
                yield tuple(writers), text, 0


def name_of(writer: Writer, hosts: set[bytes], processes: set[bytes]) -> str:
    """Return the name that distinguishes a server from the others."""
    host, process = writer
    words = [host] if len(processes) == 1 else [process] if len(hosts) == 1 else [host, process]
    return printable(b" ".join(words).strip())


def printable(name: bytes) -> str:
    """Return a name that a log has, without control characters."""
    text = name.decode(errors="backslashreplace")
    return "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in text)
