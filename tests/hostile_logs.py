"""Access logs of 389-ds that somebody makes long and varied on purpose, so that a reader's memory runs out.

Each is written in blocks, never held; how many operations, openings and closes there are is known to whoever wrote it.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import gmtime, strftime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Blocks = Iterator[bytes]

BEGIN = 1_795_000_000
PER_SECOND = 10_000
BLOCK = 2_000
"""Units that are written at once, with the time of the first."""

LONG = 1_000_000
"""Bytes of a long line."""

RESULT = "conn=%d op=%d RESULT err=0 tag=101 nentries=1 wtime=0.000100000 optime=0.000200000 etime=0.000300000"
SEARCH = 'conn=%d op=%d SRCH base="%s" scope=2 filter="%s" attrs="cn"'
OPENED = "conn=%d fd=64 slot=64 connection from %s to 10.0.0.9"
CLOSED = "conn=%d op=%d fd=64 Disconnect - %s"
BIND = 'conn=%d op=0 BIND dn="%s" method=128 version=3'
BOUND = 'conn=%d op=0 RESULT err=0 tag=97 nentries=0 wtime=0.0001 optime=0.000200000 etime=0.000300000 dn="%s"'
REFUSED = "conn=%d op=0 RESULT err=49 tag=97 nentries=0 wtime=0.000100000 optime=0.000200000 etime=0.000300000"
SORTED = "conn=%d op=%d SORT %s (%d)"
VIEWED = "conn=%d op=%d VLV 0:9:0:0 1:20 (%d)"
U1 = "Cleanly Closed Connection - U1"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hostile:
    """One way to make a log that is hard to hold."""

    what: str
    lines: Callable[[int], tuple[str, ...]]
    """Of the unit of this number, without their times."""
    told: dict[str, float]
    """How often a unit is counted, by where the report counts it."""
    caps: frozenset[str] = frozenset()
    """What does not fit when there are very many units."""
    ended: int = 0
    """Connections that end besides: a restart ends the one that was open before."""
    size: int = 1
    """So many times the usual number of bytes a unit has."""

    def blocks(self, units: int, block: int = BLOCK) -> Blocks:
        """Yield the log, so many units at a time."""
        yield _stamped(BEGIN - 1, (OPENED % (1, "10.1.1.1"),))
        step = max(1, block // self.size)
        for first in range(0, units, step):
            lines = [line for number in range(first, min(units, first + step)) for line in self.lines(number)]
            yield _stamped(BEGIN + first * self.size // PER_SECOND, lines)

    def counts(self, units: int) -> dict[str, int]:
        """Return what the report must say of so many units."""
        told = {name: round(units * each) for name, each in self.told.items()}
        told["connections.opened"] = told.get("connections.opened", 0) + 1
        if self.ended:
            told["connections.closed"] += self.ended
        return told


def _stamped(second: int, lines: tuple[str, ...] | list[str]) -> bytes:
    stamp = strftime("[%d/%b/%Y:%H:%M:%S.123456789 +0000] ", gmtime(second))
    return (stamp + ("\n" + stamp).join(lines) + "\n").encode()


def client(number: int) -> str:
    """Return one of sixteen million addresses."""
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def searched(number: int, text: str, base: str = "dc=x") -> tuple[str, str]:
    """Return a search of connection 1 and its result."""
    return SEARCH % (1, number, base, text), RESULT % (1, number)


def _bound(number: int, dn: str) -> tuple[str, ...]:
    conn = number + 2
    return OPENED % (conn, "10.1.1.2"), BIND % (conn, dn), BOUND % (conn, dn), CLOSED % (conn, 1, U1)


def _refused(number: int) -> tuple[str, ...]:
    conn = number + 2
    return OPENED % (conn, client(number)), BIND % (conn, f"uid=u{number}"), REFUSED % conn, CLOSED % (conn, 1, U1)


def _closed(number: int, address: str, why: str) -> tuple[str, str]:
    return OPENED % (number + 2, address), CLOSED % (number + 2, 0, why)


def _notes(number: int) -> str:
    return ",".join(chr(ord("A") + (number >> shift) % 16) for shift in range(0, 24, 4))


SEARCHES = {"operations.search": 1}
CONNECTIONS = {"connections.opened": 1, "connections.closed": 1}
NESTED = "(!" * (LONG // 4) + "(uid=%d)" + ")" * (LONG // 4)
LONG_OR = "(|" + "(uid=a)(cn=bb)" * (LONG // 14) + "(uid=%d))"
WORD = "x" * LONG

HOSTILE = (
    Hostile(
        what="filters, each on another attribute",
        lines=lambda n: searched(n, f"(a{n}=x)"),
        told=SEARCHES,
        caps=frozenset({"shapes", "attribution"}),
    ),
    Hostile(
        what="bases",
        lines=lambda n: searched(n, "(uid=a)", f"ou=o{n},dc=x"),
        told=SEARCHES,
        caps=frozenset({"shapes"}),
    ),
    Hostile(
        what="connections, never closed",
        lines=lambda n: (OPENED % (n + 2, "10.1.1.2"),),
        told={"connections.opened": 1, "connections.closed": 0},
        caps=frozenset({"connections"}),
    ),
    Hostile(
        what="connections, never closed nor answered",
        lines=lambda n: (OPENED % (n + 2, "10.1.1.2"), SEARCH % (n + 2, 0, "dc=x", f"(uid={n})")),
        told={"connections.opened": 1, **SEARCHES},
        caps=frozenset({"connections"}),
    ),
    Hostile(
        what="connections open before the log",
        lines=lambda n: (SEARCH % (n + 2, 7, "dc=x", f"(uid={n})"), RESULT % (n + 2, 7)),
        told=SEARCHES,
        caps=frozenset({"connections"}),
    ),
    Hostile(
        what="searches of one connection, never answered",
        lines=lambda n: (SEARCH % (1, n, "dc=x", f"(uid={n})"),),
        told=SEARCHES,
        caps=frozenset({"pending"}),
    ),
    Hostile(
        what="paged searches of one connection, never ended",
        lines=lambda n: (
            SEARCH % (1, n, "dc=x", "(uid=a)"),
            RESULT % (1, n) + f' notes=P details="Paged Search" pr_idx={n} pr_cookie=0',
        ),
        told=SEARCHES,
        caps=frozenset({"pages"}),
    ),
    Hostile(
        what="sort keys",
        lines=lambda n: (SEARCH % (1, n, "dc=x", "(uid=a)"), SORTED % (1, n, f"-a{n} " * 40, n), RESULT % (1, n)),
        told=SEARCHES,
        caps=frozenset({"sorts"}),
    ),
    Hostile(
        what="sorts of searches that are not in the log",
        lines=lambda n: (SORTED % (n % 3000 + 2, n, f"a{n}", n), VIEWED % (n % 3000 + 2, n + 1, n)),
        told={},
    ),
    Hostile(
        what="client addresses",
        lines=lambda n: _closed(n, client(n), U1),
        told=CONNECTIONS,
        caps=frozenset({"clients"}),
    ),
    Hostile(
        what="reasons to close",
        lines=lambda n: _closed(n, client(n % 5000), f"reason {n}"),
        told=CONNECTIONS,
        caps=frozenset({"codes"}),
    ),
    Hostile(
        what="accounts",
        lines=lambda n: _bound(n, f"uid=u{n},dc=x"),
        told={**CONNECTIONS, "operations.bind": 1},
        caps=frozenset({"accounts"}),
    ),
    Hostile(
        what="failed binds of many",
        lines=_refused,
        told={**CONNECTIONS, "operations.bind": 1},
        caps=frozenset({"attribution", "clients"}),
    ),
    Hostile(
        what="result codes and notes",
        lines=lambda n: (
            SEARCH % (1, n, "dc=x", f"(a{n % 5000}=x)"),
            f"conn=1 op={n} RESULT err={n} tag=101 nentries=0 etime=0.1 notes={_notes(n)}",
        ),
        told=SEARCHES,
        caps=frozenset({"notes", "results"}),
    ),
    Hostile(
        what="restarts",
        lines=lambda n: _closed((-n) % 1000 * 100, "10.1.1.2", U1),
        told=CONNECTIONS,
        ended=1,
    ),
    Hostile(
        what="account names of 1 MB",
        lines=lambda n: _bound(n, f"uid={n}{WORD}"),
        told={**CONNECTIONS, "operations.bind": 1},
        size=8000,
    ),
    Hostile(
        what="bases of 1 MB, never answered",
        lines=lambda n: (OPENED % (n + 2, "10.1.1.2"), SEARCH % (n + 2, 0, f"uid={n}{WORD}", "(uid=a)")),
        told={"connections.opened": 1, **SEARCHES},
        size=8000,
    ),
    Hostile(what="250,000 nested NOTs", lines=lambda n: searched(n, NESTED % n), told=SEARCHES, size=8000),
    Hostile(what="ORs of 140,000 leaves", lines=lambda n: searched(n, LONG_OR % n), told=SEARCHES, size=8000),
    Hostile(
        what="filters of 1 MB, never answered",
        lines=lambda n: (OPENED % (n + 2, "10.1.1.2"), SEARCH % (n + 2, 0, "dc=x", f"(a{n}={WORD})")),
        told={"connections.opened": 1, **SEARCHES},
        size=8000,
    ),
    Hostile(
        what="lines of 1 MB with an unfinished quote",
        lines=lambda n: (f'conn=1 op={n} SRCH base="{n} scope=2 filter="(a="{WORD}',),
        told={"lines_not_understood": 1},
        size=8000,
    ),
)
