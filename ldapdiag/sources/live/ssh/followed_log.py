"""The access log of a server on another host, followed: each look copies into a file here what has been written since.

The script there prints the blocks after an offset and has ended with that: between two looks nothing reads the log, and
nothing of it stays there. The copy here has no name, so that nothing of it is left however the program ends.
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, TYPE_CHECKING

from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.bundle import Gap
from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.budget import RUN_BYTES, Budget
from ldapdiag.sources.live.ssh.access_logs import LIST, NO_LOG, listed
from ldapdiag.sources.live.ssh.remote import session_with

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

    from ldapdiag.evidence.access_log import LogStream
    from ldapdiag.sources.captures.script_output import ScriptSection
    from ldapdiag.sources.collection_options import CollectionOptions
    from ldapdiag.sources.live.ssh.access_logs import RemoteLog
    from ldapdiag.sources.targets import SshTarget

BLOCK = 4096
MOST_BYTES = 4 << 20
"""Of one look: at 2 s some 10,000 operations a second. What is written beyond that is left out, and counted."""
COMPARED_BYTES = 256
"""As of a local file: more than one record."""
COPY_BYTES = 64 << 20
"""From this size on another copy begins."""
PATH = pattern(r"/[A-Za-z0-9._/-]{1,4095}")
"""As the script takes one."""
ANSWER = pattern(rb"(\d{1,20}) (\d{1,15})(?: (\d{1,15}))?\n")
WHERE = Path("/proc/self/fd" if Path("/proc/self/fd").is_dir() else "/dev/fd")


class _Answer(NamedTuple):
    """What the script said of a log."""

    inode: int
    """Of the file that has its name now; 0: none has."""
    size: int
    found: int | None
    """The size of the file that was asked for; None: it is gone."""
    blocks: bytes
    is_log: bool


class FollowedLog:
    """The log of one server on a remote host. Every method but `close` raises LdapdiagError with the reason."""

    def __init__(self, target: SshTarget, options: CollectionOptions, stop: Event) -> None:
        """Find the log, and copy its end. `target` names the host, or the file on it."""
        if target.path and not PATH.fullmatch(target.path):
            raise LdapdiagError(f"{target.label}: name a path of letters, digits and . _ / - alone")
        self.label = target.label
        self.left_out = 0
        """Bytes at least: one stands for an amount that is not known."""
        self.ahead_seconds = 0.0
        self._seconds = options.timeout_seconds
        self._inode = 0
        self._at: int | None = None
        self._before = b""
        """What is there before `_at`: other bytes mean that the file has begun anew."""
        self._last = b"\n"
        self._is_cut = False
        """What comes next begins within a line."""
        self._copy: IO[bytes] = TemporaryFile()  # noqa: SIM115  `close` closes it
        self._session = session_with(target, options, stop, Budget(RUN_BYTES), target.path or "")
        try:
            self._file = self._found(monotonic() + self._seconds)
            self.label = f"{target.label.removesuffix(self._file.path)}{self._file.path}"
            self.more()
        except BaseException:
            self.close()
            raise
        self.files: Sequence[str] = (str(WHERE / str(self._copy.fileno())),)

    def described(self, stream: LogStream) -> LogStream:
        """Return the stream of the copy as that of the log."""
        file = self._file
        name = f"{file.folder}/{file.name}"
        return replace(stream, name=name, files=(name,), folder=file.folder, asked=self.label)

    def explained(self, reason: str) -> str:
        """Return a reason that names the copy as one that names the log."""
        return reason.replace(self.files[0], self.label)

    def more(self) -> None:
        """Copy what has been written since."""
        if not self._takes(self._asked()):
            self._takes(self._asked())

    def close(self) -> None:
        """End the session and remove the copy."""
        self._session.close()
        self._copy.close()

    def _found(self, deadline: float) -> RemoteLog:
        """Return the newest file of the only server with a log there."""
        session = self._session
        before = [one for one in session.connect(deadline) if isinstance(one, Gap)]
        files: dict[tuple[str, int], RemoteLog] = {}
        gaps = []
        for result in session.sections(LIST, deadline):
            if isinstance(result, Gap):
                gaps.append(result)
            else:
                for file in listed(result[0], session.folder_of(result[0])):
                    files.setdefault(file.server, file)
        how = "name the log, ssh://HOST/PATH"
        if len(files) > 1:
            paths = ", ".join(sorted(file.path for file in files.values()))
            raise LdapdiagError(f"{len(files)} servers of {self.label} have logs ({paths}): {how}")
        if gaps:  # also beside one log: whose it is, is not known where that of another server was not found
            raise LdapdiagError(f"{gaps[0].target}: {gaps[0].reason}; {how}")
        if not files:
            none = "no directory server with a log was found"
            raise LdapdiagError(f"{self.label}: {before[0].reason if before else none}")
        return next(iter(files.values()))

    def _asked(self) -> _Answer:
        self._session.begin_anew()
        block, count = self._start // BLOCK, MOST_BYTES // BLOCK + 1
        order = f"more {self._file.number} {self._inode} {block} {count}\n".encode()
        section = None
        for result in self._session.sections(order, monotonic() + self._seconds):
            if isinstance(result, Gap):
                raise LdapdiagError(f"{result.target}: {result.reason}")
            section = result[0]
        if section is None:
            raise LdapdiagError(f"{self.label}: the session has ended")
        if section.ended is not None:
            self.ahead_seconds = (section.ended - datetime.now(UTC)).total_seconds()
        return _answer_of(section)

    @property
    def _start(self) -> int:
        """Return the offset of the first block that is asked for: it shows whether the file is still the same."""
        return max(0, (self._at or 0) - COMPARED_BYTES) // BLOCK * BLOCK

    def _takes(self, answer: _Answer) -> bool:
        """Take an answer; return False if another place must be asked for at once."""
        if answer.found is None:
            return self._begins(answer)
        at = self._at or 0
        old, new = answer.blocks[: at - self._start], answer.blocks[at - self._start :]
        if answer.found < at or not old.endswith(self._before):  # it was truncated, and may have grown since
            self.left_out += 1  # what it had last is not known
            self._turn()
            return False
        self._write(new)
        self._at = at = at + len(new)
        self._before = (self._before + new)[-COMPARED_BYTES:]
        if answer.found - at > MOST_BYTES:
            self._skip_to(answer.found - MOST_BYTES)
        elif not new and answer.inode not in {0, self._inode}:  # rotated, and read to its end
            self._turn()
            self._inode = 0
            return False
        return True

    def _begins(self, answer: _Answer) -> bool:
        """Begin with the file that has the name now, once it has a record."""
        if not answer.inode:
            return self._waits("no file has its name")
        if not answer.is_log:
            return self._waits("no line of an access log at its beginning or its end")
        if self._inode:  # the file was removed, compressed or put elsewhere: what it had last is not known
            self._turn()
            self.left_out += 1
        self._inode = answer.inode
        if self._at is None:
            self._at, self._is_cut = max(0, answer.size - MOST_BYTES), answer.size > MOST_BYTES
        return False

    def _waits(self, why: str) -> bool:
        if self._at is None:
            raise LdapdiagError(f"{self.label}: {why}")
        return True

    def _turn(self) -> None:
        """Go on with the beginning of a file."""
        self._copied(b"" if self._last == b"\n" else b"\n")
        self._at, self._before, self._is_cut = 0, b"", False

    def _skip_to(self, at: int) -> None:
        self.left_out += at - (self._at or 0)
        self._turn()
        self._at, self._is_cut = at, True

    def _write(self, data: bytes) -> None:
        if self._is_cut and data:
            _, line_end, data = data.partition(b"\n")
            self._is_cut = not line_end
        self._copied(data)

    def _copied(self, data: bytes) -> None:
        if data:
            self._copy.write(data)
            self._copy.flush()
            self._last = data[-1:]
            if self._copy.tell() > COPY_BYTES and self._last == b"\n":
                with TemporaryFile() as other:  # who follows reads this one to its end, and then that
                    os.dup2(other.fileno(), self._copy.fileno())
                    self._copy.seek(0)


def _answer_of(section: ScriptSection) -> _Answer:
    first = ANSWER.match(section.content)
    if section.cut or first is None:
        raise LdapdiagError(f"`{section.asked}` failed there: {section.cut or f'exit {section.status}'}")
    inode, size, found = (None if one is None else int(one) for one in first.groups())
    return _Answer(inode or 0, size or 0, found, section.content[first.end() :], section.status != NO_LOG)
