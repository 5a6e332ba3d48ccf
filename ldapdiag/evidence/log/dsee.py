r"""The access log of Sun Directory Server 5.2 and DSEE 6 to 11g: that of 389-ds, with message ids.

    [18/Aug/2006:15:41:17 +0200] conn=13 op=-1 msgId=-1 - fd=23 slot=23 LDAP connection from 10.1.1.1:42001 to 10.1.1.2
    [18/Aug/2006:15:41:17 +0200] conn=13 op=0 msgId=1 - BIND dn="uid=joe,dc=x" method=128 version=3
    [18/Aug/2006:15:41:17 +0200] conn=13 op=0 msgId=1 - RESULT err=0 tag=97 nentries=0 etime=0 dn="uid=joe,dc=x"
    [18/Aug/2006:15:41:17 +0200] conn=13 op=1 msgId=2 - SRCH base="dc=x" scope=2 filter="(cn=a)" attrs=ALL
    [18/Aug/2006:15:41:17 +0200] conn=13 op=1 msgId=2 - RESULT err=0 tag=101 nentries=1 etime=0 notes=U
    [18/Aug/2006:15:41:18 +0200] conn=13 op=2 msgId=3 - UNBIND
    [18/Aug/2006:15:41:18 +0200] conn=13 op=2 msgId=-1 - closing - U1
    [18/Aug/2006:15:41:19 +0200] conn=13 op=-1 msgId=-1 - closed.

A close is two lines, of which the first has the close code. The logs of Netscape Directory Server, RHDS and iPlanet 5.1
have no message ids: they are those of 389-ds.
Source: Sun Java System Directory Server Administration Reference, "Access Logs".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.ds389_lines import NUMBERS, read_event, read_request, read_result
from ldapdiag.evidence.log.ds389_text import STAMP, read_header, second_of
from ldapdiag.evidence.log.pattern import lines_like
from ldapdiag.evidence.log.stamps import nanoseconds
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from ldapdiag.evidence.log.scan import Scan

NAME = "dsee-text"
FAMILY = Family.DSEE

RECORD = pattern(
    STAMP
    + rb"""conn=(?:(\d{1,18}+)|Internal\S{0,25})\ op=(-?\d{1,10}+)(?:\(\S{0,40})?\ msgId=-?\d{1,10}+\ -\ (?:
        RESULT\ (err=-?\d{1,10}+\ tag=(?!48\ )\d{1,10}+\ nentries=-?\d{1,10}+)(.*)\n
      | (.*)\n )
  | (.*)\n
    """,
    re.VERBOSE,
)
"""A result, another line of a connection (or an internal operation, `Internal`), any other line."""

CLOSING = pattern(
    rb"closing(?>(?: from \S{1,255})?)(?: - (?P<code>[A-Z]\d{1,2})\b.*)?|(?P<closed>closed\.?)", re.DOTALL
)
INTERNAL = pattern(rb"(?:SRCH|ADD|MOD|DEL|MODRDN|CMP|BIND|EXT)\b")
RECOGNISED = pattern(rb"^" + STAMP + rb"conn=\S{1,40}\ op=\S{1,40}\ msgId=", re.VERBOSE | re.MULTILINE)


def recognised(head: bytes) -> int:
    """Return how many lines have a message id."""
    return lines_like(RECOGNISED, head)


def scan(data: bytes, log: Scan) -> None:
    """Read whole lines."""
    if data and not data.endswith(b"\n"):
        data += b"\n"
    log.lines += data.count(b"\n")
    for record in RECORD.finditer(data):
        stamp, fraction, zone, conn, op, head, tail, text, line = record.groups(b"")
        if not stamp:
            read_header(log, line)
        elif (second := second_of(log, stamp, fraction, zone)) is None:
            log.misread(record[0].rstrip())
        elif not conn:
            _internal(log, text)
        elif head:
            if not read_result(log, NUMBERS[conn], NUMBERS[op], second + nanoseconds(fraction), head, tail):
                log.misread(record[0].rstrip())
        elif not _read_line(log, int(conn), int(op), second + nanoseconds(fraction), text.rstrip()):
            log.misread(record[0].rstrip())


def _read_line(log: Scan, conn: int, op: int, time: int, text: bytes) -> bool:
    """Read a line that is no result; return whether it is understood."""
    closing = CLOSING.fullmatch(text)
    if closing is None:
        return read_request(log, conn, op, time, text) or read_event(log, conn, time, text)
    if closing["closed"]:
        log.passed_over()
    else:
        log.closed(conn, time, closing["code"] or b"")
    return True


def _internal(log: Scan, text: bytes) -> None:
    if INTERNAL.match(text):
        log.internal()
    else:
        log.passed_over()
