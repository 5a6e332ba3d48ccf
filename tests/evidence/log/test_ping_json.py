"""PingDirectory's JSON access log and the in-memory server's, and the latter beside its text log."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from ldapdiag.evidence.log import opendj_json, operation_kinds, ping_json, ping_text
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.scan import Scan
from log.calls import calls_of, results_of

if TYPE_CHECKING:
    from pathlib import Path

TIME = 1_795_165_083 * 10**9
US = 1000


def message(kind: str, **more: object) -> bytes:
    """Return a line as PingDirectory writes it."""
    head = {"timestamp": "2026-11-20T08:58:03.000Z", "messageType": kind, "connectionID": 1}
    return json.dumps(head | more, separators=(",", ":")).encode() + b"\n"


def operation(half: str, kind: str, **more: object) -> bytes:
    """Return the line of an operation."""
    return message(half, operationType=kind, operationID=2, messageID=3, **more)


SEARCH = {"baseDN": "dc=b", "scope": 2, "filter": "(cn=ü)"}


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        (
            message("CONNECT", fromAddress="1.2.3.4", fromPort=5, toAddress="5.6.7.8", toPort=636),
            [("opened", 1, TIME, b"1.2.3.4", b"5.6.7.8:636", ("secured", False))],
        ),
        (
            message("CONNECT", fromAddress="1.2.3.4", protocol="LDAPS"),
            [("opened", 1, TIME, b"1.2.3.4", b"", ("secured", True))],
        ),
        (message("DISCONNECT", disconnectReason="Client Unbind"), [("closed", 1, TIME, b"Client Unbind")]),
        (message("SECURITY-NEGOTIATION", protocol="TLSv1.2", cipher="X"), [("tls", 1, TIME, b"TLSv1.2", b"X")]),
        (
            message("SECURITY-NEGOTIATION", protocol="TLSv1.3", autoAuthenticatedAs="cn=a"),
            [("tls", 1, TIME, b"TLSv1.3", b""), ("authenticated", 1, TIME, b"cn=a")],
        ),
        (message("CLIENT-CERTIFICATE", peerSubject="cn=a"), []),
        (
            operation("RESULT", "SEARCH", **SEARCH, resultCode=0, processingTimeMillis=4.567, workQueueWaitTimeMillis=1,
                      entriesReturned=5, isIndexed=False),
            [
                ("search", 1, 2, TIME - 4567 * US, b"dc=b", 2, "(cn=ü)".encode()),
                (
                    *("result", 1),
                    OperationResult(2, TIME, operation_kinds.SEARCH, 0, 4567 * US, 1000 * US, None, 5, b"unindexed"),
                ),
            ],
        ),
        (operation("REQUEST", "SEARCH", **SEARCH), []),
        (
            operation("RESULT", "SEARCH", isIndexed=True),
            [("result", 1, OperationResult(2, TIME, operation_kinds.SEARCH, ping_text.NO_RESULT_CODE))],
        ),
        (
            operation("RESULT", "SEARCH", **SEARCH, resultCode=0, requesterIP="10.1.1.1", requesterDN="cn=a"),
            [
                ("search", 1, 2, TIME, b"dc=b", 2, "(cn=ü)".encode()),
                ("result", 1, OperationResult(2, TIME, operation_kinds.SEARCH, 0, None, None, None, 0, b"", None)),
                ("identified", 1, TIME, b"10.1.1.1", b"cn=a"),
            ],
        ),
        (
            operation("RESULT", "BIND", dn="uid=a", authenticationType="SIMPLE", resultCode=0, requesterIP="10.1.1.1",
                      requesterDN="cn=before", authenticationDN="uid=a,dc=b"),
            [
                ("bind", 1, 2, TIME, b"uid=a", b"simple"),
                ("result", 1, OperationResult(2, TIME, operation_kinds.BIND, 0, account=b"uid=a,dc=b")),
                ("identified", 1, TIME, b"10.1.1.1", None),
            ],
        ),
        (
            operation("RESULT", "BIND", dn="", authenticationType="SASL", saslMechanism="PLAIN", resultCode=0,
                      authenticationDN="uid=a,dc=b"),
            [
                ("bind", 1, 2, TIME, b"", b"PLAIN"),
                ("result", 1, OperationResult(2, TIME, operation_kinds.BIND, 0, account=b"uid=a,dc=b")),
            ],
        ),
        (
            operation("RESULT", "BIND", resultCode=49, authenticationDN="uid=a,dc=b"),
            [("result", 1, OperationResult(2, TIME, operation_kinds.BIND, 49, None, None, None, 0, b"", None))],
        ),
        (
            operation("RESULT", "EXTENDED", requestOID="1.2", responseOID="3.4", resultCode=0),
            [
                ("request", 1, 2, TIME, operation_kinds.EXTENDED, b"1.2"),
                ("result", 1, OperationResult(2, TIME, operation_kinds.EXTENDED, 0, None, None, None, 0, b"", None)),
            ],
        ),
        (operation("REQUEST", "MODDN", dn="dc=b"), []),
        (operation("REQUEST", "UNBIND"), [("unbind", 1, 2, TIME)]),
        (operation("RESULT", "ABANDON", idToAbandon=1), [("abandon", 1, 2, TIME, None)]),
        (operation("FORWARD", "SEARCH", **SEARCH), []),
        (operation("ENTRY", "SEARCH", dn="dc=b"), []),
    ],
)  # fmt: skip
def test_each_message(line: bytes, calls: list[tuple]) -> None:
    assert calls_of(ping_json.scan, line) == calls
    assert calls_of(ping_json.scan, line.strip() + b"\r\n") == calls


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[" * 100_000,
        message("CONNECT"),
        operation("RESULT", "NONSENSE"),
        operation("RESULT", "SEARCH", **SEARCH | {"scope": "sideways"}),
        operation("RESULT", "SEARCH", resultCode=0, processingTimeMillis=-1),
        operation("RESULT", "SEARCH", **SEARCH, entriesReturned=[]),
        operation("RESULT", "SEARCH", **SEARCH, requesterIP=5),
        operation("RESULT", "SEARCH", resultCode=0, processingTimeMillis=5).replace(b":5}", b":1E+999999999}"),
        operation("RESULT", "SEARCH", resultCode=0, processingTimeMillis=5).replace(b":5}", b":NaN}"),
    ],
)
def test_a_broken_line_is_counted_as_misread(line: bytes) -> None:
    assert calls_of(ping_json.scan, line) == [("misread", line.rstrip(b"\n"))]


def test_a_new_startup_is_a_restart() -> None:
    lines = [operation("REQUEST", "UNBIND", instanceName="ds1", startupID=startup) for startup in ("A", "A", "B")]

    scan = Scan()
    ping_json.scan(b"".join(lines), scan)

    assert scan.finish().server_processes == 2


def test_the_json_of_the_in_memory_server_gives_the_calls_of_its_text_log(captures: Path) -> None:
    folder = captures / "unboundid"
    data = (folder / "access.json").read_bytes()
    found = calls_of(ping_json.scan, data)
    lines = calls_of(ping_text.scan, (folder / "access").read_bytes())

    assert ping_json.recognised(data)
    assert not opendj_json.recognised(data)
    assert not [call for call in found if call[0] == "misread"]
    searches = {call[2]: call[4:] for call in found if call[0] == "search"}
    assert searches.keys() == set(range(2, 15))
    assert searches[4][0] == b"ou=line\nconn=1 op=2 UNBIND\n,dc=example,dc=com"
    assert searches.items() >= {call[2]: call[4:] for call in lines if call[0] == "search"}.items()
    codes = {(result.op, result.kind, result.err) for result in results_of(found)}
    assert len(codes) == 23
    assert codes >= {(result.op, result.kind, result.err) for result in results_of(lines)}
    assert Counter(call[0] for call in found if call[0] in {"opened", "closed", "unbind"}).total() == 3
