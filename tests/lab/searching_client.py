"""A client that searches all the while, in a process of its own on a host, and records each search and each failure.

    with searching(server, LANES) as client:
        paste(server.host, script)
    client.longest_pause("people")      seconds without an answer
    client.failures                     what was refused, or answered otherwise than at first

Each lane is one connection with one search, which has to find as many entries every time. A lane that loses its
connection opens a new one, and goes on.
"""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lab.directory_servers import Server

INTERVAL = 0.01
"""Seconds between an answer and the next search."""
PATIENCE = 60.0
LOST = -1
"""The result code of a search that had no result."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One search that is asked again and again."""

    base: str
    scope: str
    filter: str


@dataclass(frozen=True, slots=True)
class Tried:
    """One search of a lane."""

    lane: str
    began: float
    """Seconds of time.monotonic() of this machine."""
    ended: float
    err: int
    entries: int


@dataclass(slots=True)
class SearchingClient:
    """What a client recorded; complete when it has ended."""

    tried: list[Tried] = field(default_factory=list)

    def of(self, lane: str) -> list[Tried]:
        """Return the searches of a lane, in order."""
        return [one for one in self.tried if one.lane == lane]

    def longest_pause(self, lane: str) -> float:
        """Return the longest time of a lane between one answer and the next, in seconds."""
        answers = [one.ended for one in self.of(lane) if one.err != LOST]
        return max(after - before for before, after in pairwise(answers))

    def longest_pauses(self) -> dict[str, float]:
        """Return the longest pause of each lane."""
        return {lane: self.longest_pause(lane) for lane in dict.fromkeys(one.lane for one in self.tried)}

    @property
    def failures(self) -> list[Tried]:
        """Return what failed, or found another number of entries than the lane's first search."""
        first = {one.lane: one for one in reversed(self.tried)}
        return [one for one in self.tried if (one.err, one.entries) != (0, first[one.lane].entries)]

    @property
    def lost(self) -> list[Tried]:
        """Return the searches without a result: the server was away."""
        return [one for one in self.tried if one.err == LOST]


@contextmanager
def searching(
    server: Server, lanes: Mapping[str, Lane], *, name: str | None = None, password: str = "password",  # noqa: S107  of servers that live for one test
) -> Iterator[SearchingClient]:  # fmt: skip
    """Search on the server's host from the first answer of every lane on until the block ends."""
    client = SearchingClient()
    work = {lane: [one.base, one.scope, one.filter] for lane, one in lanes.items()}
    orders = json.dumps({"name": name or server.administrator, "password": password, "lanes": work})
    written = Path(f"/tmp/searching-{server.host.pid}-{time.monotonic_ns()}.jsonl")  # noqa: S108  hosts share /tmp
    process = server.host.start([sys.executable, __file__, orders, written])
    try:
        _wait_for_answers(written, set(lanes), process)
        yield client
    finally:
        process.end()
        lines = written.read_text().splitlines() if written.exists() else []
        client.tried.extend(sorted((Tried(**json.loads(line)) for line in lines), key=lambda one: one.ended))
        written.unlink(missing_ok=True)


def _wait_for_answers(written: Path, lanes: set[str], process: object) -> None:
    deadline = time.monotonic() + PATIENCE
    while not written.exists() or lanes - {json.loads(line)["lane"] for line in written.read_text().splitlines()[:-1]}:
        assert process.poll() is None, "the searching client has ended"
        assert time.monotonic() < deadline, "the searching client has no answer"
        time.sleep(0.02)


def _main(orders: str, written: str) -> None:
    work = json.loads(orders)
    ended, lock = threading.Event(), threading.Lock()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with Path(written).open("w", buffering=1) as rows:

        def write(row: dict[str, object]) -> None:
            with lock:
                rows.write(json.dumps(row) + "\n")

        lanes = [
            threading.Thread(target=_lane, args=(lane, search, work, ended, write), daemon=True)
            for lane, search in work["lanes"].items()
        ]
        for lane in lanes:
            lane.start()
        while not ended.wait(0.1):
            pass
        for lane in lanes:
            lane.join(0.5)


def _lane(lane: str, search: list[str], work: dict[str, str], ended: threading.Event, write: object) -> None:
    connection = None
    while not ended.wait(INTERVAL):
        began = time.monotonic()
        try:
            connection = connection or _connected(work)
            answer = ask(connection, *search, Control())
            err, entries = answer.err, len(answer.names)
        except (OSError, EOFError):
            connection, err, entries = None, LOST, 0
        write({"lane": lane, "began": began, "ended": time.monotonic(), "err": err, "entries": entries})


def _connected(work: dict[str, str]) -> Connection:
    connection = Connection(socket.create_connection(("127.0.0.1", 389), timeout=PATIENCE))
    connection.socket.settimeout(None)  # a pause is measured, however long it lasts
    assert connection.bind(work["name"], work["password"]) == 0
    return connection


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from lab.controlled_search import Control, ask  # noqa: E402  as a program it first needs the path
from lab.raw_ldap import Connection  # noqa: E402  the same

if __name__ == "__main__":
    _main(*sys.argv[1:])
