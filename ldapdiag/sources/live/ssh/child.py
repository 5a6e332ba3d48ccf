"""A command that is spoken to over its standard input: it never blocks us, and leaves nothing behind."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic, sleep
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CHUNK = 1 << 16
WRITTEN_AT_ONCE = 4096
"""Bytes that a pipe takes whole (PIPE_BUF)."""
TICK_SECONDS = 0.1
"""How soon an exchange notices that it is to stop."""
FAREWELL_SECONDS = 0.5
"""What a command has to end by itself, and then again after it was asked to."""
ERRORS_KEPT = 4096
"""Bytes of the end of its standard error."""


@dataclass(slots=True)
class Child:
    """A command in a session of its own. Constructing it raises OSError where the command cannot be started."""

    argv: Sequence[str]
    errors: bytes = b""
    """The end of what it said on standard error."""
    ended: bool = False
    """It closed its standard output."""
    _process: subprocess.Popen[bytes] = field(init=False)
    _left: bytes = b""

    def __post_init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603  the command is the operator's own ssh, nsenter or sh
            list(self.argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        for pipe in self._pipes():
            os.set_blocking(pipe, False)

    def exchange(self, order: bytes, until: Callable[[], bool]) -> Iterator[bytes]:
        """Write an order and yield what is printed, in parts, until the output ends or `until` says so."""
        self._left = order
        stdin, stdout, stderr = self._pipes()
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
                    if key.fd == stdout and printed:
                        yield printed

    def status(self) -> int | None:
        """Return how it ended, or None while it runs; waits a moment for one that has closed its output."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(FAREWELL_SECONDS)
        return None

    def close(self) -> None:
        """End it and all it started: by the end of its input, then by signals. May be called more than once."""
        for pipe in self._files():
            with suppress(OSError):
                pipe.close()
        if self._process.returncode is not None:
            return
        if not self._ends_soon():
            self._signal(signal.SIGTERM)
            self._ends_soon()
        # Until it is waited for, its number and its group's are nobody else's.
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _pipes(self) -> tuple[int, int, int]:
        stdin, stdout, stderr = (pipe.fileno() for pipe in self._files())
        return stdin, stdout, stderr

    def _files(self) -> list[IO[bytes]]:
        process = self._process
        return [pipe for pipe in (process.stdin, process.stdout, process.stderr) if pipe is not None]

    def _write(self, descriptor: int) -> bool:
        """Write what is taken now; tell whether more is left."""
        try:
            self._left = self._left[os.write(descriptor, self._left[:WRITTEN_AT_ONCE]) :]
        except BlockingIOError:
            return True
        except OSError:  # it ended, and its output ends, too
            self._left = b""
        return bool(self._left)

    def _read(self, descriptor: int) -> tuple[bool, bytes]:
        """Return whether more may come, and what was said."""
        try:
            said = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return True, b""
        except OSError:
            return False, b""
        if descriptor == self._pipes()[2]:
            self.errors = (self.errors + said)[-ERRORS_KEPT:]
        return bool(said), said

    def _ends_soon(self) -> bool:
        """Tell whether it ends by itself, and leave its status to be fetched."""
        deadline = monotonic() + FAREWELL_SECONDS
        while os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if monotonic() > deadline:
                return False
            sleep(0.01)
        return True

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
