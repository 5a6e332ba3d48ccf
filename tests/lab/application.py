"""An application with connections to a directory, run as a program in a host; it knows what became of each socket.

    application.py MODE key=value…    prints `ready` when it has reached the state its mode names, then obeys lines:
    truth    print what became of every socket, as one line of JSON
    use      use every open connection once; those that do not work are closed, as an application does
    close    unbind every open connection
    reset    abort every open connection (RST)
    stop     stop using connections; they stay open
The end of its input ends it. Modes: `held` (count), `pool` (count, every), `resting` (count, rest), `leaking` (count,
rest, rounds, live), `churn` (rate, life), `crowd` (count), `drip` (rate, seed).
"""

from __future__ import annotations

import collections
import json
import os
import random
import select
import selectors
import socket
import struct
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from raw_ldap import Connection, bind_request, rootdse_search

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What became of a socket, as its application saw it.
OPEN, UNBOUND, ABORTED = "open", "unbound", "aborted"  # by itself
UNANSWERED, RESET, ENDED = "unanswered", "reset", "ended"  # found dead when used, and closed then
REFUSED = "refused"  # no connection, or no bind
BUSY = 30.0  # seconds that an answer may take on a busy machine, once its request has arrived; without `patience`
UNACKED = 24  # where struct tcp_info of linux/tcp.h has tcpi_unacked, 4 bytes


def is_acknowledged(sent: socket.socket) -> bool:
    """Return whether the other end has acknowledged everything that was sent."""
    info = sent.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return struct.unpack_from("=I", info, UNACKED) == (0,)


@dataclass
class Socket:
    """One socket of the application, with times in seconds since 1970."""

    address: str = ""
    port: int = 0
    fate: str = OPEN
    opened: float = field(default_factory=time.time)
    answered: float = 0.0
    closed: float | None = None
    connection: Connection | None = None

    def note_end(self) -> None:
        """Remember which address and port it has."""
        self.address, self.port = self.connection.socket.getsockname()[:2]

    def end(self, fate: str) -> None:
        self.fate, self.closed = fate, time.time()
        if self.connection is not None:
            self.connection.socket.close()
            self.connection = None


class Application:
    """The sockets of this process."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.address, self.port = settings.pop("address"), int(settings.pop("port", "389"))
        self.name, self.password = settings.pop("name", ""), settings.pop("password", "")
        patience = settings.pop("patience", "")
        self.patience, self.busy = float(patience or "0.5"), float(patience or BUSY)
        self.opening = float(settings.pop("opening", "10"))
        self.keepalive = settings.pop("keepalive", "")
        self.sockets: list[Socket] = []
        self.stopped = False

    def open(self, count: int) -> list[Socket]:
        """Open connections, bind and search on each."""
        return [self.open_one() for _ in range(count)]

    def open_one(self) -> Socket:
        one = self.new(blocking=True)
        try:
            one.connection.socket.connect((self.address, self.port))
            one.note_end()
            refused = self.name and one.connection.bind(self.name, self.password)
            if refused or one.connection.search():
                one.end(REFUSED)
            one.answered = time.time()
        except (OSError, EOFError):
            one.end(REFUSED)
        return one

    def new(self, *, blocking: bool) -> Socket:
        """Return a socket that is not connected yet, or, not blocking, on its way."""
        made = socket.socket(socket.AF_INET6 if ":" in self.address else socket.AF_INET)
        if self.keepalive:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if self.keepalive != "kernel":
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, int(self.keepalive))
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
        made.settimeout(self.opening if blocking else 0)
        if not blocking:
            made.connect_ex((self.address, self.port))
        one = Socket(connection=Connection(made))
        one.note_end()
        self.sockets.append(one)
        return one

    def living(self) -> list[Socket]:
        return [one for one in self.sockets if one.fate == OPEN]

    def use(self, chosen: Iterable[Socket]) -> None:
        """Search on all of them at once; close those that have not answered when patience ends.

        A request that the other end has acknowledged has arrived: on a busy machine its answer may take long.
        """
        waiting = {one.connection.socket: one for one in chosen if one.connection is not None}
        for one in list(waiting.values()):
            with self.watching(one, waiting):
                one.connection.send(rootdse_search())
        self.await_results(waiting, self.patience)
        arrived = {key: waiting.pop(key) for key in list(waiting) if is_acknowledged(key)}
        self.await_results(arrived, self.busy)
        for one in (*waiting.values(), *arrived.values()):
            one.end(UNANSWERED)

    def await_results(self, waiting: dict[socket.socket, Socket], seconds: float) -> None:
        """Read the results that come within so many seconds, and leave the others in `waiting`."""
        for ready, one in self.watch(waiting, seconds):
            with self.watching(one, waiting):
                one.connection.result()
                one.answered = time.time()
                del waiting[ready]

    def watch(
        self, waiting: dict[socket.socket, Socket], seconds: float, first: int = selectors.EVENT_READ
    ) -> Iterator[tuple[socket.socket, Socket]]:
        """Yield what is ready, first for these events and then to be read, while any waits, for so many seconds."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            for key in waiting:
                selector.register(key, first)
            while waiting and (left := deadline - time.monotonic()) > 0:
                for event, _ in selector.select(left):
                    ready = event.fileobj
                    yield ready, waiting[ready]
                    if ready in waiting:
                        selector.modify(ready, selectors.EVENT_READ)
                    else:
                        selector.unregister(event.fd)

    class watching:  # noqa: N801  reads as a word of the language
        """Note how a connection died, if it does in this block."""

        def __init__(self, one: Socket, waiting: dict[socket.socket, Socket]) -> None:
            self.one, self.waiting = one, waiting

        def __enter__(self) -> None:
            self.key = self.one.connection.socket

        def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
            if isinstance(error, (EOFError, OSError)):
                self.waiting.pop(self.key, None)
                self.one.end(ENDED if isinstance(error, EOFError) else RESET)
                return True
            return False

    def unbind(self, chosen: Iterable[Socket]) -> None:
        for one in chosen:
            with suppress(OSError):
                one.connection.unbind()
            one.end(UNBOUND)

    def abort(self, chosen: Iterable[Socket]) -> None:
        for one in chosen:
            one.connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.end(ABORTED)

    def truth(self) -> str:
        """Return every socket as JSON."""
        told = [{k: v for k, v in vars(one).items() if k != "connection"} for one in self.sockets]
        return json.dumps({"at": time.time(), "to": [self.address, self.port], "sockets": told})

    def obey(self, order: str) -> str:
        match order:
            case "truth":
                return self.truth()
            case "use":
                self.use(self.living())
            case "close":
                self.unbind(self.living())
            case "reset":
                self.abort(self.living())
            case "stop":
                self.stopped = True
            case _:
                return f"what is {order}?"
        return "done"


