"""What one stream costs in series: carrying and merging the counts of its tasks, against scanning them.

    PYTHONPATH=tests python bench/one_stream.py

Tasks of one stream are scanned in parallel and merged one after the other. So their merging bounds how fast the stream
can be read, by any number of workers: the case of one stream with 90 % of all bytes. A task is 1 GiB of a stream of
4 GiB or more; a merge costs the same for a smaller one, so that pieces of this log stand for tasks.
"""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

from log_speed import GENERATOR, LINES
from measure import HEADER, Figure

from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.sources.logs import native
from ldapdiag.sources.logs.batches import MOST_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE = 32 << 20
GOAL = 0.1
"""Share of carrying and merging in the time of workers."""
TOTAL, SKEW, CORES = 150e12, 0.9, (60, 400)
"""Bytes a day, the share of one stream, and cores of workers."""


def figures(folder: Path) -> Iterator[Figure | str]:
    """Yield the share of carrying and merging; or why it is not measured."""
    if not GENERATOR.exists():
        yield f"one stream: not measured, there is no {GENERATOR.parent.parent.name}/ beside this checkout"
        return
    if native.installed().module is None:
        yield "one stream: not measured, the native scanner is not installed (cargo builds it: make .venv/native)"
        return
    path = folder / "access"
    if not path.exists():
        subprocess.run([sys.executable, GENERATOR, str(LINES), path], check=True)
    gc.disable()  # as where Segments are merged
    scan, carry, fold = (sum(times) for times in zip(*costs(path), strict=True))
    gc.enable()
    pieces, size = path.stat().st_size / PIECE, path.stat().st_size
    task_scan, task_rest = scan / size * MOST_BYTES, (carry + fold) / pieces
    for times in (0.5, 1):
        what = f"carrying and merging / all work, {times * MOST_BYTES / (1 << 20):,.0f} MiB a task"
        yield Figure(what=what, ours=task_rest, theirs=times * task_scan + task_rest, goal=GOAL)
    yield (
        f"each task: {1000 * task_scan:.0f} ms scanning, {1000 * carry / pieces:.1f} ms carrying, "
        f"{1000 * fold / pieces:.1f} ms merging in series: "
        f"one stream is read at most {task_scan * pieces / fold:.0f} times as fast as by one core"
    )
    scanning = TOTAL / size * scan
    serial = SKEW * TOTAL / MOST_BYTES * fold / pieces
    for cores in CORES:
        yield (
            f"150 TB of which one stream is 90 %, {cores} cores: {scanning / cores / 60:.0f} min scanning, "
            f"{serial / 60:.0f} min merging in series"
        )


def costs(path: Path) -> Iterator[tuple[float, float, float]]:
    """Yield the processor seconds of scanning a piece, of carrying its counts, and of merging them, in order."""
    dialect = named("389-text")
    total = native.NativeCounts()
    with path.open("rb") as log:
        while data := log.read(PIECE):
            data += log.readline()
            times = [process_time()]
            scan = native.scan(dialect, Hints(), None)
            scan.feed(data)
            parts = native.take_parts(scan)
            times.append(process_time())
            packed = zlib.compress(pickle.dumps([part for _, part in parts]), 1)
            arrived = pickle.loads(zlib.decompress(packed))  # noqa: S301  made here
            times.append(process_time())
            for part in arrived:
                total.merge(part)
            times.append(process_time())
            yield times[1] - times[0], times[2] - times[1], times[3] - times[2]
    total.finished()


if __name__ == "__main__":
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory(prefix="ldapdiag-bench-") as name:
        for figure in figures(Path(name)):
            print(figure, flush=True)
