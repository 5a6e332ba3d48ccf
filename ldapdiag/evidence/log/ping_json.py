r"""The JSON access log of PingDirectory, and that of the UnboundID SDK's in-memory server: one object a line.

PingDirectory, by default only a message for the result, which then contains the request too:

    {"timestamp":"2024-01-01T00:00:00.000Z","messageType":"CONNECT","instanceName":"ds1","startupID":"ABC",
     "connectionID":1,"fromAddress":"1.2.3.4","fromPort":50000,"toAddress":"5.6.7.8","toPort":636}
    {"timestamp":"2024-01-01T00:00:00.000Z","messageType":"RESULT","operationType":"SEARCH","startupID":"ABC",
     "connectionID":1,"operationID":2,"messageID":3,"baseDN":"dc=b","scope":2,"filter":"(cn=x)","resultCode":0,
     "processingTimeMillis":0.456,"workQueueWaitTimeMillis":0,"entriesReturned":5,"isIndexed":false}

The in-memory server writes keys with hyphens, `response` for a result, and always requests:

    { "timestamp":"2026-11-20T17:08:00.341Z", "message-type":"request", "operation-type":"search", "connection-id":0,
      "operation-id":2, "message-id":3, "base":"dc=b", "scope":2, "filter":"(cn=1)" }
    { "timestamp":"2026-11-20T17:08:00.345Z", "message-type":"response", "operation-type":"search", "connection-id":0,
      "operation-id":2, "message-id":3, "result-code-value":32, "processing-time-millis":3.9, "entries-returned":0 }

A field may be redacted; the message is counted without it.
Source: com.unboundid.ldap.sdk.unboundidds.logs.v2.json, com.unboundid.ldap.listener.JSONAccessLogRequestHandler.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log import operation_kinds
from ldapdiag.evidence.log.pattern import pattern
from ldapdiag.evidence.log.ping_text import NO_RESULT_CODE
from ldapdiag.evidence.log.stamps import ISO, nanoseconds

if TYPE_CHECKING:
    from ldapdiag.evidence.log.scan import Scan

NAME = "ping-json"
FAMILY = Family.PING

SIGNATURE = pattern(
    rb"""^\{[^\n]{0,2000}?(?:"messageType":\ ?"(?:CONNECT|DISCONNECT|REQUEST|RESULT)"
       |"message-type":\ ?"(?:connect|disconnect|request|response)")""",
    re.VERBOSE | re.MULTILINE,
)
STAMP = pattern(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)", re.ASCII)

SPELLINGS = {
    "message-type": "messageType",
    "operation-type": "operationType",
    "connection-id": "connectionID",
    "operation-id": "operationID",
    "base": "baseDN",
    "from-address": "fromAddress",
    "to-address": "toAddress",
    "to-port": "toPort",
    "request-oid": "requestOID",
    "result-code-value": "resultCode",
    "processing-time-millis": "processingTimeMillis",
    "entries-returned": "entriesReturned",
}
"""PingDirectory's keys, by those of the in-memory server."""

KINDS = {
    "ADD": operation_kinds.ADD,
    "BIND": operation_kinds.BIND,
    "COMPARE": operation_kinds.COMPARE,
    "DELETE": operation_kinds.DELETE,
    "EXTENDED": operation_kinds.EXTENDED,
    "MODDN": operation_kinds.MODRDN,
    "MODIFY": operation_kinds.MODIFY,
    "MODIFY-DN": operation_kinds.MODRDN,
    "MODIFYDN": operation_kinds.MODRDN,
    "SEARCH": operation_kinds.SEARCH,
}
REQUEST_FIELDS = ("dn", "filter", "requestOID")
"""A result with one of these fields contains its request."""
LONGEST = 10**12
"""Milliseconds: thirty years. A larger Decimal, such as 1e999999, would not fit into memory."""


def recognises(head: bytes) -> bool:
    """Return whether there is a message of this log."""
    return SIGNATURE.search(head) is not None


def scan(data: bytes, log: Scan) -> None:
    """Read whole records."""
    log.lines += data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    log.resolution(1_000_000)
    passed_over = 0
    reader = JsonMessageReader(log)
    for line in data.removesuffix(b"\n").split(b"\n") if data else ():
        try:
            passed_over += not reader.count(json.loads(line.decode("utf-8", "replace"), parse_float=Decimal))
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
            if line.strip():
                log.misread(line)
            else:
                passed_over += 1
    log.passed_over(passed_over)


class JsonMessageReader:
    """Count messages, and keep the fields that every message repeats."""

    def __init__(self, log: Scan) -> None:
        self.log = log
        self.zone = ""
        self.instance: str | None = None
        self.startup: str | None = None

    def count(self, message: dict[str, Any]) -> bool:
        """Count one message; return False for a message that is not needed."""
        if "message-type" in message:
            message = {SPELLINGS.get(key, key): value for key, value in message.items()}
        time = self._time(message["timestamp"])
        self._keep_server(message)
        what, log = message["messageType"].upper(), self.log
        if what not in {"CONNECT", "DISCONNECT", "REQUEST", "RESULT", "RESPONSE"}:
            return False
        conn = int(message["connectionID"])
        if conn < 0:
            log.internal()
        elif what == "CONNECT":
            server = b"%s:%d" % (_text(message.get("toAddress", "")), message.get("toPort", 0))
            log.opened(conn, time, _text(message["fromAddress"]), server.removesuffix(b":0"))
        elif what == "DISCONNECT":
            log.closed(conn, time, _text(message.get("disconnectReason", "")))
        else:
            _operation(log, conn, time, message)
        return True

    def _time(self, stamp: str) -> int:
        second, fraction, zone = STAMP.fullmatch(stamp).groups()  # type: ignore[union-attr]
        if zone != self.zone:
            self.log.clock(zone.encode())
            self.zone = zone
        return ISO[(second + zone).encode()] + nanoseconds((fraction or "").encode())

    def _keep_server(self, message: dict[str, Any]) -> None:
        instance, startup = message.get("instanceName"), message.get("startupID")
        if instance is not None and instance != self.instance:
            self.instance = instance
            self.log.header(_text(instance))
        if startup is not None and startup != self.startup:
            self.startup = startup
            self.log.startup(_text(startup))


def _operation(log: Scan, conn: int, time: int, message: dict[str, Any]) -> None:
    operation, op = message["operationType"].upper(), int(message["operationID"])
    if operation == "UNBIND":
        log.unbind(conn, op, time)
    elif operation == "ABANDON":
        log.abandon(conn, op, time, None)
    else:
        kind = KINDS[operation]
        elapsed = _milliseconds(message.get("processingTimeMillis"))
        answered = message["messageType"].upper() != "REQUEST"
        if not answered or not message.keys().isdisjoint(REQUEST_FIELDS):
            _request(log, conn, op, time - (elapsed or 0), message, kind)
        if answered:
            _result(log, conn, op, time, message, kind)


def _request(log: Scan, conn: int, op: int, time: int, message: dict[str, Any], kind: int) -> None:
    if kind == operation_kinds.SEARCH:
        log.search(conn, op, time, _text(message.get("baseDN", "")), int(message["scope"]), _text(message["filter"]))
    elif kind == operation_kinds.BIND:
        log.bind(conn, op, time, _text(message.get("dn", "")))
    else:
        log.request(conn, op, time, kind)


def _result(log: Scan, conn: int, op: int, time: int, message: dict[str, Any], kind: int) -> None:
    err = int(message.get("resultCode", NO_RESULT_CODE))
    account = message.get("authenticationDN") if kind == operation_kinds.BIND and err == 0 else None
    log.result(
        conn,
        op,
        time,
        kind,
        err,
        _milliseconds(message.get("processingTimeMillis")),
        _milliseconds(message.get("workQueueWaitTimeMillis")),
        int(message.get("entriesReturned", 0)),
        b"unindexed" if message.get("isIndexed") is False else b"",
        None if account is None else _text(account),
    )


def _milliseconds(value: Decimal | int | None) -> int | None:
    """Return nanoseconds, exactly; ValueError for a negative or absurd duration."""
    if value is not None and not 0 <= value < LONGEST:
        raise ValueError(value)
    return None if value is None else int(value * 1_000_000)


def _text(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")
