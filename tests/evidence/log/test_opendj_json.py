"""OpenDJ's JSON access log: each event, what is broken, and the corpus beside the text log of the same run."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from ldapdiag.evidence.log import opendj_json, opendj_text, operation_kinds
from ldapdiag.evidence.log.clients import address
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.dialects import scan_stream
from ldapdiag.evidence.log.scan import Hints
from ldapdiag.sources.logs.log_files import LogFile, find_logs
from log.calls import Calls, calls_of

if TYPE_CHECKING:
    from pathlib import Path

TIME = 1_795_165_084 * 10**9 + 76 * 10**6
MS = 10**6


def event(operation: str, request: dict[str, Any], response: dict[str, Any] | None = None, **more: object) -> bytes:
    """Return a line as the server writes it."""
    record: dict[str, Any] = {
        "eventName": "DJ-LDAP",
        "client": {"ip": "10.1.1.1", "port": 60305},
        "server": {"ip": "10.1.1.2", "port": 1389},
        "request": {"protocol": "LDAP", "operation": operation, "connId": 3, **request},
        "transactionId": "0",
        "timestamp": "2026-11-20T08:58:04.076Z",
        **more,
    }
    if response is not None:
        record["response"] = {"statusCode": "0", "elapsedTime": 5, "elapsedTimeUnits": "MILLISECONDS", **response}
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


SEARCH = {"msgId": 2, "dn": "dc=b", "scope": "sub", "filter": "(cn=ü)", "attrs": ["cn"]}


def named(elapsed: int = 0) -> tuple:
    """Return the call that names the client of the line."""
    return ("identified", 3, TIME - elapsed, b"10.1.1.1", None)


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        (event("CONNECT", {}, {}), [("opened", 3, TIME, b"10.1.1.1", b"10.1.1.2:1389", ("secured", False))]),
        (
            event("CONNECT", {"protocol": "LDAPS"}),
            [("opened", 3, TIME, b"10.1.1.1", b"10.1.1.2:1389", ("secured", True))],
        ),
        (
            event("DISCONNECT", {"connId": -1}, {"reason": "Administrative Limit Exceeded"}),
            [("refused", TIME, b"10.1.1.1", b"Administrative Limit Exceeded")],
        ),
        (
            event("DISCONNECT", {}, {"reason": "Connection Rejected"}),
            [("refused", TIME, b"10.1.1.1", b"Connection Rejected")],
        ),
        (event("DISCONNECT", {}, {"reason": "I/O Error"}), [named(), ("closed", 3, TIME, b"I/O Error")]),
        (
            event("TLS", {}, {}, security={"protocol": "TLSv1.3", "cipher": "TLS_AES_128_GCM_SHA256", "ssf": 128}),
            [named(), ("tls", 3, TIME, b"TLSv1.3", b"TLS_AES_128_GCM_SHA256")],
        ),
        (event("TLS", {}, {}), []),
        (event("UNBIND", {"msgId": 4}), [named(), ("unbind", 3, 4, TIME)]),
        (
            event("SEARCH", SEARCH, {"nentries": 7}),
            [
                named(5 * MS),
                ("search", 3, 2, TIME - 5 * MS, b"dc=b", 2, "(cn=ü)".encode()),
                ("result", 3, OperationResult(2, TIME, operation_kinds.SEARCH, 0, 5 * MS, None, None, 7, b"")),
            ],
        ),
        (
            event("SEARCH", SEARCH, {}, client={}, userId="cn=a", runAs="cn=b"),
            [
                ("identified", 3, TIME - 5 * MS, b"", b"cn=a"),
                ("search", 3, 2, TIME - 5 * MS, b"dc=b", 2, "(cn=ü)".encode()),
                ("result", 3, OperationResult(2, TIME, operation_kinds.SEARCH, 0, 5 * MS, None, None, 0, b"")),
            ],
        ),
        (
            event(
                "BIND",
                {"msgId": 1, "dn": "cn=a", "authType": "Simple"},
                {"elapsedQueueingTime": 2, "elapsedProcessingTime": 3},
                userId="cn=a,dc=b",
            ),
            [
                named(5 * MS),
                ("bind", 3, 1, TIME - 5 * MS, b"cn=a", b"simple"),
                (
                    "result",
                    3,
                    OperationResult(1, TIME, operation_kinds.BIND, 0, 5 * MS, 2 * MS, 3 * MS, account=b"cn=a,dc=b"),
                ),
            ],
        ),
        (
            event(
                "BIND", {"msgId": 1, "dn": "", "authType": "SASL mechanism=PLAIN"}, {"statusCode": "49"}, userId="cn=a"
            ),
            [
                named(5 * MS),
                ("bind", 3, 1, TIME - 5 * MS, b"", b"PLAIN"),
                ("result", 3, OperationResult(1, TIME, operation_kinds.BIND, 49, 5 * MS, None, None, account=None)),
            ],
        ),
        (
            event("MODIFYDN", {"msgId": 2, "dn": "cn=a"}, {"elapsedTimeUnits": "NANOSECONDS"}),
            [
                named(5),
                ("request", 3, 2, TIME - 5, operation_kinds.MODRDN, b"cn=a"),
                ("result", 3, OperationResult(2, TIME, operation_kinds.MODRDN, 0, 5, None, None)),
            ],
        ),
        (
            event("EXTENDED", {"msgId": 2, "name": "StartTLS", "oid": "1.3.6"}, {}),
            [
                named(5 * MS),
                ("request", 3, 2, TIME - 5 * MS, operation_kinds.EXTENDED, b"1.3.6"),
                ("result", 3, OperationResult(2, TIME, operation_kinds.EXTENDED, 0, 5 * MS, None, None)),
            ],
        ),
        (
            event("ABANDON", {"msgId": 3, "idToAbandon": 2}, {"statusCode": "118"}),
            [named(), ("abandon", 3, 3, TIME, 2)],
        ),
        (
            event("ABANDON", {"msgId": 3, "idToAbandon": 9}, {"statusCode": "119"}),
            [named(), ("abandon", 3, 3, TIME, None)],
        ),
        (event("SEARCH", {**SEARCH, "connId": -1}, {"nentries": 7}), [("internal",)]),
        (event("SEARCH", SEARCH, {}, eventName="DJ-HTTP"), []),
    ],
)
def test_each_event(line: bytes, calls: list[tuple]) -> None:
    assert calls_of(opendj_json.scan, line) == calls
    assert calls_of(opendj_json.scan, line.replace(b"\n", b"\r\n")) == calls
    assert calls_of(opendj_json.scan, line.rstrip(b"\n")) == calls


@pytest.mark.parametrize(
    ("items", "notes"),
    [
        (" unindexed", b"unindexed"),
        ({"unindexed": None}, b"unindexed"),
        ({"unindexed": True}, b"unindexed"),
        ({"unindexed": False}, b""),
        ({"ssf": 128}, b""),
        (" authzID='dn:cn=a unindexed b'", b""),
        (None, b""),
    ],
)
def test_unindexed_is_there_or_is_not(items: object, notes: bytes) -> None:
    calls = calls_of(opendj_json.scan, event("SEARCH", SEARCH, {"nentries": 7, "additionalItems": items}))

    assert calls[-1][-1].notes == notes


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"eventName":"DJ-LDAP"}',
        event("SEARCH", SEARCH)[:-1],
        event("SEARCH", {**SEARCH, "scope": "sideways"}, {})[:-1],
        event("SEARCH", {**SEARCH, "filter": None}, {})[:-1],
        event("SEARCH", SEARCH, {"elapsedTime": "soon"})[:-1],
        event("SEARCH", SEARCH, {"nentries": []})[:-1],
        event("BIND", {"msgId": 1, "dn": "cn=a"}, {}, userId=5)[:-1],
        event("NONSENSE", {"msgId": 1}, {})[:-1],
        event("CONNECT", {}, {}, timestamp="<timestamp>")[:-1],
        event("CONNECT", {}, {}, timestamp=5)[:-1],
        event("CONNECT", {"connId": "x"}, {})[:-1],
        event("CONNECT", {"connId": "9" * 5000}, {})[:-1],
    ],
)
def test_a_broken_line_is_counted_as_misread(line: bytes) -> None:
    assert calls_of(opendj_json.scan, line + b"\n") == [("misread", line)]


def test_a_lone_surrogate_is_no_accident() -> None:
    line = event("BIND", {"msgId": 1, "dn": "cn=\ud800"}, {})

    assert calls_of(opendj_json.scan, line)[1][4] == b"cn=\xed\xa0\x80"


def test_lines_are_counted() -> None:
    calls = Calls(Hints())
    opendj_json.scan(b"\n" + event("UNBIND", {"msgId": 4}) + b"{", calls)

    assert calls.lines == 3
    assert calls.made[-1] == ("passed_over", 1)
    assert [call for call in calls.made if call[0] == "clock"] == [("clock", b"Z")]


def test_it_is_recognised_among_other_json(corpus: Path) -> None:
    folder = corpus / "public" / "accesslog"
    found = {path.name for path in folder.iterdir() if opendj_json.recognised(path.read_bytes()[:65536])}

    assert found == {"forgerock-ds7-json-fragments.json", "pingds8.1-docs-json.json"}


def test_it_gives_the_calls_of_the_text_log(corpus: Path) -> None:
    folder = corpus / "3-opendj-unindexed"
    events = calls_of(opendj_json.scan, (folder / "ldap-access.audit.json").read_bytes())
    lines = calls_of(opendj_text.scan, (folder / "access-combined").read_bytes())

    def searches(calls: list[tuple]) -> Counter[tuple]:
        return Counter((call[1], *call[4:]) for call in calls if call[0] == "search")

    def requests(calls: list[tuple]) -> Counter[tuple]:
        return Counter((call[1], *call[4:]) for call in calls if call[0] in {"request", "bind"})

    def results(calls: list[tuple]) -> Counter[tuple]:
        """Return results without the number of the operation, which is the message id here."""
        return Counter(
            (call[1], *(part for part in call[4:] if part is not None)) for call in calls if call[0] == "result"
        )

    def connections(calls: list[tuple]) -> Counter[tuple]:
        return Counter((call[0], call[1], *call[3:]) for call in calls if call[0] in {"opened", "closed"})

    assert not [call for call in events if call[0] == "misread"]
    assert sum(searches(events).values()) == 1400
    assert searches(events) == searches(lines)
    assert requests(events) == requests(lines)
    assert connections(events) == connections(lines)
    assert results(events) == results(lines)


def test_clients_count_though_their_connects_are_rotated_away(corpus: Path) -> None:
    path = corpus / "log-forms" / "noconn-opendj-json"
    events = [json.loads(line) for line in path.read_bytes().splitlines()]
    requests = Counter(
        address(event["client"]["ip"].encode())
        for event in events
        if event["request"]["operation"] not in {"CONNECT", "DISCONNECT"}
    )
    (log,) = find_logs([str(path)])
    assert isinstance(log, LogFile)
    segment = scan_stream(log.dialect, path.read_bytes())

    assert {client: row.operations for client, row in segment.clients.items() if row.operations} == requests
    assert segment.opened == 0
