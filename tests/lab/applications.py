"""Applications in hosts, seen from a test: start one, wait until it is ready, ask it what became of its sockets."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.host import End, Host
    from lab.topology import Container

PROGRAM = Path(__file__).with_name("application.py")
START = f"import sys; sys.path.insert(0, {str(PROGRAM.parent)!r}); import application; application.main(*sys.argv[1:])"
PATIENCE = 120.0
PASSWORD = "password"  # noqa: S105  of servers that live for one test

# What a socket's application saw of its end; see application.py.
OPEN, UNBOUND, ABORTED, UNANSWERED, RESET, ENDED, REFUSED = (
    "open", "unbound", "aborted", "unanswered", "reset", "ended", "refused"
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What became of every socket that one application ever had: its own account of it."""

    at: float
    sockets: tuple[dict[str, object], ...]

    def ends(self, *fates: str) -> set[End]:
        """Return the application's own ends, address and port, of the sockets with one of these fates.

        Churn uses a port again and again: one end may have had several fates.
        """
        return {
            (str(one["address"]), int(str(one["port"]))) for one in self.sockets if one["fate"] in fates and one["port"]
        }

    @property
    def fates(self) -> Counter[str]:
        """How many sockets had each fate."""
        return Counter(str(one["fate"]) for one in self.sockets)


class Application:
    """A running application; it ends with `end`, or with its host."""

    def __init__(
        self, host: Host, mode: str, *, address: str, name: str = "", password: str = PASSWORD,
        container: Container | None = None, **settings: object,
    ) -> None:  # fmt: skip
        """Start it. `settings` are those of the mode (count, every, rest, rounds, live, rate, life) and of all: port,
        patience (seconds until a silent server counts as dead), keepalive (seconds; `kernel`: the host's time).
        """  # noqa: D205  one sentence for all of them
        told = {"address": address, "name": name, "password": password, **settings}
        argv = [sys.executable, "-I", "-S", "-c", START, mode, *(f"{key}={value}" for key, value in told.items())]
        self.process = host.start(
            container.enter(argv) if container else argv,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._pending, self._ready = b"", False

    def ready(self, *, seconds: float = PATIENCE) -> Application:
        """Wait until it has reached the state its mode names."""
        if not self._ready:
            answer = self._line(seconds)
            assert answer == "ready", answer
            self._ready = True
        return self

    def truth(self) -> Truth:
        """Ask it what became of its sockets, as of now."""
        told = json.loads(self.order("truth"))
        return Truth(at=told["at"], sockets=tuple(told["sockets"]))

    def order(self, order: str) -> str:
        """Give it an order (use, close, reset, stop) once it is ready, and wait until it has obeyed."""
        self.begin(order)
        return self.obeyed()

    def begin(self, order: str) -> None:
        """Give it an order once it is ready, and do not wait."""
        self.ready()
        self.process.stdin.write(f"{order}\n".encode())
        self.process.stdin.flush()

    def obeyed(self) -> str:
        """Wait until it has obeyed the order it was given, and return its answer."""
        return self._line(PATIENCE)

    def end(self) -> None:
        """End it; its sockets are closed by its kernel."""
        self.process.end()

    def _line(self, seconds: float) -> str:
        deadline = time.monotonic() + seconds
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            assert left > 0, f"the application says nothing within {seconds} s"
            if select.select([self.process.stdout], [], [], left)[0]:
                chunk = self.process.stdout.read1(1 << 20)
                assert chunk, self.process.stderr.read().decode()
                self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode()
