"""Evidence of one night: the access log of a server, its sockets and those of a client, drawn from known rates.

Operations arrive at random (Poisson), times of searches are exponential: two nights of one site differ by chance alone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIRST = datetime(2026, 11, 1, 3, 30, tzinfo=UTC)
"""A Sunday."""
SERVER, CLIENT = "10.77.1.2", "10.77.2.2"
CLIENTS = (CLIENT, "10.77.2.3", "10.77.2.4")
QUICK = 0.0004
"""Seconds of a search with an index, on average."""
HEADER = "\t389-Directory/2.3.1 B2025.016.1616\n\tldap:389 (/etc/dirsrv/slapd-corp)\n\n"


@dataclass(frozen=True, kw_only=True)
class Night:
    """One night of a site."""

    seed: int
    begin: datetime = FIRST
    seconds: float = 3_000
    connections: float = 200
    """Expected in the log; each binds and sends five searches."""
    slow_share: float = 0.1
    """Of the searches, those without an index; and their time on average."""
    slow_seconds: float = 0.25
    refused_share: float = 0.1
    """Of the BINDs of the account `stale`."""
    unclean_share: float = 0.3
    """Of the connections that end without an UNBIND."""
    report_share: float = 0.0
    """Of the searches, those that a deployment has brought, 3 s each."""
    held: int = 20
    ghosts: int = 0
    sees_client: bool = True

    def write(self, folder: Path) -> Path:
        """Write the evidence, and return its folder."""
        place = folder / "ldap"
        place.mkdir(parents=True, exist_ok=True)
        (place / "access").write_text(HEADER + "".join(f"{line}\n" for line in sorted(self.lines(), key=_time)))
        ports = range(40_000, 40_000 + self.held + self.ghosts)
        (place / "ss-tan.txt").write_text(_table([f"{SERVER}:389 {CLIENT}:{port}" for port in ports], listens=True))
        app = folder / "app1"
        app.mkdir(exist_ok=True)
        (app / "ss-tan.txt").unlink(missing_ok=True)
        if self.sees_client:
            (app / "ss-tan.txt").write_text(_table([f"{CLIENT}:{port} {SERVER}:389" for port in ports[: self.held]]))
        return folder

    def lines(self) -> Iterator[str]:
        """Yield the lines of the access log, connection by connection."""
        chance = random.Random(self.seed)  # noqa: S311  a test draws the same each time
        now, number = 0.0, 0
        while (now := now + chance.expovariate(self.connections / self.seconds)) < self.seconds:
            number += 1
            yield from self._connection(chance, number, now)

    def _connection(self, chance: random.Random, number: int, now: float) -> Iterator[str]:
        client = chance.choice(CLIENTS)
        yield f"{self._at(now)} conn={number} fd=64 slot=64 connection from {client} to {SERVER}"
        refused = chance.random() < self.refused_share
        dn, code = ("uid=stale,dc=example", 49) if refused else ("uid=app,dc=example", 0)
        yield f'{self._at(now)} conn={number} op=0 BIND dn="{dn}" method=128 version=3'
        yield f"{self._at(now)} conn={number} op=0 RESULT err={code} tag=97 nentries=0 etime=0.000200000"
        for op in range(1, 6):
            filter_, etime, notes = self._search(chance)
            yield f'{self._at(now)} conn={number} op={op} SRCH base="dc=example" scope=2 filter="{filter_}" attrs=ALL'
            now += etime
            yield f"{self._at(now)} conn={number} op={op} RESULT err=0 tag=101 nentries=1 etime={etime:.9f}{notes}"
        if chance.random() < self.unclean_share:
            yield f"{self._at(now)} conn={number} op=-1 fd=64 Disconnect - Connection reset by peer - B1"
        else:
            yield f"{self._at(now)} conn={number} op=6 UNBIND"
            yield f"{self._at(now)} conn={number} op=6 fd=64 Disconnect - Cleanly Closed Connection - U1"

    def _search(self, chance: random.Random) -> tuple[str, float, str]:
        drawn = chance.random()
        if drawn < self.report_share:
            return "(description=*audit*)", chance.expovariate(1 / 3), " notes=U"
        if drawn < self.report_share + self.slow_share:
            return "(displayName=*joe*)", chance.expovariate(1 / self.slow_seconds), " notes=U"
        return f"(uid=u{chance.randrange(99)})", chance.expovariate(1 / QUICK), ""

    def _at(self, seconds: float) -> str:
        moment = self.begin + timedelta(seconds=int(seconds))
        return f"[{moment:%d/%b/%Y:%H:%M:%S}.{int(seconds % 1 * 1e9):09} +0000]"


def _time(line: str) -> str:
    """Return what sorts lines of one month by time."""
    return line[1:31]


def _table(pairs: list[str], *, listens: bool = False) -> str:
    rows = ["State Recv-Q Send-Q Local Address:Port Peer Address:Port Process"]
    rows += ["LISTEN 0 128 0.0.0.0:389 0.0.0.0:*"] * listens
    return "".join(f"{row}\n" for row in [*rows, *(f"ESTAB 0 0 {pair}" for pair in pairs)])


WEEKEND = {5, 6}
DEPLOYMENT, POOL = 12, 20


def of_november(day: int, *, seed: int = 0, connections: float = 300) -> Night:
    """Return a night: less traffic at weekends, 1 % more each night, searches that a deployment made slower, a leak."""
    begin = FIRST + timedelta(days=day - 1)
    traffic = (0.35 if begin.weekday() in WEEKEND else 1.0) * 1.01**day
    return Night(
        seed=1_000 * seed + day,
        begin=begin,
        seconds=6_000,
        connections=connections * traffic,
        slow_seconds=1.5 if day >= DEPLOYMENT else 0.5,
        held=round(20 * traffic),
        ghosts=30 if day >= POOL else 0,
    )
