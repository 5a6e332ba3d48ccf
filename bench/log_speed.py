"""The access log against logconv, in one run: eight million lines (1.2 GB) of a busy server, all cores.

`logconv -V` takes minutes on the whole, so both logconvs read a tenth of it, and ten times that counts as theirs (their
time grows with the size of the log). LDAPDIAG_BENCH_WHOLE=1 lets them read all, and adds a log of ten times as many
lines (12 GB); LDAPDIAG_BENCH_LINES: how many lines. The generator is the shared one beside this checkout. Run as a
script it measures this alone: `PYTHONPATH=tests python bench/log_speed.py`.
"""

from __future__ import annotations

import bz2
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from log_runs import run
from measure import HEADER, Figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from log_runs import Run

GENERATOR = Path(__file__).resolve().parents[2] / "shared/lab/gen_access_log.py"
LINES = int(os.environ.get("LDAPDIAG_BENCH_LINES", "8000000"))
WHOLE = bool(os.environ.get("LDAPDIAG_BENCH_WHOLE"))
TENTH = 10

GOALS = {"": 1 / 4, "-V": 1 / 20}
"""Ours by logconv's time, by its options."""
MEMORY_GOAL = 300.0
"""MiB, of all processes."""
GROWTH = (1, 2, 4, 10)
"""Sizes of the log: so many tenths of it."""
SMALL = 1_000_000
"""Bytes of a log that must not pay for workers."""
PACKED = 300_000_000
"""Bytes of the log that is read compressed."""


def figures(folder: Path) -> Iterator[Figure | str]:
    """Yield how long reading takes and how much memory; or why it is not measured."""
    if not GENERATOR.exists():
        yield f"access log: not measured, there is no {GENERATOR.parent.parent.name}/ beside this checkout"
        return
    path = folder / "access"
    subprocess.run([sys.executable, GENERATOR, str(LINES), path], check=True)
    ours = log(path)
    tenth = beginning(path, path.stat().st_size // TENTH)
    yield from against_logconv(path if WHOLE else tenth, ours)
    memory = ours.memory / (1 << 20)
    yield Figure(what="log, peak memory / 300 MiB", ours=memory, theirs=MEMORY_GOAL, goal=1.0, unit="MiB", digits=0)
    yield from small(path)
    yield from compressed(path)


def log(path: Path, *options: str) -> Run:
    """Read a log as an operator would."""
    return run([sys.executable, "-m", "ldapdiag", "log", "--format", "json", *options, str(path)])


def beginning(path: Path, size: int) -> Path:
    """Return a copy of the first bytes of a log, cut after a line."""
    copy = path.with_name(f"access-{size}")
    with path.open("rb") as log, copy.open("wb") as out:
        while size > 0 and (data := log.read(min(size, 1 << 20))):
            out.write(data)
            size -= len(data)
        out.write(log.readline())
    return copy


def against_logconv(path: Path, ours: Run) -> Iterator[Figure | str]:
    """Yield our time against logconv's, on the clock and of processors."""
    command = shutil.which("logconv") or shutil.which("logconv.pl")
    if command is None:
        yield "access log against logconv: not measured, it is not installed (Debian: 389-ds-base)"
        return
    times = 1 if WHOLE else TENTH
    for option, goal in GOALS.items():
        theirs = run([command, *option.split(), str(path)])
        what = f"log, {LINES:,} lines / {f'logconv {option}'.strip()}"
        scaled = "" if WHOLE else f" ({times} x a tenth)"
        yield Figure(what=what + scaled, ours=ours.seconds, theirs=theirs.seconds * times, goal=goal, digits=1)
        yield Figure(what=f"{what}, processors", ours=ours.cpu, theirs=theirs.cpu * times, digits=1)


def small(path: Path) -> Iterator[Figure]:
    """Yield what a log of a megabyte takes, by what starting takes."""
    little = beginning(path, SMALL)
    ours = min(log(little).seconds for _ in range(3))
    theirs = min(run([sys.executable, "-m", "ldapdiag", "log", "--help"]).seconds for _ in range(3))
    yield Figure(what="log of 1 MB / ldapdiag log --help", ours=ours, theirs=theirs)


def compressed(path: Path) -> Iterator[Figure]:
    """Yield what a compressed log takes, by the slower one of its decompressor and of reading it plain."""
    plain = beginning(path, PACKED)
    reading = log(plain).seconds
    for suffix, pack, unpack in PACKERS:
        packed = plain.with_name(f"{plain.name}{suffix}")
        pack(plain, packed)
        slower = max(run([*unpack, str(packed)]).seconds, reading)
        yield Figure(
            what=f"log, 300 MB in {suffix[1:]} / the slower of its parts", ours=log(packed).seconds, theirs=slower
        )
        packed.unlink()


def _gz(plain: Path, packed: Path) -> None:
    with plain.open("rb") as log, gzip.open(packed, "wb", 6) as out:
        shutil.copyfileobj(log, out, 1 << 20)


def _bz2(plain: Path, packed: Path) -> None:
    with plain.open("rb") as log, bz2.open(packed, "wb") as out:
        shutil.copyfileobj(log, out, 1 << 20)


def _zst(plain: Path, packed: Path) -> None:
    subprocess.run(["zstd", "-q", "-o", str(packed), str(plain)], check=True)


Packer = tuple[str, "Callable[[Path, Path], None]", "Sequence[str]"]
PACKERS: tuple[Packer, ...] = (
    (".gz", _gz, ("gzip", "-dc")),
    (".bz2", _bz2, ("bzip2", "-dc")),
    *(((".zst", _zst, ("zstd", "-dc")),) if shutil.which("zstd") else ()),
)

GROWTH_HEADER = f"\n{'log of how many bytes':22} {'wall':>8} {'cpu':>8} {'s/GB':>6} {'memory':>10}"


def growths(folder: Path) -> Iterator[str]:
    """Yield time and memory by size: tenths of the log; if asked (and the disk has room) ten times all of it, too."""
    path = folder / "access"
    if not path.exists():
        return
    whole = path.stat().st_size
    for tenths in GROWTH[:-1]:
        part = beginning(path, whole * tenths // TENTH)
        yield _grown(part)
        part.unlink()
    yield _grown(path)
    if WHOLE and shutil.disk_usage(folder).free > 12 * whole:
        grown = folder / "access-again"
        subprocess.run([sys.executable, GENERATOR, str(LINES * GROWTH[-1]), grown], check=True)
        yield _grown(grown)
        grown.unlink()


def _grown(path: Path) -> str:
    ran, size = log(path), path.stat().st_size
    seconds = ran.cpu / size * 1e9
    return f"{size:22,} {ran.seconds:6.1f} s {ran.cpu:6.1f} s {seconds:6.1f} {ran.memory / 2**20:6.0f} MiB"


if __name__ == "__main__":
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory(prefix="ldapdiag-bench-") as name:
        for figure in figures(Path(name)):
            print(figure, flush=True)
        print(GROWTH_HEADER, flush=True)
        for growth in growths(Path(name)):
            print(growth, flush=True)
