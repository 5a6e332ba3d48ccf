"""A child process with orders on its standard input: it never blocks the caller, and leaves no process behind.

Why collection from a host failed, in a sentence, from the error output of ssh, nsenter or the shell.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from contextlib import suppress
from dataclasses import field
from time import monotonic, sleep
from typing import IO, TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CHUNK_BYTES = 1 << 16
WRITE_BYTES = 4096
"""Size of an atomic write to a pipe (PIPE_BUF)."""
TICK_SECONDS = 0.1
"""Time between two checks whether an exchange must end."""
EXIT_SECONDS = 0.5
"""Time for the process to exit, and again after SIGTERM."""
ERROR_BYTES = 4096
"""Last bytes of standard error to keep."""


@dataclass(slots=True)
class ChildProcess:
    """A command in a session of its own. The constructor raises OSError when the command cannot be started."""

    argv: Sequence[str]
    errors: bytes = b""
    """Last part of its standard error."""
    ended: bool = False
    """It has closed its standard output."""
    _process: subprocess.Popen[bytes] = field(init=False)
    _pipes: tuple[int, int, int] = field(init=False)
    """Descriptors of its standard input, output and error."""
    _unsent: bytes = b""

    def __post_init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603  the command is the operator's ssh, nsenter or sh
            list(self.argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        stdin, stdout, stderr = (pipe.fileno() for pipe in self._files())
        self._pipes = stdin, stdout, stderr
        for pipe in self._pipes:
            os.set_blocking(pipe, False)

    def exchange(self, order: bytes, until: Callable[[], bool], *, is_last: bool = False) -> Iterator[bytes]:
        """Write an order and yield the output in chunks, until it ends or `until()` is true.

        After the last order its input ends, and no other may be written.
        """
        self._unsent = order
        stdin, stdout, stderr = self._pipes
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ)
            selector.register(stderr, selectors.EVENT_READ)
            while not self.ended and not until():
                for key, _ in selector.select(TICK_SECONDS):
                    if key.fd == stdin:
                        more, printed = self._write(stdin), b""
                    else:
                        more, printed = self._read(key.fd)
                    if not more:
                        selector.unregister(key.fd)
                        self.ended = self.ended or key.fd == stdout
                    if is_last and not more and key.fd == stdin and self._process.stdin:
                        self._process.stdin.close()
                    if key.fd == stdout and printed:
                        yield printed

    def status(self) -> int | None:
        """Return the exit status, None while it runs; wait up to EXIT_SECONDS for it."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(EXIT_SECONDS)
        return None

    def close(self) -> None:
        """End it and its children: by the end of its input, then by signals. May be called more than once."""
        for pipe in self._files():
            with suppress(OSError):
                pipe.close()
        if self._process.returncode is not None:
            return
        if not self._ends_soon():
            self._signal(signal.SIGTERM)
            self._ends_soon()
        # Its process and group IDs cannot be reused before wait().
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _files(self) -> list[IO[bytes]]:
        process = self._process
        return [pipe for pipe in (process.stdin, process.stdout, process.stderr) if pipe is not None]

    def _write(self, descriptor: int) -> bool:
        """Write as much as the pipe takes; return whether there is more."""
        try:
            self._unsent = self._unsent[os.write(descriptor, self._unsent[:WRITE_BYTES]) :]
        except BlockingIOError:
            return True
        except OSError:  # the process has ended
            self._unsent = b""
        return bool(self._unsent)

    def _read(self, descriptor: int) -> tuple[bool, bytes]:
        """Return whether more output may come, and the chunk read."""
        try:
            chunk = os.read(descriptor, CHUNK_BYTES)
        except BlockingIOError:
            return True, b""
        except OSError:
            return False, b""
        if descriptor == self._pipes[2]:
            self.errors = (self.errors + chunk)[-ERROR_BYTES:]
        return bool(chunk), chunk

    def _ends_soon(self) -> bool:
        """Return whether it exits in time; its status stays to be fetched."""
        deadline = monotonic() + EXIT_SECONDS
        wait = getattr(os, "waitid", lambda *_: None)  # on macOS from Python 3.13 on: before, the whole time is waited
        while wait(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if monotonic() > deadline:
                return False
            sleep(0.01)
        return True

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


CHECK_ADDRESS = "check the address and the network"
CHECK_PATH = "check the address and the firewalls to it"
BY_HAND = "bring its netstat -ano, and its events (docs/capture-by-hand.md)"
CHECK_LOG = "check sshd's log there"
NAMESPACE = "cannot enter the network namespace"
NAMESPACE_ADVICE = "check its name (ip netns), and run as root"

REFUSALS: tuple[tuple[str, str, str], ...] = (
    ("permission denied (", "permission denied", "load a key (ssh-add), or name the user: ssh://user@host"),
    ("too many authentication failures", "too many keys were offered", "set IdentitiesOnly in ~/.ssh/config"),
    ("host key verification failed", "unknown or changed host key", "connect by hand and compare the key"),
    ("could not resolve hostname", "cannot resolve its host name", "check the spelling, or use the address"),
    ("connection refused", "connection refused", "check that sshd runs there, and its port: ssh://host:port"),
    ("no route to host", "no route to the host", CHECK_ADDRESS),
    ("network is unreachable", "its network is unreachable", CHECK_ADDRESS),
    ("connection timed out", "no answer to the connection request", CHECK_PATH),
    ("operation timed out", "no answer to the connection request", CHECK_PATH),
    ("kex_exchange_identification", "it closed the connection at once", f"{CHECK_LOG} (MaxStartups)"),
    ("connection closed by", "it closed the connection", CHECK_LOG),
    ("connection reset", "it reset the connection", CHECK_LOG),
    ("restricted language mode", "PowerShell may only run what a policy allows there", BY_HAND),
    ("account is not available", "this user may not run commands there", "name another user: ssh://user@host"),
    ("not found", "no sh for this user", "name a user with a shell: ssh://user@host"),
    ("cannot open /", NAMESPACE, NAMESPACE_ADVICE),
    ("reassociate to namespace", NAMESPACE, NAMESPACE_ADVICE),
    ("operation not permitted", "operation not permitted", "run as root"),
)
"""Text in the error output (lower case), reason, advice."""

OTHERWISE = "check that the host is reachable, and that this user may start sh there, or on Windows powershell"
MAX_SHOWN = 200
"""Characters of the error output to repeat."""


def refusal(errors: bytes, status: int | None) -> tuple[str, str]:
    """Return reason and advice from the last error output of a command and its exit status."""
    text = errors.decode(errors="backslashreplace")
    for sign, reason, how in REFUSALS:
        for line in text.splitlines():
            if sign in line.lower():
                return f"{reason} ({line.strip()[:MAX_SHOWN]})", how
    last = text.strip().splitlines()[-1:]
    detail = f": {last[0].strip()[:MAX_SHOWN]}" if last else ""
    return f"the command ended without an answer (exit status {status}){detail}", OTHERWISE
