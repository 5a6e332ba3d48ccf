r"""The text access log of 389-ds, RHDS, FreeIPA and Netscape Directory Server, of all versions.

    \t389-Directory/2.3.1 B2025.016.1616
    \tlocalhost:13389 (/etc/dirsrv/slapd-corp1)

    [20/Nov/2026:08:45:20.751921248 +0000] conn=1 fd=64 slot=64 connection from 127.0.0.11 to 127.0.0.1
    [20/Nov/2026:08:45:20.752174123 +0000] conn=1 op=0 BIND dn="uid=quickr,dc=x" method=128 version=3
    [20/Nov/2026:08:45:20.752605431 +0000] conn=1 op=0 RESULT err=0 tag=97 nentries=0 wtime=0.000091024 \
optime=0.000464531 etime=0.000554371 dn="uid=quickr,dc=x"
    [20/Nov/2026:08:45:20.753093512 +0000] conn=1 op=1 SRCH base="dc=x" scope=2 filter="(sn=a"b)" attrs="cn mail"
    [27/Apr/2015:13:16:35 -0400] conn=11 op=1 RESULT err=0 tag=101 nentries=1 etime=0 notes=U
    [20/Nov/2026:08:45:20.812307811 +0000] conn=1 op=2 fd=64 Disconnect - Cleanly Closed Connection - U1
    [20/Nov/2026:08:48:22.151829727 +0000] conn=2 (Internal) op=0(1)(1) SRCH base="dc=x" scope=0 filter="(cn=*)" ...

A quote in a base, a filter or a DN is not escaped, and a client can put ` notes=A` into any of them. So each field is
read at its position, never searched for. Source: ldap/servers/slapd/result.c, opshared.c, connection.c.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.ds389_lines import NUMBERS, RESULT_HEADS, read_event, read_request, read_result
from ldapdiag.evidence.log.pattern import lines_like
from ldapdiag.evidence.log.stamps import NETSCAPE, nanoseconds
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.log.scan import Scan

NAME = "389-text"
FAMILY = Family.DS389

CHUNK = 100_000
"""Bytes matched at once: the records of more would not stay in the processor's cache."""
NANOSECONDS = 9
"""Digits of a fraction."""

STAMP = rb"""(?>(?:[^\s="\[]{1,255}\ {1,80}\|\ )?)
    \[(\d\d/[^/\s]{3,12}+/\d{4}:\d\d:\d\d:\d\d)(?>(?:\.(\d{1,9}+))?)\ ?([+-]\d{4}|Z)\]\ """
"""The time up to the second, its fraction, the zone; a container's name may come before it."""

RECORD = pattern(
    STAMP
    + rb"""conn=(\d{1,18}+)\ (?:
        op=(-?\d{1,10}+)\ (?:
            RESULT\ (err=-?\d{1,10}+\ tag=(?!48\ )\d{1,10}+\ nentries=-?\d{1,10}+)(?:
                (?>(?:\ wtime=0\.(\d{9})\ optime=0\.(\d{9}))?)\ etime=0\.(\d{9})\n | (.*)\n )
          | SRCH\ base="([^"\n]*+(?>(?:"(?!\ scope=-?\d{1,10}\ filter=")[^"\n]*+)*))"
                \ scope=(-?\d{1,10}+)\ filter="(.*)"\ attrs=.*\n
          | (.*)\n )
      | (.*)\n )
  | (.*)\n
    """,
    re.VERBOSE,
)
"""Results, searches, other lines of an operation, lines of a connection, and any other line.

Plain results below a second, the most frequent ones, are read completely. Tag 48 is internal to the server. A base ends
before the first `" scope=`, a filter before the last `" attrs=`.
"""

HEADER = pattern(
    rb"""\s++(?:(?P<version>[\w()\ -]{1,60}/\d\S{0,40}\ B\S{1,40}(?>(?:\ \([\w-]{1,20}\))?))
    | (?P<instance>\S{1,255}:\d{1,5}\ \(.*\)))\s*+""",
    re.VERBOSE,
)
"""The first lines of each file, rotated ones too, so they are no sign of a restart."""
INTERNAL = pattern(
    STAMP
    + rb"""conn=Internal(?>(?:\(\d{1,18}\))?)\ ++(?>(?:op=\S{1,60}\ ++)?)
    (?>(?P<request>(?:SRCH|ADD|MOD|DEL|MODRDN|CMP|BIND|EXT)\b)?).*""",
    re.VERBOSE,
)
"""Internal operations that belong to no client's operation."""
RECOGNISED = pattern(
    rb"^" + STAMP + rb"conn=(?:\d{1,18}|Internal\S{0,25})\ (?!op=\S{1,40}\ msgId=)", re.VERBOSE | re.MULTILINE
)

