"""Every reader of a socket table: 100,000 rows against `line.split()`, how time grows, and the memory of a million.

The tables are written by the writers of the tests (`PYTHONPATH=tests`, as `make bench` sets it). Run as a script it
reads a table in parts, then ten times over as one of a million rows, each time with other addresses, and prints seconds
and peak memory: `python bench/every_table.py TABLE [multiline] [million]`.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from os import cpu_count
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from measure import Figure, best, peak_memory
from socket_tables import split

import box_writers
import writers
from ldapdiag.evidence.document import Document
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.formats import HEAD_BYTES, head_of, recognise
from ldapdiag.evidence.sockets import SocketTable, TcpState
from ldapdiag.sources.gathering import gather

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROWS = 100_000
GROWTH = (25_000, 50_000, ROWS)
TIMES = 10
"""Multiple of ROWS that makes a million rows."""
NETWORK = "10.77."
"""Prefix of all client addresses; where a row is one line, each row contains it."""

HEADER = (
    f"\n{'how reading grows':22} "
    + " ".join(f"{f'{rows:,}':>9}" for rows in GROWTH)
    + f" {'4x / 1x':>8} {'1,000,000 rows':>15} {'peak memory':>12}"
)


def sockets(rows: int) -> Iterator[writers.Socket]:
    """Yield the sockets of a busy server with a thousand clients."""
    for number in range(rows):
        yield writers.Socket(
            local_address="10.77.9.2",
            local_port=389,
            remote_address=f"10.77.{number % 4}.{number // 4 % 250}",
            remote_port=32768 + number % 28000,
            state=TcpState.TIME_WAIT if number % 20 == 19 else TcpState.ESTABLISHED,
            inode=100_000 + number,
        )


def flows(rows: int) -> Iterator[box_writers.Flow]:
    """Yield the same connections as flows of a middlebox."""
    for one in sockets(rows):
        server, client = (one.local_address, one.local_port), (one.remote_address, one.remote_port)
        yield box_writers.Flow(client=(*client, *server), server=(*server, *client))


def as_lsof(rows: Iterable[writers.Socket]) -> str:
    """Write lsof -nP -iTCP."""
    head = "COMMAND    PID   USER   FD   TYPE DEVICE SIZE/OFF NODE NAME\n"
    ends = (f"{one.local_address}:389->{one.remote_address}:{one.remote_port}" for one in rows)
    return head + "".join(
        f"ns-slapd 15161 dirsrv {fd}u  IPv4 {fd + 9000}      0t0  TCP {end} (ESTABLISHED)\n"
        for fd, end in enumerate(ends, 64)
    )


def as_conntrack(rows: Iterable[box_writers.Flow]) -> str:
    """Write conntrack -L."""
    return "".join(
        f"tcp      6 299 ESTABLISHED src={a} dst={b} sport={port} dport=389 "
        f"src={b} dst={a} sport=389 dport={port} [ASSURED] mark=0 use=1\n"
        for a, port, b, _ in (one.client for one in rows)
    )


SOCKETS: dict[str, Callable[[Iterable[writers.Socket]], str]] = {
    "ss": writers.as_ss,
    "netstat": writers.as_netstat,
    "/proc/net/tcp": writers.as_proc_net,
    "FreeBSD netstat": writers.as_freebsd,
    "Solaris netstat": writers.as_solaris,
    "Solaris netstat -v": partial(writers.as_solaris, verbose=True),
    "Windows netstat": writers.as_netstat_windows,
    "Get-NetTCPConnection": writers.as_powershell_csv,
    "lsof": as_lsof,
    "lsof -F": writers.as_lsof_fields,
}
FLOWS: dict[str, Callable[[Iterable[box_writers.Flow]], str]] = {
    "conntrack": as_conntrack,
    "conntrack xml": box_writers.as_conntrack_xml,
    "F5": box_writers.as_f5,
    "F5 all-properties": box_writers.as_f5_properties,
    "HAProxy show sess": box_writers.as_show_sess,
    "HAProxy show sess all": box_writers.as_show_sess_all,
}
NAMES = (*SOCKETS, *FLOWS)
MULTILINE = frozenset({"Solaris netstat -v", "lsof -F", "F5 all-properties", "HAProxy show sess all", "/proc/net/tcp"})
"""Tables whose rows span several lines or contain no plain address."""

FAMILIAR = frozenset({"ss", "netstat", "FreeBSD netstat", "Solaris netstat"})
"""Tables whose ratio has a goal (socket_tables.py)."""
SECOND = frozenset({"Solaris netstat -v", "F5 all-properties", "HAProxy show sess"})
"""Second layouts of one reader; the million rows are read in its first layout."""


def written(folder: Path, name: str) -> Path:
    """Write a table, once."""
    path = folder / f"table-{NAMES.index(name)}.txt"
    if not path.exists():
        text = SOCKETS[name](sockets(ROWS)) if name in SOCKETS else FLOWS[name](flows(ROWS))
        path.write_text(text, newline="")
    return path


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the time of reading each table against the bare work; these have no goal."""
    for name in NAMES:
        if name not in FAMILIAR:
            path = written(folder, name)
            ours, theirs = best(partial(gather, [str(path)]), partial(split, path), repetitions=1)
            yield Figure(what=f"{name}, {ROWS:,} rows / split()", ours=ours, theirs=theirs)


