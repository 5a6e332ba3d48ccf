"""Leaks by an event-driven simulation of clients, pools, a firewall and a server: connections, not rates.

Written before the estimator (ldapdiag/analysis/load/forecast.py), which was not tuned with it: its coverage is
reported apart. There is no growth rate in here. Pools use their connections again after a while; a firewall forgets
those that were idle for longer than its timeout; the client then opens another one, and the server keeps the old one.
Clients crash and leave all their connections. Visitors come and go. By day there is more of everything. Some servers
are restarted once, some firewalls are switched off for a time.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from heapq import heapify, heappop, heappush
from random import Random
from typing import TYPE_CHECKING

from leaks.simulated_leak import SimulatedLeak

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY = 86_400.0
STEPS = (1, 5, 15, 60, 300, 900, 3600, 21_600)
MOST_EVENTS = 8_000
USE, LEAVE, ARRIVE, CRASH = range(4)

Event = tuple[float, int, int, int, float]
"""Time, what happens, the pool, the event since which the connection exists, and how long it was idle."""


class Site:
    """Clients, a firewall, and the open connections of one server over time."""

    def __init__(self, seed: int) -> None:
        """Draw a site."""
        self.random = draw = Random(seed)  # noqa: S311  reproducible, no secret
        self.pools = draw.randint(3, 25)
        self.pool_size = draw.randint(2, 20)
        self.typical_gap = 10 ** draw.uniform(1.3, 4.3)
        """Seconds between two uses of a connection, by day: 20 s to 5 h."""
        self.spread = draw.uniform(0.4, 1.3)
        self.firewall = self.typical_gap * draw.uniform(0.8, 3.0)
        self.night = draw.choice((1.0, 0.7, 0.3, 0.1))
        """Of the activity of the day; 1: a rhythm is not there."""
        self.visitors = draw.uniform(0.0, 60.0)
        """At once, by day."""
        self.visit = self.typical_gap * draw.uniform(0.3, 10.0)
        self.crash_every = draw.choice((math.inf, self.typical_gap * 60))
        self.room = 10 ** draw.uniform(1.7, 2.9)
        self.limit = round(self.pools * self.pool_size + self.visitors + self.room)
        self.begin = draw.uniform(0, DAY)
        self.restart_after = draw.uniform(0.15, 0.7) * self.room if draw.random() < 0.2 else math.inf
        """The server is restarted when it has so many dead connections."""
        self.off = (
            (draw.uniform(0.1, 0.5), draw.uniform(0.05, 0.5) * self.room / (self.pools * self.pool_size))
            if draw.random() < 0.25
            else None
        )
        """The firewall forgets nothing from a share of the room on, for so many typical gaps."""
        self.dead = self.alive = 0
        self.seen: list[tuple[float, int]] = []
        self.queue: list[Event] = []
        self.serial = 0
        """The number of the event; a connection is as old as the event that used it last."""
        self.server_started = 0
        self.client_started = [0] * self.pools
        self.off_until: float | None = None
        self.restarted = False

    def activity(self, now: float) -> float:
        """Return how much happens at a time of day: office hours with an edge of two hours."""
        hour = now % DAY / 3600
        day = max(0.0, min(1.0, (hour - 6.5) / 2, (19.5 - hour) / 2))
        return self.night + (1 - self.night) * day

    def gap(self, now: float) -> float:
        """Return how long a connection rests before its next use."""
        return self.typical_gap * self.random.lognormvariate(0, self.spread) / self.activity(now)

    def run(self) -> float | None:
        """Let things happen until the limit is reached; None if that takes too long."""
        now = self.begin
        self._start(now)
        happens = (self._use, self._leave, self._arrive, self._crash)
        for self.serial in range(1, MOST_EVENTS + 1):
            now, what, pool, born, idle = heappop(self.queue)
            happens[what](now, pool, born, idle)
            if self.off and self.off_until is None and self.dead > self.off[0] * self.room:
                self.off_until = now + self.off[1] * self.typical_gap
            if self.dead >= self.restart_after and not self.restarted:
                self.restarted, self.dead, self.alive, self.server_started = True, 0, 0, self.serial
            self.seen.append((now, self.dead + self.alive))
            if self.dead + self.alive >= self.limit:
                return now
        return None

    def _start(self, now: float) -> None:
        """Fill the pools and let the visitors of this hour in."""
        draw = self.random
        for pool in range(self.pools):
            for _ in range(self.pool_size):
                rest = self.gap(now)
                self.queue.append((now + draw.random() * rest, USE, pool, 0, rest * draw.random()))
                self.alive += 1
        for _ in range(round(self.visitors * self.activity(now))):
            self.queue.append((now + draw.expovariate(1 / self.visit), LEAVE, 0, 0, 0.0))
            self.alive += 1
        if self.visitors >= 1:
            self.queue.append((now + draw.expovariate(self.visitors / self.visit), ARRIVE, 0, 0, 0.0))
        if self.crash_every < math.inf:
            self.queue.append((now + draw.expovariate(1 / self.crash_every), CRASH, 0, 0, 0.0))
        heapify(self.queue)
        self.seen.append((now, self.alive))

    def _use(self, now: float, pool: int, born: int, idle: float) -> None:
        if born < max(self.server_started, self.client_started[pool]):
            self.alive += 1  # its server or its client has restarted: a new connection, where the old one was
        elif idle > self.firewall and not (self.off_until is not None and now < self.off_until):
            self.dead += 1
        rest = self.gap(now)
        heappush(self.queue, (now + rest, USE, pool, self.serial, rest))

    def _leave(self, _now: float, _pool: int, born: int, _idle: float) -> None:
        if born >= self.server_started:
            self.alive -= 1

    def _arrive(self, now: float, _pool: int, _born: int, _idle: float) -> None:
        if self.random.random() < self.activity(now):
            self.alive += 1
            leaves = now + self.random.expovariate(1 / self.visit)
            heappush(self.queue, (leaves, LEAVE, 0, self.serial, 0.0))
        arrives = now + self.random.expovariate(self.visitors / self.visit)
        heappush(self.queue, (arrives, ARRIVE, 0, 0, 0.0))

    def _crash(self, now: float, _pool: int, _born: int, _idle: float) -> None:
        victim = self.random.randrange(self.pools)
        since = max(self.server_started, self.client_started[victim])
        lost = sum(kind == USE and pool == victim and born >= since for _, kind, pool, born, _ in self.queue)
        self.dead += lost
        self.alive -= lost
        self.client_started[victim] = self.serial
        heappush(self.queue, (now + self.random.expovariate(1 / self.crash_every), CRASH, 0, 0, 0.0))


def event_driven_leaks(seed: int = 0) -> Iterator[SimulatedLeak]:
    """Yield leaks, without end."""
    while True:
        site = Site(seed)
        reached = site.run()
        if reached is not None and reached - site.begin > 60:
            yield observed(site, reached)
        seed += 1


def observed(site: Site, reached: float) -> SimulatedLeak:
    """Look at a site from a drawn time on, until a drawn time before its limit is reached."""
    draw = site.random
    times = [time for time, _ in site.seen]
    lived = reached - site.begin
    now = site.begin + draw.uniform(0.5, 0.85) * lived
    way = draw.choice(("log", "snapshots", "history"))
    since = site.begin if draw.random() < 0.5 else site.begin + draw.uniform(0.0, 0.5) * (now - site.begin)
    if way == "log":
        step = next(step for step in (*STEPS, DAY, DAY * 4) if (now - since) / step < 240)
        first = math.ceil(since / step)
        at = [number * step for number in range(first, int(now // step) + 1)]
        at = [*at, now] if not at or at[-1] < now else at
    elif way == "snapshots":
        count = draw.randint(8, 60)
        at = [since + (now - since) * number / (count - 1) for number in range(count)]
    else:
        count = draw.randint(8, 60)
        at = sorted([since, now, *(draw.uniform(since, now) for _ in range(count - 2))])
    counted = tuple((time, site.seen[bisect_right(times, time) - 1][1]) for time in at if time >= site.begin)
    features = [way, *(["restart"] if site.restarted else []), *(["pause"] if site.off else [])]
    features += ["rhythm"] if site.night < 1 else []
    return SimulatedLeak(counted=counted, limit=site.limit, reached=reached, kind=" ".join(features))
