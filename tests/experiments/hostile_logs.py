"""Ten million of everything in one log, and lines of a megabyte: totals are exact, memory is bounded."""

from __future__ import annotations

import tempfile
from pathlib import Path

import log_hostile

from experiments.notebook import AS_EXPECTED, Experiment
from hostile_logs import HOSTILE

UNITS, FEW = 10_000_000, 20_000


def run(step: str, *, small: bool) -> dict[str, str]:
    """Write one log, let the command read it, and compare what it counts with what was written."""
    hostile = next(one for one in HOSTILE if one.what == step)
    with tempfile.TemporaryDirectory(prefix="ldapdiag-experiment-") as folder:
        units = (FEW if small else UNITS) // hostile.size
        measured = log_hostile.measured(hostile, Path(folder) / "access", max(1, units))
    return {
        "MB": f"{measured.size / 1e6:,.0f}",
        "wall": f"{measured.ran.seconds:.1f} s",
        "processors": f"{measured.ran.cpu:.1f} s",
        "memory": f"{measured.ran.memory / 2**20:,.0f} MiB",
        "limits reached": " ".join(measured.caps) or "none",
        "result": "; ".join(measured.wrong) or AS_EXPECTED,
    }


EXPERIMENT = Experiment(
    name="hostile-logs",
    title="Hostile access logs",
    about=(
        "Each log has ten million operations or connections that differ in one way, or as many bytes in lines of a\n"
        "megabyte (tests/hostile_logs.py). Expected: every total is exact, what did not fit is named, and the memory\n"
        "of all processes stays below 1 GiB."
    ),
    steps=tuple(one.what for one in HOSTILE),
    run=run,
)
