"""Logs of 20 servers, 5 GB, read by a cluster of two processes: the same report to the byte as read by threads."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from command import ldapdiag
from experiments.notebook import AS_EXPECTED, Experiment
from fleet_logs import LoggedServer

SERVERS = 20
CONNECTIONS = 310_000
"""Of each server: 250 MB of log."""
PATIENCE = 3600.0


def run(step: str, *, small: bool) -> dict[str, str]:
    """Read the logs in both ways and compare the reports; the step is the cluster."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(SERVERS):
            server = LoggedServer(
                name=f"ds{number:02}",
                connections=500 if small else CONNECTIONS,
                lacks_index=number == 3,
                clients=tuple(f"10.{number}.{client // 200}.{client % 200}" for client in range(300)),
            )
            server.write(Path(folder))
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        here, seconds_here = _read(folder)
        there, seconds = _read(folder, "--cluster", step)
    work = there.pop("cluster")
    is_same = here.pop("cluster") is None and json.dumps(there) == json.dumps(here)
    return {
        "bytes": f"{size:,}",
        "lines": f"{here['lines']:,}",
        "tasks": str(work["tasks"]),
        "by threads": f"{seconds_here:.1f} s",
        "by the cluster": f"{seconds:.1f} s",
        "result": AS_EXPECTED if is_same and work["tasks"] >= SERVERS else "another report",
    }


def _read(folder: str, *more: str) -> tuple[dict[str, Any], float]:
    began = time.monotonic()
    ran = ldapdiag("log", folder, "--format", "json", "--quiet", *more, timeout=PATIENCE)
    return ran.report, time.monotonic() - began


EXPERIMENT = Experiment(
    name="fleet-on-cluster",
    title="Logs of 20 servers, 5 GB, by two processes of a cluster and by threads",
    about=(
        "20 generated logs of 389-ds, one of a server that lacks an index, are read by `ldapdiag log` with --cluster\n"
        "and without. Seconds include the start of the cluster.\n"
        "Expected: the same report to the byte."
    ),
    steps=("local:2",),
    run=run,
)
