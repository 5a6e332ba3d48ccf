r"""The parts of the lines of 389-ds and DSEE after the connection and operation numbers, which the dialects read.

    BIND dn="uid=quickr,dc=x" method=128 version=3
    BIND dn="" method=sasl version=3 mech=GSSAPI
    MODRDN dn="cn=a,dc=x" newrdn="cn=b" newsuperior="(null)"
    SRCH base="dc=x" scope=2 filter="(cn=a", Bad search filter
    ABANDON targetop=3 msgid=4 nentries=0 etime=0.000091731
    fd=64 Disconnect - Cleanly Closed Connection - U1
    fd=64 closed error 104 (Connection reset by peer) - B1
    fd=64 Disconnect - Connection reset by peer - TCP connection reset by peer.
    STAT read index: attribute=displayName key(sub)=jos --> count 20212

    fd=64 slot=64 SSL connection from 127.0.0.11 to 127.0.0.1
    TLS1.3 256-bit AES-GCM
    AUTOBIND dn="cn=Directory Manager"

Source: ldap/servers/slapd/result.c, opshared.c, bind.c, abandon.c, connection.c, auth.c.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.connection import SASL, SIMPLE, OperationResult
from ldapdiag.evidence.log.connection import UNKNOWN as UNKNOWN_MECHANISM
from ldapdiag.evidence.log.operation_kinds import ADD, BIND, COMPARE, DELETE, EXTENDED, MODIFY, MODRDN, OF_TAG, UNKNOWN
from ldapdiag.evidence.log.sorting import sort_line, vlv_line
from ldapdiag.evidence.log.stamps import duration
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from ldapdiag.evidence.log.scan import Scan

MOST_REMEMBERED = 20_000
LONGEST_CODE = 64
RESET = b"reset"
"""The close code, chosen here, of a close without one because the client reset the connection."""

SORTING = {"sort": sort_line, "vlv": vlv_line}
METHODS = {b"128": SIMPLE, b"sasl": SASL, b"": UNKNOWN_MECHANISM}
"""The authentication choice of a BIND (RFC 4511, 4.2); that of a simple one is logged as its tag."""
SECURED = frozenset({b"SSL", b"TLS", b"LDAPS"})
"""Before `connection from`: TLS from its beginning."""
KINDS = {b"ADD": ADD, b"MOD": MODIFY, b"DEL": DELETE, b"MODRDN": MODRDN, b"CMP": COMPARE, b"EXT": EXTENDED}

SECONDS = rb"-?\d{1,9}(?>(?:\.\d{1,12})?)(?![^\s,])"
NOTES = rb"[A-Z](?:,[A-Z]){0,20}\b"
TAIL = pattern(
    rb"""(?:\ (?:wqtime=(?P<queued>%(seconds)b) | wtime=(?P<wait>%(seconds)b) | optime=(?P<optime>%(seconds)b)
      | writetime=%(seconds)b | etime=(?P<etime>%(seconds)b))){0,5}
    (?>(?:\ wbusy=(?P<busy>\d{1,9})/(?P<threads>\d{1,9})\ wqdepth=(?P<depth>\d{1,9})(?!\S))?)
    (?>(?:\ notes=(?P<notes>%(notes)b)(?>(?:\ details="[^"]*+")?))?) (?>(?:\ csn=\S{1,80})?)"""
    % {b"seconds": SECONDS, b"notes": NOTES},
    re.VERBOSE,
)
"""What may follow nentries=: the durations of any version, and the notes. Text of the client comes after it."""
FAULTY = pattern(rb"[^\s,]|\ (?:wqtime|wtime|optime|writetime|etime|wbusy)=")
"""What is not in its place, or no number of such a size: the line is not understood."""

PAGES = pattern(
    rb"""(?:\ sid=".*"\ notes=(?P<notes>%(notes)b)(?>(?:\ details="[^"]*+")?) | \ sid=".*")?
    \ pr_idx=(?P<index>\d{1,9})\ pr_cookie=(?P<cookie>-?\d{1,9})(?>(?:\ sid=".*)?)"""
    % {b"notes": NOTES},
    re.VERBOSE | re.DOTALL,
)
"""A page of a paged search (RFC 2696); cookie -1 is the last. The session id comes from the client."""

REQUEST = pattern(
    rb"""BIND\ dn="(?P<bind>.*)"
        \ method=(?P<method>[^\s,]{0,40})(?:\ version=\d{1,9}\ mech=(?P<mechanism>[^\s,]{1,80}))?.*
    | (?P<unbind>UNBIND)(?:,.*)?
    | (?P<request>ADD|MOD|DEL|MODRDN|CMP|EXT)\ (?:dn|oid)="
        (?P<entry>.*?)(?:"(?:\ (?:newrdn|attr|authzid|name)=".*|,\ .*)?)?
    | SRCH\ base="(?P<base>[^"]*+(?>(?:"(?!\ scope=-?\d{1,10}\ filter=")[^"]*+)*))"
        \ scope=(?P<scope>-?\d{1,10}+)\ filter="(?:(?P<search>.*)"\ attrs=.* | (?P<refused>.*)"(?:,.*)?)
    | (?P<abandon>ABANDON)\ targetop=(?:(?P<target>\d{1,10}+)|[A-Z][\w -]{1,60})\ msgid=.*
    | fd=-?\d{1,10}+\ (?P<close>(?:closed|Disconnect)\b.*)
    | STAT\ read\ index:\ attribute=(?P<attribute>\S{1,256}+)\ key\((?P<index>\w{1,20})\)=.*
        \ -->\ count\ (?P<ids>-?\d{1,10}+)(?:\ \(duration\ [\d.]{1,30}\))?
    | SORT\ (?P<sort>.*) | VLV\ (?P<vlv>.*)
    | (?P<passed>STAT|SORT|VLV|ENTRY|REFERRAL|SESSION|UNPROCESSED\ OPERATION|RESULT\ err=-?\d{1,10}\ tag=48)\b.*""",
    re.VERBOSE | re.DOTALL,
)
"""The lines of an operation except its result.

A base ends before the first `" scope=`, a filter before the last `" attrs=`; a search without attrs= is one that the
server refused. The DN of an entry ends before the first quote that may be the last of the field. A lookup key comes
from the client, and ends before the last ` --> count `.
"""

EVENT = pattern(
    rb"""fd=\d{1,10}+\ slot=\d{1,10}+\ (?>(?:(?P<protocol>[A-Z]{2,8})\ )?)connection
        \ from\ (?P<opened>\S{1,255})\ to\ (?P<server>\S.*)
    | fd=\d{1,10}+\ HAProxy\ new_address_from=(?P<client>\S{1,255})\ to\ new_address_dest=.*
    | AUTOBIND\ dn="(?P<autobind>.*)"
    | (?:TLS|SSL)\S{0,20}\ client\ bound\ as\ (?P<certificate>.*)
    | \(Internal\)\ op=\S{1,60}\ (?P<internal>SRCH|ADD|MOD|DEL|MODRDN|CMP|BIND|EXT)\b.*
    | (?P<tls>(?:TLS|SSL)[\w.]{0,20})\ (?P<cipher>\d{1,5}-bit\ [^;\s][^;]{0,100})(?:;.*)?
    | (?P<passed>(?:TLS|SSL)[\w.]{0,20}\ .*|\(Internal\)\ op=\S{1,60}\ .*)""",
    re.VERBOSE | re.DOTALL,
)
"""The lines of a connection. `(Internal)`: an internal operation of the server for an operation of this connection."""

CODE = pattern(rb"[A-Z]\d{1,2}")
ADDRESS_AND_PORT = pattern(
    rb"(\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?|\[([\da-fA-F:.]{2,45}(?:%\w{1,20})?)\](?::\d{1,5})?"
)


class _Numbers(dict[bytes, int]):
    """A cache of numbers by their digits: those of connections and operations repeat, and int() is slow."""

    def __missing__(self, digits: bytes) -> int:
        if len(self) >= MOST_REMEMBERED:
            self.clear()
        self[digits] = number = int(digits)
        return number


class _ResultHeads(dict[bytes, tuple[int, int, int]]):
    """(err, kind, entries) by `err=0 tag=101 nentries=1`."""

    def __missing__(self, text: bytes) -> tuple[int, int, int]:
        err, tag, entries = (int(field.partition(b"=")[2]) for field in text.split(b" "))
        if len(self) >= MOST_REMEMBERED:
            self.clear()
        self[text] = head = (err, OF_TAG.get(tag, UNKNOWN), max(entries, 0))
        return head


NUMBERS = _Numbers()
RESULT_HEADS = _ResultHeads()


def read_result(log: Scan, conn: int, op: int, time: int, head: bytes, tail: bytes) -> bool:
    """Read a result: its head, `err=0 tag=101 nentries=1`, and its tail; return whether it is understood."""
    err, kind, entries = RESULT_HEADS[head]
    timings = TAIL.match(tail)
    assert timings is not None  # noqa: S101  all its parts are optional, so it matches any text
    rest = tail[timings.end() :].rstrip()
    if FAULTY.match(rest):
        return False
    if timings["busy"] is not None:
        log.workers_busy(time, int(timings["busy"]), int(timings["threads"]), int(timings["depth"]))
    notes, account, page, pages_end = timings["notes"], None, None, False
    if kind == BIND and err == 0:
        account = _account(rest)
    elif b" pr_idx=" in rest and (pages := PAGES.fullmatch(rest)):
        notes, page, pages_end = notes or pages["notes"], int(pages["index"]), pages["cookie"] == b"-1"
    etime, wait, optime = map(duration_of, (timings["etime"], timings["wait"] or timings["queued"], timings["optime"]))
    result = OperationResult(op, time, kind, err, etime, wait, optime, entries, notes or b"", account)
    log.result(conn, result, page, pages_end=pages_end)
    return True


def read_request(log: Scan, conn: int, op: int, time: int, text: bytes) -> bool:
    """Read a line of an operation except its result; return whether it is understood."""
    found = REQUEST.fullmatch(text)
    if found is None:
        return False
    match found.lastgroup:
        case "method" | "mechanism":
            log.bind(conn, op, time, found["bind"], mechanism_of(found["method"], found["mechanism"]))
        case "unbind":
            log.unbind(conn, op, time)
        case "entry":
            log.request(conn, op, time, KINDS[found["request"]], found["entry"])
        case "search" | "refused" as named:
            log.search(conn, op, time, found["base"], int(found["scope"]), found[named])
        case "abandon" | "target":
            log.abandon(conn, op, time, int(found["target"]) if found["target"] else None)
        case "close":
            log.closed(conn, time, close_code(found["close"]))
        case "sort" | "vlv" as named if line := SORTING[named](found[named]):
            log.sorting(conn, op, time, line)
        case "ids":
            log.index_lookup(found["attribute"], found["index"], max(int(found["ids"]), 0))
        case _:
            log.passed_over()
    return True


def read_event(log: Scan, conn: int, time: int, text: bytes) -> bool:
    """Read a line of a connection; return whether it is understood."""
    found = EVENT.fullmatch(text)
    if found is None:
        return False
    match found.lastgroup:
        case "server":
            client = found["opened"]
            server = b"" if client == b"local" else found["server"]
            log.opened(conn, time, address(client), server, secured=found["protocol"] in SECURED)
        case "client":
            log.proxied_client(conn, time, address(found["client"]))
        case "autobind" | "certificate" as named:
            log.authenticated(conn, time, found[named])
        case "cipher":
            log.tls(conn, time, found["tls"], found["cipher"])
        case "internal":
            log.internal()
        case _:
            log.passed_over()
    return True


def mechanism_of(method: bytes, mechanism: bytes | None) -> bytes:
    """Return `simple`, the SASL mechanism, or the method as logged."""
    known = METHODS.get(method, method)
    return mechanism if known == SASL and mechanism else known


def close_code(text: bytes) -> bytes:
    """Return U1 of `Disconnect - Cleanly Closed Connection - U1`; for a close without a code its text."""
    code = text.rpartition(b" - ")[2]
    if CODE.fullmatch(code):
        return code
    if b"onnection reset by peer" in text:
        return RESET
    return text.removeprefix(b"Disconnect").removeprefix(b"closed").lstrip(b" -")[:LONGEST_CODE]


def address(peer: bytes) -> bytes:
    """Return a peer address without port and brackets; any other text unchanged (`local`, `unknown`)."""
    found = ADDRESS_AND_PORT.fullmatch(peer)
    return (found[1] or found[2]) if found else peer


def duration_of(seconds: bytes | None) -> int | None:
    """Return nanoseconds; 0 for a negative duration, which some servers log when the clock is set back."""
    if seconds is None:
        return None
    return 0 if seconds.startswith(b"-") else duration(seconds)


def _account(rest: bytes) -> bytes | None:
    """Return the DN at the end of a bind's result; the client's session id may come before it."""
    before, found, dn = rest.rpartition(b' dn="')
    if not found or not dn.endswith(b'"') or (before and not before.startswith(b' sid="')):
        return None
    return dn[:-1]
