"""Hostile logs (tests/hostile_logs.py): a million of each unit, lines of a megabyte; the goals bound memory and time.

To read one by its name: `PYTHONPATH=tests python bench/log_hostile.py UNITS [NAME]`. Ten million units of
each are an experiment: `make experiments ONLY=hostile-logs`. Another compares the time of the native scanner for each
with that for an ordinary log: `make experiments ONLY=distinct-fields`.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, takewhile
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

from log_runs import Run, run

from hostile_logs import HOSTILE, ORDINARY
from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.sources.logs import native

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hostile_logs import Hostile

UNITS = 1_000_000
MOST_MEMORY = 1 << 30

SCAN_BYTES = 64 << 20
ROUNDS = 3
SCAN = "--scan"

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What scanning a log and an ordinary one of the same size took: the best of some rounds."""

    seconds: float
    """Of a processor, for each 64 MiB; without starting, and without the report, which the caps bound."""
    ordinary: float
    memory: int
    """Bytes at the peak, with the interpreter."""

    @property
    def ratio(self) -> float:
        """Return how many times as long a byte takes as one of an ordinary log."""
        return self.seconds / self.ordinary


def scanned(hostile: Hostile, folder: Path, size: int = SCAN_BYTES, rounds: int = ROUNDS) -> Scanned:
    """Let the native scanner read a log and an ordinary one, in turns, each in a process of its own."""
    paths = [_written(one, folder / name, size) for name, one in (("ordinary", ORDINARY), ("hostile", hostile))]
    best, memory = [float("inf")] * 2, 0
    for _ in range(rounds):
        for place, path in enumerate(paths):
            dialect = "openldap-stderr" if place and hostile.is_of_slapd else "389-text"
            ran = run([sys.executable, __file__, SCAN, dialect, str(path)])
            seconds, kibibytes = map(float, ran.out.split())
            best[place] = min(best[place], seconds * SCAN_BYTES / path.stat().st_size)
        memory = max(memory, int(kibibytes) * 1024)
    return Scanned(seconds=best[1], ordinary=best[0], memory=memory)


def _written(hostile: Hostile, path: Path, size: int) -> Path:
    with path.open("wb") as stream:
        blocks = hostile.blocks(1 << 40)
        written = takewhile(lambda total: total < size, accumulate(map(stream.write, blocks)))
        sum(1 for _ in written)
    return path


def _scan(dialect: str, path: Path) -> None:
    """Scan a log in this process, and print the seconds of a processor and the memory at the peak, KiB."""
    scan = native.scan(named(dialect), Hints(), None)
    counts, at, end, began = native.NativeCounts(), 0, path.stat().st_size, process_time()
    while at < end:
        read = scan.read(str(path), None, at, end, native.watch())
        at = end if read.to is None else read.to
        for _, part in native.take_parts(scan):
            counts.merge(part)
    print(process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _at(report: dict[str, Any], name: str) -> object:
    return reduce(lambda part, key: part[key], name.split("."), report)


if __name__ == "__main__":
    if sys.argv[1] == SCAN:
        sys.exit(_scan(sys.argv[2], Path(sys.argv[3])))
    print(HEADER)
    with tempfile.TemporaryDirectory(prefix="ldapdiag-bench-") as folder:
        for row in rows(Path(folder), int(sys.argv[1]), " ".join(sys.argv[2:])):
            print(row, flush=True)
