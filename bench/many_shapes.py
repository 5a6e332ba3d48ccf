"""The advice on indexes for a log of 50,000 filter shapes against the bare reading of the same log, and its sums.

Each log is written with its configuration (40 indexes), and its searches are summed while it is written
(tests/many_filters.py): what the report says of all searches has to be the truth, and its bounds have to contain it.
Run as a script it measures this alone: `PYTHONPATH=tests python bench/many_shapes.py`. LDAPDIAG_BENCH_SEARCHES: how
many searches a log has.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from log_runs import run
from measure import HEADER, Figure

import many_filters

if TYPE_CHECKING:
    from collections.abc import Iterator

SEARCHES = int(os.environ.get("LDAPDIAG_BENCH_SEARCHES", "1000000"))
KINDS = 50_000
TIMES = 3
"""Runs of each command, in turns; the least processor time of each counts."""
GOAL = 2.0
LOGS = {"389-ds": "access", "slapd": "slapd.log"}
LDAPDIAG = [sys.executable, "-m", "ldapdiag"]
HOUR = 3600


def figures(folder: Path) -> Iterator[Figure | str]:
    """Yield the processor time and memory of the advice against those of the log, and the sums beside the true ones."""
    for product, log in LOGS.items():
        server = folder / f"many-shapes-{product}"
        totals = many_filters.WRITERS[product](server, KINDS, SEARCHES)
        advice = [*LDAPDIAG, "indexes", "--fail-on", "never", str(server)]
        pairs = [(run(advice), run([*LDAPDIAG, "log", str(server / log)])) for _ in range(TIMES)]
        what = f"indexes, {product}, {SEARCHES:,} searches of {KINDS:,} shapes / log"
        ours, theirs = (min(one.cpu for one in side) for side in zip(*pairs, strict=True))
        yield Figure(what=f"{what}, processors", ours=ours, theirs=theirs, goal=GOAL, digits=1)
        ours, theirs = (max(one.memory for one in side) / (1 << 20) for side in zip(*pairs, strict=True))
        yield Figure(what=f"{what}, peak memory", ours=ours, theirs=theirs, unit="MiB", digits=0)
        (plan,) = json.loads(run([*advice, "--format", "json"]).out)["indexes"]
        yield f"{what}: {_sums(plan, totals)}"
        (server / log).unlink()


def _sums(plan: dict[str, object], totals: many_filters.Totals) -> str:
    """Return what the report says beside the truth; AssertionError if it is wrong."""
    bounds = plan["not_judged"]["unindexed_etime_seconds"]
    least = plan["unindexed_etime_seconds"]
    most = least - bounds["least"] + bounds["most"]
    true = totals.scan_etime / 1e9
    if plan["searches"] != totals.searches or not least <= true <= most:
        raise AssertionError(f"{plan['searches']} searches, {least} to {most} s; true are {totals}")
    return f"{least / HOUR:.2f} to {most / HOUR:.2f} h without an index, true are {true / HOUR:.2f} h"


if __name__ == "__main__":
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory(prefix="ldapdiag-bench-") as name:
        for figure in figures(Path(name)):
            print(figure, flush=True)
