"""Separating: the lines of each server in a file into which several write, as an input of its own.

    Nov 20 08:54:04 ldap1 slapd[3989]: conn=1000 op=1 SRCH base=...         syslog (host ldap1)
    Nov 20 08:54:04 ldap2 slapd[4100]: conn=1000 op=1 SRCH base=...         syslog (host ldap2)

Samples show that there are several; then the whole file is read once for the first and the last line of each writer.
Hosts are separate, and so are processes of one host whose lines overlap; a process that begins after another one has
ended is the same server, restarted. Each server is one more pass, of a reader that passes on its lines alone: those
that carry its tag, and those without a tag that follow them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import field, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.envelope import decoded
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.files.archives import Unwrapping
from ldapdiag.sources.logs.interleaving import envelopes_with, printable
from ldapdiag.sources.logs.samples import DISORDER, sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.envelope import Envelope, Piece, Takes, Writer
    from ldapdiag.evidence.log.line_scan import Hints
    from ldapdiag.sources.files.input import Input

MOST_SERVERS = 16
"""Servers of one file that are separated: the file is read once for each."""

KEPT_LINES = 50
"""First and last lines of a process that are kept for their times."""
KEPT_BYTES = 1 << 12
"""Bytes that are kept of such a line."""

MOST_PROCESSES = 1_000
"""Server processes of a file that are noted; the lines of further ones go with their host."""

LATE_LINES = 8
"""By how many lines a restarted process and the one before it may overlap, within DISORDER."""

PROGRAM = pattern(rb"[^\s\[]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server whose lines are in a file with those of others."""

    name: str
    """`host ldap1`, `slapd[3989]`."""
    writers: frozenset[Writer]
    """Its processes, one after the other."""
    by_process: bool
    """Its host has other servers in the file."""
    last_time: int | None
    """Time of its last record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRoutes:
    """Which server each line belongs to."""

    by_writer: dict[Writer, int]
    by_host: dict[bytes, int]
    """Of the other writers on a host; those of other hosts go with the first server."""

    def of(self, writer: Writer) -> int:
        """Return the number of the server whose lines those of a writer are read with."""
        found = self.by_writer.get(writer)
        return self.by_host.get(writer[0], 0) if found is None else found


@dataclass(frozen=True, slots=True)
class ServerLines:
    """The lines of one server; each call begins at the first line of the file."""

    routes: LineRoutes
    number: int

    def __call__(self) -> Takes:
        """Return what decides for each line in order whether it is the server's."""
        routes, number, before = self.routes, self.number, 0

        def takes(piece: Piece | None) -> bool:
            nonlocal before
            if piece is not None and piece.writer is not None:
                before = routes.of(piece.writer)
            return before == number

        return takes


@dataclass(slots=True)
class Seen:
    """The lines of one process, from the first one that only a server writes: the parent of slapd is one, too."""

    writer: Writer
    first: int
    last: int = 0
    """Number of its first and last line in the file."""
    head: list[bytes] = field(default_factory=list)
    tail: deque[bytes] = field(default_factory=lambda: deque(maxlen=KEPT_LINES))
    times: tuple[int, int] | None = None
    """Of the first and the last record."""

    def overlaps(self, later: Seen) -> bool:
        """Return whether a process that begins later does so before this one has ended."""
        if later.first > self.last:
            return False
        if later.last < self.last or self.last - later.first > LATE_LINES or not self.times or not later.times:
            return True
        return self.times[1] - later.times[0] > DISORDER


class Survey:
    """Notes the first and the last line of each server process in a file, while that is read; passes no line on."""

    def __init__(self, dialect: Dialect, within: Sequence[Envelope]) -> None:
        self._dialect = dialect
        self._within = within
        self._now = 0
        self.seen: dict[Writer, Seen] = {}

    def __call__(self, piece: Piece | None) -> bool:
        """Note one line."""
        self._now += 1
        if piece is None or piece.writer is None:
            return False
        seen = self.seen.get(piece.writer)
        if seen is None:
            if len(self.seen) >= MOST_PROCESSES or not self._dialect.recognised(self.text(piece.text + b"\n")):
                return False
            seen = self.seen[piece.writer] = Seen(piece.writer, self._now)
        seen.last = self._now
        text = piece.text[:KEPT_BYTES]
        seen.tail.append(text)
        if len(seen.head) < KEPT_LINES:
            seen.head.append(text)
        return False

    def text(self, lines: bytes) -> bytes:
        """Return lines as the dialect reads them, out of the envelopes within."""
        for envelope in self._within:
            lines = decoded(envelope, lines)
        return lines

    def finish(self, hints: Hints) -> None:
        """Find the times of the processes."""
        for seen in self.seen.values():
            texts = [self.text(b"\n".join(own) + b"\n") for own in (seen.head, seen.tail)]
            first, last = (sample(self._dialect, text, hints, 0) for text in texts)
            if first and last:
                seen.times = first.first_time, last.last_time


