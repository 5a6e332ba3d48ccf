"""How processor time grows with the clients: `diagnose` with 200,000 of them against 100,000, each with one connection.

The evidence is written by the generators of the tests (`PYTHONPATH=tests`, as `make bench` sets it). Processor time is
user and system time of the whole command; that of another program on the machine does not count.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from measure import Figure

import many_subjects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FEW, MANY = 100_000, 200_000
GOAL = 2.2
SITES: dict[str, Callable[[Path, int], None]] = {
    "a server alone": many_subjects.server_alone,
    "and one host of all clients": many_subjects.one_host_of_all,
}


def figures(folder: Path) -> Iterator[Figure]:
    """Write the evidence of each site and yield the processor time of its diagnosis, the best of two."""
    for name, write in SITES.items():
        places = [folder / f"{write.__name__}-{clients}" for clients in (FEW, MANY)]
        for place, clients in zip(places, (FEW, MANY), strict=True):
            write(place, clients)
        rounds = [[processor_seconds(place) for place in places] for _ in range(2)]
        few, many = map(min, zip(*rounds, strict=True))
        yield Figure(what=f"{name}, {MANY:,} / {FEW:,} clients", ours=many, theirs=few, goal=GOAL, digits=1)


def processor_seconds(place: Path) -> float:
    """Return the processor time of a diagnosis."""
    command = [sys.executable, "-m", "ldapdiag", "diagnose", str(place), "--fail-on", "never"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise AssertionError(f"{place}: exit code {child.returncode}")
    return used.ru_utime + used.ru_stime
