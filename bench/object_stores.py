"""Reading a log from an S3 server against the same log as a local file: processor time of ldapdiag's own processes.

The server is that of the laboratory (versitygw, over a folder of this machine): no TLS and no latency, so that elapsed
time says nothing; the server's own processor time does not count. Run as a script it measures this alone:

    PYTHONPATH=tests python bench/object_stores.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from log_runs import run
from log_speed import FEW, GENERATOR, LINES, beginning
from measure import HEADER, Figure

from lab.object_store import BUCKET, s3_server

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TIMES = 5
"""Runs of each, in turns; the least processor time counts, because a busy machine only adds to it."""
GOAL = 1.5
GZIPPED = 300_000_000
"""Bytes of the log that is also read compressed."""


def figures(folder: Path) -> Iterator[Figure | str]:
    """Yield the processor time of reading from the server; or why it is not measured."""
    if reason := missing():
        yield f"log from an S3 server: not measured, {reason}"
        return
    path = folder / "access"
    if not path.exists():
        subprocess.run([sys.executable, GENERATOR, str(LINES), path], check=True)
    few, part = beginning(path, FEW), beginning(path, GZIPPED)
    subprocess.run(["gzip", "-kf", part], check=True)
    packed = part.with_name(f"{part.name}.gz")
    with tempfile.TemporaryDirectory(prefix="s3-", dir=folder) as place, s3_server(Path(place)) as server:
        for log in (path, packed, few):
            server.put(log.name, log)
        also = server.environment()
        starting = against(few, also)
        for log, what in ((path, f"{path.stat().st_size >> 20:,} MiB"), (packed, f"{GZIPPED >> 20} MiB in gz")):
            ours, theirs = against(log, also)
            yield Figure(what=f"log, {what} from S3 / file, processors", ours=ours, theirs=theirs, goal=GOAL)
            ours, theirs = ours - starting[0], theirs - starting[1]
            yield Figure(what="the same without starting", ours=ours, theirs=theirs, goal=GOAL)
    for one in (few, part, packed):
        one.unlink()


def missing() -> str:
    """Return what is not at hand; empty: nothing."""
    if not GENERATOR.exists():
        return f"there is no {GENERATOR.parent.parent.name}/ beside this checkout"
    if not (Path(sys.executable).parent / "versitygw").exists() and shutil.which("versitygw") is None:
        return "there is no versitygw (sh setup.sh servers)"
    return ""


def against(log: Path, also: Mapping[str, str]) -> tuple[float, float]:
    """Return the least processor time of reading the object, and of reading the file of the same bytes."""
    command = [sys.executable, "-m", "ldapdiag", "log", "--format", "json"]
    pairs = [
        (run([*command, f"s3://{BUCKET}/{log.name}"], also=also).cpu, run([*command, str(log)]).cpu)
        for _ in range(TIMES)
    ]
    ours, theirs = zip(*pairs, strict=True)
    return min(ours), min(theirs)


if __name__ == "__main__":
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory(prefix="ldapdiag-bench-") as name:
        for figure in figures(Path(name)):
            print(figure, flush=True)
