r"""The JSON access log of PingDirectory, and that of the UnboundID SDK's in-memory server: one object a line.

PingDirectory; the message of the result contains the request, too, and a REQUEST message (log-requests) is passed over:

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

A field may be redacted; the message is counted without it. requesterIP and requesterDN are as in the text log.
Source: com.unboundid.ldap.sdk.unboundidds.logs.v2.json, com.unboundid.ldap.listener.JSONAccessLogRequestHandler.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log import operation_kinds
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.json_lines import Clock, parsed, text_of, whole_of
from ldapdiag.evidence.log.pattern import lines_like
from ldapdiag.evidence.log.ping_text import NO_RESULT_CODE, host_of, mechanism_of
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from ldapdiag.evidence.log.scan import Scan

NAME = "ping-json"
FAMILY = Family.PING

SIGNATURE = pattern(
    rb"""^\{[^\n]{0,2000}?(?:"messageType":\ ?"(?:CONNECT|DISCONNECT|REQUEST|RESULT)"
       |"message-type":\ ?"(?:connect|disconnect|request|response)")""",
    re.VERBOSE | re.MULTILINE,
)

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
    "authentication-type": "authenticationType",
    "sasl-mechanism": "saslMechanism",
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


def recognised(head: bytes) -> int:
    """Return how many lines are messages of this log."""
    return lines_like(SIGNATURE, head)


def scan(data: bytes, log: Scan) -> None:
    """Read whole records."""
    log.lines += data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    log.resolution(1_000_000)
    passed_over = 0
    reader = JsonMessageReader(log)
    for line in data.removesuffix(b"\n").split(b"\n") if data else ():
        try:
            passed_over += not reader.count(parsed(line))
        except (ValueError, KeyError, TypeError, AttributeError):
            if line.strip():
                log.misread(line)
            else:
                passed_over += 1
    log.passed_over(passed_over)


class JsonMessageReader:
    """Count messages, and keep the fields that every message repeats."""

    def __init__(self, log: Scan) -> None:
        self.log = log
        self.clock = Clock(log)
        self.instance: bytes | None = None
        self.startup: bytes | None = None

    def count(self, message: dict[str, Any]) -> bool:
        """Count one message; return False for a message that is not needed."""
        in_memory = "message-type" in message
        if in_memory:
            message = {SPELLINGS.get(key, key): value for key, value in message.items()}
        time = self.clock.time(message["timestamp"])
        self._keep_server(message)
        what, log = message["messageType"].upper(), self.log
        if what not in {"CONNECT", "DISCONNECT", "REQUEST", "RESULT", "RESPONSE", "SECURITY-NEGOTIATION"}:
            return False
        if what == "REQUEST" and not in_memory and message["operationType"].upper() != "UNBIND":
            return False  # its result repeats it
        conn = whole_of(message["connectionID"])
        if conn < 0:
            log.internal()
        elif what == "CONNECT":
            server = b"%s:%d" % (text_of(message.get("toAddress", "")), whole_of(message.get("toPort", 0)))
            secured = message.get("protocol") == "LDAPS"
            log.opened(conn, time, text_of(message["fromAddress"]), server.removesuffix(b":0"), secured=secured)
        elif what == "DISCONNECT":
            log.closed(conn, time, text_of(message.get("disconnectReason", "")))
        elif what == "SECURITY-NEGOTIATION":
            _negotiated(log, conn, time, message)
        else:
            _operation(log, conn, time, message)
        return True

    def _keep_server(self, message: dict[str, Any]) -> None:
        instance, startup = _optional(message, "instanceName"), _optional(message, "startupID")
        if instance is not None and instance != self.instance:
            self.instance = instance
            self.log.header(instance)
        if startup is not None and startup != self.startup:
            self.startup = startup
            self.log.startup(startup)


def _negotiated(log: Scan, conn: int, time: int, message: dict[str, Any]) -> None:
    protocol, cipher = text_of(message.get("protocol", "?")), text_of(message.get("cipher", ""))
    account = _optional(message, "autoAuthenticatedAs")
    log.tls(conn, time, protocol, cipher)
    if account is not None:
        log.authenticated(conn, time, account)


def _operation(log: Scan, conn: int, time: int, message: dict[str, Any]) -> None:
    """Count an operation. All fields of a message are read before it is counted, so a broken line counts nothing."""
    operation, op = message["operationType"].upper(), whole_of(message["operationID"])
    client = host_of(text_of(message.get("requesterIP", "")))
    account = None if operation == "BIND" else _optional(message, "requesterDN")
    if operation == "UNBIND":
        log.unbind(conn, op, time)
    elif operation == "ABANDON":
        log.abandon(conn, op, time, None)
    else:
        _answered(log, conn, op, time, message, KINDS[operation])
    if client or account is not None:
        log.identified(conn, time, client, account)


def _answered(log: Scan, conn: int, op: int, time: int, message: dict[str, Any], kind: int) -> None:
    """Count the request or the result, or both, of an operation that has a result."""
    elapsed, wait = map(_milliseconds, map(message.get, ("processingTimeMillis", "workQueueWaitTimeMillis")))
    answered = message["messageType"].upper() != "REQUEST"
    request = None if answered and message.keys().isdisjoint(REQUEST_FIELDS) else _request(message, kind)
    result = _result(message, kind)
    if request is not None:
        request(log, conn, op, time - (elapsed or 0))
    if answered:
        err, entries, notes, bound = result
        log.result(conn, OperationResult(op, time, kind, err, elapsed, wait, None, entries, notes, bound))


def _request(message: dict[str, Any], kind: int) -> Callable[[Scan, int, int, int], None]:
    """Return the function that counts the request."""
    if kind == operation_kinds.SEARCH:
        base, scope, text = text_of(message.get("baseDN", "")), whole_of(message["scope"]), text_of(message["filter"])
        return lambda log, conn, op, time: log.search(conn, op, time, base, scope, text)
    if kind == operation_kinds.BIND:
        dn = text_of(message.get("dn", ""))
        mechanism = mechanism_of(_optional(message, "authenticationType"), _optional(message, "saslMechanism"))
        return lambda log, conn, op, time: log.bind(conn, op, time, dn, mechanism)
    target = text_of(message.get("requestOID" if kind == operation_kinds.EXTENDED else "dn", ""))
    return lambda log, conn, op, time: log.request(conn, op, time, kind, target)


def _result(message: dict[str, Any], kind: int) -> tuple[int, int, bytes, bytes | None]:
    """Return result code, entries, notes and the account of a BIND."""
    err, entries = whole_of(message.get("resultCode", NO_RESULT_CODE)), whole_of(message.get("entriesReturned", 0))
    notes = b"unindexed" if message.get("isIndexed") is False else b""
    is_bound = kind == operation_kinds.BIND and err == 0
    return err, entries, notes, _optional(message, "authenticationDN") if is_bound else None


def _milliseconds(value: Decimal | int | None) -> int | None:
    """Return nanoseconds, exactly; ValueError for a negative or absurd duration."""
    if value is not None and not 0 <= value < LONGEST:
        raise ValueError(value)
    return None if value is None else int(value * 1_000_000)


def _optional(message: dict[str, Any], name: str) -> bytes | None:
    value = message.get(name)
    return None if value is None else text_of(value)
