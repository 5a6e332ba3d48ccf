"""The output of the portable script, saved to a file: sections with the answers and the times of one host.

    ldapdiag-collection 1 NONCE                                 first line; a login banner may precede it
    NONCE begin FOLDER FILE 2026-11-20T13:00:01Z COMMAND        FOLDER: `.` the host, `ns:NAME` a namespace of it
    …bytes…
    NONCE end EXIT 2026-11-20T13:00:02Z
    NONCE gap FOLDER REASON | NEXT STEP                         something that was not collected
    NONCE waiting                                               in a dialogue: the script awaits the next order
    NONCE bye                                                   the last line: the output is complete

NONCE is new in each run, so that the content of a file cannot forge a section. If the content of a section does not end
with a line feed, NONCE follows in the middle of a line.
"""

from __future__ import annotations

import re
from dataclasses import field
from datetime import UTC, datetime, timedelta
from functools import partial
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.ldap_session import as_from_others
from ldapdiag.evidence.origin import Span
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.budget import RUN_BYTES, Budget
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.files.unreadable import legible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.sources.files.layers import Opened

FIRST = pattern(rb"^ldapdiag-collection 1 ([0-9A-Za-z]{8,64})\r?$", re.MULTILINE)
BANNER_BYTES = 1 << 16
"""Bytes that are searched for the first line."""

MOST_SECTION_BYTES = 256 << 20
MOST_BYTES = 512 << 20
"""Limit for all sections of a host: half of that of a run, so that one host cannot use up the limit of the others."""

HOST = "host.txt"
"""The section that names the host."""

