"""A session with the collection script (sources/live/ssh/collect), which ssh runs on a remote host.

The offset of a host's clock, narrowed by each timestamp that the host sends.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
from collections import deque
from dataclasses import field
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.resources import files
from io import BytesIO
from math import inf
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Self

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.origin import Span
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.budget import RUN_BYTES, Budget
from ldapdiag.sources.captures.manifest import ClockOffset
from ldapdiag.sources.captures.script_output import (
    HERE,
    NAMESPACE,
    AwaitingOrder,
    MissingItem,
    Script,
    ScriptSection,
    folder_name,
    nonce_of,
    unusable,
)
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.ssh.child import ChildProcess, refusal
from ldapdiag.sources.live.ssh.windows import (
    FIRST_LOOK,
    NOT_FOR_LACK_OF_SH,
    NOT_RUN,
    powershell_command,
    powershell_script,
)
from ldapdiag.wording import bound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.sources.collection_options import CollectionOptions
    from ldapdiag.sources.targets import SshTarget

SECOND = timedelta(seconds=1)


@dataclass(slots=True)
class HostClock:
    """Bounds, in seconds, on how far the host's clock is ahead of the local one."""

    least: float = -inf
    most: float = inf

    def add(self, timestamp: datetime, sent: datetime, received: datetime) -> None:
        """Narrow the bounds by a timestamp in whole seconds, taken after `sent` and before `received` (local clock).

        A timestamp outside the bounds means that a clock was set; the bounds start anew from it.
        """
        least, most = (timestamp - received).total_seconds(), (timestamp + SECOND - sent).total_seconds()
        narrowed = max(least, self.least), min(most, self.most)
        self.least, self.most = narrowed if narrowed[0] <= narrowed[1] else (least, most)

    @property
    def offset(self) -> ClockOffset | None:
        """Return the offset and its uncertainty; None before the first timestamp."""
        if self.most == inf:
            return None
        return ClockOffset(seconds=(self.least + self.most) / 2, uncertainty_seconds=(self.most - self.least) / 2)


SSH = "LDAPDIAG_SSH"
"""Environment variable: the command to run instead of ssh, with its options."""
PARTS = (
    "frame", "host", "snapshots", "processes", "servers", "threads", "paths", "directories", "haproxy", "storage",
    "kernel_errors", "logs", "main",
)  # fmt: skip
"""The files of sources/live/ssh/collect, in the order in which they form one script."""
FOLLOWING = ("frame", "host", "processes", "servers", "paths", "directories", "logs", "follow", "main")
"""Those of a session that follows a log: with all the others it is longer than what a pipe takes."""
MAX_LINE_BYTES = 1 << 16
"""A longer line is processed in parts; no part cuts a marker that is shorter than MAX_MARKER_BYTES."""
MAX_MARKER_BYTES = 1024
MAX_ITEMS = 4000
"""Sections and gaps of one host; the others are counted in one gap."""
MAX_COMMAND_SECONDS = 60
"""Time limit of one command on the host; as root by sudo, one that hangs may run that long after the session."""
SNAPSHOT = b"snapshot\n"
TABLES = b"tables\n"
CONFIGURATION = b"configuration\n"


def ssh_command(user: str | None, host: str, port: int | None, timeout_seconds: int) -> list[str]:
    """Return the command that starts sh on a host without prompting; user and host as targets.py allows them.

    `timeout_seconds` limits the connection set-up. The user's ssh configuration, agent and jump hosts apply.
    """
    command = [*(shlex.split(os.environ.get(SSH, "")) or ["ssh"]), "-T", "-o", "BatchMode=yes"]
    command += ["-o", f"ConnectTimeout={max(1, timeout_seconds)}"]
    command += ["-p", str(port)] if port is not None else []
    command += ["-l", user] if user is not None else []
    return [*command, "--", host.strip("[]"), "sh"]


COMMENT = pattern(r"^[ \t]*(?:#.*)?\n|^[ \t]+", re.MULTILINE)
"""What only a reader of the script needs. A pipe must take the whole script before the host reads it."""