READY = -1.0  # what a mode yields when it has reached its state; else the seconds until it wants to go on


def held(application: Application, count: str = "10") -> Iterator[float]:
    """Open connections and leave them alone."""
    application.open(int(count))
    yield READY
    while True:
        yield 60.0


def crowd(application: Application, count: str = "100") -> Iterator[float]:
    """Connect and bind all at once, and go on waiting for answers, as the clients of an exhausted server do."""
    waiting = {}
    for _ in range(int(count)):
        one = application.new(blocking=False)
        waiting[one.connection.socket] = one
    bound: set[socket.socket] = set()
    for ready, one in application.watch(waiting, application.patience, selectors.EVENT_WRITE):
        with application.watching(one, waiting):
            if ready not in bound:
                bound.add(ready)
                one.note_end()
                one.connection.send(bind_request(application.name, application.password))
            else:
                one.connection.result()
                one.answered = time.time()
                del waiting[ready]
    yield READY
    while True:
        yield 60.0


def pool(application: Application, count: str = "10", every: str = "1") -> Iterator[float]:
    """Use every connection of a pool every so many seconds, and replace the dead."""
    size, pause = int(count), float(every) / int(count)
    application.open(size)
    yield READY
    while True:
        for one in application.living():
            application.use([one])
            yield pause
        application.open(size - len(application.living()))
        yield pause


def resting(application: Application, count: str = "2", rest: str = "3") -> Iterator[float]:
    """Use connections at once, let them rest, and so on; the dead are replaced."""
    application.open(int(count))
    yield READY
    while True:
        yield float(rest)
        application.use(application.living())
        application.open(int(count) - len(application.living()))


def leaking(
    application: Application, count: str = "30", rest: str = "3", rounds: str = "1", live: str = "2"
) -> Iterator[float]:
    """Let connections rest for longer than the box allows, find them dead and close them; keep a few in use."""
    for _ in range(int(rounds)):
        opened = application.open(int(count))
        yield float(rest)
        application.use(opened)
        application.unbind(one for one in opened if one.fate == OPEN)
    alive = application.open(int(live))
    yield READY
    while True:
        application.use(one for one in alive if one.fate == OPEN)
        yield 0.5


def churn(application: Application, rate: str = "200", life: str = "0.05") -> Iterator[float]:
    """Open so many connections a second, each for a short life."""
    young: collections.deque[tuple[float, Socket]] = collections.deque()
    began, opened = time.monotonic(), 0
    yield READY
    while not application.stopped:
        now = time.monotonic()
        while young and young[0][0] <= now:
            application.unbind(one for one in (young.popleft()[1],) if one.fate == OPEN)
        for _ in range(min(20, int((now - began) * float(rate)) - opened)):
            young.append((now + float(life), application.open_one()))
            opened += 1
        yield 0.005
    application.unbind(one for _, one in young if one.fate == OPEN)
    while True:
        yield 60.0


def drip(application: Application, rate: str = "2", seed: str = "1") -> Iterator[float]:
    """Open connections one by one at drawn times, so many a second on average, and never close one."""
    draw = random.Random(int(seed))  # noqa: S311  reproducible, no secret
    yield READY
    while not application.stopped:
        yield draw.expovariate(float(rate))
        application.open_one()
    while True:
        yield 60.0


def hurry() -> None:
    """Go before other programs: what a client sends in time must be sent in time on a busy machine, too."""
    os.nice(-10)
    with suppress(OSError), Path("/proc/self/autogroup").open("w") as group:  # sched(7): niceness works within it
        group.write("-10")


def main(mode: str, *settings: str) -> None:
    hurry()
    given = dict(setting.split("=", 1) for setting in settings)
    application = Application(given)
    known = (held, pool, resting, leaking, churn, crowd, drip)
    modes = {one.__name__: one for one in known}
    step = modes[mode](application, **given)
    due, pending = 0.0, b""
    while True:
        ready = select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))[0]
        if ready:
            chunk = sys.stdin.buffer.raw.read(4096)
            if not chunk:
                return
            *orders, pending = (pending + chunk).split(b"\n")
            for order in orders:
                print(application.obey(order.decode()), flush=True)  # noqa: T201  it is a program
        if time.monotonic() >= due and not (application.stopped and mode != "churn"):
            pause = next(step)
            if pause == READY:
                print("ready", flush=True)  # noqa: T201  it is a program
            due = time.monotonic() + max(0.0, pause)
        elif application.stopped and mode != "churn":
            due = time.monotonic() + 60


if __name__ == "__main__":
    main(*sys.argv[1:])
