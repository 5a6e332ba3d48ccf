"""The access log against grep and logconv, in one run: eight million lines (1.2 GB) of a busy server, all cores.

The native scanner's goals are grep's time and a hundredth of logconv's, where it is installed; the reference in Python
has its own. `logconv -V` takes minutes on the whole, so both logconvs read a tenth of it, and ten times that counts as
theirs (their time grows with the size of the log). LDAPDIAG_BENCH_WHOLE=1 lets them read all, and adds a log of ten
times as many lines (12 GB); LDAPDIAG_BENCH_LINES: how many lines. The generator is the shared one beside this checkout.
Run as a script it measures this alone: `PYTHONPATH=tests python bench/log_speed.py`.
"""

from __future__ import annotations

import bz2
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from log_dialects import DIALECTS, rewritten
from log_runs import run
from measure import HEADER, Figure

from ldapdiag.sources.logs.native import installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from log_runs import Run

GENERATOR = Path(__file__).resolve().parents[2] / "shared/lab/gen_access_log.py"
LINES = int(os.environ.get("LDAPDIAG_BENCH_LINES", "8000000"))
WHOLE = bool(os.environ.get("LDAPDIAG_BENCH_WHOLE"))
TENTH = 10
TIMES = 5
"""Runs of grep and of the native scanner, in turns; the best time of each counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goals:
    """The goals of a scanner."""

    logconv: dict[str, float]
    """Multiples of the time of logconv, by its options."""
    memory: float
    """MiB, of all processes."""


GOALS = {
    "native": Goals(logconv={"": 1 / 100, "-V": 1 / 500}, memory=250.0),
    "python": Goals(logconv={"": 1 / 4, "-V": 1 / 20}, memory=300.0),
}
GREP_GOAL = 1.5
"""Multiple of the time in which grep counts the lines with a note; starting, which no log makes longer, is left out."""
FEW = 150_000
"""Bytes of a log that takes no time beyond that of starting and of writing the report."""
DECOMPRESSOR_GOAL = 1.25
"""Multiple of the time of the decompressor alone."""
GROWTH = (1, 2, 4, 10)
"""Sizes of the log, in tenths of the whole."""
SMALL = 1_000_000
"""Bytes of a log that is too small for worker processes."""
PACKED = 300_000_000
"""Bytes of the log that is also measured compressed, and rewritten in the dialects of other servers."""


def figures(folder: Path) -> Iterator[Figure | str]:
    """Yield the time and memory of reading; or why they are not measured."""
    if not GENERATOR.exists():
        yield f"access log: not measured, there is no {GENERATOR.parent.parent.name}/ beside this checkout"
        return
    path = folder / "access"
    subprocess.run([sys.executable, GENERATOR, str(LINES), path], check=True)
    fast = installed().module is not None
    scanners = [name for name in GOALS if fast or name == "python"]
    if fast:
        yield from against_grep(path)
        yield from of_others(path)
        yield from against_decompressors(path)
    else:
        yield "access log, native scanner: not measured, it is not installed (cargo builds it: make .venv/native)"
    ours = {name: log(path, "--scanner", name) for name in scanners}
    yield from against_logconv(path if WHOLE else beginning(path, path.stat().st_size // TENTH), ours)
    for name, ran in ours.items():
        most = GOALS[name].memory
        what = f"log, {name}, peak memory / {most:.0f} MiB"
        yield Figure(what=what, ours=ran.memory / (1 << 20), theirs=most, goal=1.0, unit="MiB", digits=0)
    yield from small(path)
    yield from compressed(path)


def log(path: Path, *options: str) -> Run:
    """Read a log as an operator would."""
    return run([sys.executable, "-m", "ldapdiag", "log", "--format", "json", *options, str(path)])


def against_grep(path: Path) -> Iterator[Figure]:
    """Yield our time against that of grep, which searches for one string."""
    os.environ["LC_ALL"] = "C"  # grep is slower in any other
    grep = ["grep", "-c", "notes=U", str(path)]
    few = beginning(path, FEW)
    runs = [(log(path), run(grep), log(few)) for _ in range(TIMES)]
    ours, theirs, starting = (min(one.seconds for one in each) for each in zip(*runs, strict=True))
    what = f"log, {LINES:,} lines"
    yield Figure(what=f"{what} / grep -c notes=U", ours=ours, theirs=theirs)
    yield Figure(what=f"{what}, without starting / the same", ours=ours - starting, theirs=theirs, goal=GREP_GOAL)
    ours, theirs, starting = (min(one.cpu for one in each) for each in zip(*runs, strict=True))
    yield Figure(what=f"{what}, without starting / the same, processors", ours=ours - starting, theirs=theirs)


def of_others(path: Path) -> Iterator[Figure]:
    """Yield our time for the same log in other dialects, against as many bytes of 389-ds' text format."""
    part = beginning(path, PACKED)
    for name, (_, goal) in DIALECTS.items():
        other = rewritten(name, part)
        text = beginning(path, other.stat().st_size)
        pairs = [(log(other).seconds, log(text).seconds) for _ in range(TIMES)]
        ours, theirs = (min(times) for times in zip(*pairs, strict=True))
        size = other.stat().st_size // 1_000_000
        yield Figure(what=f"log, {size} MB of {name} / as much text of 389-ds", ours=ours, theirs=theirs, goal=goal)
        other.unlink()
        text.unlink()


