r"""The JSON access log of OpenDJ, ForgeRock DS and PingDS (Common Audit, topic `ldap-access`): one object a line.

    {"eventName":"DJ-LDAP","client":{"ip":"127.0.0.11","port":60305},"server":{"ip":"127.0.0.1","port":13489},
     "request":{"protocol":"LDAP","operation":"SEARCH","connId":0,"msgId":2,"dn":"dc=example,dc=com","scope":"sub",
                "filter":"(cn=*jos*)","attrs":["cn"]},
     "transactionId":"0",
     "response":{"status":"FAILED","statusCode":"4","elapsedTime":445,"elapsedTimeUnits":"MILLISECONDS","detail":"...",
                 "additionalItems":" unindexed","nentries":100},
     "timestamp":"2026-11-20T08:58:04.076Z","_id":"418bd85e-cba7-4286-9d42-ec7f2674a13c-5"}

An event is written at the end of the operation; its request came elapsedTime earlier. OpenDJ writes additionalItems as
a string, DS as an object in which the presence of `unindexed` counts, even if it is null. PingDS 8.1 adds the time in
the queue, logs TLS as an operation, the account (`userId`) in every event, and UNBIND without a response. There are no
operation numbers; the message id is used instead, which most clients count up from 1. Clients that share one counter
among connections leave holes. A search that was abandoned is not logged. Every event names its client. A connection
that the server rejects has a DISCONNECT only, with the number -1 where there are too many connections.
Source: org.opends.server.loggers.CommonAuditAccessLogPublisher.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log import operation_kinds
from ldapdiag.evidence.log.connection import UNKNOWN, OperationResult
from ldapdiag.evidence.log.json_lines import Clock, parsed, text_of, whole_of
from ldapdiag.evidence.log.opendj_text import REJECTED, REQUESTS, SCOPES, mechanism_of
from ldapdiag.evidence.log.pattern import lines_like, whole
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from ldapdiag.evidence.log.scan import Scan

NAME = "opendj-json"
FAMILY = Family.OPENDJ

SIGNATURE = pattern(rb'^\{[^\n]{0,4000}?"eventName":\s?"DJ-LDAP"', re.MULTILINE)
QUOTED = pattern(r"'[^']*+'|\"[^\"]*+\"")

UNITS = {"MILLISECONDS": 1_000_000, "MICROSECONDS": 1_000, "NANOSECONDS": 1, "SECONDS": 1_000_000_000}
"""Nanoseconds in each of java.util.concurrent.TimeUnit."""
CANCELLED = 118
"""The result code of a successful ABANDON (RFC 3909); it is only in the log."""


def recognised(head: bytes) -> int:
    """Return how many lines are events of this log."""
    return lines_like(SIGNATURE, head)


def scan(data: bytes, log: Scan) -> None:
    """Read whole records."""
    log.lines += data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    log.resolution(1_000_000)
    clock = Clock(log)
    passed_over = 0
    for line in data.removesuffix(b"\n").split(b"\n") if data else ():
        try:
            event = parsed(line)
            passed_over += not _count(log, clock.time(event["timestamp"]), event)
        except (ValueError, KeyError, TypeError, AttributeError):
            if line.strip():
                log.misread(line)
            else:
                passed_over += 1
    log.passed_over(passed_over)


def _count(log: Scan, time: int, event: dict[str, Any]) -> bool:
    """Count one event; return False for an event that is not needed."""
    if event["eventName"] != "DJ-LDAP":
        return False
    request = event["request"]
    operation, conn = request["operation"], whole_of(request["connId"])
    if operation == "DISCONNECT":
        _disconnect(log, conn, time, event)
    elif operation == "TLS":
        return _security(log, conn, time, event)
    elif conn < 0:
        log.internal()
    elif operation == "CONNECT":
        server = event.get("server", {})
        address = b"%s:%d" % (text_of(server["ip"]), whole_of(server["port"]))
        log.opened(conn, time, _client(event), address, secured=request.get("protocol") == "LDAPS")
    elif operation == "UNBIND":
        op = whole_of(request["msgId"])
        log.identified(conn, time, _client(event), _account(event))
        log.unbind(conn, op, time)
    else:
        _operation(log, conn, time, event)
    return True


def _disconnect(log: Scan, conn: int, time: int, event: dict[str, Any]) -> None:
    reason = text_of(event.get("response", {}).get("reason", ""))
    if conn < 0 or reason == REJECTED:
        log.refused(time, _client(event) or UNKNOWN, reason)
    else:
        log.identified(conn, time, _client(event), None)
        log.closed(conn, time, reason)


def _security(log: Scan, conn: int, time: int, event: dict[str, Any]) -> bool:
    """Count a TLS handshake; return False if it has failed, or has no protocol."""
    security = event.get("security")
    if security is None or conn < 0:
        return False
    protocol, cipher = text_of(security["protocol"]), text_of(security.get("cipher", ""))
    log.identified(conn, time, _client(event), None)
    log.tls(conn, time, protocol, cipher)
    return True


def _operation(log: Scan, conn: int, time: int, event: dict[str, Any]) -> None:
    """Count an operation: all fields are read before the first is counted, so a broken line counts nothing."""
    request, response = event["request"], event["response"]
    operation, op, err = request["operation"], whole_of(request["msgId"]), whole_of(response["statusCode"])
    if operation == "ABANDON":
        abandoned = whole_of(request["idToAbandon"]) if err == CANCELLED else None
        log.identified(conn, time, _client(event), _account(event))
        log.abandon(conn, op, time, abandoned)
        return
    unit = UNITS[response["elapsedTimeUnits"]]
    elapsed = _duration(response["elapsedTime"], unit)
    wait, optime = (
        None if value is None else _duration(value, unit)
        for value in map(response.get, ("elapsedQueueingTime", "elapsedProcessingTime"))
    )
    requested, client, account = time - elapsed, _client(event), _account(event)
    if operation == "SEARCH":
        base, scope, text = text_of(request["dn"]), SCOPES[text_of(request["scope"])], text_of(request["filter"])
        entries, notes = whole_of(response.get("nentries", 0)), _notes(response.get("additionalItems"))
        log.identified(conn, requested, client, account)
        log.search(conn, op, requested, base, scope, text)
        kind = operation_kinds.SEARCH
        log.result(conn, OperationResult(op, time, kind, err, elapsed, wait, optime, entries, notes))
    elif operation == "BIND":
        dn, mechanism = text_of(request["dn"]), mechanism_of(text_of(request.get("authType", "?")))
        log.identified(conn, requested, client, None)
        log.bind(conn, op, requested, dn, mechanism)
        bound = account if err == 0 else None
        kind = operation_kinds.BIND
        log.result(conn, OperationResult(op, time, kind, err, elapsed, wait, optime, account=bound))
    else:
        kind = REQUESTS[text_of(operation)]
        target = text_of(request.get("oid" if kind == operation_kinds.EXTENDED else "dn", ""))
        log.identified(conn, requested, client, account)
        log.request(conn, op, requested, kind, target)
        log.result(conn, OperationResult(op, time, kind, err, elapsed, wait, optime))


def _client(event: dict[str, Any]) -> bytes:
    return text_of(event.get("client", {}).get("ip", ""))


def _account(event: dict[str, Any]) -> bytes | None:
    """Return the DN as which the connection is bound; `runAs`, that of the proxied authorization, is another."""
    return text_of(event["userId"]) if "userId" in event else None


def _duration(value: object, unit: int) -> int:
    """Return nanoseconds, 0 for a negative duration: the clock was set back. ValueError for an absurd one."""
    return max(whole(whole_of(value) * unit), 0)


def _notes(items: object) -> bytes:
    """Return b"unindexed" if the items, a string or an object, contain it."""
    if isinstance(items, dict):
        unindexed = "unindexed" in items and items["unindexed"] is not False
    else:
        unindexed = isinstance(items, str) and "unindexed" in QUOTED.sub("", items).split()
    return b"unindexed" if unindexed else b""
