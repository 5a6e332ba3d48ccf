"""Twenty thousand tasks through a Dask scheduler: time and memory of each, with a window and all at once.

    PYTHONPATH=tests python bench/scheduler_tasks.py [TASKS]

The tasks are as many and as connected as those of a log, but empty: a scan returns a kilobyte, and each sixteen of one
stream are folded into its state. A scheduler and two workers are processes of this machine, so that the time of a task
is what all of them and the client take together. In a window four tasks for each worker are under way, of one stream
after the other or of all in turns; without a window all are submitted at once. A scheduler remembers each task until
its stream is done, also those whose results are forgotten: it would repeat them if a worker with the state died.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

from distributed import Client

from lab.dask_cluster import dask_cluster
from ldapdiag.sources.cluster.addresses import cluster_address
from ldapdiag.sources.cluster.dask_executor import dask_executor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from subprocess import Popen

    from lab.dask_cluster import DaskCluster
    from ldapdiag.sources.cluster.dask_executor import DaskExecutor, DaskTask

TASKS = 20_000
WORKERS = 2
FOLDED = 16
"""Scans that one fold takes."""
WINDOW = 4
"""Scans under way for each worker."""
STREAMS = 125
GIVEN, RESULT = b"a" * 600, b"b" * 1000
"""As large as the arguments of a scan task, and as the smallest result."""

HEADER = (
    f"{'tasks':>8}  {'submitted':22} {'each':>8} {'scheduler':>10} {'client':>8} {'workers':>8} "
    f"{'scheduler memory':>17} {'a task':>8} {'client memory':>14} {'a task':>8}"
)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process has used: seconds of processors, and resident bytes at the peak."""

    seconds: float
    peak: int


def usage(pid: int | str) -> Usage:
    """Return what a process has used until now."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return Usage((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), peak * 1024)


def at_once(executor: DaskExecutor, scans: int) -> None:
    """Submit all tasks, and take the state of each stream."""
    states = []
    for stream in range(STREAMS):
        state = executor.submit(bytes, RESULT, label="state")
        for _ in range(scans // STREAMS // FOLDED):
            parts = [executor.submit(bytes, GIVEN + RESULT, label=f"stream {stream}") for _ in range(FOLDED)]
            state = executor.submit(max, state, *parts, label=f"state of {stream}")
        states.append(state)
    for state in states:
        state.result()


def in_window(executor: DaskExecutor, scans: int, *, in_turns: bool) -> None:
    """Submit a task when another one has ended, and forget those that are folded and the states of whole streams."""
    left = [scans // STREAMS // FOLDED] * STREAMS
    states = [executor.submit(bytes, RESULT, label="state") for _ in range(STREAMS)]
    parts: list[list[DaskTask[bytes]]] = [[] for _ in range(STREAMS)]
    folding: dict[int, Sequence[DaskTask[bytes]]] = {}
    scanning: set[int] = set()
    turn = 0
    while any(left) or folding:
        while any(left) and len(scanning) < WINDOW * WORKERS:
            following = range(turn + in_turns, turn + in_turns + STREAMS)
            turn = next(one % STREAMS for one in following if left[one % STREAMS])
            task = executor.submit(bytes, GIVEN + RESULT, label=f"stream {turn}")
            scanning.add(id(task.future))
            parts[turn].append(task)
            if len(parts[turn]) == FOLDED:
                before, states[turn] = states[turn], executor.submit(max, states[turn], *parts[turn], label="fold")
                folding[id(states[turn].future)] = (before, *parts[turn])
                parts[turn] = []
                left[turn] -= 1
        for ended in executor.finished():
            scanning.discard(id(ended.future))
            for part in folding.pop(id(ended.future), ()):
                part.release()
            for stream, state in enumerate(states):
                if state is ended and not left[stream]:
                    state.result()
                    state.release()


@contextmanager
def arrived(workers: int) -> Iterator[DaskCluster]:
    """Run a scheduler with workers that have connected."""
    with TemporaryDirectory(prefix="ldapdiag-bench-") as folder, dask_cluster(Path(folder), workers=workers) as cluster:
        with Client(cluster.address, set_as_default=False) as waiting:
            waiting.wait_for_workers(workers)
        yield cluster


WAYS = {
    "stream after stream": partial(in_window, in_turns=False),
    "streams in turns": partial(in_window, in_turns=True),
    "all at once": at_once,
}


def measured(scans: int, way: str) -> str:
    """Run the tasks on a cluster of their own, and return a line."""
    with arrived(WORKERS) as cluster, dask_executor(cluster_address(cluster.address)) as executor:
        pids = cluster.scheduler.pid if cluster.scheduler else "", "self"
        before = [usage(pid) for pid in pids]
        working = seconds_of_workers(cluster.workers)
        began = perf_counter()
        WAYS[way](executor, scans)
        seconds = perf_counter() - began
        scheduler, client = (
            Usage(now.seconds - then.seconds, now.peak - then.peak)
            for now, then in zip(map(usage, pids), before, strict=True)
        )
        working = seconds_of_workers(cluster.workers) - working
        peaks = [usage(pid).peak / 2**20 for pid in pids]
    tasks = scans + scans // FOLDED
    each = [1000 * one / tasks for one in (seconds, scheduler.seconds, client.seconds, working)]
    grown = [one.peak / tasks / 1000 for one in (scheduler, client)]
    return (
        f"{tasks:8,}  {way:22} {each[0]:5.2f} ms {each[1]:7.2f} ms "
        f"{each[2]:5.2f} ms {each[3]:5.2f} ms "
        f"{peaks[0]:13.0f} MiB {grown[0]:5.1f} kB {peaks[1]:10.0f} MiB {grown[1]:5.1f} kB"
    )


def seconds_of_workers(nannies: Sequence[Popen[bytes]]) -> float:
    """Return the processor time of the workers: children of their nannies."""
    children = [
        pid
        for one in nannies
        for task in Path(f"/proc/{one.pid}/task").iterdir()
        for pid in (task / "children").read_text(encoding="ascii").split()
    ]
    return sum(usage(pid).seconds for pid in children)


def main() -> None:
    """Measure each way in a process of its own, for the peak of its memory."""
    scans = int(sys.argv[1]) if len(sys.argv) > 1 else TASKS
    if len(sys.argv) > 2:
        print(measured(scans, sys.argv[2]), flush=True)
        return
    print(HEADER, flush=True)
    for way in WAYS:
        subprocess.run([sys.executable, __file__, str(scans), way], check=True)


if __name__ == "__main__":
    main()