def against_decompressors(path: Path) -> Iterator[Figure]:
    """Yield our time for a compressed log against that of its decompressor alone."""
    for suffix, pack, unpack in PACKERS:
        if suffix == ".bz2":
            continue
        packed = path.with_name(f"{path.name}{suffix}")
        pack(path, packed)
        pairs = [(log(packed).seconds, run([*unpack, str(packed)]).seconds) for _ in range(2)]
        ours, theirs = (min(times) for times in zip(*pairs, strict=True))
        what = f"log, {LINES:,} lines in {suffix[1:]} / {' '.join(unpack)}"
        yield Figure(what=what, ours=ours, theirs=theirs, goal=DECOMPRESSOR_GOAL)
        packed.unlink()


def beginning(path: Path, size: int) -> Path:
    """Return a copy of the first bytes of a log, whole lines only."""
    copy = path.with_name(f"access-{size}")
    with path.open("rb") as log, copy.open("wb") as out:
        while size > 0 and (data := log.read(min(size, 1 << 20))):
            out.write(data)
            size -= len(data)
        out.write(log.readline())
    return copy


def against_logconv(path: Path, ours: dict[str, Run]) -> Iterator[Figure | str]:
    """Yield the elapsed and processor time of each scanner against those of logconv."""
    command = shutil.which("logconv") or shutil.which("logconv.pl")
    if command is None:
        yield "access log against logconv: not measured, it is not installed (Debian: 389-ds-base)"
        return
    times = 1 if WHOLE else TENTH
    for option in ("", "-V"):
        theirs = run([command, *option.split(), str(path)])
        scaled = "" if WHOLE else f" ({times} x a tenth)"
        for name, ran in ours.items():
            goal = GOALS[name].logconv[option]
            what = f"log, {name} / {f'logconv {option}'.strip()}"
            digits = 3 if name == "native" else 1
            yield Figure(what=what + scaled, ours=ran.seconds, theirs=theirs.seconds * times, goal=goal, digits=digits)
            yield Figure(what=f"{what}, processors", ours=ran.cpu, theirs=theirs.cpu * times, digits=digits)


def small(path: Path) -> Iterator[Figure]:
    """Yield the time of a log of a megabyte against that of starting."""
    little = beginning(path, SMALL)
    ours = min(log(little).seconds for _ in range(3))
    theirs = min(run([sys.executable, "-m", "ldapdiag", "log", "--help"]).seconds for _ in range(3))
    yield Figure(what="log of 1 MB / ldapdiag log --help", ours=ours, theirs=theirs)


def compressed(path: Path) -> Iterator[Figure]:
    """Yield the time of the Python scanner for a compressed log, against the slower of decompressing and reading it."""
    plain = beginning(path, PACKED)
    reading = log(plain, "--scanner", "python").seconds
    for suffix, pack, unpack in PACKERS:
        packed = plain.with_name(f"{plain.name}{suffix}")
        pack(plain, packed)
        slower = max(run([*unpack, str(packed)]).seconds, reading)
        ours = log(packed, "--scanner", "python").seconds
        yield Figure(what=f"log, python, 300 MB in {suffix[1:]} / the slower of its parts", ours=ours, theirs=slower)
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
    """Yield time and memory by size: tenths of the log; on request, where the disk has space, ten times its size."""
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
    return f"{size:22,} {ran.seconds:6.2f} s {ran.cpu:6.2f} s {seconds:6.2f} {ran.memory / 2**20:6.0f} MiB"


if __name__ == "__main__":
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory(prefix="ldapdiag-bench-") as name:
        for figure in figures(Path(name)):
            print(figure, flush=True)
        print(GROWTH_HEADER, flush=True)
        for growth in growths(Path(name)):
            print(growth, flush=True)
