"""Another host's tables: a dialog with the script in sources/live/ssh/collect, which ssh runs there."""

from __future__ import annotations

import os
import secrets
import shlex
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from io import BytesIO
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Self

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.origin import Span
from ldapdiag.sources.budget import RUN_BYTES, Budget
from ldapdiag.sources.captures.script_output import (
    HERE,
    NAMESPACE,
    Lack,
    Script,
    Section,
    Waiting,
    folder_name,
    nonce_of,
    unusable,
)
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.ssh.child import Child
from ldapdiag.sources.live.ssh.host_clock import HostClock
from ldapdiag.sources.live.ssh.refusals import refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.sources.captures.manifest import ClockOffset

SSH = "LDAPDIAG_SSH"
"""In the environment: the command to use in place of ssh, with its options."""
PARTS = ("frame", "host", "looks", "servers", "paths", "directories", "haproxy", "logs", "main")
"""The files of sources/live/ssh/collect, in the order in which they make one script."""
LONGEST_LINE = 1 << 16
"""Bytes; a longer one is handed on in parts, of which none cuts a marker that is shorter than MARKER."""
MARKER = 1024
MOST_SECTIONS = 4000
MOST_FOR_ONE = 60
"""Seconds for one command there; one that hangs outlives us by as much, since its shell waits for it."""
LOOK = b"look\n"
REST = b"rest\n"


def ssh_command(user: str | None, host: str, port: int | None, seconds: int) -> list[str]:
    """Return the command that starts sh on a host (user and host as targets.py allows them) and asks nobody anything.

    `seconds` is the time to connect. The user's own configuration, agent and jump hosts hold.
    """
    command = [*(shlex.split(os.environ.get(SSH, "")) or ["ssh"]), "-T", "-o", "BatchMode=yes"]
    command += ["-o", f"ConnectTimeout={max(1, seconds)}"]
    command += ["-p", str(port)] if port is not None else []
    command += ["-l", user] if user is not None else []
    return [*command, "--", host.strip("[]"), "sh"]


def script(**settings: str | int) -> str:
    """Return the script, ready to run, its settings before it; its NONCE is drawn anew."""
    settings = {"NONCE": secrets.token_hex(16), **settings}
    folder = files("ldapdiag.sources.live.ssh").joinpath("collect")
    parts = [folder.joinpath(f"{part}.sh").read_text(encoding="ascii") for part in PARTS]
    return "\n".join(["".join(f"{name}={shlex.quote(str(value))}\n" for name, value in settings.items()), *parts])


