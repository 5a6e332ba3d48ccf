"""Damage done to the lines of real logs, as bytes: by chance, and by somebody who knows what a scanner looks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    Mutation = Callable[[bytes, random.Random], bytes]

FORGED = (
    b'"', b'""', b"\\", b'\\"', b'\\\\"', b"\r", b"\t", b" ", b"  ", b"\0", b"\xff", b"\x80", b"\xc3",
    b"\xe2\x80\xa8", b"\x1b[0m", b"...", b" notes=A", b' notes=U details="x"', b' " scope=2 filter="',
    b'" scope=2 filter="', b'" attrs=ALL', b" attrs=", b" deref=0", b' filter="(a=b)"',
    b" RESULT err=0 tag=101 nentries=1", b" etime=0.000100000", b" wtime=-0.000001", b' dn="cn=x"',
    b" pr_idx=0 pr_cookie=-1", b' sid="x"', b" text=", b" tag=97 err=0", b" conn=1 op=1 UNBIND", b" conn=Internal(1)",
    b"(Internal) op=1(1)(1) SRCH", b"conn=-1 ", b"(", b")", b"*", b"=", b"(&", b"(|(a=b)(a=c))", b"(!(a=b))",
    b"(objectClass=person)", b"cn=", b",", b"+", b"-", b" - U1", b"{", b"}", b"[", b"]", b":", b"\n{", b'"a":1,',
    b'"err":"0"', b"\\u0000", b"\\ud83d", b"null", b"1e5", b"<167>", b"<167>1 ", b"0", b"9", b"99999999999999999999",
    b"-1", b"0x1", b"+0100", b"Z", b".5", b",5", b" closed (x)", b" not indexed",
    b" --> count 5", b" (duration 0.5)", b"STAT read index: attribute=a key(sub)=",
    b"MOD attr=", b";x", b"*\\2a*", b"(a=*b*)", b" msgId=1 - ", b" closing - U1", b" result=0", b" etime=5",
    b" nentries=1", b" unindexed", b' authDN="cn=x"', b'" attrs="', b" REQ ", b"'", b"#22", b" resultCode=0",
    b" conn=-1", b' startupID="x"', b"E-4", b" scope=1",
)  # fmt: skip
NUMBERS = (
    b"0", b"00", b"7", b"-1", b"-0", b"+1", b"9" * 9, b"9" * 10, b"9" * 17, b"9" * 18, b"9" * 19, b"9" * 400,
    b"2147483648", b"18446744073709551615", b"18446744073709551616", b"4294967295", b"1.5", b".5", b"5.",
    b"0.0000000001", b"", b"x", b"0x10",
)  # fmt: skip
DIGITS = re.compile(rb"\d+")
WORD = re.compile(rb"[^ ]+")


def _flip(line: bytes, choose: random.Random) -> bytes:
    place = choose.randrange(len(line))
    return line[:place] + bytes([choose.randrange(256)]) + line[place + 1 :]


def _drop(line: bytes, choose: random.Random) -> bytes:
    place = choose.randrange(len(line))
    return line[:place] + line[place + choose.choice((1, 1, 2, 5, 20)) :]


def _forge(line: bytes, choose: random.Random) -> bytes:
    place = choose.randrange(len(line) + 1)
    return line[:place] + choose.choice(FORGED) + line[place:]


def _double(line: bytes, choose: random.Random) -> bytes:
    left, right = sorted(choose.randrange(len(line) + 1) for _ in range(2))
    return line[:right] + line[left:right] * choose.choice((1, 1, 2, 30)) + line[right:]


def _number(line: bytes, choose: random.Random) -> bytes:
    return _another(DIGITS, line, choose, lambda _: choose.choice(NUMBERS))


def _word(line: bytes, choose: random.Random) -> bytes:
    words = [found[0] for found in WORD.finditer(line)]
    return _another(WORD, line, choose, lambda _: choose.choice((b"", choose.choice(words or [b"x"]))))


def _case(line: bytes, choose: random.Random) -> bytes:
    return _another(WORD, line, choose, choose.choice((bytes.upper, bytes.lower, bytes.swapcase)))


def _cut(line: bytes, choose: random.Random) -> bytes:
    return line[: choose.randrange(len(line))]


def _another(what: re.Pattern[bytes], line: bytes, choose: random.Random, change: Callable[[bytes], bytes]) -> bytes:
    places = [found.span() for found in what.finditer(line)]
    if not places:
        return line
    left, right = choose.choice(places)
    return line[:left] + change(line[left:right]) + line[right:]


MUTATIONS: tuple[Mutation, ...] = (_flip, _drop, _forge, _forge, _double, _number, _number, _word, _case, _cut)


def mutated(lines: list[bytes], choose: random.Random, share: float = 0.5) -> bytes:
    """Return some neighbouring lines of a log, many of them damaged, some lost, doubled or out of place."""
    first = choose.randrange(len(lines))
    told = [_damaged(line, choose, share) for line in lines[first : first + choose.choice((1, 3, 12))]]
    for _ in range(choose.choice((0, 0, 1, 2))):
        place, line = choose.randrange(len(told)), choose.choice(lines)
        told.insert(place, choose.choice((line, told[place], _damaged(line, choose, 1))))
    data = b"".join(told)
    return data.rstrip(b"\n") if choose.random() < 0.1 else data


def _damaged(line: bytes, choose: random.Random, share: float) -> bytes:
    if choose.random() > share:
        return line
    end = b"\n" if line.endswith(b"\n") else b""
    bare = line.removesuffix(b"\n")
    for _ in range(choose.choice((1, 1, 2, 4))):
        bare = choose.choice(MUTATIONS)(bare, choose) if bare else b"x"
    return bare + end
