"""One file on another host, read over the system's ssh: a log, or what somebody captured there."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from time import monotonic
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources.budget import RUN_BYTES
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.ssh.child import Child
from ldapdiag.sources.live.ssh.refusals import refusal
from ldapdiag.sources.live.ssh.remote import ssh_command

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from ldapdiag.sources.budget import Budget
    from ldapdiag.sources.live.ssh.access_logs import Tell
    from ldapdiag.sources.targets import Remote

MOST_BYTES = 256 << 20


class RemoteFile:
    """A party that says one file, and has no sockets to look at."""

    peer: str | None = None
    clock_offset: None = None

    def __init__(self, target: Remote, seconds: int, stop: threading.Event, budget: Budget) -> None:
        self.target = target.told
        self._folder = target.name
        self._path = target.path or ""
        self._seconds = seconds
        self._stop = stop
        self._budget = budget
        shell = ssh_command(target.user, target.host, target.port, seconds)
        self._argv = [*shell[:-1], f"cat -- {shlex.quote(self._path)}"]

    def first(self) -> Iterator[Input | Gap]:
        """Yield the file, if it comes whole within the time limit."""
        try:
            child = Child(self._argv)
        except OSError as error:
            reason = f"cannot run {self._argv[0]}: {(error.strerror or str(error)).lower()}"
            yield Gap(target=self.target, reason=reason, how="install it, or put it on the PATH")
            return
        content = bytearray()
        is_over = partial(self._is_over, monotonic() + self._seconds, content)
        try:
            for chunk in child.exchange(b"", is_over):
                content.extend(chunk)
            yield self._said(child, bytes(content))
        finally:
            child.close()

    def look(self) -> Iterator[Input | Gap]:
        """Yield nothing."""
        yield from ()

    def logs(self, tell: Tell) -> Iterator[Input | Gap]:  # noqa: ARG002  as every party's
        """Yield nothing: what was named is all that is read."""
        yield from ()

    def close(self) -> None:
        """Do nothing: the command ended with the file."""

    def _is_over(self, deadline: float, content: bytearray) -> bool:
        return self._stop.is_set() or monotonic() > deadline or len(content) > MOST_BYTES

    def _said(self, child: Child, content: bytes) -> Input | Gap:
        if len(content) > MOST_BYTES:
            how = "copy it here (scp), and name the copy"
            return Gap(target=self.target, reason=f"is longer than {MOST_BYTES >> 20} MiB", how=how)
        if not child.ended:
            reason = "was interrupted" if self._stop.is_set() else f"did not come whole in {self._seconds} s"
            return Gap(target=self.target, reason=reason, how="give it more time (--timeout), or copy it here (scp)")
        if not self._budget.take(len(content)):
            reason = f"does not fit into the {RUN_BYTES >> 30} GiB that are held of one run"
            return Gap(target=self.target, reason=reason, how="copy it here (scp), and name the copy")
        if status := child.status():
            reason, how = refusal(child.errors, status)
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
