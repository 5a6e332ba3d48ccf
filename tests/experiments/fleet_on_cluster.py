"""Logs of ten servers, 1 and 5 GB, read by a cluster whose workers are whole, killed, frozen or slow."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from distributed import Client
from scheduler_tasks import arrived, seconds_of_workers, usage

import cluster_tasks
from command import LDAPDIAG, LOGIN
from experiments.notebook import AS_EXPECTED, Experiment
from fleet_logs import LoggedServer
from lab.dask_cluster import PATHS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lab.dask_cluster import DaskCluster

SERVERS = 10
CONNECTIONS = 123_000
"""Of each server for each GB: 100 MB of log."""
PERIOD, AWAKE = 1.0, 0.1
"""Seconds of a period of a slow worker, and of them those in which it runs."""


def run(step: str, *, small: bool) -> dict[str, str]:
    """Read the logs by threads and on a cluster, and compare the reports; a step is GB, workers, what befalls one."""
    size, workers, fate = step.split()
    size = "0.02" if small else size
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        logs, few = (_written(folder / which, each) for which, each in (("logs", size), ("few", "0")))
        bytes_read = sum(path.stat().st_size for path in logs.rglob("access"))
        here, _, by_threads = _read([str(logs)])
        with arrived(int(workers)) as cluster:
            _, _, starting = _read([str(few), "--cluster", cluster.address])
            before = _of_cluster(cluster)
            with _struck(cluster, FATES[fate]):
                there, seconds, ours = _read([str(logs), "--cluster", cluster.address])
            of_scheduler, of_workers = (now - then for now, then in zip(_of_cluster(cluster), before, strict=True))
    work = there.pop("cluster")
    own = max(0.0, ours - starting)
    return {
        "bytes": f"{bytes_read:,}",
        "threads": f"{by_threads:.1f} s",
        "client": f"{ours:.1f} s, {starting:.1f} of it starting",
        "scheduler": f"{of_scheduler:.1f} s",
        "workers": f"{of_workers:.1f} s" if fate in {"whole", "slow"} else "not known: one was replaced",
        "client's share": f"{100 * own / (own + of_workers):.0f} %" if fate == "whole" else "",
        "clock": f"{seconds:.1f} s",
        "retried": str(work["retried"]),
        "load": f"{os.getloadavg()[0]:.1f}",
        "result": AS_EXPECTED
        if here.pop("cluster") is None and json.dumps(there) == json.dumps(here)
        else "other bytes",
    }


def _written(folder: Path, size: str) -> Path:
    """Write the logs of all servers, of so many GB, and return their folder."""
    for number in range(SERVERS):
        LoggedServer(
            name=f"ds{number:02}",
            connections=max(50, int(float(size) * CONNECTIONS)),
            lacks_index=number == 3,
            clients=tuple(f"10.{number}.{client // 200}.{client % 200}" for client in range(300)),
        ).write(folder)
    return folder


def _read(arguments: Sequence[str]) -> tuple[dict[str, object], float, float]:
    """Return the report, seconds on the clock, and seconds of processors of this process alone."""
    began = time.monotonic()
    command = [*LDAPDIAG, "log", "--format", "json", "--quiet", *arguments]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, env={**LOGIN, "PYTHONPATH": PATHS})
    out = child.stdout.read() if child.stdout else b""
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return json.loads(out), time.monotonic() - began, used.ru_utime + used.ru_stime


def _of_cluster(cluster: DaskCluster) -> tuple[float, float]:
    """Return the processor time of the scheduler, and that of the workers."""
    return usage(cluster.scheduler.pid if cluster.scheduler else "self").seconds, seconds_of_workers(cluster.workers)


@contextmanager
def _struck(cluster: DaskCluster, strike: Callable[[list[int], Event], object]) -> Iterator[None]:
    """Strike a worker when the first one has begun, for as long as logs are read."""
    over = Event()

    def wait(client: Client, pids: list[int]) -> None:
        while not any(client.run(cluster_tasks.begun).values()) and not over.wait(0.02):
            pass
        strike(pids, over)

    with Client(cluster.address, set_as_default=False) as client:
        waiting = Thread(target=wait, args=(client, [int(pid) for pid in client.run(os.getpid).values()]))
        waiting.start()
        try:
            yield
        finally:
            over.set()
            waiting.join()


def _slow(pids: list[int], over: Event) -> None:
    """Let the first worker run for a tenth of the time."""
    with suppress(ProcessLookupError):  # it was given up
        while not over.wait(AWAKE):
            os.kill(pids[0], signal.SIGSTOP)
            over.wait(PERIOD - AWAKE)
            os.kill(pids[0], signal.SIGCONT)


FATES: dict[str, Callable[[list[int], Event], object]] = {
    "whole": lambda _, __: None,
    "killed": lambda pids, _: os.kill(pids[0], signal.SIGKILL),
    "frozen": lambda pids, _: os.kill(pids[0], signal.SIGSTOP),
    "slow": _slow,
}

EXPERIMENT = Experiment(
    name="fleet-on-cluster",
    title="Logs of ten servers by a cluster of whole, killed, frozen and slow workers, and by threads",
    about=(
        "Steps are `GB WORKERS FATE`. Ten generated logs of 389-ds, one of a server that lacks an index, are read by\n"
        "`ldapdiag log` with --cluster and without; client, scheduler, workers and threads are seconds of processors.\n"
        "When a task has begun, one worker is killed, or frozen (SIGSTOP), or runs for a tenth of the time.\n"
        "Expected: the same report to the byte."
    ),
    steps=(
        *(f"1 {workers} whole" for workers in (1, 2)),
        *(f"1 2 {fate}" for fate in ("killed", "frozen", "slow")),
        *(f"5 {workers} whole" for workers in (1, 2)),
        *(f"5 2 {fate}" for fate in ("killed", "frozen", "slow")),
    ),
    run=run,
    small=3,
)
