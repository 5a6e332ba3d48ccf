"""Logs of a drawn fleet of servers behind a balancer, in two dialects, with known conditions on known servers.

Connections come by chance, now more, now fewer; jobs begin and end within the log, and use every server meanwhile.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from fleet_logs import BASE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START = datetime(2026, 9, 21, 8, tzinfo=UTC)
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
QUICK, SCANNED = 0.0006, 0.09
VERSIONS = {
    "389ds": ("389-Directory/2.3.1 B2022.349.0000", "389-Directory/1.4.4.11 B2021.118.1442"),
    "openldap": ("2.6.7", "2.4.59"),
}
LONG_LIVED, JOBS = 16, 8
"""Clients that use the servers all the time, and those that begin and end."""


@dataclass(frozen=True, kw_only=True)
class DrawnServer:
    """A server, and what is wrong with it."""

    name: str
    ahead: float = 0.0
    """Seconds that its clock is ahead."""
    silent: tuple[float, float] | None = None
    """Seconds from, to: no client reaches it."""
    load: float = 1.0
    """Times the connections of another server."""
    old: bool = False
    lacks_index: bool = False
    wait: float = 0.0001
    """Seconds that each operation waits for a worker thread."""
    covers: tuple[float, float] | None = None
    """Seconds from, to: the log has this part alone."""


@dataclass(frozen=True, kw_only=True)
class DrawnFleet:
    """Servers, and the connections that a balancer sends to them."""

    seed: str
    servers: tuple[DrawnServer, ...]
    dialect: str = "389ds"
    seconds: int = 7200
    every: float = 2.0
    """Seconds from a connection of a server to its next one, at a load of 1."""

    def write(self, folder: Path) -> None:
        """Write the log of each server to a folder of its name."""
        lines = {server.name: _head(server, self.dialect) for server in self.servers}
        events: dict[str, list[tuple[float, str]]] = {server.name: [] for server in self.servers}
        for number, (at, client, server) in enumerate(self._connections(), 1):
            texts = CONNECTIONS[self.dialect](number, client, server)
            for place, text in enumerate(texts):
                time = at + place * 0.4
                if not _within(server.silent, time) and (server.covers is None or _within(server.covers, time)):
                    events[server.name].append((time, text))
        for server in self.servers:
            place = folder / server.name
            place.mkdir(parents=True)
            stamp = STAMPS[self.dialect]
            timed = (f"{stamp(time + server.ahead, server)}{text}" for time, text in sorted(events[server.name]))
            (place / "access").write_text("\n".join([*lines[server.name], *timed, ""]))

    def _connections(self) -> Iterator[tuple[float, str, DrawnServer]]:
        """Yield time, client and server of each connection that reaches one, in the order of time."""
        chance = random.Random(self.seed)  # noqa: S311  no secret
        jobs = []
        for number in range(JOBS):
            begin = chance.uniform(0.1, 0.6) * self.seconds
            jobs.append((f"10.0.1.{number + 1}", begin, begin + chance.uniform(0.15, 0.3) * self.seconds))
        weights = [server.load for server in self.servers]
        at = 0.0
        while True:
            rate = sum(weights) / self.every * (1 + 0.3 * math.sin(2 * math.pi * at / self.seconds))
            at += chance.expovariate(rate)
            if at >= self.seconds:
                return
            clients = [name for name, begin, end in jobs if begin <= at < end] * 2
            clients += [f"10.0.0.{number + 1}" for number in range(LONG_LIVED)]
            (server,) = chance.choices(self.servers, weights)
            if not _within(server.silent, at):
                yield at, chance.choice(clients), server


def _within(span: tuple[float, float] | None, time: float) -> bool:
    return span is not None and span[0] <= time < span[1]


def _head(server: DrawnServer, dialect: str) -> list[str]:
    version = VERSIONS[dialect][server.old]
    if dialect == "openldap":
        return [f"{_slapd_stamp(server.ahead, server)}@(#) $OpenLDAP: slapd {version} (Jan 1 2024 00:00:00) $"]
    return [f"\t{version}", f"\t{server.name}.example.com:389 (/etc/dirsrv/slapd-{server.name})", ""]


def _ds389_stamp(second: float, _: DrawnServer) -> str:
    at = START + timedelta(seconds=second)
    return f"[{at.day:02}/{MONTHS[at.month - 1]}/{at:%Y:%H:%M:%S.%f}000 +0000] "


def _slapd_stamp(second: float, server: DrawnServer) -> str:
    return f"{START + timedelta(seconds=second):%Y-%m-%dT%H:%M:%S.%f}+00:00 {server.name} slapd[1]: "


def _ds389_connection(number: int, client: str, server: DrawnServer) -> Iterator[str]:
    yield f"conn={number} fd=64 slot=64 connection from {client} to 10.0.9.9"
    for op, (text, seconds, scans) in enumerate(_searches(number, server), 1):
        yield f'conn={number} op={op} SRCH base="{BASE}" scope=2 filter="{text}" attrs=ALL'
        yield (
            f"conn={number} op={op} RESULT err=0 tag=101 nentries=1 wtime={server.wait:.9f} optime={seconds:.9f} "
            f"etime={seconds + server.wait:.9f}{' notes=A' * scans}"
        )
    yield f"conn={number} op=5 UNBIND"
    yield f"conn={number} op=5 fd=64 Disconnect - Cleanly Closed Connection - U1"


def _slapd_connection(number: int, client: str, server: DrawnServer) -> Iterator[str]:
    yield f"conn={number} fd=12 ACCEPT from IP={client}:40000 (IP=0.0.0.0:389)"
    for op, (text, seconds, _) in enumerate(_searches(number, server), 1):
        yield f'conn={number} op={op} SRCH base="{BASE}" scope=2 deref=0 filter="{text}"'
        yield (
            f"conn={number} op={op} SEARCH RESULT tag=101 err=0 qtime={server.wait:.6f} "
            f"etime={seconds + server.wait:.6f} nentries=1 text="
        )
    yield f"conn={number} op=5 UNBIND"
    yield f"conn={number} fd=12 closed"


def _searches(number: int, server: DrawnServer) -> Iterator[tuple[str, float, bool]]:
    """Yield filter, seconds without the wait, and whether the server scans for it."""
    for place in range(4):
        if place % 2:
            yield f"(employeeNumber={number % 50})", SCANNED if server.lacks_index else QUICK, server.lacks_index
        else:
            yield f"(uid=u{number % 50})", QUICK, False


CONNECTIONS = {"389ds": _ds389_connection, "openldap": _slapd_connection}
STAMPS = {"389ds": _ds389_stamp, "openldap": _slapd_stamp}
