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
the queue, logs TLS as an operation, and UNBIND without a response. There are no operation numbers; the message id is
used instead, which most clients count up from 1. Clients that share one counter among connections leave holes.
A search that was abandoned is not logged. Source: org.opends.server.loggers.CommonAuditAccessLogPublisher.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log import operation_kinds
from ldapdiag.evidence.log.opendj_text import REQUESTS, SCOPES
from ldapdiag.evidence.log.pattern import pattern
from ldapdiag.evidence.log.stamps import ISO, nanoseconds

if TYPE_CHECKING:
    from ldapdiag.evidence.log.scan import Scan

NAME = "opendj-json"
FAMILY = Family.OPENDJ

SIGNATURE = pattern(rb'^\{[^\n]{0,4000}?"eventName":\s?"DJ-LDAP"', re.MULTILINE)
STAMP = pattern(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)", re.ASCII)
QUOTED = pattern(r"'[^']*+'|\"[^\"]*+\"")

UNITS = {"MILLISECONDS": 1_000_000, "MICROSECONDS": 1_000, "NANOSECONDS": 1, "SECONDS": 1_000_000_000}
"""Nanoseconds in each of java.util.concurrent.TimeUnit."""
CANCELLED = 118
"""The result code of a successful ABANDON (RFC 3909); it is only in the log."""


def recognises(head: bytes) -> bool:
    """Return whether there is an event of this log."""
    return SIGNATURE.search(head) is not None


def scan(data: bytes, log: Scan) -> None:
    """Read whole records."""
    log.lines += data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    log.resolution(1_000_000)
    zone_before = ""
    passed_over = 0
    for line in data.removesuffix(b"\n").split(b"\n") if data else ():
        try:
            event = json.loads(line.decode("utf-8", "replace"))
            second, fraction, zone = STAMP.fullmatch(event["timestamp"]).groups()  # type: ignore[union-attr]
            if zone != zone_before:
                log.clock(zone.encode())
                zone_before = zone
            time = ISO[(second + zone).encode()] + nanoseconds((fraction or "").encode())
            passed_over += not _count(log, time, event)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
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
    operation, conn = request["operation"], int(request["connId"])
    if operation == "TLS":
        return False
    if conn < 0:
        log.internal()
    elif operation == "CONNECT":
        server = event.get("server", {})
        log.opened(conn, time, _text(event["client"]["ip"]), b"%s:%d" % (_text(server["ip"]), server["port"]))
    elif operation == "DISCONNECT":
        log.closed(conn, time, _text(event.get("response", {}).get("reason", "")))
    elif operation == "UNBIND":
        log.unbind(conn, int(request["msgId"]), time)
    else:
        _operation(log, conn, time, event)
    return True


def _operation(log: Scan, conn: int, time: int, event: dict[str, Any]) -> None:
    request, response = event["request"], event["response"]
    operation, op = request["operation"], int(request["msgId"])
    err = int(response["statusCode"])
    if operation == "ABANDON":
        log.abandon(conn, op, time, int(request["idToAbandon"]) if err == CANCELLED else None)
        return
    unit = UNITS[response["elapsedTimeUnits"]]
    elapsed = int(response["elapsedTime"]) * unit
    wait = response.get("elapsedQueueingTime")
    wait = None if wait is None else int(wait) * unit
    requested = time - elapsed
    if operation == "SEARCH":
        filter_text = _text(request["filter"])
        log.search(conn, op, requested, _text(request["dn"]), SCOPES[_text(request["scope"])], filter_text)
        entries = int(response.get("nentries", 0))
        log.result(
            conn, op, time, operation_kinds.SEARCH, err, elapsed, wait, entries, _notes(response.get("additionalItems"))
        )
    elif operation == "BIND":
        log.bind(conn, op, requested, _text(request["dn"]))
        account = _text(event["userId"]) if err == 0 and "userId" in event else None
        log.result(conn, op, time, operation_kinds.BIND, err, elapsed, wait, account=account)
    else:
        kind = REQUESTS[_text(operation)]
        log.request(conn, op, requested, kind)
        log.result(conn, op, time, kind, err, elapsed, wait)


def _notes(items: object) -> bytes:
    """Return b"unindexed" if the items, a string or an object, contain it."""
    if isinstance(items, dict):
        unindexed = "unindexed" in items and items["unindexed"] is not False
    else:
        unindexed = isinstance(items, str) and "unindexed" in QUOTED.sub("", items).split()
    return b"unindexed" if unindexed else b""


def _text(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")
