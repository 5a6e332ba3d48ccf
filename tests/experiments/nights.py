"""Nights of drawn sites, of two sizes, judged by the nightly example; and windows of one traffic, compared in pairs."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.notebook import AS_EXPECTED, Experiment
from nightly_site import Site
from nights import DEPLOYMENT, FIRST, POOL, Night, of_november

if TYPE_CHECKING:
    from collections.abc import Iterable

SIZES = (300, 3_000)
"""Connections of a night."""
SITES = 2
GROWING = 90
LIMIT = 10
"""Nights that 1 % a night needs to exceed 10 %."""


def run(step: str, *, small: bool) -> dict[str, str]:
    """Judge the nights of a site, and return those that failed."""
    kind, connections, seed = step.split()
    if kind == "growth":
        alarms = judged(growing(float(connections), int(seed), 12 if small else GROWING))
        expected = all(later - earlier >= LIMIT for earlier, later in zip([1, *alarms], alarms, strict=False))
        expected = expected and (small or bool(alarms))
    else:
        nights = [of_november(day, seed=int(seed), connections=float(connections)) for day in range(1, 31)]
        alarms = judged(nights)
        expected = alarms == [DEPLOYMENT, POOL]
    listed = ", ".join(map(str, alarms)) or "none"
    return {"alarms": listed, "result": AS_EXPECTED if expected else f"alarms: {listed}"}


def growing(connections: float, seed: int, nights: int) -> list[Night]:
    """Return nights whose searches take 1 % longer each."""
    return [
        Night(
            seed=1_000 * seed + night,
            begin=FIRST + timedelta(days=night - 1),
            seconds=6_000,
            connections=connections,
            slow_seconds=0.5 * 1.01**night,
        )
        for night in range(1, nights + 1)
    ]


def judged(nights: Iterable[Night]) -> list[int]:
    """Return the nights that failed; each was accepted the next morning."""
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder))
        for number, night in enumerate(nights, 1):
            site.judge(number, night)
    return list(site.alarms)


EXPERIMENT = Experiment(
    name="nights",
    title="Nights judged by the nightly example",
    about=(
        "Steps are `november CONNECTIONS SEED`: thirty nights with less traffic at weekends, 1 % more each night,\n"
        "searches that a deployment makes three times as slow on the 12th, and ghost connections from the 20th; and\n"
        "`growth CONNECTIONS SEED`: ninety nights of searches that take 1 % longer each. What fails is accepted the\n"
        "next morning by the printed command.\n"
        "Expected: november fails on the 12th and the 20th alone; growth fails, and not again before 10 nights."
    ),
    steps=tuple(f"{kind} {size} {seed}" for size in SIZES for kind in ("november", "growth") for seed in range(SITES)),
    run=run,
    small=1,
)
