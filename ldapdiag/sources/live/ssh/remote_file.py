"""One file on a remote host, read over the system's ssh: a log, or a capture made there."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from time import monotonic
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.budget import RUN_BYTES
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.ssh.child import ChildProcess, refusal
from ldapdiag.sources.live.ssh.remote import ssh_command
from ldapdiag.sources.live.ssh.windows import NOT_FOR_LACK_OF_SH

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from ldapdiag.sources.budget import Budget
    from ldapdiag.sources.live.ssh.access_logs import ShowFile
    from ldapdiag.sources.targets import SshTarget

MAX_BYTES = 256 << 20
OF_WINDOWS = pattern(r"/*[A-Za-z]:[/\\]")
ON_WINDOWS = "on Windows, export events with wevtutil (docs/capture-by-hand.md), copy the file with scp, and name it"


class RemoteFileCollector:
    """Collect one file; there are no sockets to sample."""

    peer: str | None = None
    clock_offset: None = None

    def __init__(self, target: SshTarget, timeout_seconds: int, stop: threading.Event, budget: Budget) -> None:
        self.target = target.label
        self._folder = target.name
        self._path = target.path or ""
        self._timeout_seconds = timeout_seconds
        self._stop = stop
        self._budget = budget
        shell = ssh_command(target.user, target.host, target.port, timeout_seconds)
        self._argv = [*shell[:-1], f"cat -- {shlex.quote(self._path)}"]

    def collect(self) -> Iterator[Input | Gap]:
        """Yield the file, if it arrives completely within the time limit."""
        if OF_WINDOWS.match(self._path):
            yield Gap(target=self.target, reason="a file of Windows is not read over ssh", how=ON_WINDOWS)
            return
        try:
            child = ChildProcess(self._argv)
        except OSError as error:
            reason = f"cannot run {self._argv[0]}: {(error.strerror or str(error)).lower()}"
            yield Gap(target=self.target, reason=reason, how="install it, or add its folder to PATH")
            return
        content = bytearray()
        must_end = partial(self._must_end, monotonic() + self._timeout_seconds, content)
        try:
            for chunk in child.exchange(b"", must_end):
                content.extend(chunk)
            yield self._result(child, bytes(content))
        finally:
            child.close()

    def snapshot(self) -> Iterator[Input | Gap]:
        """Yield nothing."""
        yield from ()

    def access_logs(self, show_file: ShowFile) -> Iterator[Input | Gap]:  # noqa: ARG002  parameter of the protocol
        """Yield nothing: only the named file is read."""
        yield from ()

    def close(self) -> None:
        """Do nothing: the command ends with the file."""

    def _must_end(self, deadline: float, content: bytearray) -> bool:
        return self._stop.is_set() or monotonic() > deadline or len(content) > MAX_BYTES

    def _result(self, child: ChildProcess, content: bytes) -> Input | Gap:
        if len(content) > MAX_BYTES:
            how = "copy the file with scp, and name the copy"
            return Gap(target=self.target, reason=f"the file is larger than {MAX_BYTES >> 20} MiB", how=how)
        if not child.ended:
            reason = "interrupted" if self._stop.is_set() else f"the file did not arrive in {self._timeout_seconds} s"
            return Gap(target=self.target, reason=reason, how="raise --timeout, or copy the file with scp")
        if not self._budget.take(len(content)):
            reason = f"all targets together exceed the limit of {RUN_BYTES >> 30} GiB per run"
            return Gap(target=self.target, reason=reason, how="copy the file with scp, and name the copy")
        if status := child.status():
            reason, how = refusal(child.errors, status)
            if status not in NOT_FOR_LACK_OF_SH and not child.errors.lstrip().startswith(b"cat: "):
                how = ON_WINDOWS
            return Gap(target=self.target, reason=reason, how=how)
        name = self._path.rpartition("/")[2]
        return Input(
            path=f"{self._folder}/{name}",
            folder=self._folder,
            label=self.target,
            source=partial(BytesIO, content),
            named=True,
            asked=f"cat {self._path} on {self._folder} at {datetime.now(UTC):%FT%TZ}",
        )
