"""Hostile logs (tests/hostile_logs.py): ten million of everything, lines of a megabyte; what is bounded, and by what.

A tenth of that unless told otherwise: `LDAPDIAG_BENCH_HOSTILE=10000000 make bench`, or one by its name:
`PYTHONPATH=tests python bench/log_hostile.py UNITS [NAME]`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from log_runs import run

from hostile_logs import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hostile_logs import Hostile

UNITS = int(os.environ.get("LDAPDIAG_BENCH_HOSTILE", "1000000"))
MOST_MEMORY = 1 << 30

HEADER = f"\n{'hostile log':44} {'MB':>6} {'wall':>8} {'cpu':>8} {'memory':>9}  (goal: 1024 MiB)"


def rows(folder: Path, units: int = UNITS, name: str = "") -> Iterator[str]:
    """Yield a line for each hostile log."""
    for one in HOSTILE:
        if name in one.what:
            yield measured(one, folder / "hostile", max(1, units // one.size))


def measured(hostile: Hostile, path: Path, units: int) -> str:
    """Read a log, hold what is told against what it was made of, and return what that took."""
    with path.open("wb") as stream:
        stream.writelines(hostile.blocks(units))
    size = path.stat().st_size
    ran = run([sys.executable, "-m", "ldapdiag", "log", "--format", "json", str(path)])
    path.unlink()
    report = json.loads(ran.out)
    wrong = [
        f"{name} is {_at(report, name)} and not {count}"
        for name, count in hostile.counts(units).items()
        if _at(report, name) != count
    ]
    missing = hostile.caps - set(report["caps_hit"]) if units >= 200_000 else ()
    if missing:
        wrong.append(f"{', '.join(sorted(missing))} not named among {report['caps_hit']}")
    told = "met" if ran.memory < MOST_MEMORY else "NOT MET"
    line = f"{hostile.what:44} {size / 1e6:6.0f} {ran.seconds:6.1f} s {ran.cpu:6.1f} s {ran.memory / 2**20:5.0f} MiB"
    return f"{line}  {'; '.join(wrong) or told}  {' '.join(report['caps_hit'])}"


def _at(report: dict[str, Any], name: str) -> object:
    return reduce(lambda part, key: part[key], name.split("."), report)


if __name__ == "__main__":
    print(HEADER)
    with tempfile.TemporaryDirectory(prefix="ldapdiag-bench-") as folder:
        for row in rows(Path(folder), int(sys.argv[1]), " ".join(sys.argv[2:])):
            print(row, flush=True)
