"""Hostile logs (tests/hostile_logs.py): a million of each unit, lines of a megabyte; the goals bound memory and time.

To read one by its name: `PYTHONPATH=tests python bench/log_hostile.py UNITS [NAME]`. Ten million units of
each are an experiment: `make experiments ONLY=hostile-logs`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from log_runs import Run, run

from hostile_logs import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hostile_logs import Hostile

UNITS = 1_000_000
MOST_MEMORY = 1 << 30

HEADER = f"\n{'hostile log':44} {'MB':>6} {'wall':>8} {'cpu':>8} {'memory':>9}  (goal: 1024 MiB)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What reading a log took, and which goals it missed."""

    what: str
    size: int
    """Bytes of the log."""
    ran: Run
    caps: tuple[str, ...]
    """The tables that the report names as full."""
    wrong: tuple[str, ...]

    def __str__(self) -> str:
        ran, verdict = self.ran, "; ".join(self.wrong) or "met"
        taken = f"{ran.seconds:6.1f} s {ran.cpu:6.1f} s {ran.memory / 2**20:5.0f} MiB"
        return f"{self.what:44} {self.size / 1e6:6.0f} {taken}  {verdict}  {' '.join(self.caps)}"


def rows(folder: Path, units: int = UNITS, name: str = "") -> Iterator[Measured]:
    """Yield the measurements of each hostile log."""
    for one in HOSTILE:
        if name in one.what:
            yield measured(one, folder / "hostile", max(1, units // one.size))


def measured(hostile: Hostile, path: Path, units: int) -> Measured:
    """Read a log, and compare the counts of the report with the contents of the log."""
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
    if ran.memory >= MOST_MEMORY:
        wrong.append("too much memory: NOT MET")
    return Measured(what=hostile.what, size=size, ran=ran, caps=tuple(report["caps_hit"]), wrong=tuple(wrong))


def _at(report: dict[str, Any], name: str) -> object:
    return reduce(lambda part, key: part[key], name.split("."), report)


if __name__ == "__main__":
    print(HEADER)
    with tempfile.TemporaryDirectory(prefix="ldapdiag-bench-") as folder:
        for row in rows(Path(folder), int(sys.argv[1]), " ".join(sys.argv[2:])):
            print(row, flush=True)
