"""Logs in which one field differs in each line: how long the native scanner takes for a byte, and its memory."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import log_hostile

from experiments.notebook import AS_EXPECTED, Experiment
from hostile_logs import DISTINCT, HOSTILE

LOGS = {one.what: one for one in (*HOSTILE, *DISTINCT)}
MOST_RATIO, MOST_MEMORY = 3, 256 << 20
FEW_BYTES = 1 << 20


def run(step: str, *, small: bool) -> dict[str, str]:
    """Scan one log and an ordinary one; a small case is too short to judge its time."""
    size, rounds = (FEW_BYTES, 1) if small else (log_hostile.SCAN_BYTES, log_hostile.ROUNDS)
    with tempfile.TemporaryDirectory(prefix="ldapdiag-experiment-") as folder:
        took = log_hostile.scanned(LOGS[step], Path(folder), size, rounds)
    wrong = ["too slow"] * (took.ratio > MOST_RATIO and not small) + ["too much memory"] * (took.memory > MOST_MEMORY)
    return {
        "ordinary": f"{took.ordinary:.3f} s",
        "this": f"{took.seconds:.3f} s",
        "ratio": f"{took.ratio:.1f}",
        "memory": f"{took.memory / 2**20:,.0f} MiB",
        "load": f"{os.getloadavg()[0]:.1f}",
        "result": ", ".join(wrong) or AS_EXPECTED,
    }


EXPERIMENT = Experiment(
    name="distinct-fields",
    title="Logs in which a field differs in each line",
    about=(
        "The native scanner scans and merges 64 MiB of each (tests/hostile_logs.py) in one thread, in turns with an\n"
        "ordinary log: seconds of a processor for 64 MiB, the best of three; neither the start nor the report counts.\n"
        "Expected: at most three times the time of an ordinary log, and at most 256 MiB."
    ),
    steps=tuple(LOGS),
    run=run,
    small=3,
)
