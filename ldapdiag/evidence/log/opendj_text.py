r"""The text access log of OpenDJ, OpenDS, ForgeRock DS and Oracle OUD, in pairs of lines or combined.

    [20/Nov/2026:08:58:03 +0000] CONNECT conn=0 from=127.0.0.11:60305 to=127.0.0.1:13489 protocol=LDAP
    [20/Nov/2026:08:58:03 +0000] BIND REQ conn=0 op=0 msgID=1 version=3 type=SIMPLE dn="uid=quickr,dc=example,dc=com"
    [20/Nov/2026:08:58:03 +0000] BIND RES conn=0 op=0 msgID=1 result=0 authDN="uid=quickr,dc=example,dc=com" etime=23
    [20/Nov/2026:08:58:03 +0000] SEARCH REQ conn=0 op=1 msgID=2 base="dc=a" scope=sub filter="(cn=*jos*)" attrs="cn"
    [20/Nov/2026:08:58:03 +0000] SEARCH RES conn=0 op=1 msgID=2 result=4 message="..." nentries=100 unindexed etime=445
    [20/Nov/2026:08:58:05 +0000] DISCONNECT conn=0 reason="Client Disconnect"

Combined (log-format), one line at the end of the operation:

    [20/Nov/2026:08:58:03 +0000] SEARCH conn=0 op=1 msgID=2 base="dc=a" scope=sub filter="(cn=x)" attrs="cn" result=0
    nentries=1 etime=2

etime is in milliseconds; `etime-resolution: nanoseconds` changes it to nanoseconds without a sign in the log. Since
Java 9 months are spelled in the locale: 20/June/2023. No text is escaped: a base, a filter and a DN are as the client
sent them. So a request ends at the end of its line or before a result; entries, `unindexed` and etime are read from the
end of the line. In the combined form a client can still forge the result code of its own search, and a BIND whose name
contains a quote is not read. conn=-1, -2, ... are internal.
Source: org.opends.server.loggers.TextAccessLogPublisher, org.opends.server.types.AdditionalLogItem.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log import operation_kinds
from ldapdiag.evidence.log.connection import UNKNOWN, OperationResult
from ldapdiag.evidence.log.pattern import lines_like, whole
from ldapdiag.evidence.log.stamps import MILLISECOND, NETSCAPE, nanoseconds
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.evidence.log.scan import Scan

    Match = re.Match[bytes]

NAME = "opendj-text"
FAMILY = Family.OPENDJ


STAMP = rb"""
\[(?P<second>\d\d/[^/\]\s]{3,12}+/\d{4}:\d\d:\d\d:\d\d)(?>(?:[.,](?P<fraction>\d{1,9}+))?)
(?>(?P<zone>\ [+-]\d{4}|\ ?Z)?)\][ ]
"""
END = rb"[\ \r]*+(?:\n|\Z)"
ESCAPED = rb'[^"\\\n]*+(?>(?:\\.[^"\\\n]*+)*)'
CONTROLS = rb"(?>(?:\ requestControls=[\d.,]*+)?)(?>(?:\ type=synchronization)?)"
ITEM = (
    rb"""\ (?!(?:etime|nentries|authDN|authFailureReason|message)=)[\w-]++(?>(?:=(?:'[^'\n]*+'|"%s"|[^\s'"]++))?)"""
    % (ESCAPED)
)
"""An additional item of a result: a word, or a name and its value."""

RECORD = pattern(
    STAMP
    + rb"""
(?P<word>[A-Z]{3,12}+)\ (?>(?:(?P<half>REQ|RES)\ )?)conn=(?P<conn>-?\d{1,18}+)
(?>(?:\ op=(?P<op>\d{1,18}+)\ msgID=-?\d++(?>(?:\ transactionId=\S*+)?)(?P<body>))?)
(?: \ from=\[?(?P<client>[^\s"\[]{1,100}?)\]?:\d{1,5}+\ to=(?P<server>[^\s"]{1,100}+)
    (?>(?:\ protocol=(?P<protocol>[^\s"]{1,20}+))?)[^\n]*+(?:\n|\Z)
  | \ reason="(?P<reason>[^"\n]{0,100}+)"
    (?>(?:\ msg="[^\n]*?\ from\ client\ \[?(?P<rejected>[^\s"\[]{1,100}?)\]?:\d{1,5}+\ )?)[^\n]*+(?:\n|\Z)
  | (?>(?:(?>\ base="(?P<base>[^\n]*?)"\ scope=(?P<scope>\w{1,20}+)\ filter=")
       (?>(?P<filter>[^\n]*?)"\ attrs="[^"\n]*+"%(controls)s(?=\ result=-?\d|%(end)s)))?)
    (?:\ result=(?P<found>-?\d{1,9}+)(?:\ (?:message|masked\w{1,9}+)=[^\n]*)?
       \ nentries=(?P<entries>\d{1,18}+)(?>(?:\ (?P<unindexed>unindexed)(?=\ )|%(item)s)*)
       \ etime=(?P<search_etime>\d{1,18}+))?%(end)s
  | (?>(?:(?>(?:\ version=\S{1,9}+)?)\ type=(?P<type>\S{1,60}+(?>(?:\ mechanism=\S{0,60}+)?))
      \ dn="(?P<dn>%(escaped)s)"%(controls)s
      | (?>[^\n]*?(?=\ result=-?\d)))?)
    (?:\ result=(?P<err>-?\d{1,9}+)(?>(?:(?>(?:%(item)s)*)\ authDN="(?P<account>%(escaped)s)"
         (?>(?:\ authzDN="%(escaped)s")?)(?=\ etime=\d++%(end)s))?)[^\n]*\ etime=(?P<etime>\d{1,18}+))?%(end)s
  | [^\n]*+(?:\n|\Z)
) (?P<record>)
| (?:(?:\#[^\n]*+|[\ \t\r]++)(?:\n|\Z)|\n)(?P<comment>)
| (?P<misread>[^\n]++\n?+|\n)
"""
    % {b"controls": CONTROLS, b"end": END, b"escaped": ESCAPED, b"item": ITEM},
    re.VERBOSE,
)

TARGET = pattern(
    rb"""(?:\ dn|(?>(?:\ name="[^"\n]*+")?)\ oid)="
    (?P<target>(?>(?:[^"\n]++|"(?!\ (?:attr|newRDN|requestControls|type|result|name|oid)=|[\ \r]*+(?:\n|\Z)))*))"
    """,
    re.VERBOSE,
)
"""The DN of an operation's entry, or its OID: a quote ends it if the end of the request or another field follows."""

SIGNATURE = pattern(
    rb"^"
    + STAMP
    + rb"""
    (?: CONNECT\ conn=\d++\ from=[^"\s]
      | (?:SEARCH|BIND|UNBIND|ADD|DELETE|MODIFY|MODIFYDN|COMPARE|EXTENDED|ABANDON)\ (?>(?:RE[QS]\ )?)
        conn=-?\d++\ op=\d++\ msgID=)""",
    re.VERBOSE | re.MULTILINE,
)
"""Lines that PingDirectory, which writes REQUEST and RESULT, does not have."""

SCOPES = {
    b"base": 0,
    b"baseObject": 0,
    b"one": 1,
    b"singleLevel": 1,
    b"sub": 2,
    b"wholeSubtree": 2,
    b"subordinates": 3,
    b"subordinateSubtree": 3,
}
"""The spellings of newer and older versions. Client tools have others, such as base-object."""

REQUESTS = {
    b"ADD": operation_kinds.ADD,
    b"COMPARE": operation_kinds.COMPARE,
    b"DELETE": operation_kinds.DELETE,
    b"EXTENDED": operation_kinds.EXTENDED,
    b"MODIFY": operation_kinds.MODIFY,
    b"MODIFYDN": operation_kinds.MODRDN,
}


SASL = b"mechanism="
REJECTED = b"Connection Rejected"
"""The reason why a connection is closed that the server does not take: it has no CONNECT (LDAPRequestHandler)."""


def recognised(head: bytes) -> int:
    """Return how many lines only these servers write."""
    return lines_like(SIGNATURE, head)


def scan(data: bytes, log: Scan) -> None:
    """Read whole records."""
    log.lines += data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    passed_over = 0
    before: tuple[bytes | None, int] | None = None
    for line in RECORD.finditer(data):
        if line.lastgroup == "record":
            try:
                second, fraction, zone = line.group("second", "fraction", "zone")
                if (notation := (zone, len(fraction or b""))) != before:
                    log.clock(zone and zone.strip())
                    log.resolution(10 ** (9 - notation[1]))
                    before = notation
                time = NETSCAPE[second + (zone or b"")] + nanoseconds(fraction or b"")
                passed_over += not _count(log, time, line)
            except (ValueError, KeyError):  # no such month in English, no such scope, a request without its fields
                log.misread(line[0].rstrip(b"\r\n"))
        elif line.lastgroup == "comment":
            passed_over += 1
        else:
            log.misread(line[0].rstrip(b"\r\n"))
    log.passed_over(passed_over)


def _count(log: Scan, time: int, line: Match) -> bool:
    """Count one record; return False for a record that is not needed."""
    word, half, conn = line.group("word", "half", "conn")
    number = int(conn)
    if number < 0 and word != b"DISCONNECT":
        if half == b"RES" or word == b"CONNECT":
            return False
        log.internal()
        return True
    take = HANDLERS.get(word)
    if take is None:
        raise ValueError(word)
    if half == b"RES" and word in {b"ABANDON", b"UNBIND"}:
        return False
    take(log, number, time, line)
    return True


def mechanism_of(kind: bytes) -> bytes:
    """Return the mechanism of b"SASL mechanism=GSSAPI"; any other type of BIND in lower case: b"simple"."""
    return kind.partition(SASL)[2] if SASL in kind else kind.lower()


def _connect(log: Scan, conn: int, time: int, line: Match) -> None:
    if line["client"] is None:
        raise ValueError(line[0])
    log.opened(conn, time, line["client"], line["server"], secured=line["protocol"] == b"LDAPS")


def _disconnect(log: Scan, conn: int, time: int, line: Match) -> None:
    reason = line["reason"] or b""
    if conn < 0 or reason == REJECTED:
        log.refused(time, line["rejected"] or UNKNOWN, reason)
    else:
        log.closed(conn, time, reason)


def _search(log: Scan, conn: int, time: int, line: Match) -> None:
    half, base, scope, text, found = line.group("half", "base", "scope", "filter", "found")
    op = int(line["op"] or b"")
    if (half != b"RES" and base is None) or (half != b"REQ" and found is None):
        raise ValueError(line[0])
    etime = _duration(line["search_etime"])
    if half != b"RES":
        log.search(conn, op, time - etime, base, SCOPES[scope], text)
    if half != b"REQ":
        notes = line["unindexed"] or b""
        entries = int(line["entries"])
        result = OperationResult(op, time, operation_kinds.SEARCH, int(found), etime, entries=entries, notes=notes)
        log.result(conn, result)


def _bind(log: Scan, conn: int, time: int, line: Match) -> None:
    half, dn, err, etime, account = line.group("half", "dn", "err", "etime", "account")
    op = int(line["op"] or b"")
    if (half != b"RES" and dn is None) or (half != b"REQ" and err is None):
        raise ValueError(line[0])
    if half is None and err == b"0" and account is None:  # forged: a real success has its account
        raise ValueError(line[0])
    elapsed = _duration(etime)
    if half != b"RES":
        log.bind(conn, op, time - elapsed, dn, mechanism_of(line["type"]))
    if half != b"REQ":
        bound = account if err == b"0" else None
        log.result(conn, OperationResult(op, time, operation_kinds.BIND, int(err), elapsed, account=bound))


def _other(log: Scan, conn: int, time: int, line: Match) -> None:
    word, half, err = line.group("word", "half", "err")
    op = int(line["op"] or b"")
    if half == b"REQ":
        log.request(conn, op, time, REQUESTS[word], _target(line))
        return
    if err is None:
        raise ValueError(line[0])
    etime = _duration(line["etime"])
    if half is None:
        log.request(conn, op, time - etime, REQUESTS[word], _target(line))
    log.result(conn, OperationResult(op, time, REQUESTS[word], int(err), etime))


def _target(line: Match) -> bytes:
    found = TARGET.match(line.string, line.start("body"), line.end())
    return found["target"] if found else b""


def _duration(milliseconds: bytes | None) -> int:
    """Return nanoseconds; ValueError for an absurd duration."""
    return whole(int(milliseconds or b"0") * MILLISECOND)


def _abandon(log: Scan, conn: int, time: int, line: Match) -> None:
    # The target is given by its message id, which need not run parallel to the operation numbers.
    log.abandon(conn, int(line["op"] or b""), time, None)


def _unbind(log: Scan, conn: int, time: int, line: Match) -> None:
    log.unbind(conn, int(line["op"] or b""), time)


HANDLERS: dict[bytes, Callable[[Scan, int, int, Match], None]] = {
    b"CONNECT": _connect,
    b"DISCONNECT": _disconnect,
    b"SEARCH": _search,
    b"BIND": _bind,
    b"ABANDON": _abandon,
    b"UNBIND": _unbind,
    **dict.fromkeys(REQUESTS, _other),
}