def script(parts: Sequence[str] = PARTS, *, with_comments: bool = False, **settings: str | int) -> str:
    """Return the script with its settings in front, and a fresh NONCE; for a session without comments."""
    settings = {"NONCE": secrets.token_hex(16), **settings}
    folder = files("ldapdiag.sources.live.ssh").joinpath("collect")
    texts = [folder.joinpath(f"{part}.sh").read_text(encoding="ascii") for part in parts]
    text = "\n".join(["".join(f"{name}={shlex.quote(str(value))}\n" for name, value in settings.items()), *texts])
    return text if with_comments else COMMENT.sub("", text)


@dataclass(slots=True, kw_only=True)
class ScriptSession:
    """A running collection script. No method raises: each failure is a Gap, and the first one ends the session.

    Times are in seconds. The span of a piece is by the local clock, from sending the order to the end of its section.
    """

    argv: Sequence[str]
    """The command that starts sh: over ssh, in a namespace, or locally."""
    target: str
    """As on the command line."""
    folder: str
    """Folder of the host; its other namespaces have folder-NAME."""
    sockets: bool = True
    """List sockets. On the local host the kernel is asked instead, if possible."""
    monitors: bool = True
    """Query the directory servers for cn=monitor. On the local host that is done directly."""
    namespaces: bool = True
    """Collect from its other network namespaces, too."""
    extents: bool = True
    """Count the extents of database files. On the local host they are listed only, and the kernel is asked directly."""
    log: str | None = None
    """Of a session that only follows a log: the file; empty: that of the server there."""
    sudo: bool = False
    timeout_seconds: float = 30
    """Of each order."""
    stop: Event = field(default_factory=Event)
    budget: Budget = field(default_factory=partial(Budget, RUN_BYTES))
    """Limit on the output of all hosts of the run together."""
    test_command: str = ""
    """A command for the operator to test the connection with."""
    may_be_windows: bool = False
    """Where sh cannot be started, try PowerShell; `argv` ends with the command for the host's shell."""

    _powershell: Sequence[str] = ()
    """The command that starts PowerShell there; empty: the host has sh, or it is not known yet."""
    _looks: int = 1
    """Snapshots by PowerShell, which numbers them by its orders."""
    _child: ChildProcess | None = None
    _script: Script | None = None
    _nonce: str = field(default_factory=partial(secrets.token_hex, 16))
    _clock: HostClock = field(default_factory=HostClock)
    _line: bytes = b""
    """The beginning of an incomplete line."""
    _banner: bytes = b""
    """The end of the output before the first line: a message of the day, or an error."""
    _orders: deque[datetime] = field(default_factory=deque)
    """When each unfinished order was sent."""
    _heard: float = -inf
    """When the host last sent something (`monotonic`)."""
    _count: int = 0
    """Sections and gaps received."""
    _reported: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def clock_offset(self) -> ClockOffset | None:
        """Return how far the host's clock is ahead of the local one."""
        return self._clock.offset

    @property
    def peer(self) -> str | None:
        """Return None: there is no LDAP connection."""
        return None

    def collect(self) -> Iterator[Input | Gap]:
        """Connect, take a snapshot, and collect settings and server configurations. To be called once."""
        deadline = monotonic() + self.timeout_seconds
        yield from self.connect(deadline)
        if self._powershell:
            yield from self._by_powershell(deadline, *FIRST_LOOK)
            if self._script is not None:
                yield Gap(target=self.target, reason=NOT_RUN, how="compare its connections with netstat -ano there")
            return
        for order in (SNAPSHOT, CONFIGURATION):
            if not self._orders:
                yield from self._order(order, deadline)

    def snapshot(self) -> Iterator[Input | Gap]:
        """Take another snapshot of the host and its namespaces: sockets, counters, conntrack and proxy sessions."""
        deadline = monotonic() + self.timeout_seconds
        if self._powershell:
            self._looks += 1
            yield from self._by_powershell(deadline, f"Show-Socket {self._looks}")
        else:
            yield from self._order(SNAPSHOT, deadline)

    def tables(self) -> Iterator[Input | Gap]:
        """Yield its sockets, flows, proxy sessions and addresses alone; connect if there is no session, or no more."""
        deadline = monotonic() + self.timeout_seconds
        if self._child is None and not self._powershell:
            self._script, self._line, self._banner = None, b"", b""
            self._orders.clear()
            yield from self.connect(deadline)
            if not self._powershell and (self._orders or self._child is None):
                return
        if self._powershell or not self._orders:  # the limits on its output are those of one answer
            self.begin_anew()
        if self._powershell:
            yield from self.snapshot()
            if self._script is None:  # it has none either, or ssh failed in an unknown way: the next look tries both
                self._powershell = ()
            return
        yield from self._order(TABLES, deadline)

    def sections(self, order: bytes, deadline: float) -> Iterator[tuple[ScriptSection, Span] | Gap]:
        """Send an order, and yield the sections of its output, until the script waits for the next order.

        After the deadline the session stays open: the script may finish this order during the next one.
        """
        child = self._child
        if child is None:
            return
        self._orders.append(datetime.now(UTC))
        must_end = partial(self._must_end, deadline)
        for printed in child.exchange(order, must_end, is_last=bool(self._powershell)):
            received, self._heard = datetime.now(UTC), monotonic()
            for line in self._lines(printed):
                event = self._event(line)
                if isinstance(event, AwaitingOrder):
                    self._orders.popleft()
                    if not self._orders:
                        return
                elif isinstance(event, ScriptSection):
                    yield event, Span(start=self._orders[0], end=received)
                elif isinstance(event, MissingItem) and self._has_room():
                    yield Gap(target=self.label_of(event.folder), reason=event.reason, how=event.how)
        if self._lacks_sh(child):
            self._powershell = (*self.argv[:-1], powershell_command(child.errors))
            self.close()
            return
        yield self._ending(child)
        if child.ended or self.stop.is_set() or self._script is None:
            self.close()

    def broken_off(self) -> tuple[ScriptSection, Span] | None:
        """Return the incomplete section at the end of the session; a part of a log is usable."""
        section = self._script.broken_off() if self._script and self._orders else None
        return (section, Span(start=self._orders[0], end=datetime.now(UTC))) if section else None

    def begin_anew(self) -> None:
        """Let the next order have the whole budget, and all items, which earlier answers no longer use."""
        self.budget, self._count, self._reported = Budget(RUN_BYTES), 0, False
        if self._script is not None:
            self._script = Script(self._nonce.encode(), self.budget)

    def folder_of(self, section: ScriptSection) -> str:
        """Return the folder of a section's pieces."""
        return folder_name(self.folder, section.folder).replace("/", "_")

    def label_of(self, folder: str) -> str:
        """Return the name of a section's folder in messages."""
        return self.target if folder == HERE else f"{self.target} (namespace {folder.removeprefix(NAMESPACE)})"

    def close(self) -> None:
        """End the script and its processes. May be called at any time, and more than once."""
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def connect(self, deadline: float) -> Iterator[Input | Gap]:
        """Start the script, which then awaits an order. To be called once."""
        text = script(
            PARTS if self.log is None else FOLLOWING,
            NONCE=self._nonce,
            INTERACTIVE=1,
            SUDO="sudo -n" if self.sudo else "",
            SOCKETS=int(self.sockets),
            MONITORS=int(self.monitors),
            NAMESPACES=int(self.namespaces),
            EXTENTS=int(self.extents),
            LOG=self.log or "",
            LIMIT=max(1, min(MAX_COMMAND_SECONDS, int(self.timeout_seconds * 0.7))),
        )
        yield from self._start(self.argv, text, deadline)

    def _by_powershell(self, deadline: float, *steps: str) -> Iterator[Input | Gap]:
        """Connect anew for some steps of the script of Windows, and yield their results."""
        self._script, self._line, self._banner = None, b"", b""
        self._orders.clear()
        text = powershell_script(self._nonce, max(1, int(self.timeout_seconds / 3)), *steps)
        yield from self._start(self._powershell, text, deadline)
        self.close()

    def _start(self, argv: Sequence[str], text: str, deadline: float) -> Iterator[Input | Gap]:
        """Start a shell, and yield the results of a script up to its first request for an order."""
        try:
            self._child = ChildProcess(argv)
        except OSError as error:
            reason = f"cannot run {argv[0]}: {(error.strerror or str(error)).lower()}"
            yield Gap(target=self.target, reason=reason, how="install it, or add its folder to PATH")
            return
        yield from self._order(text.encode(), deadline)

    def _order(self, order: bytes, deadline: float) -> Iterator[Input | Gap]:
        """Send an order, and yield its results."""
        for result in self.sections(order, deadline):
            yield from (result,) if isinstance(result, Gap) else self._section(*result)
        yield from self._too_many()

    def _lines(self, printed: bytes) -> Iterator[bytes]:
        """Yield complete lines with their ends (lines without a marker as one), and parts of very long lines."""
        printed = self._line + printed
        if self._script is not None and self._nonce.encode() not in printed:
            lines, end, self._line = printed.rpartition(b"\n")
            yield lines + end
        else:
            *each, self._line = printed.split(b"\n")
            yield from (line + b"\n" for line in each)
        if len(self._line) > MAX_LINE_BYTES:
            yield self._line[:-MAX_MARKER_BYTES]
            self._line = self._line[-MAX_MARKER_BYTES:]

    def _event(self, line: bytes) -> object:
        """Return the event that a line completes, or None; output before the script's first line is a banner."""
        if self._script is not None:
            return self._script.take(line)
        nonce = self._nonce.encode()
        if nonce_of(line) == nonce:
            self._script = Script(nonce, self.budget)
            self.may_be_windows = bool(self._powershell)  # a later failure of ssh is no lack of sh
        else:
            self._banner = (self._banner + line)[-MAX_MARKER_BYTES:]
        return None

    def _section(self, section: ScriptSection, span: Span) -> Iterator[Input | Gap]:
        for timestamp in (section.begun, section.ended):
            if timestamp is not None:
                self._clock.add(timestamp, span.start, span.end)
        if not self._has_room():
            return
        label = self.label_of(section.folder)
        if gap := unusable(section, label):
            yield gap
            return
        folder = self.folder_of(section)
        yield Input(
            path=f"{folder}/{section.file}",
            folder=folder,
            label=f"{section.file} of {label}",
            source=partial(BytesIO, section.content),
            taken=span,
            asked=f"{section.asked or section.file} on {folder}",
        )

    def _has_room(self) -> bool:
        """Count a section or a gap; return whether it is within the limit."""
        self._count += 1
        return self._count <= MAX_ITEMS

    def _too_many(self) -> Iterator[Gap]:
        """Yield the gap of the sections and gaps over the limit, once."""
        if self._count > MAX_ITEMS and not self._reported:
            self._reported = True
            reason = f"the host sent more than {MAX_ITEMS:,} files and remarks; the others are not used"
            yield Gap(target=self.target, reason=reason, how="check what runs as sh there")

    def _must_end(self, deadline: float) -> bool:
        return self.stop.is_set() or monotonic() > deadline

    def _lacks_sh(self, child: ChildProcess) -> bool:
        """Return whether the host's shell found no sh, as on Windows."""
        is_first = self.may_be_windows and self._script is None and not self._powershell
        return is_first and child.ended and child.status() not in NOT_FOR_LACK_OF_SH

    def _ending(self, child: ChildProcess) -> Gap:
        """Return why the session ended early."""
        if self.stop.is_set():
            return Gap(target=self.target, reason="interrupted before the collection was complete", how="run it again")
        if not child.ended and self._script and monotonic() - self._heard < self.timeout_seconds / 2:
            return self._failed(f"not all was collected in {bound(self.timeout_seconds)}", "raise --timeout")
        if not child.ended:
            until = "" if self._script else " to the connection"
            return self._failed(
                f"no answer in {bound(self.timeout_seconds)}{until}", "check whether a command hangs there"
            )
        if self._script is not None:
            last = child.errors.decode(errors="backslashreplace").strip().splitlines()[-1:]
            return self._failed(
                "the connection ended during the collection" + "".join(f": {line[:200]}" for line in last),
                "run it again",
            )
        return self._failed(*refusal(child.errors or self._banner, child.status()))

    def _failed(self, reason: str, how: str) -> Gap:
        return Gap(
            target=self.target, reason=reason, how=f"{how}; try: {self.test_command}" if self.test_command else how
        )


def session_with(
    target: SshTarget, options: CollectionOptions, stop: Event, budget: Budget, log: str | None = None
) -> ScriptSession:
    """Return a session with a remote host that has not begun."""
    port = f"-p {target.port} " if target.port is not None else ""
    user = f"{target.user}@" if target.user else ""
    return ScriptSession(
        argv=ssh_command(target.user, target.host, target.port, options.timeout_seconds),
        target=target.label,
        folder=target.name,
        sudo=options.sudo,
        timeout_seconds=options.timeout_seconds,
        stop=stop,
        budget=budget,
        log=log,
        may_be_windows=log is None,
        test_command=f"ssh {port}{user}{target.host.strip('[]')} true",
    )