NAME = pattern(rb"^name:[ \t]*(\S{1,255})[ \t]*\r?$", re.MULTILINE)
HERE = "."
NAMESPACE = "ns:"
TIMED_OUT = frozenset({124, 137, 143})
"""Exit codes of timeout(1): its own, and those of a command that it killed (SIGKILL, SIGTERM)."""
SEARCH, NO_SUCH_OBJECT = "ldapsearch ", 32
"""A command that exits with the result code of the server."""
WITHOUT_MONITOR = (
    "slapd has cn=Monitor only with a monitor database (olcDatabase=monitor): without one, its connections, its "
    "counters and the end of an online build are not seen"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptSection:
    """One file that the script printed."""

    folder: str
    """`.` for the host itself, `ns:NAME` for another of its network namespaces."""
    file: str
    asked: str
    begun: datetime | None
    ended: datetime | None
    status: int | None
    """The exit code of the command that printed it."""
    content: bytes
    cut: str = ""
    """Why the content is incomplete; empty if it is complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingItem:
    """Something that the script could not collect, and why."""

    folder: str
    reason: str
    how: str | None = None


@dataclass(frozen=True, slots=True)
class AwaitingOrder:
    """The script awaits its next order."""


@dataclass(frozen=True, slots=True)
class EndOfOutput:
    """The last line of the script: the output is complete."""


Event = ScriptSection | MissingItem | AwaitingOrder | EndOfOutput


def begins_in(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is the output of the script."""
    return FIRST.search(head[:BANNER_BYTES]) is not None


def nonce_of(line: bytes) -> bytes | None:
    """Return the run's token from the first line of the output; None for any other line."""
    found = FIRST.fullmatch(line.rstrip(b"\r\n"))
    return found[1] if found else None


@dataclass(slots=True)
class Script:
    """A parser of the output of one run, fed line by line from a file or as the lines arrive."""

    nonce: bytes
    budget: Budget = field(default_factory=partial(Budget, RUN_BYTES))
    """Limit for the bytes of all hosts of a run."""
    _begin: re.Match[bytes] | None = None
    _content: bytearray = field(default_factory=bytearray)
    _cut: str = ""
    _left: int = MOST_BYTES

    def take(self, line: bytes) -> Event | None:
        """Parse one line including its line feed; return the event that it completes, or None.

        A line of content may arrive in parts of any size; a marker line must be complete.
        """
        before, mark, rest = line.partition(self.nonce + b" ")
        word = _Word.match(rest) if mark else None
        if word is None:
            self._append(line)
            return None
        if self._begin is not None:
            self._append(before)
        return self._marked(word[1], rest[word.end() :].strip())

    def broken_off(self) -> ScriptSection | None:
        """Return the unfinished section at the end of the output, or None."""
        return self._section(None, None, "is truncated") if self._begin else None

    def _append(self, data: bytes) -> None:
        if self._begin is None or self._cut:
            return  # noise between sections: a message of the shell, a logout banner
        self._cut = self._too_long(len(data))
        if self._cut:
            return
        self._content += data
        self._left -= len(data)

    def _too_long(self, more: int) -> str:
        """Return why `more` bytes exceed a limit; empty if they do not."""
        if len(self._content) + more > MOST_SECTION_BYTES:
            return f"is larger than {MOST_SECTION_BYTES >> 20} MiB"
        if more > self._left:
            return f"exceeds the limit of {MOST_BYTES >> 20} MiB per host"
        if not self.budget.take(more):
            return f"exceeds the limit of {RUN_BYTES >> 30} GiB per run"
        return ""

    def _marked(self, word: bytes, rest: bytes) -> Event | None:
        if word == b"begin":
            broken = self.broken_off()
            self._begin = _Begin.match(rest)
            self._content, self._cut = bytearray(), ""
            return broken
        if word == b"end":
            status, _, moment = rest.partition(b" ")
            return self._section(int(status) if status.isdigit() and len(status) < 9 else None, moment, self._cut)
        if word == b"gap":
            folder, _, text = rest.partition(b" ")
            reason, _, how = _text(text).partition(" | ")
            return MissingItem(folder=_text(folder), reason=reason, how=how or None)
        return EndOfOutput() if word == b"bye" else AwaitingOrder()

    def _section(self, status: int | None, moment: bytes | None, cut: str) -> ScriptSection | None:
        begin, self._begin = self._begin, None
        if begin is None:
            return None
        content, self._content = bytes(self._content), bytearray()
        return ScriptSection(
            folder=_text(begin["folder"]),
            file=_text(begin["file"]),
            asked=as_from_others(_text(begin["asked"])),
            begun=_moment(begin["moment"]),
            ended=_moment(moment or b""),
            status=status,
            content=content,
            cut=cut,
        )


_Word = pattern(rb"(begin|end|gap|waiting|bye)(?= |\r?\n|$)")
_Begin = pattern(rb"(?P<folder>\S+) (?P<file>[^\s/]+) (?P<moment>\S+) ?(?P<asked>.*)", re.DOTALL)


def events(lines: Iterable[bytes]) -> Iterator[Event]:
    """Yield the events of an output from its first line on; a truncated section comes last."""
    script: Script | None = None
    for line in lines:
        if script is None:
            nonce = nonce_of(line)
            script = Script(nonce) if nonce else None
        elif event := script.take(line):
            yield event
    if script and (broken := script.broken_off()):
        yield broken


def sections(one: Input) -> Iterator[Input | Gap]:
    """Yield the sections of a saved output as inputs of the host that printed them, with the times of that host."""
    host = one.name.partition(".")[0]
    whole = False
    with one.open() as opened:
        for number, event in enumerate(events(_lines(opened))):
            if isinstance(event, ScriptSection):
                if event.file == HOST and event.folder == HERE and (named := NAME.search(event.content)):
                    host = _text(named[1]).replace("/", "_")
                yield _input(one, number, host, event)
            elif isinstance(event, MissingItem):
                yield Gap(target=folder_name(host, event.folder), reason=event.reason, how=event.how)
            whole = isinstance(event, EndOfOutput)
    if not whole:
        yield Gap(
            target=one.label,
            reason="is truncated: it lacks the last line of the script",
            how="ask for the whole output; the complete sections are used",
        )


def folder_name(host: str, folder: str) -> str:
    """Return the folder of a section: the host's name, followed by that of another network namespace."""
    return f"{host}-{folder.removeprefix(NAMESPACE)}" if folder.startswith(NAMESPACE) else host


def unusable(section: ScriptSection, target: str) -> Gap | None:
    """Return the gap for an unusable section, None for a usable one: a truncated table shows too few sockets."""
    ran = section.asked or section.file
    if section.cut:
        how = "save the whole output there (ldapdiag collect --print-script)"
        return Gap(target=target, reason=f"the output of `{ran}` {section.cut}", how=how)
    if section.status in TIMED_OUT:
        return Gap(target=target, reason=f"`{ran}` did not finish in time", how="run it on that host to see why")
    if section.status == NO_SUCH_OBJECT and ran.startswith(SEARCH):
        return Gap(target=target, reason=f"`{ran}` found no such entry", how=WITHOUT_MONITOR)
    if section.status != 0:
        outcome = "failed" if section.status is None else f"failed (exit {section.status})"
        return Gap(target=target, reason=f"`{ran}` {outcome}", how="run it on that host to see why")
    return None


def _input(one: Input, number: int, host: str, section: ScriptSection) -> Input | Gap:
    folder = folder_name(host, section.folder).replace("/", "_")
    label = f"{one.label}/{folder}/{section.file}"
    if gap := unusable(section, label):
        return gap
    begun, ended = section.begun, section.ended
    if ended and not ended.microsecond:  # whole seconds are rounded down: it may have ended one second later
        ended += timedelta(seconds=1)
    return Input(
        path=legible(f"{folder}/{section.file}"),
        folder=legible(f"{one.folder}/{one.name}/{folder}"),
        label=label,
        source=partial(_content, one, number),
        head=section.content,
        is_whole=True,
        taken=Span(start=begun, end=ended) if begun and ended and begun <= ended else None,
        asked=f"{section.asked} on {host}",
    )


def _content(one: Input, number: int) -> BytesIO:
    """Return the content of the section with an event number, from 0. OSError propagates to the caller."""
    with one.open() as opened:
        event = next(islice(events(_lines(opened)), number, None), None)
    return BytesIO(event.content if isinstance(event, ScriptSection) else b"")


def _lines(opened: Opened) -> Iterator[bytes]:
    """Yield lines including their line feeds; split a line of more than BANNER_BYTES."""
    waiting = b""
    while chunk := opened.some():
        *lines, waiting = (waiting + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
        while len(waiting) > BANNER_BYTES:
            yield waiting[:BANNER_BYTES]
            waiting = waiting[BANNER_BYTES:]
    if waiting:
        yield waiting


def _text(data: bytes) -> str:
    return data.decode(errors="backslashreplace")


def _moment(text: bytes) -> datetime | None:
    """Return the time in a marker, by the host's clock; None if it is not an aware ISO 8601 time."""
    try:
        moment = datetime.fromisoformat(_text(text.strip()))
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else None