def separated(found: Input, dialect: Dialect, hints: Hints, level: int) -> list[tuple[Server, Input]]:
    """Return the servers in a log, distinguished by the envelope of this level, and the lines of each as an input.

    It is one if they do not write at the same time after all. OSError propagates to the caller.
    """
    own = found.carrier.envelopes if found.carrier else ()
    envelope = envelopes_with(dialect, own)[level]
    survey = Survey(dialect, own[level + 1 :])
    with _through(found, Unwrapping(envelope, lambda: survey), level).open() as opened:
        while opened.some():
            pass
    survey.finish(hints)
    servers = list(_servers(survey.seen.values(), are_apart=dialect.is_export))
    routes = _routes(servers)
    return [
        (server, _through(found, Unwrapping(envelope, ServerLines(routes, number)), level))
        for number, server in enumerate(servers)
    ]


def _through(found: Input, layer: Unwrapping, level: int) -> Input:
    """Return the input with another layer for the envelope of a level, or with a further one if that is the prefix."""
    layers = list(found.layers)
    wrapped = [number for number, one in enumerate(layers) if isinstance(one, Unwrapping)]
    if level < len(wrapped):
        layers[wrapped[level]] = layer
    else:
        layers.append(layer)
    return replace(found, layers=tuple(layers), file_range=None, carrier=None, head=b"", is_whole=False)


def _servers(seen: Iterable[Seen], *, are_apart: bool) -> Iterator[Server]:
    """Yield the servers, each a sequence of processes on one host; a single one if no two of them overlap.

    Hosts `are_apart` in an export, in which those of several follow each other, often the newest event first.
    """
    hosts: dict[bytes, list[list[Seen]]] = defaultdict(list)
    for one in sorted(seen, key=lambda one: one.first):
        own = hosts[one.writer[0]]
        ended = [chain for chain in own if not any(before.overlaps(one) for before in chain)]
        if ended:
            program = _program(one.writer)
            max(ended, key=lambda chain: (_program(chain[-1].writer) == program, chain[-1].last)).append(one)
        else:
            own.append([one])
    alone = not are_apart and all(len(chains) == 1 for chains in hosts.values())
    if alone and not _at_once([chain for (chain,) in hosts.values()]):
        hosts = {b"": [[one for chains in hosts.values() for chain in chains for one in chain]]} if hosts else {}
    for host, chains in hosts.items():
        for chain in chains:
            last = [one.times[1] for one in chain if one.times]
            yield Server(
                name=_name(host if len(hosts) > 1 else b"", chain[-1].writer[1], is_alone=len(chains) == 1),
                writers=frozenset(one.writer for one in chain),
                by_process=len(chains) > 1,
                last_time=max(last, default=None),
            )


def _at_once(hosts: Sequence[Sequence[Seen]]) -> bool:
    """Return whether any two hosts, each with its processes in order, write at the same time."""
    lines = [(min(one.first for one in own), max(one.last for one in own)) for own in hosts]
    known = [[one.times for one in own if one.times] for own in hosts]
    times = [(min(first for first, _ in own), max(last for _, last in own)) for own in known if own]
    return _overlap(lines, 0) or _overlap(times, DISORDER)


def _overlap(spans: list[tuple[int, int]], slack: int) -> bool:
    """Return whether any two spans have more than `slack` in common."""
    until = None
    for first, last in sorted(spans):
        if until is not None and min(until, last) - first > slack:
            return True
        until = last if until is None else max(until, last)
    return False


def _name(host: bytes, process: bytes, *, is_alone: bool) -> str:
    """Return the name of a server: its host, if there are several, and its process, if its host has several."""
    of_host = b"" if not host else b"host " + host if process else host  # a container or a pod has no process
    return printable(b" ".join(word for word in (of_host, b"" if is_alone and host else process) if word))


def _program(writer: Writer) -> bytes:
    found = PROGRAM.match(writer[1])
    return found[0] if found else b""


def _routes(servers: Sequence[Server]) -> LineRoutes:
    """Return which server each writer's lines are read with; other programs go with the first one of their host."""
    by_writer = {writer: number for number, server in enumerate(servers) for writer in server.writers}
    by_host: dict[bytes, int] = {}
    for (host, _), number in by_writer.items():
        by_host[host] = min(number, by_host.get(host, number))
    return LineRoutes(by_writer=by_writer, by_host=by_host)