@dataclass(slots=True, kw_only=True)
class Dialog:
    """A host that is asked. Nothing raises: all that fails is a Gap, and after the first the host is asked no more.

    Times are seconds. A piece's span is by our clock, from our order to the end of its section.
    """

    argv: Sequence[str]
    """What starts an sh: over ssh, in a namespace, or here."""
    target: str
    """What the operator named."""
    folder: str
    """What the host is called; its other namespaces are called folder-NAME."""
    looks: bool = True
    """Whether it is asked for socket tables; on our own host we see to that, while we can."""
    monitors: bool = True
    """Whether directories there are asked for cn=monitor; on our own host we do that, too."""
    namespaces: bool = True
    """Whether its other network namespaces are read, too."""
    sudo: bool = False
    seconds: float = 30
    """For each order."""
    stop: Event = field(default_factory=Event)
    budget: Budget = field(default_factory=partial(Budget, RUN_BYTES))
    """What all hosts that are asked at once may say together."""
    try_it: str = ""
    """What a person runs to see why it cannot be reached."""

    _child: Child | None = None
    _script: Script | None = None
    _nonce: str = field(default_factory=partial(secrets.token_hex, 16))
    _clock: HostClock = field(default_factory=HostClock)
    _line: bytes = b""
    """The beginning of a line whose end is still to come."""
    _banner: bytes = b""
    """The end of what came before the first line: a message of the day, or an error."""
    _orders: deque[datetime] = field(default_factory=deque)
    """When we gave each order that the host has not yet done with."""
    _count: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def clock_offset(self) -> ClockOffset | None:
        """Return how far the host's clock is ahead of ours."""
        return self._clock.offset

    @property
    def peer(self) -> str | None:
        """Return None: it was not asked over LDAP."""
        return None

    def first(self) -> Iterator[Input | Gap]:
        """Connect, look once, and ask for the rest: settings and servers. To be called once."""
        deadline = monotonic() + self.seconds
        yield from self._connect(deadline)
        for order in (LOOK, REST):
            if not self._orders:
                yield from self._order(order, deadline)

    def look(self) -> Iterator[Input | Gap]:
        """Look at the host and its other namespaces once more: sockets, counters, and what a box there holds."""
        yield from self._order(LOOK, monotonic() + self.seconds)

    def sections(self, order: bytes, deadline: float) -> Iterator[tuple[Section, Span] | Gap]:
        """Send an order, and yield the sections as they are printed, until the host waits for the next order.

        One that is late may still be done with an earlier order, and is given another chance with the next.
        """
        child = self._child
        if child is None:
            return
        self._orders.append(datetime.now(UTC))
        for printed in child.exchange(order, lambda: self.stop.is_set() or monotonic() > deadline):
            heard = datetime.now(UTC)
            for line in self._lines(printed):
                event = self._event(line)
                if isinstance(event, Waiting):
                    self._orders.popleft()
                    if not self._orders:
                        return
                elif isinstance(event, Section):
                    yield event, Span(start=self._orders[0], end=heard)
                elif isinstance(event, Lack):
                    yield Gap(target=self.place(event.folder), reason=event.reason, how=event.how)
        yield self._ending(child)
        if child.ended or self.stop.is_set() or self._script is None:
            self.close()

    def broken_off(self) -> tuple[Section, Span] | None:
        """Return the section that had begun when the host was given up; for one whose part is of use."""
        section = self._script.broken_off() if self._script and self._orders else None
        return (section, Span(start=self._orders[0], end=datetime.now(UTC))) if section else None

    def folder_of(self, section: Section) -> str:
        """Return the folder that a section's pieces are in."""
        return folder_name(self.folder, section.folder).replace("/", "_")

    def place(self, folder: str) -> str:
        """Return what a section's folder is called, for a person."""
        return self.target if folder == HERE else f"{self.target} (namespace {folder.removeprefix(NAMESPACE)})"

    def close(self) -> None:
        """End it there and here; may be called at any time, more than once."""
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def _connect(self, deadline: float) -> Iterator[Input | Gap]:
        text = script(
            NONCE=self._nonce,
            DIALOG=1,
            SUDO="sudo -n" if self.sudo else "",
            LOOKS=int(self.looks),
            MONITORS=int(self.monitors),
            NAMESPACES=int(self.namespaces),
            LIMIT=max(1, min(MOST_FOR_ONE, int(self.seconds * 0.7))),
        )
        try:
            self._child = Child(self.argv)
        except OSError as error:
            reason = f"cannot run {self.argv[0]}: {(error.strerror or str(error)).lower()}"
            yield Gap(target=self.target, reason=reason, how="install it, or put it on the PATH")
            return
        yield from self._order(text.encode(), deadline)

    def _order(self, order: bytes, deadline: float) -> Iterator[Input | Gap]:
        """Send an order and yield what comes."""
        for told in self.sections(order, deadline):
            yield from (told,) if isinstance(told, Gap) else self._section(*told)

    def _lines(self, printed: bytes) -> Iterator[bytes]:
        """Yield whole lines with their ends (as one, where none is of the grammar), and parts of those too long."""
        printed = self._line + printed
        if self._script is not None and self._nonce.encode() not in printed:
            lines, end, self._line = printed.rpartition(b"\n")
            yield lines + end
        else:
            *each, self._line = printed.split(b"\n")
            yield from (line + b"\n" for line in each)
        if len(self._line) > LONGEST_LINE:
            yield self._line[:-MARKER]
            self._line = self._line[-MARKER:]

    def _event(self, line: bytes) -> object:
        """Return what a line completes; what stands before the first line of the grammar is a banner."""
        if self._script is not None:
            return self._script.take(line)
        nonce = self._nonce.encode()
        if nonce_of(line) == nonce:
            self._script = Script(nonce, self.budget)
        else:
            self._banner = (self._banner + line)[-MARKER:]
        return None

    def _section(self, section: Section, span: Span) -> Iterator[Input | Gap]:
        for moment in (section.begun, section.ended):
            if moment is not None:
                self._clock.hear(moment, span.start, span.end)
        self._count += 1
        if self._count > MOST_SECTIONS:
            return
        place = self.place(section.folder)
        if gap := unusable(section, place):
            yield gap
            return
        folder = self.folder_of(section)
        yield Input(
            path=f"{folder}/{section.file}",
            folder=folder,
            label=f"{section.file} of {place}",
            source=partial(BytesIO, section.content),
            taken=span,
            asked=f"{section.asked or section.file} on {folder}",
        )

    def _ending(self, child: Child) -> Gap:
        """Return why it ended before it was through."""
        if self.stop.is_set():
            return Gap(target=self.target, reason="was interrupted before it had told all", how="run it again")
        if not child.ended:
            until = "" if self._script else " to the connection"
            return self._failed(f"no answer in {self.seconds:g} s{until}", "see whether it hangs there")
        if self._script is not None:
            last = child.errors.decode(errors="backslashreplace").strip().splitlines()[-1:]
            return self._failed(
                "the connection ended in the middle" + "".join(f": {line[:200]}" for line in last), "run it again"
            )
        return self._failed(*refusal(child.errors or self._banner, child.status()))

    def _failed(self, reason: str, how: str) -> Gap:
        return Gap(target=self.target, reason=reason, how=f"{how}; try: {self.try_it}" if self.try_it else how)
