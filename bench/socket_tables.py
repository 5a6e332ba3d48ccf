"""Reading a socket table of 100,000 lines, from the file to the fact, against `line.split()` over the same lines."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING

from measure import Figure, best

from ldapdiag.sources.gathering import gather

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LINES = 100_000
CLIENTS = 1000
"""Client addresses in the lines; each is normalised once."""

GOAL = 10
STATES = (("ESTAB", "ESTABLISHED"),) * 17 + (("TIME-WAIT", "TIME_WAIT"), ("CLOSE-WAIT", "CLOSE_WAIT"))

SS = "State      Recv-Q Send-Q      Local Address:Port         Peer Address:Port Process\n"
NETSTAT = (
    "Active Internet connections (servers and established)\n"
    "Proto Recv-Q Send-Q Local Address           Foreign Address         State      \n"
)
FREEBSD = (
    "Active Internet connections (including servers)\n"
    "Proto Recv-Q Send-Q Local Address          Foreign Address        (state)\n"
)
SOLARIS = "TCP: IPv4\n   Local Address        Remote Address    Swind Send-Q Rwind Recv-Q    State\n"


def ss_line(state: str, client: str) -> str:
    """Return a row of ss -tan."""
    return f"{state:<10} 0      0      {'10.77.1.2:389':>22} {client:>22}\n"


def netstat_line(state: str, client: str) -> str:
    """Return a row of netstat -an."""
    return f"tcp        0      0 {'10.77.1.2:389':<23} {client:<23} {state:<11}\n"


def freebsd_line(state: str, client: str) -> str:
    """Return a row of FreeBSD's netstat -an; those of macOS, AIX and HP-UX look the same."""
    return f"tcp4       0      0 {'10.77.1.2.389':<22} {client.replace(':', '.'):<22} {state:<11}\n"


def solaris_line(state: str, client: str) -> str:
    """Return a row of Solaris' netstat -an."""
    return f"{'10.77.1.2.389':<20} {client.replace(':', '.'):<20} 49640      0 49640      0 {state}\n"


def sockets(seed: int = 389) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the states (as ss and as netstat spell them) and client endpoints of a busy server, always the same."""
    chance = Random(seed)  # noqa: S311  a table to read, no secret
    for _ in range(LINES):
        host = chance.randrange(CLIENTS)
        yield chance.choice(STATES), f"10.77.{host // 250}.{host % 250}:{chance.randrange(32768, 60999)}"


def split(path: Path) -> int:
    """Do the least that any reader must do."""
    with path.open(encoding="utf-8") as lines:
        return sum(len(line.split()) for line in lines)


def figures(folder: Path) -> Iterator[Figure]:
    """Write the tables and yield the time of reading them."""
    rows = list(sockets())
    tables: tuple[tuple[str, str, Callable[[str, str], str], int], ...] = (
        ("ss -tan", SS, ss_line, 0),
        ("netstat -an", NETSTAT, netstat_line, 1),
        ("FreeBSD netstat -an", FREEBSD, freebsd_line, 1),
        ("Solaris netstat -an", SOLARIS, solaris_line, 1),
    )
    for name, header, line, spelling in tables:
        path = folder / f"{name.partition(' ')[0]}.txt"
        path.write_text(header + "".join(line(states[spelling], client) for states, client in rows))
        (fact,) = gather([str(path)]).facts
        if len(fact) != LINES:
            raise AssertionError(f"{name}: {len(fact)} rows of {LINES}")
        ours, theirs = best(partial(gather, [str(path)]), partial(split, path), repetitions=7)
        yield Figure(what=f"read {name}, {LINES:,} lines / line.split()", ours=ours, theirs=theirs, goal=GOAL)
