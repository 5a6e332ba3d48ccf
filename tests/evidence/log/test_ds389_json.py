"""The access log of 389-ds as JSON: each operation, broken objects, and the documented sample."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log import ds389_json
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.dialects import scan_stream
from ldapdiag.evidence.log.json_lines import DEEPEST
from ldapdiag.evidence.log.operation_kinds import ADD, BIND, COMPARE, DELETE, EXTENDED, MODIFY, MODRDN, SEARCH
from log.calls import Calls, calls_of

if TYPE_CHECKING:
    from pathlib import Path

TIME = 1739213368_425317898
CLEAR = ("secured", False)
COMMON = {"local_time": "2025-02-10T13:49:28.425317898 -0500", "key": "1739213368-7", "conn_id": 7}


def record(operation: str, **fields: object) -> bytes:
    """Return one object on one line, as the server writes it."""
    return json.dumps({**COMMON, "operation": operation, **fields}).encode() + b"\n"


def said(operation: str, **fields: object) -> list[tuple]:
    """Return the calls for one object; the same on one line and on many."""
    line = record(operation, **fields)
    pretty = json.dumps(json.loads(line), indent=2).encode() + b"\n"
    calls = calls_of(ds389_json.scan, line)
    assert calls_of(ds389_json.scan, pretty) == calls
    return calls


OPERATIONS = (
    (
        "CONNECTION", {"client_ip": "10.1.1.1", "server_ip": "10.1.1.2"},
        ("opened", 7, TIME, b"10.1.1.1", b"10.1.1.2", CLEAR),
    ),
    ("CONNECTION", {"client_ip": "local", "server_ip": "/run/x"}, ("opened", 7, TIME, b"local", b"", CLEAR)),
    (
        "CONNECTION", {"client_ip": "10.1.1.1", "server_ip": "10.1.1.2", "tls": True},
        ("opened", 7, TIME, b"10.1.1.1", b"10.1.1.2", ("secured", True)),
    ),
    (
        "TLS_INFO", {"tls_version": "TLS1.3", "keysize": 128, "cipher": "AES-GCM"},
        ("tls", 7, TIME, b"TLS1.3", b"128-bit AES-GCM"),
    ),
    (
        "TLS_CLIENT_INFO", {"tls_version": "TLS1.3", "keysize": 128, "cipher": "AES-GCM", "subject": "CN=x"},
        ("tls", 7, TIME, b"TLS1.3", b"128-bit AES-GCM"),
    ),
    ("HAPROXY", {"haproxy_ip": "10.9.9.9", "haproxy_destip": "10.1.1.2"}, ("proxied_client", 7, TIME, b"10.9.9.9")),
    ("AUTOBIND", {"bind_dn": "cn=dm"}, ("authenticated", 7, TIME, b"cn=dm")),
    ("TLS_CLIENT_INFO", {"subject": "CN=x", "client_dn": "uid=joe"}, ("authenticated", 7, TIME, b"uid=joe")),
    ("BIND", {"op_id": 0, "bind_dn": "uid=joe", "method": "128"}, ("bind", 7, 0, TIME, b"uid=joe", b"simple")),
    (
        "BIND", {"op_id": 0, "bind_dn": "", "method": "sasl", "mech": "EXTERNAL"},
        ("bind", 7, 0, TIME, b"", b"EXTERNAL"),
    ),
    ("UNBIND", {"op_id": 3}, ("unbind", 7, 3, TIME)),
    ("ABANDON", {"op_id": 3, "target_op": "2", "msgid": 3}, ("abandon", 7, 3, TIME, 2)),
    ("ABANDON", {"op_id": 3, "target_op": "NOTFOUND", "msgid": 3}, ("abandon", 7, 3, TIME, None)),
    ("ADD", {"op_id": 1, "target_dn": "cn=a"}, ("request", 7, 1, TIME, ADD, b"cn=a")),
    ("DELETE", {"op_id": 1, "target_dn": "cn=a"}, ("request", 7, 1, TIME, DELETE, b"cn=a")),
    ("MODIFY", {"op_id": 1, "target_dn": "cn=a"}, ("request", 7, 1, TIME, MODIFY, b"cn=a")),
    ("MODRDN", {"op_id": 1, "target_dn": "cn=a"}, ("request", 7, 1, TIME, MODRDN, b"cn=a")),
    ("COMPARE", {"op_id": 1, "target_dn": "cn=a"}, ("request", 7, 1, TIME, COMPARE, b"cn=a")),
    ("EXTENDED_OP", {"op_id": 1, "oid": "1.2"}, ("request", 7, 1, TIME, EXTENDED, b"1.2")),
    (
        "SEARCH", {"op_id": 1, "base_dn": "dc=x", "scope": 2, "filter": '(cn=a"\nb)', "attrs": ["cn"]},
        ("search", 7, 1, TIME, b"dc=x", 2, b'(cn=a"\nb)'),
    ),
    ("DISCONNECT", {"fd": 64, "close_error": "", "close_reason": "Idle Timeout - T1"}, ("closed", 7, TIME, b"T1")),
    (
        "DISCONNECT", {"close_error": "Operation canceled", "close_reason": "Connection aborted - A1"},
        ("closed", 7, TIME, b"A1"),
    ),
    (
        "DISCONNECT", {"close_error": "Connection reset by peer", "close_reason": "TCP connection reset by peer."},
        ("closed", 7, TIME, b"reset"),
    ),
    (
        "RESULT",
        {"op_id": 1, "tag": 101, "err": 0, "nentries": 5, "wtime": "0.000242003", "optime": "0.013631868",
         "etime": "0.013873871", "pr_idx": 0, "pr_cookie": -1, "notes": [{"note": "U", "filter": "x"}, {"note": "P"}]},
        (
            "result", 7, OperationResult(1, TIME, SEARCH, 0, 13_873_871, 242_003, 13_631_868, 5, b"U,P", None),
            0, ("pages_end", True),
        ),
    ),
    (
        "RESULT",
        {"op_id": 0, "tag": 97, "err": 0, "nentries": 0, "etime": "1.5", "bind_dn": "uid=joe", "msg": "SASL bind"},
        (
            "result", 7, OperationResult(0, TIME, BIND, 0, 1_500_000_000, None, None, 0, b"", b"uid=joe"),
            None, ("pages_end", False),
        ),
    ),
    (
        "RESULT", {"op_id": 0, "tag": 97, "err": 49},
        ("result", 7, OperationResult(0, TIME, BIND, 49, None, None, None, 0, b"", None), None, ("pages_end", False)),
    ),
    ("SEARCH", {"op_id": 0, "internal_op": True, "op_internal_id": 1, "filter": "(a=b)"}, ("internal",)),
)  # fmt: skip


@pytest.mark.parametrize(("operation", "fields", "call"), OPERATIONS)
def test_each_object_is_one_call(operation: str, fields: dict[str, object], call: tuple) -> None:
    assert said(operation, **fields) == [call]


@pytest.mark.parametrize("operation", sorted(ds389_json.PASSED_OVER))
def test_operations_of_no_use_are_understood(operation: str) -> None:
    assert said(operation, op_id=1) == []
    assert said(operation) == []


def test_the_header_names_the_server() -> None:
    header = b'{"header": {"version": "389-Directory/3.1.1 B2025", "instance": "ldap:389 (/etc/dirsrv/slapd-x)"}}\n'
    assert calls_of(ds389_json.scan, header) == [
        ("header", b"ldap:389 (/etc/dirsrv/slapd-x)", b"389-Directory/3.1.1 B2025"),
    ]


@pytest.mark.parametrize(
    ("local_time", "time"),
    [
        ("2025-02-10T18:49:28.425317898 +0000", TIME),
        ("2025-02-10T18:49:28Z", 1739213368 * 10**9),
        ("10/Feb/2025:13:49:28.425317898 -0500", TIME),
    ],
)
def test_the_time_may_be_written_otherwise(local_time: str, time: int) -> None:
    assert said("UNBIND", op_id=1, local_time=local_time) == [("unbind", 7, 1, time)]


BROKEN = (
    b"{\n", b"{}\n", b'{"a":\n', b"no object\n", b"[1, 2]\n", b"{" * 100_000 + b"\n", b'{"a":' * 100_000 + b"\n",
    record("DANCE"), record("UNBIND", op_id=1, local_time="yesterday"), record("UNBIND", op_id=1, conn_id="7"),
    record("UNBIND", op_id=1, conn_id=True), b'{"a": ' + b"9" * 5000 + b"}\n", record("UNBIND", op_id=1)[:-10] + b"\n",
    record("UNBIND", op_id=1, conn_id=10**18), record("UNBIND", op_id=1, a=float("nan")),
    record("UNBIND", op_id=1).replace(b"UNBIND", b"UN\tBIND"), b"\xef\xbb\xbf" + record("UNBIND", op_id=1),
)  # fmt: skip


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_after_a_broken_object_reading_goes_on_with_the_next(text: bytes) -> None:
    whole = record("UNBIND", op_id=1)
    calls = calls_of(ds389_json.scan, whole + text + whole)
    assert sorted(call[0] for call in calls) == ["misread", "unbind", "unbind"]


@pytest.mark.parametrize("nested", [b"[%b]", b'{"a": %b}', b'[{"a": %b}]'])
def test_an_object_is_at_most_32_deep(nested: bytes) -> None:
    whole, value = record("UNBIND", op_id=1, a="A"), b'"[[[]{{"'
    opened = nested.count(b"[") + nested.count(b"{")
    for depth in range(1 + opened, 50, opened):
        value = nested % value
        (call, *more) = calls_of(ds389_json.scan, whole.replace(b'"A"', value))
        assert (call[0], more) == ("unbind" if depth <= DEEPEST else "misread", [])


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (b"999999999999999999", 10**18 - 1), (b"-0", 0), (b"1000000000000000000", None), (b"9" * 5000, None),
        (b"2.0", None), (b"2e0", None), (b"1e999", None), (b'"2"', None), (b"true", None), (b'1, "scope": 2', 2),
        (b'2, "scope": null', None), (b'1, "sc\\u006fpe": 2', 2),
    ],
)  # fmt: skip
def test_a_number_is_whole_and_has_at_most_18_digits(written: bytes, expected: int | None) -> None:
    line = record("SEARCH", op_id=1, scope="A").replace(b'"A"', written)
    read = [("search", 7, 1, TIME, b"", expected, b"")]
    assert calls_of(ds389_json.scan, line) == ([("misread", line.strip())] if expected is None else read)


@pytest.mark.parametrize(
    "field",
    [
        {"etime": "1e999"}, {"etime": 1}, {"wtime": "soon"}, {"wqtime": ""}, {"optime": "9999999999"}, {"err": "0"},
        {"tag": 1e308}, {"nentries": None}, {"pr_cookie": [], "pr_idx": 0}, {"wbusy": "2"}, {"op_id": 0.5},
    ],
)  # fmt: skip
def test_a_result_with_what_is_no_number_is_misread(field: dict[str, object]) -> None:
    line = record("RESULT", **{"op_id": 1, "tag": 101, "err": 0, **field})
    assert calls_of(ds389_json.scan, line) == [("misread", line.strip())]


@pytest.mark.parametrize(
    ("fields", "client"),
    [
        ({"client_ip": "10.1.1.1"}, b"10.1.1.1"), ({"client_ip": "[fe80::1]:389"}, b"fe80::1"),
        ({"notes": [{"note": "P"}, {"note": "U", "client_ip": "10.1.1.2"}]}, b"10.1.1.2"),
        ({"client_ip": "10.1.1.1", "notes": [{"note": "U", "client_ip": "10.1.1.2"}]}, b"10.1.1.1"),
        ({"client_ip": "Internal"}, None), ({"client_ip": ""}, None), ({"client_ip": 7}, None),
    ],
)  # fmt: skip
def test_a_result_names_the_client(fields: dict[str, object], client: bytes | None) -> None:
    *named, answered = said("RESULT", op_id=1, tag=101, err=0, **fields)
    assert named == ([] if client is None else [("identified", 7, TIME, client)])
    assert (*answered[:2], answered[2][:4]) == ("result", 7, (1, TIME, SEARCH, 0))


def test_each_client_counts_though_the_log_is_cut_anywhere() -> None:
    lines = [record("CONNECTION", conn_id=conn, client_ip=f"10.0.0.{conn}") for conn in (1, 2, 3)]
    for op in range(4):
        lines += [record("SEARCH", conn_id=conn, op_id=op, base_dn="", scope=2, filter="(cn=a)") for conn in (1, 2, 3)]
        named = [
            record("RESULT", conn_id=conn, op_id=op, tag=101, err=0, client_ip=f"10.0.0.{conn}") for conn in (3, 1, 2)
        ]
        lines += named
    for first in range(1, len(lines)):
        kept = lines[first:]
        answers = Counter(json.loads(line)["conn_id"] for line in kept if b"RESULT" in line)
        clients: Counter[bytes] = Counter()
        for key, counts in scan_stream(ds389_json, b"".join(kept)).attribution.items():
            clients[key[2]] += counts[0]

        assert clients == {b"10.0.0.%d" % conn: count for conn, count in answers.items()}


def test_busy_workers_are_read_from_results() -> None:
    busy, answered = said("RESULT", op_id=1, tag=101, err=0, etime="0.1", wbusy=8, wmax=16, wqdepth=3)
    assert busy == ("workers_busy", TIME, 8, 16, 3)
    assert (*answered[:2], answered[2][:4]) == ("result", 7, (1, TIME, SEARCH, 0))


def test_what_follows_an_object_is_misread_alone() -> None:
    line = record("UNBIND", op_id=1).rstrip() + b" \xff{ \r\n"
    assert calls_of(ds389_json.scan, line) == [("misread", b"\xff{"), ("unbind", 7, 1, TIME)]


def test_what_is_misread_is_not_passed_over_as_well() -> None:
    calls = Calls(None)
    ds389_json.scan(record("DANCE"), calls)
    assert "passed_over" not in {call[0] for call in calls.made}


def test_a_text_that_has_no_bytes_of_its_own_is_still_read() -> None:
    line = record("BIND", op_id=0, bind_dn="X").replace(b"X", rb"\ud800\u00fc")
    assert calls_of(ds389_json.scan, line) == [("bind", 7, 0, TIME, b"?\xc3\xbc", b"?")]
    line = record("BIND", op_id=0, bind_dn="X").replace(b"X", b"\xff\xfe\\udfff\\ud83d\\ude00")
    assert calls_of(ds389_json.scan, line) == [("bind", 7, 0, TIME, b"\xff\xfe?\xf0\x9f\x98\x80", b"?")]


def test_the_documented_sample_is_read_but_for_what_is_broken(corpus: Path) -> None:
    """38 objects are whole and three are broken; of those a result is whole but for what follows it."""
    data = (corpus / "public" / "accesslog" / "389-3.x-wiki-json-pretty.access.json").read_bytes()
    assert ds389_json.recognised(data[:65536])
    found = Counter(call[0] for call in calls_of(ds389_json.scan, data))
    assert found == {
        "result": 9, "search": 7, "request": 7, "bind": 2, "authenticated": 1, "opened": 1, "closed": 1, "abandon": 1,
        "unbind": 1, "misread": 3, "index_lookup": 5, "sorting": 2, "identified": 2,
    }  # fmt: skip


@given(st.lists(st.sampled_from(OPERATIONS), max_size=5), st.booleans(), st.integers(0, 5000))
def test_a_log_is_cut_between_objects(made: list[tuple], pretty: bool, at: int) -> None:  # noqa: FBT001  hypothesis gives it
    objects = [json.loads(record(operation, **fields)) for operation, fields, _ in made]
    data = b"".join(json.dumps(each, indent=2 if pretty else None).encode() + b"\n" for each in objects)
    cut = ds389_json.cut(data, at)
    assert 0 <= cut <= at
    assert calls_of(ds389_json.scan, data[:cut]) + calls_of(ds389_json.scan, data[cut:]) == [call for *_, call in made]


@given(st.binary(max_size=200) | st.text('{}[]",:\\\n a1', max_size=60).map(str.encode))
def test_any_bytes_are_read(data: bytes) -> None:
    calls = Calls(None)
    ds389_json.scan(data, calls)
    assert calls.lines == data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)


def test_other_logs_are_not_taken() -> None:
    assert not ds389_json.recognised(b'{ "date": "[20\\/Nov\\/2026]", "event": "BIND_SUCCESS", "conn_id": 1 }\n')
    assert not ds389_json.recognised(b'{"eventName":"DJ-LDAP","request":{"operation":"BIND","connId":1}}\n')
    assert ds389_json.recognised(record("UNBIND", op_id=1))