Record = tuple[bytes, ...]
"""stamp, fraction, zone, conn, op; head, wtime, optime, etime, tail; base, scope, filter; request; event; any other."""


def recognised(head: bytes) -> int:
    """Return how many lines are of this log; lines of DSEE have a message id."""
    return lines_like(RECOGNISED, head)


def scan(data: bytes, log: Scan) -> None:
    """Read whole lines."""
    if data and not data.endswith(b"\n"):
        data += b"\n"
    log.lines += data.count(b"\n")
    result, made, search, numbers, heads = log.result, OperationResult, log.search, NUMBERS, RESULT_HEADS
    second, seen, seen_zone = 0, b"", b""
    chunks = (RECORD.findall(data, at, end) for at, end in _chunks(data))
    for record in chain.from_iterable(chunks):
        stamp, fraction, zone, conn, op, head, wait, worked, etime, tail, base, scope, filter_, _, _, _ = record
        if stamp != seen or zone != seen_zone or not stamp:
            if (began := second_of(log, stamp, fraction, zone)) is None:
                _read_internal(log, record)
                continue
            second, seen, seen_zone = began, stamp, zone
        time = second + (int(fraction) if len(fraction) == NANOSECONDS else _coarse(log, fraction))
        if etime:
            err, kind, entries = heads[head]
            waited, optime = (int(wait), int(worked)) if wait else (None, None)
            result(numbers[conn], made(numbers[op], time, kind, err, int(etime), waited, optime, entries))
        elif scope:
            search(numbers[conn], numbers[op], time, base, numbers[scope], filter_)
        elif head:
            if not read_result(log, numbers[conn], numbers[op], time, head, tail):
                log.misread(b"%bRESULT %b%b" % (_line(record), head, tail))
        elif not _read_line(log, record, time):
            log.misread(_line(record))


def times(data: bytes, log: Scan) -> Iterator[int]:
    """Yield the times of the lines of connections, nanoseconds since 1970, and read the header of the file."""
    for line in filter(None, data.split(b"\n")):
        if not (found := RECOGNISED.match(line)):
            read_header(log, line)
        elif b" conn=Internal" not in found[0]:
            stamp, fraction, zone = found.groups(b"")
            if (began := second_of(log, stamp, fraction, zone)) is not None:
                yield began + nanoseconds(fraction)


def _read_line(log: Scan, record: Record, time: int) -> bool:
    """Read a line that is neither a result nor a search; return whether it is understood."""
    _, _, _, conn, op, *_, request, event, _ = record
    if op:
        return read_request(log, int(conn), int(op), time, request.rstrip())
    return read_event(log, int(conn), time, event.rstrip())


def _coarse(log: Scan, fraction: bytes) -> int:
    """Return a fraction of less than nine digits, from an old server or by its configuration."""
    log.resolution(10 ** (NANOSECONDS - len(fraction)))
    return nanoseconds(fraction)


def _chunks(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the bounds of chunks of whole lines."""
    at = 0
    while at < len(data):
        end = data.rfind(b"\n", at, at + CHUNK) + 1 or data.index(b"\n", at) + 1
        yield at, end
        at = end


def second_of(log: Scan, stamp: bytes, fraction: bytes, zone: bytes) -> int | None:
    """Return the time of a second, and keep the clock's zone and resolution; None for an invalid time."""
    try:
        began = NETSCAPE[b"%b %b" % (stamp, zone)]
    except ValueError:
        return None
    log.clock(zone)
    if len(fraction) < NANOSECONDS:
        log.resolution(10 ** (NANOSECONDS - len(fraction)))
    return began


def _read_internal(log: Scan, record: Record) -> None:
    """Read a line that is not of a client's connection."""
    line = record[-1]
    if record[0]:
        log.misread(_line(record))
    elif b"conn=Internal" in line and (internal := INTERNAL.fullmatch(line)):
        if internal["request"]:
            log.internal()
        else:
            log.passed_over()
    else:
        read_header(log, line)


def read_header(log: Scan, line: bytes) -> None:
    """Read a line of the header at the beginning of each file, or an unknown line."""
    header = HEADER.fullmatch(line)
    if header:
        log.header(header["instance"] or b"", header["version"] or b"")
    if header or not line.strip():
        log.passed_over()
    else:
        log.misread(line)


def _line(record: Record) -> bytes:
    """Return the line of a record, approximately."""
    stamp, fraction, zone, conn, op, *_, request, event, _ = record
    return b"[%b.%b %b] conn=%b %b" % (stamp, fraction, zone, conn, b"op=%b %b" % (op, request) if op else event)
