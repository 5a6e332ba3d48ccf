"""Access logs that somebody makes long and varied on purpose, so that a reader's memory or time runs out.

Each is written in blocks, never held; how many operations, openings and closes there are is known to whoever wrote it.
They are of 389-ds, and of slapd (a name ending in "of slapd") where only that logs a field.
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
IDLE = 20_000
"""Units, of two seconds, until a connection is used again."""
OPENED_OF_SLAPD = "conn=1 fd=16 ACCEPT from IP=10.1.1.1:32917 (IP=0.0.0.0:389)"


def _netscape(second: int) -> str:
    return strftime("[%d/%b/%Y:%H:%M:%S.123456789 +0000] ", gmtime(second))


def _hexadecimal(second: int) -> str:
    return f"{second:08x}.075bcd15 0x7f6ced7fe6c0 "


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
    stamp: Callable[[int], str] = _netscape
    """Of a second since 1970, before each line."""

    @property
    def is_of_slapd(self) -> bool:
        """Return whether it is a log of slapd, on stderr."""
        return self.stamp is _hexadecimal

    def blocks(self, units: int, block: int = BLOCK) -> Blocks:
        """Yield the log, so many units at a time."""
        yield self._stamped(BEGIN - 1, (OPENED_OF_SLAPD if self.is_of_slapd else OPENED % (1, "10.1.1.1"),))
        step = max(1, block // self.size)
        for first in range(0, units, step):
            lines = [line for number in range(first, min(units, first + step)) for line in self.lines(number)]
            yield self._stamped(BEGIN + first * self.size // PER_SECOND, lines)

    def counts(self, units: int) -> dict[str, int]:
        """Return what the report must say of so many units."""
        told = {name: round(units * each) for name, each in self.told.items()}
        told["connections.opened"] = told.get("connections.opened", 0) + 1
        if self.ended:
            told["connections.closed"] += self.ended
        return told

    def _stamped(self, second: int, lines: tuple[str, ...] | list[str]) -> bytes:
        stamp = self.stamp(second)
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


def _usual(number: int) -> tuple[str, ...]:
    """Return a search of one of a hundred connections; those begin and end every so often."""
    conn, op = number // 100_000 * 100 + number % 100 + 2, number // 100 % 1000 + 1
    base, filter_ = f"ou=people,dc=d{number % 7},dc=x", USUAL[number % len(USUAL)] % number
    lines = SEARCH % (conn, op, base, filter_), RESULT % (conn, op)
    account = f"uid=app{number % 20},ou=apps,dc=x"
    if op == 1:
        return OPENED % (conn, client(number % 50)), BIND % (conn, account), BOUND % (conn, account), *lines
    return (*lines, CLOSED % (conn, op + 1, U1)) if op == 1000 else lines


def _closed(number: int, address: str, why: str) -> tuple[str, str]:
    return OPENED % (number + 2, address), CLOSED % (number + 2, 0, why)


def _answered(number: int, request: str, tag: int) -> tuple[str, str]:
    return f"conn=1 op={number} {request}", (RESULT % (1, number)).replace("tag=101", f"tag={tag}")


def _of_substrings(number: int) -> tuple[str, str]:
    lengths = ["x" * (1 + (number >> shift & 7)) for shift in range(0, 24, 3)]
    return searched(number, f"(a{number % 20_000}=*{'*'.join(lengths)}*)")


def _used_again(number: int) -> tuple[str, ...]:
    opened, used = OPENED % (number + 2, client(number)), number - IDLE + 2
    if used < 2:
        return (opened,)
    return opened, SEARCH % (used, 0, "dc=x", "(uid=a)"), RESULT % (used, 0), CLOSED % (used, 1, U1)


def _notes(number: int) -> str:
    return ",".join(chr(ord("A") + (number >> shift) % 16) for shift in range(0, 24, 4))


SCOPED = 'SRCH base="dc=x" scope=%d filter="(uid=a)" attrs="cn"'
USUAL = ("(uid=u%d)", "(&(objectClass=person)(mail=m%d@x))", "(cn=*n%d*)", "(memberUid=u%d)", "(|(uid=u%d)(cn=a))")
SEARCHES = {"operations.search": 1}
CONNECTIONS = {"connections.opened": 1, "connections.closed": 1}
NESTED = "(!" * (LONG // 4) + "(uid=%d)" + ")" * (LONG // 4)
LONG_OR = "(|" + "(uid=a)(cn=bb)" * (LONG // 14) + "(uid=%d))"
WORD = "x" * LONG

ORDINARY = Hostile(what="an ordinary log", lines=_usual, told=SEARCHES)

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
        what="requests of one connection after its close, never answered",
        lines=lambda n: (
            *(() if n else (CLOSED % (1, 0, U1),)),
            SEARCH % (1, n, "dc=x", f"(uid={n})"),
        ),
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

DISTINCT = (
    Hostile(
        what="clients whose connections are never closed",
        lines=lambda n: (OPENED % (n + 2, client(n)),),
        told={"connections.opened": 1, "connections.closed": 0},
        caps=frozenset({"clients", "connections"}),
    ),
    Hostile(what="scopes", lines=lambda n: _answered(n, SCOPED % n, 101), told=SEARCHES, caps=frozenset({"shapes"})),
    Hostile(
        what="OIDs of extended operations",
        lines=lambda n: _answered(n, f'EXT oid="1.3.6.{n}" name="x"', 120),
        told={"operations.extended": 1},
        caps=frozenset({"targets"}),
    ),
    Hostile(
        what="DNs of writes",
        lines=lambda n: _answered(n, f'MOD dn="ou=o{n},dc=x"', 103),
        told={"operations.modify": 1},
        caps=frozenset({"targets"}),
    ),
    Hostile(
        what="mechanisms",
        lines=lambda n: _answered(n, f'BIND dn="" method=sasl version=3 mech=M{n}', 97),
        told={"operations.bind": 1},
        caps=frozenset({"targets"}),
    ),
    Hostile(what="lengths of substrings", lines=_of_substrings, told=SEARCHES, caps=frozenset({"shapes"})),
    Hostile(
        what="keys of indexes",
        lines=lambda n: (f"conn=1 op=1 STAT read index: attribute=a{n} key(eq)=a --> count {n}",),
        told={},
    ),
    Hostile(
        what="tags",
        lines=lambda n: _answered(n, 'SRCH base="dc=x" scope=2 filter="(uid=a)" attrs="cn"', n),
        told=SEARCHES,
    ),
    Hostile(
        what="abandoned requests that are not in the log",
        lines=lambda n: (f"conn={n % 3000 + 2} op={n} ABANDON targetop={n - 1} msgid=1",),
        told={"operations.abandon": 1},
    ),
    Hostile(
        what="addresses of the server",
        lines=lambda n: (
            f"conn={n + 2} fd=64 slot=64 connection from 10.1.1.2 to {client(n)}",
            CLOSED % (n + 2, 0, U1),
        ),
        told=CONNECTIONS,
    ),
    Hostile(
        what="ciphers",
        lines=lambda n: (OPENED % (n + 2, "10.1.1.2"), f"conn={n + 2} TLS1.3 256-bit C{n}", CLOSED % (n + 2, 0, U1)),
        told=CONNECTIONS,
    ),
    Hostile(
        what="clients whose connections were idle",
        lines=_used_again,
        told={"connections.opened": 1},
        caps=frozenset({"clients", "idle_times"}),
    ),
    Hostile(
        what="requests after the close",
        lines=lambda n: (
            *((OPENED % (n // 500 + 2, "10.1.1.2"), CLOSED % (n // 500 + 2, 0, U1)) if n % 500 == 0 else ()),
            SEARCH % (n // 500 + 2, n, "dc=x", "(uid=a)"),
        ),
        told=SEARCHES,
    ),
    Hostile(
        what="every second connection",
        lines=lambda n: (OPENED % (2 * n + 2, "10.1.1.2"), CLOSED % (2 * n + 2, 0, U1)),
        told=CONNECTIONS,
    ),
    Hostile(
        what="modified attributes of slapd",
        lines=lambda n: ("conn=1 op=1 MOD attr=" + " ".join(f"a{20 * n + place}" for place in range(20)),),
        told={},
        stamp=_hexadecimal,
    ),
    Hostile(
        what="attributes without index of slapd",
        lines=lambda n: (f"<= mdb_equality_candidates: (a{n}) not indexed",),
        told={},
        stamp=_hexadecimal,
    ),
    Hostile(
        what="refused clients of slapd",
        lines=lambda n: (f"fd=12 DENIED from unknown ({client(n)})",),
        told={},
        stamp=_hexadecimal,
    ),
)
"""The other fields of a line, with a different one in each: their time is measured."""
