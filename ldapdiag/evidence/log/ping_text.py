r"""The text access log of PingDirectory (UnboundID, Alcatel-Lucent 8661) and of the SDK's in-memory server.

    [01/Jan/2024:00:00:00 -0600] CONNECT instanceName="ds1:389" startupID="ABC" conn=1 from="1.2.3.4" to="5.6.7.8"
    [01/Jan/2024:00:00:00 -0600] BIND RESULT instanceName="ds1:389" startupID="ABC" conn=1 op=0 msgID=1 version=3
        dn="uid=a" authType="SIMPLE" resultCode=0 etime=0.123 authDN="uid=a,dc=b" clientConnectionPolicy="default"
    [01/Jan/2024:00:00:00 -0600] SEARCH RESULT instanceName="ds1:389" startupID="ABC" conn=1 op=2 msgID=3 base="dc=b"
        scope=2 filter="(cn=x)" attrs="ALL" resultCode=0 qtime=0 etime=0.456 entriesReturned=5 unindexed=true
    [01/Jan/2024:00:00:00 -0600] DISCONNECT instanceName="ds1:389" startupID="ABC" conn=1 reason="Client Unbind"

(each on one line). The line of the result contains the request, too. With log-requests there is also a REQUEST line,
which is passed over: the operation would count twice. Only the in-memory server's RESULT does not repeat the request;
its lines have no instanceName and no startupID. etime and qtime are in milliseconds.
Optional are requesterIP and requesterDN, the client and the account; behind a proxy they are those of its clients, and
differ within a connection. authzDN is the account of a proxied authorization. SECURITY-NEGOTIATION has TLS's version.
A value is in quotes, and may contain bytes as #22. A quote ends it if a blank or the end of the line follows; in a
filter also only after `)`, because the in-memory server escapes nothing.
Only a new startupID shows a restart. conn=-1, ... are internal.
Source: com.unboundid.ldap.sdk.unboundidds.logs (LogMessage), com.unboundid.ldap.listener.AccessLogRequestHandler.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log import operation_kinds
from ldapdiag.evidence.log.connection import UNKNOWN, OperationResult
from ldapdiag.evidence.log.pattern import lines_like, whole
from ldapdiag.evidence.log.stamps import MILLISECOND, NETSCAPE, duration, nanoseconds
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.evidence.log.scan import Scan

    Match = re.Match[bytes]

NAME = "ping-text"
FAMILY = Family.PING

NO_RESULT_CODE = -1
"""The result code of a result without one; the server omits unknown fields."""

STAMP = rb"""
\[(?P<second>\d\d/[^/\]\s]{3,12}+/\d{4}:\d\d:\d\d:\d\d)(?>(?:[.,](?P<fraction>\d{1,9}+))?)
(?>(?P<zone>\ [+-]\d{4}|\ ?Z)?)\][ ]
"""
VALUE = rb'(?>(?:[^"\n]++|"(?![\ \r\n]|\Z))*)'
"""A value between quotes."""
FILTER = rb'(?>(?:[^"\n]++|(?<!\))"|"(?![\ \r\n]|\Z))*)'
NUMBER = rb"\d{1,18}+(?>(?:[.,]\d{1,18}+)?)(?>(?:E-?\d{1,2}+)?)"
"""A duration: 0.123, 4.5E-4 (Java's Double.toString), or with the decimal comma of the in-memory server's locale."""
REDACTED = rb"-999999\.\d{6}+"
"""What the server writes for a duration that it conceals (FloatingPointLogFieldSyntax)."""

RECORD = pattern(
    STAMP
    + rb"""
(?P<word>[A-Z]{3,12}+(?>(?:-[A-Z]{3,12}+)*))(?>(?:\ (?P<half>[A-Z]{3,12}+(?>(?:-[A-Z]{3,12}+)*))(?=[\ \r\n]|\Z))?)
(?>(?:\ (?:
    conn=(?P<conn>-?\d{1,18}+) | op=(?P<op>\d{1,18}+)
  | instanceName="(?P<instance>%(value)s)" | startupID="(?P<startup>%(value)s)"
  | from="(?P<client>%(value)s)" | to="(?P<server>%(value)s)" | reason="(?P<reason>%(value)s)"
  | requesterIP="(?P<requester>%(value)s)" | requesterDN="(?P<requester_dn>%(value)s)"
  | protocol="(?P<protocol>%(value)s)" | cipher="(?P<cipher>[^"\n]*+)%(value)s"
  | autoAuthenticatedAs="(?P<certificate>%(value)s)"
  | authType="(?P<type>%(value)s)" | saslMechanism="(?P<mechanism>%(value)s)"
  | dn="(?P<dn>%(value)s)" | base="(?P<base>%(value)s)" | scope=(?P<scope>[0-3]) | filter="(?P<filter>%(filter)s)"
  | requestOID="(?P<oid>%(value)s)" | idToAbandon=(?P<abandoned>\d{1,18}+)
  | resultCode=(?P<err>\d{1,9}+) | etime=(?P<etime>%(number)s) | qtime=(?P<qtime>%(number)s)
  | entriesReturned=(?P<entries>\d{1,18}+) | unindexed=(?P<unindexed>true) | authDN="(?P<account>%(value)s)"
  | [eq]time=%(redacted)s | (?!(?:filter|[eq]time)=)[\w.-]++=(?:"%(value)s"|[^\s"]*+)
)(?=[\ \r\n]|\Z))*) [\ \r]*+(?:\n|\Z)(?P<record>)
| (?:(?:\#[^\n]*+|[\ \t\r]++)(?:\n|\Z)|\n)(?P<comment>)
| """
    % {b"value": VALUE, b"filter": FILTER, b"number": NUMBER, b"redacted": REDACTED}
    + STAMP.replace(b"?P<second>", b"?:").replace(b"?P<fraction>", b"?:").replace(b"?P<zone>", b"?:")
    + rb"""CLIENT-CERTIFICATE\ [^\n]*+(?:\n|\Z)(?P<certificates>)
| (?P<misread>[^\n]++\n?+|\n)
""",
    re.VERBOSE,
)
"""The cipher's closing quote is followed by the next field without a blank."""

SIGNATURE = pattern(
    rb"^"
    + STAMP
    + rb"""
    (?: (?:SEARCH|BIND|ADD|DELETE|MODIFY|MODDN|COMPARE|EXTENDED|ABANDON|UNBIND)\ (?:REQUEST|RESULT|FORWARD)\ [a-zA-Z]++=
      | (?:DIS)?CONNECT\ (?:instanceName="|conn=\d++\ from="|threadID=|product=))""",
    re.VERBOSE | re.MULTILINE,
)

REQUESTS = {
    b"ADD": operation_kinds.ADD,
    b"COMPARE": operation_kinds.COMPARE,
    b"DELETE": operation_kinds.DELETE,
    b"EXTENDED": operation_kinds.EXTENDED,
    b"MODDN": operation_kinds.MODRDN,
    b"MODIFYDN": operation_kinds.MODRDN,
    b"MODIFY": operation_kinds.MODIFY,
}
HEXADECIMAL = pattern(rb"#([0-9a-fA-F]{2})")


def recognised(head: bytes) -> int:
    """Return how many lines only these servers write."""
    return lines_like(SIGNATURE, head)


def scan(data: bytes, log: Scan) -> None:
    """Read whole records."""
    log.lines += data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    passed_over = 0
    reader = TextRecordReader(log)
    for line in RECORD.finditer(data):
        if line.lastgroup == "record":
            try:
                passed_over += not reader.count(line)
            except (ValueError, KeyError):  # a month in another language, a record without its fields
                log.misread(line[0].rstrip(b"\r\n"))
        elif line.lastgroup == "misread":
            log.misread(line[0].rstrip(b"\r\n"))
        else:
            passed_over += 1
    log.passed_over(passed_over)


class TextRecordReader:
    """Count records, and keep the fields that every record repeats."""

    def __init__(self, log: Scan) -> None:
        self.log = log
        self.notation: tuple[bytes | None, int] | None = None
        self.instance: bytes | None = None
        self.startup: bytes | None = None

    def count(self, line: Match) -> bool:
        """Count one record; return False for a record that is not needed."""
        second, fraction, zone, word, half = line.group("second", "fraction", "zone", "word", "half")
        if (notation := (zone, len(fraction or b""))) != self.notation:
            self.log.clock(zone and zone.strip())
            self.log.resolution(10 ** (9 - notation[1]))
            self.notation = notation
        time = NETSCAPE[second + (zone or b"")] + nanoseconds(fraction or b"")
        self._keep_server(line)
        handler = HANDLERS.get(word)
        if handler is None or half not in HALVES:
            if word not in PASSED_OVER and half not in PASSED_OVER:
                raise ValueError(line[0])
            return False
        if half == b"REQUEST" and word != b"UNBIND" and (line["instance"], line["startup"]) != (None, None):
            return False  # its result repeats it
        conn = int(line["conn"] or b"")
        if conn < 0:
            if half:
                self.log.internal()
            return half is not None
        handler(self.log, conn, time, line)
        self._identify(conn, time, line)
        return True

    def _keep_server(self, line: Match) -> None:
        instance, startup = line.group("instance", "startup")
        if instance is not None and instance != self.instance:
            self.instance = instance
            self.log.header(decoded(instance))
        if startup is not None and startup != self.startup:
            self.startup = startup
            self.log.startup(startup)

    def _identify(self, conn: int, time: int, line: Match) -> None:
        """Report the client and account that the line names; before a BIND this is another account."""
        client, dn = line.group("requester", "requester_dn")
        account = None if dn is None or line["word"] == b"BIND" else decoded(dn)
        if client or account is not None:
            self.log.identified(conn, time, host_of(decoded(client or b"")), account)


HALVES = frozenset({None, b"REQUEST", b"RESULT"})
PASSED_OVER = frozenset(
    {b"FORWARD", b"FORWARD-FAILED", b"ENTRY", b"REFERENCE", b"ASSURANCE-COMPLETE", b"ASSURANCE-COMPLETED"}
    | {b"INTERMEDIATE-RESPONSE", b"RESPONSE", b"CLIENT-CERTIFICATE", b"ENTRY-REBALANCING"}
)
"""Records of a proxy's forwarding, of entries returned, and of certificates."""


def decoded(text: bytes) -> bytes:
    """Return the value of b"a#22b": a"b."""
    return HEXADECIMAL.sub(lambda found: bytes((int(found[1], 16),)), text) if b"#" in text else text


def host_of(address: bytes) -> bytes:
    """Return the address without a port, of b"1.2.3.4", b"1.2.3.4:5", b"[::1]:5" or b"::1"."""
    if address.startswith(b"["):
        return address[1:].partition(b"]")[0]
    return address.partition(b":")[0] if address.count(b":") == 1 else address


def milliseconds(text: bytes | None) -> int | None:
    """Return the nanoseconds of b"0.123" milliseconds; ValueError for an absurd duration."""
    if text is None:
        return None
    text = text.replace(b",", b".")
    return whole(Decimal(text.decode()) * MILLISECOND) if b"E" in text else whole(duration(text) // 1000)


def mechanism_of(kind: bytes | None, mechanism: bytes | None) -> bytes:
    """Return SASL's mechanism, or the type of authentication in lower case: b"simple"."""
    return mechanism or (kind or UNKNOWN).lower()


def _connect(log: Scan, conn: int, time: int, line: Match) -> None:
    if line["client"] is None:
        raise ValueError(line[0])
    secured = line["protocol"] == b"LDAPS"
    log.opened(conn, time, host_of(line["client"]), line["server"] or b"", secured=secured)


def _negotiated(log: Scan, conn: int, time: int, line: Match) -> None:
    protocol, cipher, account = line.group("protocol", "cipher", "certificate")
    log.tls(conn, time, decoded(protocol or UNKNOWN), cipher or b"")
    if account is not None:
        log.authenticated(conn, time, decoded(account))


def _disconnect(log: Scan, conn: int, time: int, line: Match) -> None:
    log.closed(conn, time, line["reason"] or b"")


def _search(log: Scan, conn: int, time: int, line: Match) -> None:
    half, base, scope, text, etime = line.group("half", "base", "scope", "filter", "etime")
    op, elapsed, wait = int(line["op"] or b""), milliseconds(etime), milliseconds(line["qtime"])
    if base is not None and scope is not None and text is not None:
        log.search(conn, op, time - (elapsed or 0), decoded(base), int(scope), decoded(text))
    elif half != b"RESULT":
        raise ValueError(line[0])
    if half == b"RESULT":
        err, entries = int(line["err"] or NO_RESULT_CODE), int(line["entries"] or 0)
        notes = b"unindexed" if line["unindexed"] else b""
        log.result(conn, OperationResult(op, time, operation_kinds.SEARCH, err, elapsed, wait, None, entries, notes))


def _bind(log: Scan, conn: int, time: int, line: Match) -> None:
    half, dn, account = line.group("half", "dn", "account")
    op, elapsed, wait = int(line["op"] or b""), milliseconds(line["etime"]), milliseconds(line["qtime"])
    if dn is not None:
        log.bind(conn, op, time - (elapsed or 0), decoded(dn), mechanism_of(*line.group("type", "mechanism")))
    elif half != b"RESULT":
        raise ValueError(line[0])
    if half == b"RESULT":
        err = int(line["err"] or NO_RESULT_CODE)
        account = decoded(account) if err == 0 and account is not None else None
        log.result(conn, OperationResult(op, time, operation_kinds.BIND, err, elapsed, wait, account=account))


def _other(log: Scan, conn: int, time: int, line: Match) -> None:
    half, kind = line["half"], REQUESTS[line["word"]]
    op, elapsed, wait = int(line["op"] or b""), milliseconds(line["etime"]), milliseconds(line["qtime"])
    target = line["oid"] if kind == operation_kinds.EXTENDED else line["dn"]
    if half != b"RESULT" or target is not None:
        log.request(conn, op, time - (elapsed or 0), kind, decoded(target or b""))
    if half == b"RESULT":
        err = int(line["err"] or NO_RESULT_CODE)
        log.result(conn, OperationResult(op, time, kind, err, elapsed, wait))


def _abandon(log: Scan, conn: int, time: int, line: Match) -> None:
    log.abandon(conn, int(line["op"] or b""), time, None)


def _unbind(log: Scan, conn: int, time: int, line: Match) -> None:
    log.unbind(conn, int(line["op"] or b""), time)


HANDLERS: dict[bytes, Callable[[Scan, int, int, Match], None]] = {
    b"CONNECT": _connect,
    b"DISCONNECT": _disconnect,
    b"SECURITY-NEGOTIATION": _negotiated,
    b"SEARCH": _search,
    b"BIND": _bind,
    b"ABANDON": _abandon,
    b"UNBIND": _unbind,
    **dict.fromkeys(REQUESTS, _other),
}
