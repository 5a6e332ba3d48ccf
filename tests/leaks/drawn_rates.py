"""Leaks by a drawn rate: what the estimator was written against. Growth by a rate, plus a level that fluctuates.

The rate follows the time of day and pauses; the arrivals are Poisson, one or several at a time. The other connections
fluctuate around a mean with a memory, and follow the time of day, too. Some servers are restarted and refilled.
"""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

from leaks.simulated_leak import SimulatedLeak

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY = 86_400.0
TICKS = 400
"""From the beginning to the limit, about."""
LONGEST = 8 * TICKS


def drawn_leaks(seed: int = 0) -> Iterator[SimulatedLeak]:
    """Yield leaks, without end."""
    while True:
        leak = drawn_leak(Random(seed))  # noqa: S311  reproducible, no secret
        if leak is not None:
            yield leak
        seed += 1


def drawn_leak(draw: Random) -> SimulatedLeak | None:
    """Draw a leak; None if the limit is not reached."""
    hours = 10 ** draw.uniform(-0.7, 2.6)
    room = 10 ** draw.uniform(2.0, 4.0)
    level = room * 10 ** draw.uniform(-1.0, 0.0)
    tick = hours * 3600 / TICKS
    batch = draw.choice((1, 1, 1, 5))
    rhythm, phase = draw.choice((0.0, 0.2, 0.5)), draw.uniform(0, DAY)
    swing = draw.choice((0.0, 0.05, 0.2)) * level
    noise, memory = draw.uniform(0.0, 0.05) * level, draw.choice((0.0, 0.8, 0.97))
    pause_every = draw.choice((math.inf, hours * 3600 / 4))
    restart_at = draw.uniform(0.05, 0.4) * TICKS if draw.random() < 0.2 else None
    restarted = restart_at is not None
    refill = draw.uniform(2, 30)
    now, dead, drift, paused, filled = draw.uniform(0, DAY), 0.0, 0.0, 0.0, 1.0
    limit = round(level + room)
    seen: list[tuple[float, int]] = []
    for number in range(LONGEST):
        wave = math.sin(2 * math.pi * (now + phase) / DAY)
        expected = room / TICKS * (1 + rhythm * wave)
        if paused > now:
            expected = 0.0
        elif pause_every < math.inf and draw.random() < tick / pause_every:
            paused = now + draw.expovariate(25 / (hours * 3600))
        dead += batch * poisson(draw, expected / batch)
        if restart_at is not None and number >= restart_at:
            dead, filled, restart_at = 0.0, 0.0, None
        filled += (1 - filled) / refill
        drift = memory * drift + math.sqrt(1 - memory**2) * draw.gauss(0, noise)
        count = dead + filled * max(0.0, level + swing * wave + drift)
        now += tick
        seen.append((now, round(count)))
        if count >= limit:
            break
    else:
        return None
    if len(seen) < 40:
        return None
    features = {
        "restart": restarted,
        "rhythm": rhythm + swing > 0,
        "pause": pause_every < math.inf,
        "memory": noise > 0.02 * level and memory > 0,
    }
    return observed(draw, seen, limit, [name for name, has in features.items() if has])


def observed(draw: Random, seen: list[tuple[float, int]], limit: int, features: list[str]) -> SimulatedLeak:
    """Return the leak as a log, snapshots or recorded runs show it until a drawn time."""
    end = round(draw.uniform(0.5, 0.85) * (len(seen) - 1))
    begin = 0 if draw.random() < 0.5 else round(draw.uniform(0.0, 0.5) * end)
    shown = seen[begin : end + 1]
    way = draw.choice(("log", "snapshots", "history"))
    if way == "log":
        every = -(-len(shown) // 240)
        shown = shown[::-every][::-1]
    else:
        count = min(len(shown), draw.randint(8, 60))
        inner = draw.sample(range(1, len(shown) - 1), max(0, min(count, len(shown)) - 2))
        if way == "snapshots":
            inner = [round(place * (len(shown) - 1) / (count - 1)) for place in range(1, count - 1)]
        shown = [shown[place] for place in sorted({0, *inner, len(shown) - 1})]
    return SimulatedLeak(counted=tuple(shown), limit=limit, reached=seen[-1][0], kind=" ".join([way, *features]))


def poisson(draw: Random, mean: float) -> int:
    """Draw a Poisson number."""
    if mean > 30:
        return max(0, round(draw.gauss(mean, math.sqrt(mean))))
    level, count = math.exp(-mean), -1
    product = 1.0
    while product > level or count < 0:
        product *= draw.random()
        count += 1
    return count
