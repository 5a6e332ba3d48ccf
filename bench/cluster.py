"""Reading ten logs on a cluster: two workers against one, and against the two threads of `ldapdiag log`.

A scheduler and the workers are processes of this machine, which share its cores with the client. Starting is left out:
it is the time of the same command for a log that takes no time. Run as a script it measures this alone:

    PYTHONPATH=tests python bench/cluster.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from log_runs import run
from log_speed import FEW, GENERATOR, LINES, beginning
from measure import HEADER, Figure
from scheduler_tasks import arrived, seconds_of_workers

from ldapdiag.sources.logs.native import installed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lab.dask_cluster import DaskCluster

SERVERS = 10
TIMES = 3
"""Runs of each, in turns; the best one counts."""
SPEED_UP = 1.35
"""Least speed-up by a second worker on two cores."""
EFFICIENCY = 0.85
"""The same as a share of two, on four cores and more."""
WORKERS_GOAL = 1.1
THREADS_GOAL = 1.3


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds on the clock of a reading, of starting alone, and of processors in the workers."""

    seconds: float
    starting: float
    workers: float


def figures(folder: Path) -> Iterator[Figure | str]:
    """Yield the ratios; or why they are not measured."""
    if reason := missing():
        yield f"logs on a cluster: not measured, {reason}"
        return
    logs, few = ten_logs(folder)
    size = sum(log.stat().st_size for log in logs) >> 20
    both: dict[int, list[Spent]] = {1: [], 2: []}
    here: list[Spent] = []
    for _ in range(TIMES):
        for workers, spent in both.items():
            with arrived(workers) as running:
                on(running, few)  # imports in the workers
                spent.append(against(running, logs, few))
        command = [sys.executable, "-m", "ldapdiag", "log", "--format", "json", "--workers", "2"]
        here.append(Spent(*(run([*command, *map(str, paths)]).seconds for paths in (logs, few)), workers=0.0))
    one, two, threads = (without_starting(spent) for spent in (both[1], both[2], here))
    cores = os.cpu_count() or 1
    what = f"{SERVERS} logs, {size:,} MiB, 2 workers / 1"
    yield Figure(what=what, ours=two, theirs=one, goal=1 / (2 * EFFICIENCY if cores >= 4 else SPEED_UP))
    if cores < 4:
        yield f"the same with {EFFICIENCY:.0%} of twice the speed: not measured, this machine has {cores} cores, not 4"
    ours, theirs = (min(one.workers for one in both[workers]) for workers in (2, 1))
    yield Figure(what="the same, processors of the workers", ours=ours, theirs=theirs, goal=WORKERS_GOAL)
    yield Figure(what="the same, 2 workers / --workers 2 here", ours=two, theirs=threads, goal=THREADS_GOAL)
    for log in (*logs, *few):
        log.unlink()


def missing() -> str:
    """Return what is not at hand; empty: nothing."""
    if not GENERATOR.exists():
        return f"there is no {GENERATOR.parent.parent.name}/ beside this checkout"
    if installed().module is None:
        return "the native scanner is not installed (cargo builds it: make .venv/native)"
    return "" if find_spec("distributed") else "there is no distributed (pip install 'ldapdiag[dask]')"


def ten_logs(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the logs of ten servers, each in a folder of its own, and one that takes no time."""
    logs = []
    for server in range(SERVERS):
        place = folder / f"ds{server}"
        place.mkdir(exist_ok=True)
        logs.append(place / "access")
        subprocess.run([sys.executable, GENERATOR, str(LINES // SERVERS * 2), logs[-1], str(server)], check=True)
    return logs, [beginning(logs[0], FEW)]


def against(running: DaskCluster, logs: Sequence[Path], few: Sequence[Path]) -> Spent:
    """Return what reading the logs takes on a cluster."""
    starting = on(running, few)
    before = seconds_of_workers(running.workers)
    seconds = on(running, logs)
    return Spent(seconds, starting, seconds_of_workers(running.workers) - before)


def without_starting(spent: Sequence[Spent]) -> float:
    """Return the least seconds on the clock, without the least of starting."""
    return min(one.seconds for one in spent) - min(one.starting for one in spent)


def on(running: DaskCluster, logs: Sequence[Path]) -> float:
    """Return the seconds of `ldapdiag log` on a cluster."""
    command = [sys.executable, "-m", "ldapdiag", "log", "--format", "json", "--quiet", "--cluster", running.address]
    return run([*command, *map(str, logs)]).seconds


if __name__ == "__main__":
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory(prefix="ldapdiag-bench-") as name:
        for figure in figures(Path(name)):
            print(figure, flush=True)