def growths(folder: Path) -> Iterator[str]:
    """Yield for each reader the time of 1x, 2x and 4x the rows, and time and memory of a million; the slow first."""
    names = NAMES[::-1]
    with ThreadPoolExecutor(cpu_count()) as children:
        for name, measured in zip(names, children.map(partial(in_a_child, folder), names), strict=True):
            times, million = measured[: len(GROWTH)], measured[len(GROWTH) :]
            line = f"{name:22} {' '.join(f'{seconds:7.3f} s' for seconds in times)} {times[-1] / times[0]:7.2f}x"
            yield line + (f" {million[0]:13.1f} s {million[1] / 1024:8.0f} MiB" if million else "")


def in_a_child(folder: Path, name: str) -> list[float]:
    """Read a table in a process of its own; return its times and its peak memory."""
    words = ["multiline"] * (name in MULTILINE) + ["million"] * (name not in SECOND)
    command = [sys.executable, __file__, str(written(folder, name)), *words]
    child = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(word) for word in child.stdout.split()]


def lines_of_table(path: Path, times: int, *, multiline: bool) -> Iterator[str]:
    """Repeat the lines of a table with different addresses each time, and its heading once."""
    for number in range(times):
        network, heading = f"10.{77 + number}.", number == 0
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                row = NETWORK in line
                heading = heading and not row
                if row or heading or multiline:
                    line = line.rstrip("\n").replace(NETWORK, network)  # noqa: PLW2901  the same line, elsewhere
                    yield f"d{number}{line[1:]}" if line.startswith("d") else line  # lsof -F identifies a socket by it


def read(path: Path, lines: Iterable[str], rows: int) -> float:
    """Read lines as a table of so many rows (lsof has no TIME-WAIT), and return the seconds."""
    with path.open("rb") as start:
        form = recognise(head_of(path.name, start.read(HEAD_BYTES), whole=False))
    if form is None or form.read is None:
        raise AssertionError(f"{path}: nothing reads it")
    started = perf_counter()
    facts = list(form.read(Document(path=path.name, source=lines)))
    spent = perf_counter() - started
    found = sum(len(fact) for fact in facts if isinstance(fact, SocketTable | FlowTable))
    if found < 0.9 * rows:
        raise AssertionError(f"{path}: {found} rows of {rows}")
    return spent


def main(path: Path, *, multiline: bool, million: bool) -> None:
    """Print the times of a quarter, a half and the whole of a table; on request, those of a million rows."""
    count = sum(1 for _ in lines_of_table(path, 1, multiline=multiline))
    for part in GROWTH:
        print(read(path, islice(lines_of_table(path, 1, multiline=multiline), count * part // ROWS), part))
    if million:
        print(read(path, lines_of_table(path, TIMES, multiline=multiline), TIMES * ROWS), peak_memory())


if __name__ == "__main__":
    main(Path(sys.argv[1]), multiline="multiline" in sys.argv, million="million" in sys.argv)
