"""The advice on indexes against the bare reading of the same log: 1.2 GB of searches, each with a filter of its own.

The filters have two hundred shapes; most of them examine every entry. Run as a script it measures this alone:
`PYTHONPATH=tests python bench/index_advice.py`. LDAPDIAG_BENCH_FILTERS: how many searches.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from log_runs import Run, run
from measure import HEADER, Figure

from indexes_389 import BACKEND, LIST, index, limits

if TYPE_CHECKING:
    from collections.abc import Iterator

FILTERS = int(os.environ.get("LDAPDIAG_BENCH_FILTERS", "3600000"))
TIMES = 5
"""Runs of each command, in turns; the best time of each counts."""
GOAL, START_GOAL = 1.2, 2

INDEXED = ("uid", "cn", "sn", "givenName", "mail")
ATTRIBUTES = (*INDEXED, "displayName", "employeeNumber", "title", "l", "description")
SHAPES = tuple(
    f"{opened}({one}={{0}}{star})({other}={star}{{1}}*))"
    for one in ATTRIBUTES
    for other in ATTRIBUTES
    for opened, star in (("(&", ""), ("(|", "*"))
)
"""Two hundred shapes: both sets, with every attribute in each position."""
CONNECTIONS, ACCOUNTS = 50, 7
MILLISECOND = 10**6


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the time of the advice against that of the report on the log, without starting, and of starting alone."""
    short, long = (_pairs(folder / str(count), count) for count in (1, FILTERS))
    if b"index changes remove" not in long[0][0].out:
        raise AssertionError(long[0][0].out.decode())
    starting, whole = (
        [min(one.seconds for one in side) for side in zip(*pairs, strict=True)] for pairs in (short, long)
    )
    yield Figure(what="starting indexes / starting log", ours=starting[0], theirs=starting[1], goal=START_GOAL)
    what = f"indexes, {FILTERS:,} filters of {len(SHAPES)} shapes / log"
    ours, theirs = (total - start for total, start in zip(whole, starting, strict=True))
    yield Figure(what=f"{what}, without starting", ours=ours, theirs=theirs, goal=GOAL)
    ours, theirs = (max(one.memory for one in side) / (1 << 20) for side in zip(*long, strict=True))
    yield Figure(what=f"{what}, peak memory", ours=ours, theirs=theirs, unit="MiB", digits=0)


def _pairs(folder: Path, count: int) -> list[tuple[Run, Run]]:
    """Return runs of `indexes` and of `log` on a log of so many searches, in turns."""
    server = folder / "slapd-ds1"
    server.mkdir(parents=True)
    log, configuration = server / "access", server / "dse.ldif"
    with log.open("w", encoding="ascii") as stream:
        stream.writelines(lines(count))
    built = (index("nsIndexType: eq\nnsIndexType: sub", attribute=one) for one in INDEXED)
    configuration.write_text(BACKEND + LIST + "".join(built) + limits("nsslapd-idlistscanlimit: 4000"))
    ldapdiag = [sys.executable, "-m", "ldapdiag"]
    advice = [*ldapdiag, "indexes", "--fail-on", "never", str(log), str(configuration)]
    pairs = [(run(advice), run([*ldapdiag, "log", str(log)])) for _ in range(TIMES)]
    log.unlink()
    return pairs


def lines(count: int) -> Iterator[str]:
    """Yield the log of a 389 Directory Server."""
    draw = Random(7)  # noqa: S311  nothing secret
    yield "\t389-Directory/2.3.1 B2022.\n\tds1:389 (/etc/dirsrv/slapd-ds1)\n\n"
    moment = 0
    for number in range(1, CONNECTIONS + 1):
        name = f"uid=app{number % ACCOUNTS},dc=example,dc=com"
        yield (
            f"{stamp(moment)} conn={number} fd=64 slot=64 connection from 10.0.0.{number} to 10.0.1.1\n"
            f'{stamp(moment)} conn={number} op=0 BIND dn="{name}" method=128 version=3\n'
            f"{stamp(moment)} conn={number} op=0 RESULT err=0 tag=97 nentries=0 wtime=0.000100000 "
            f'optime=0.000200000 etime=0.000300000 dn="{name}"\n'
        )
    for place in range(count):
        moment += MILLISECOND
        number, op = place % CONNECTIONS + 1, place // CONNECTIONS + 1
        filter_ = SHAPES[place % len(SHAPES)].format(f"v{place:x}", f"x{draw.randrange(1 << 30):x}")
        took, head = draw.randrange(1, 90), f"{stamp(moment)} conn={number} op={op}"
        yield (
            f'{head} SRCH base="dc=example,dc=com" scope=2 filter="{filter_}" attrs=ALL\n'
            f"{head} RESULT err=0 tag=101 nentries=1 wtime=0.000100000 "
            f'optime=0.0{took:02}200000 etime=0.0{took:02}300000 notes=A details="Fully Unindexed Filter"\n'
        )


def stamp(moment: int) -> str:
    """Return a time, in nanoseconds after midnight, as 389-ds writes it."""
    seconds, nanoseconds = divmod(moment, 10**9)
    return f"[20/Nov/2026:{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{nanoseconds:09} +0000]"


if __name__ == "__main__":
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory(prefix="ldapdiag-bench-") as name:
        for figure in figures(Path(name)):
            print(figure, flush=True)
