"""Logs that a server could have written, drawn: connections, binds, searches, pages, restarts, damage and disorder."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import gmtime, strftime
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from ldapdiag.evidence.log.server_process import DISORDER

if TYPE_CHECKING:
    from collections.abc import Callable

    Draw = Callable[[st.SearchStrategy[int]], int]

CLIENTS = [b"10.0.0.1", b"10.0.0.2", b"local"]
DNS = [b"uid=app,dc=x", b"uid=web,dc=x", b"cn=Directory Manager"]
FILTERS = [
    b"(uid=a)", b"(displayName=*joe*)", b"(displayName=*j\\C3\\B6*)", b"(|(uid=a)(mail=b*))", b"(|(uid=a)(mail=jean*))",
    b"(objectClass=*)", b"(&(cn=*a*)(sn=a b c d e*f..."
]  # fmt: skip
KEYS = [b"cn key(sub)=^jo", b"CN;lang-fr key(sub)=x --> count 9", b"uid key(eq)=a"]
SORTS = [
    b"SORT cn (33)",
    b"SORT cn (7)",
    b"SORT -sn cn (*)",
    b"SORT cn ",
    b"VLV 0:9:0:0 1:33 (0)",
    b"VLV 0:9:M 0:0 (11)",
]
CODES = [b"Cleanly Closed Connection - U1", b"Bad Ber Tag or uncleanly closed connection - B1", b"Idle Timeout - T1"]
STEPS = [0, 1_000, 2_000_000, 999_999_999, 1_000_000_000, 31_000_000_000, 4_000_000_000_000]
"""Nanoseconds between two lines."""


@dataclass
class Server:
    """A 389-ds that logs; every choice is drawn."""

    draw: Draw
    lines: list[bytes] = field(default_factory=list)
    time: int = 1_795_000_000 * 10**9
    next: int = 100
    open: dict[int, int] = field(default_factory=dict)
    """The next operation of each open connection."""
    restarted: bool = False
    waiting: list[tuple[int, int, bytes]] = field(default_factory=list)
    """Operations without result: connection, op, what kind."""

    def say(self, text: bytes) -> None:
        self.time += STEPS[self.draw(st.integers(0, len(STEPS) - 1))]
        second, fraction = divmod(self.time, 10**9)
        stamp = strftime("%d/%b/%Y:%H:%M:%S", gmtime(second)).encode()
        self.lines.append(b"[%b.%09d +0000] %b\n" % (stamp, fraction, text))

    def step(self) -> None:
        choice = self.draw(st.integers(0, 12))
        if choice == 0 or not self.open:
            self.opens()
        elif choice <= 4:
            self.asks()
        elif choice <= 8 and self.waiting:
            self.answers()
        elif choice == 9:
            self.closes()
        elif choice == 10 and self.next % 100 > DISORDER + 1:
            self.restarts()
        elif choice == 11 and self.waiting:
            self.repeats()
        else:
            self.asks()

    def repeats(self) -> None:
        """Write a request again whose result is awaited: a client can write one with a line feed."""
        waiting = self.waiting[self.draw(st.integers(0, len(self.waiting) - 1))]
        if waiting[0] not in self.open:
            return
        name = b" conn=%d op=%d " % waiting[:2]
        request = next(
            line for line in self.lines if name in line and b" RESULT " not in line and b" STAT " not in line
        )
        self.say(request.partition(b"] ")[2].rstrip(b"\n"))
        if self.draw(st.booleans()) and not waiting[2].startswith(b"97"):
            self.waiting.append(waiting)

    def opens(self) -> None:
        number, self.next = self.next, self.next + 1
        self.open[number] = 0
        client = CLIENTS[self.draw(st.integers(0, 2))]
        protocol = b"SSL " if self.draw(st.integers(0, 9)) == 0 else b""
        self.say(b"conn=%d fd=%d slot=%d %bconnection from %b to 10.9.9.9" % (number, 64, 64, protocol, client))
        if self.draw(st.integers(0, 9)) == 0:
            self.say(b'conn=%d AUTOBIND dn="cn=root"' % number)
        if self.draw(st.integers(0, 9)) == 0:
            self.say(b"conn=%d fd=64 HAProxy new_address_from=192.0.2.7 to new_address_dest=10.9.9.9" % number)

    def asks(self) -> None:
        numbers = sorted(self.open)
        number = numbers[self.draw(st.integers(0, len(numbers) - 1))]
        op = self.open[number] + (self.draw(st.integers(0, 12)) == 0)
        self.open[number] = op + 1
        kind = self.draw(st.integers(0, 6))
        if kind == 0:
            dn = DNS[self.draw(st.integers(0, 2))]
            self.say(b'conn=%d op=%d BIND dn="%b" method=128 version=3' % (number, op, dn))
            self.waiting.append((number, op, b"97 " + dn))
        elif kind == 1:
            self.say(b'conn=%d op=%d MOD dn="uid=x,dc=x"' % (number, op))
            self.waiting.append((number, op, b"103"))
        elif kind == 6:
            self.say(b'conn=%d op=%d EXT oid="1.3.6.1.4.1.1466.20037" name="start_tls_plugin"' % (number, op))
            self.waiting.append((number, op, b"120"))
        elif kind == 2 and self.waiting:
            target = self.waiting[self.draw(st.integers(0, len(self.waiting) - 1))][1]
            self.say(
                b"conn=%d op=%d ABANDON targetop=%d msgid=%d nentries=0 etime=0.100000000"
                % (number, op, target, target + 1)
            )
        else:
            text = FILTERS[self.draw(st.integers(0, len(FILTERS) - 1))]
            self.say(b'conn=%d op=%d SRCH base="ou=people,dc=x" scope=2 filter="%b" attrs=ALL' % (number, op, text))
            self.waiting.append((number, op, b"101"))

    def answers(self) -> None:
        number, op, what = self.waiting.pop(self.draw(st.integers(0, len(self.waiting) - 1)))
        tag, _, dn = what.partition(b" ")
        err = (0, 0, 0, 49, 14)[self.draw(st.integers(0, 4))] if dn else 0
        rest = b' dn="%b"' % dn if dn and err == 0 and self.draw(st.integers(0, 2)) else b""
        entries = 0
        if tag == b"120":
            err = (0, 52)[self.draw(st.integers(0, 1))]
        if tag == b"101":
            err, entries = ((0, 1), (0, 7), (0, 3000), (4, 500), (11, 0), (32, 9))[self.draw(st.integers(0, 5))]
            if self.draw(st.booleans()):
                key = KEYS[self.draw(st.integers(0, len(KEYS) - 1))]
                self.say(b"conn=%d op=%d STAT read index: attribute=%b --> count %d" % (number, op, key, entries))
            while self.draw(st.integers(0, 3)) == 0:
                self.say(b"conn=%d op=%d %b" % (number, op, SORTS[self.draw(st.integers(0, len(SORTS) - 1))]))
            rest = (
                b"",
                b' notes=A details="Fully Unindexed Filter"',
                b' notes=P details="Paged Search" pr_idx=0 pr_cookie=0',
                b' notes=P details="Paged Search" pr_idx=0 pr_cookie=-1',
            )[self.draw(st.integers(0, 3))]
        etime = self.draw(st.integers(0, 3)) * 700_000_000
        self.say(
            b"conn=%d op=%d RESULT err=%d tag=%b nentries=%d wtime=0.000100000 optime=0.0002 etime=%d.%09d%b"
            % (number, op, err, tag, entries, *divmod(etime, 10**9), rest)
        )

    def closes(self) -> None:
        numbers = sorted(self.open)
        number = numbers[self.draw(st.integers(0, len(numbers) - 1))]
        op = self.open.pop(number)
        if self.draw(st.booleans()):
            self.say(b"conn=%d op=%d UNBIND" % (number, op))
        self.say(b"conn=%d op=%d fd=64 Disconnect - %b" % (number, op, CODES[self.draw(st.integers(0, 2))]))
        if self.draw(st.integers(0, 7)) == 0:  # 389-ds: 1 of 154 connections under load
            self.say(b'conn=%d op=%d SRCH base="ou=people,dc=x" scope=2 filter="(uid=a)" attrs=ALL' % (number, op + 1))
            self.waiting.append((number, op + 1, b"101"))

    def restarts(self) -> None:
        self.restarted = True
        self.time += 2 * 10**9
        self.open.clear()
        self.waiting.clear()
        self.next = 1


def may_swap(line: bytes, following: bytes) -> bool:
    """Tell whether two lines may be written in the other order: of one moment, and not two requests of a connection."""
    words, others = line.split(b" ", 5), following.split(b" ", 5)
    result = b"RESULT" in (words[4], others[4]) and words[4] != others[4]
    return line[:24] == following[:24] and (words[2] != others[2] or result)


@st.composite
def drawn_logs(draw: Draw) -> list[bytes]:
    """Draw the lines of a log, some lost, some in another order than they happened, beginning anywhere."""
    server = Server(draw)
    for _ in range(draw(st.integers(0, 60))):
        server.step()
    lines = server.lines
    for _ in range(draw(st.integers(0, 4))):
        if len(lines) > 1:
            place = draw(st.integers(0, len(lines) - 2))
            if may_swap(lines[place], lines[place + 1]):
                lines[place], lines[place + 1] = lines[place + 1], lines[place]
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(lines)))
        if place < len(lines) and (not server.restarted or b"connection from" not in lines[place]):
            del lines[place]
    return lines[draw(st.integers(0, 5)) :]


def confuses_dropped_requests(lines: list[bytes]) -> bool:
    """Return whether a client repeats the number of an operation, or a result is written before its request.

    Of requests that were dropped at a cap, the next results without request are taken as theirs; where one number has
    several, a result that comes too late for the last may be taken so, and a result that waits for a request may get
    none. Then the number of operations is not exact.
    """
    requests, results = set(), set()
    for line in lines:
        words = line.split()
        operation = tuple(words[2:4])
        if b"RESULT" in words:
            results.add(operation)
        elif b"fd=64" not in words:
            if operation in requests | results:
                return True
            requests.add(operation)
    return False
