"""A schedule of connections that are used, idle, and used again; its client records which of them the server cut."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from random import Random
from typing import TYPE_CHECKING

from lab.directory_servers import PASSWORD
from lab.raw_ldap import Connection

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 25
"""Seconds: idle times are 1.2, 2.2 … 24.2, so that none reaches the next second if the client is a bit late."""


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a connection after it was idle."""

    account: str
    planned: float
    """Seconds for which the connection was to be idle before."""
    idle: float
    """Seconds for which it was, by the client's clock."""
    cut: bool
    """The server had closed it."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One connection of a schedule."""

    account: str
    opened: float
    """Seconds after the beginning."""
    idle: tuple[float, ...]
    """For how many seconds it is idle before each use."""


def schedule(seed: int, accounts: Sequence[str], count: int, seconds: float) -> tuple[Planned, ...]:
    """Return connections that are used during so many seconds."""
    draw = Random(seed)  # noqa: S311  no secret
    planned = []
    for number in range(count):
        opened, idle = draw.uniform(0, 3), []
        while (longer := draw.randrange(1, LONGEST) + 0.2) + opened + sum(idle) < seconds:
            idle.append(longer)
        planned.append(Planned(accounts[number % len(accounts)], opened, tuple(idle)))
    return tuple(planned)


def run(planned: Sequence[Planned], port: int = 389) -> list[Use]:
    """Run a schedule against the server of this host, and return what its client found."""
    began, done = time.monotonic(), []
    due = [(began + one.opened, number, 0) for number, one in enumerate(planned)]
    heapify(due)
    connections: dict[int, tuple[Connection, float]] = {}
    while due:
        moment, number, place = heappop(due)
        time.sleep(max(0.0, moment - time.monotonic()))
        one, cut = planned[number], False
        if number in connections:
            connection, since = connections[number]
            asked = time.monotonic()
            if cut := not _answers(connection):
                connection.socket.close()
            done.append(Use(one.account, one.idle[place - 1], asked - since, cut))
        if cut or number not in connections:
            connection = Connection(socket.create_connection(("127.0.0.1", port)))
            assert connection.bind(one.account, PASSWORD) == 0
        connections[number] = connection, (now := time.monotonic())
        if place < len(one.idle):
            heappush(due, (now + one.idle[place], number, place + 1))
    for connection, _ in connections.values():
        connection.socket.close()
    return done


def _answers(connection: Connection) -> bool:
    """Search; return whether there was a result, and not the end of the connection."""
    try:
        return connection.search() == 0
    except (EOFError, ConnectionError):
        return False
