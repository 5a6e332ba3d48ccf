r"""The access log of 389-ds as JSON (3.0 and later, nsslapd-accesslog-log-format: json or json-pretty).

    {"local_time":"2025-02-10T13:49:28.425317898 -0500", "operation":"SEARCH", "key":"1739213368-1", "conn_id":1,
     "op_id":1, "base_dn":"dc=example,dc=com", "scope":2, "filter":"(uid=scarter)", "attrs":["cn"]}
    {"local_time":"2025-02-10T13:49:28.503395725 -0500", "operation":"RESULT", "key":"1739213368-1", "conn_id":1,
     "op_id":1, "msg":"", "tag":101, "err":0, "nentries":1, "wtime":"0.000068", "optime":"0.011231", "etime":"0.011299",
     "client_ip":"10.0.0.1", "notes":[{"note":"U", "description":"Partially Unindexed Filter"}]}

An object is on one line, or on many (json-pretty). Each begins with a brace in the first column, so reading continues
with the next object after a broken one. The first part of `key` is the time at which the connection was opened.
A result names the client, in older versions only in the note on an unindexed search.
Source: ldap/servers/slapd/accesslog.c.

An object is JSON (RFC 8259) with these limits: nested at most 32 deep; no NaN; no control characters in a string; bytes
that are not UTF-8 are kept; of a repeated name the last counts; only integers of at most 18 digits have a value. Where
an integer or a duration belongs, an object with any other value is not understood.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.ds389_lines import address, close_code, duration_of, mechanism_of
from ldapdiag.evidence.log.json_lines import is_deep, refused
from ldapdiag.evidence.log.operation_kinds import ADD, BIND, COMPARE, DELETE, EXTENDED, MODIFY, MODRDN, OF_TAG, UNKNOWN
from ldapdiag.evidence.log.sorting import NO_VLV, Sorting, sort_line
from ldapdiag.evidence.log.stamps import ISO, NETSCAPE, nanoseconds
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from ldapdiag.evidence.log.scan import Scan

NAME = "389-json"
FAMILY = Family.DS389

Fields = dict[str, object]

OBJECT = pattern(rb"[^\n]*+\n(?>(?:(?!\{)[^\n]*+\n)*)")
"""A line, and the lines before the next one that begins with a brace."""
PRINTED = pattern(rb"^\s*+\{[^\n]*+(?>(?:\n[ \t}][^\n]*+)*)", re.MULTILINE)
"""An object on one line or, as json-pretty, with lines that are indented up to its last brace."""
FIELDS = (pattern(rb'"local_time"\s{0,9}:'), pattern(rb'"operation"\s{0,9}:'), pattern(rb'"conn_id"\s{0,9}:'))
STAMP = pattern(rb"(.{8,60}?)(?:\.(\d{1,9}))?\s?([+-]\d{4}|Z)")
"""The time in nsslapd-accesslog-time-format (default: ISO 8601), with fraction and zone appended."""
DURATION = pattern(rb"-?\d{1,9}(?:\.\d{1,12})?")
TARGET = pattern(rb"\d{1,18}")
LONE = pattern("[\ud800-\udc7f\udd00-\udfff]")
"""Half of a surrogate pair, except those that represent a byte of the log (surrogateescape)."""

BLANKS = b" \t\r\n"
NANOSECONDS = 9
DIGITS = 18
MOST_NOTES = 20
NO_CLIENT = b"Internal"
"""The client_ip of a result without a connection."""

REQUESTS = {
    "ADD": ADD, "DELETE": DELETE, "MODIFY": MODIFY, "MODRDN": MODRDN, "COMPARE": COMPARE, "EXTENDED_OP": EXTENDED,
}  # fmt: skip
INTERNAL_REQUESTS = {*REQUESTS, "BIND", "SEARCH"}
PASSED_OVER = {
    "STAT", "SORT", "VLV", "ENTRY", "REFERRAL", "ERROR", "TLS_INFO", "TLS_CLIENT_INFO", "EXTENDED_OP_INFO", "SESSION",
}  # fmt: skip


def recognised(head: bytes) -> int:
    """Return how many lines are of objects with the fields of this log."""
    objects = (found[0].strip() for found in PRINTED.finditer(head))
    return sum(text.count(b"\n") + 1 for text in objects if all(field.search(text) for field in FIELDS))


CUT_ANYWHERE = True
"""The beginning of an object is recognisable without what comes before."""


def cut(data: bytes, at: int) -> int:
    """Return the beginning of the last object that begins at or before `at`: everything before it is whole."""
    return data.rfind(b"\n{", 0, at) + 1


def scan(data: bytes, log: Scan) -> None:
    """Read whole objects."""
    if data and not data.endswith(b"\n"):
        data += b"\n"
    log.lines += data.count(b"\n")
    for found in OBJECT.finditer(data):
        text = found[0].strip(BLANKS)
        if not text:
            log.passed_over()
        elif not _read(log, text):
            log.misread(text)


def _read(log: Scan, text: bytes) -> bool:
    """Read one object; return whether it is understood."""
    if not text.startswith(b"{") or is_deep(text):
        return False
    decoded = text.decode(errors="surrogateescape")
    try:
        fields, end = DECODER.raw_decode(decoded)
    except ValueError:
        return False
    if end < len(decoded):
        log.misread(_bytes(decoded[end:]).lstrip(BLANKS))
    if isinstance(header := fields.get("header"), dict):
        log.header(_text(header, "instance"), _text(header, "version"))
        return True
    conn, time, operation = fields.get("conn_id"), _time(log, fields), fields.get("operation")
    if time is None or not isinstance(operation, str):
        return False
    conn = conn if type(conn) is int else -1
    if fields.get("internal_op") is True or (conn < 0 and "op_internal_id" in fields):
        _internal(log, operation)
        return True
    try:
        return conn >= 0 and (_operation if "op_id" in fields else _event)(log, fields, operation, conn, time)
    except ValueError:
        return False


def _operation(log: Scan, fields: Fields, operation: str, conn: int, time: int) -> bool:
    op = _number(fields, "op_id", -1)
    match operation:
        case "RESULT":
            _result(log, fields, conn, op, time)
        case "SEARCH":
            scope = _number(fields, "scope", -1)
            log.search(conn, op, time, _text(fields, "base_dn"), scope, _text(fields, "filter"))
        case "BIND":
            mechanism = mechanism_of(_text(fields, "method"), _text(fields, "mech"))
            log.bind(conn, op, time, _text(fields, "bind_dn"), mechanism)
        case "UNBIND":
            log.unbind(conn, op, time)
        case "ABANDON":
            target = _text(fields, "target_op")
            log.abandon(conn, op, time, int(target) if TARGET.fullmatch(target) else None)
        case "SORT" if keys := _text(fields, "sort_attrs"):
            log.sorting(conn, op, time, sort_line(keys.removeprefix(b"SORT ")))
        case "VLV" if (code := _vlv_code(fields)) >= 0:
            log.sorting(conn, op, time, Sorting(vlv=code))
        case _ if operation in REQUESTS:
            target = _text(fields, "oid" if operation == "EXTENDED_OP" else "target_dn")
            log.request(conn, op, time, REQUESTS[operation], target)
        case _:
            return _event(log, fields, operation, conn, time)
    return True


def _event(log: Scan, fields: Fields, operation: str, conn: int, time: int) -> bool:
    """Read a record of a connection; return whether it is understood."""
    match operation:
        case "CONNECTION":
            client = _text(fields, "client_ip")
            server = b"" if client == b"local" else _text(fields, "server_ip")
            log.opened(conn, time, address(client), server, secured=fields.get("tls") is True)
        case "DISCONNECT":
            log.closed(
                conn, time, close_code(b"%b - %b" % (_text(fields, "close_error"), _text(fields, "close_reason")))
            )
        case "HAPROXY":
            log.proxied_client(conn, time, address(_text(fields, "haproxy_ip")))
        case "AUTOBIND":
            log.authenticated(conn, time, _text(fields, "bind_dn"))
        case "TLS_CLIENT_INFO" if dn := _text(fields, "client_dn"):
            log.authenticated(conn, time, dn)
        case "TLS_INFO" | "TLS_CLIENT_INFO" if (bits := _number(fields, "keysize", 0)) > 0:
            log.tls(conn, time, _text(fields, "tls_version"), b"%d-bit %b" % (bits, _text(fields, "cipher")))
        case "STAT" if (ids := _number(fields, "stat_count", -1)) >= 0:
            log.index_lookup(_text(fields, "stat_attr"), _text(fields, "stat_key"), ids)
        case _ if operation in PASSED_OVER:
            log.passed_over()
        case _:
            return False
    return True


def _result(log: Scan, fields: Fields, conn: int, op: int, time: int) -> None:
    """Read a result; the durations are strings, and the cookie of the last page is -1."""
    kind, err = OF_TAG.get(_number(fields, "tag", 0), UNKNOWN), _number(fields, "err", 0)
    account = _text(fields, "bind_dn") if kind == BIND and err == 0 else None
    paged = "pr_cookie" in fields or "pr_idx" in fields
    page = _number(fields, "pr_idx", 0) if paged else None
    pages_end = paged and _number(fields, "pr_cookie", 0) == -1
    etime, wait, optime = (_duration(fields, name) for name in ("etime", "wtime", "optime"))
    queued = _duration(fields, "wqtime")
    entries = max(_number(fields, "nentries", 0), 0)
    busy, threads, depth = (_number(fields, name, -1) for name in ("wbusy", "wmax", "wqdepth"))
    if min(busy, threads, depth) >= 0:
        log.workers_busy(time, busy, threads, depth)
    wait = queued if wait is None else wait
    if client := _client(fields):
        log.identified(conn, time, address(client))
    result = OperationResult(op, time, kind, err, etime, wait, optime, entries, _notes(fields), account)
    log.result(conn, result, page, pages_end=pages_end)


def _client(fields: Fields) -> bytes:
    """Return the client that a result or one of its notes names; b"": none."""
    of_notes = [_text(note, "client_ip") for note in _each_note(fields)]
    client = next(filter(None, [_text(fields, "client_ip"), *of_notes]), b"")
    return b"" if client == NO_CLIENT else client


def _notes(fields: Fields) -> bytes:
    """Return the notes as in the text log: `P,A`."""
    return b",".join(_text(note, "note") for note in _each_note(fields))


def _each_note(fields: Fields) -> list[Fields]:
    notes = fields.get("notes")
    return [note for note in notes[:MOST_NOTES] if isinstance(note, dict)] if isinstance(notes, list) else []


def _vlv_code(fields: Fields) -> int:
    """Return the result code of a virtual list view; -1 if there is none."""
    response = fields.get("vlv_response")
    return _number(response, "response_result", NO_VLV) if isinstance(response, dict) else NO_VLV


def _internal(log: Scan, operation: str) -> None:
    if operation in INTERNAL_REQUESTS:
        log.internal()
    else:
        log.passed_over()


def _time(log: Scan, fields: Fields) -> int | None:
    """Return the time of a record, and keep the clock's zone and resolution; None for an invalid time."""
    found = STAMP.fullmatch(_text(fields, "local_time"))
    if found is None:
        return None
    stamp, fraction, zone = found.groups(b"")
    text = b"%b %b" % (stamp, zone)
    try:
        second = (NETSCAPE if stamp[2:3] == b"/" else ISO)[text]
    except ValueError:
        return None
    log.clock(zone)
    if len(fraction) < NANOSECONDS:
        log.resolution(10 ** (NANOSECONDS - len(fraction)))
    return second + nanoseconds(fraction)


def _duration(fields: Fields, name: str) -> int | None:
    """Return nanoseconds; ValueError for what is no duration."""
    if name not in fields:
        return None
    text = _text(fields, name)
    if DURATION.fullmatch(text) is None:
        raise ValueError(name)
    return duration_of(text)


def _text(fields: Fields, name: str) -> bytes:
    value = fields.get(name)
    return _bytes(value) if isinstance(value, str) else b""


def _bytes(text: str) -> bytes:
    """Return the bytes as logged; half of a surrogate pair, which JSON allows, becomes a question mark."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return LONE.sub("?", text).encode(errors="surrogateescape")


def _number(fields: Fields, name: str, missing: int) -> int:
    """Return an integer; ValueError for any other value."""
    value = fields.get(name, missing)
    if type(value) is not int:
        raise ValueError(name)
    return value


def _whole(digits: str) -> int | None:
    """Return an integer; None if it has more digits than the limit."""
    return int(digits) if len(digits.lstrip("-")) <= DIGITS else None


DECODER = json.JSONDecoder(parse_int=_whole, parse_constant=refused)
