"""A number that no server writes makes its line one that is not understood; the records after it are read."""

from __future__ import annotations

import json
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log.dialects import named, scan_stream
from ldapdiag.evidence.log.pattern import MOST, whole

RECORDS = {
    "opendj-json": b'{"eventName":"DJ-LDAP","client":{"ip":"10.0.0.1"},"request":{"operation":"SEARCH","connId":1,'
    b'"msgId":2,"dn":"","scope":"sub","filter":"(a=b)"},"response":{"statusCode":3,"elapsedTime":4,"elapsedTimeUnits":'
    b'"MILLISECONDS","elapsedQueueingTime":5,"nentries":6},"timestamp":"2026-11-20T09:02:23.200Z"}\n',
    "ping-json": b'{"timestamp":"2024-01-01T00:00:00.000Z","messageType":"RESULT","operationType":"SEARCH",'
    b'"connectionID":1,"operationID":2,"baseDN":"dc=b","scope":2,"filter":"(cn=x)","resultCode":3,'
    b'"processingTimeMillis":4,"workQueueWaitTimeMillis":5,"entriesReturned":6}\n',
    "389-json": b'{"local_time":"2025-02-10T13:49:28.5 -0500", "operation":"SEARCH", "key":"1739213368-1", "conn_id":1,'
    b' "op_id":2, "base_dn":"dc=x", "scope":2, "filter":"(a=b)"}\n',
}
ABSURD = (b"1e999", b"-1e999", b"1e400000000", b"9" * 400, b"9" * 5000, b"NaN", b"Infinity", b"true", b"[]", b"null")
NUMBER = re.compile(rb"(?<=:)\d(?=[,}])")


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("number", ABSURD, ids=lambda number: f"{number[:12].decode()}-{len(number)}")
def test_an_absurd_number_neither_ends_the_log_nor_hangs(name: str, number: bytes) -> None:
    record = RECORDS[name]
    for found in NUMBER.finditer(record):
        broken = record[: found.start()] + number + record[found.end() :]
        segment = scan_stream(named(name), broken + record)
        alone = scan_stream(named(name), record)

        assert segment.lines == 2
        assert segment.misread <= 1
        assert segment.first_time == alone.first_time


@given(st.integers(-MOST + 1, MOST - 1))
def test_an_integer_is_its_value_as_a_number_and_as_digits(number: int) -> None:
    assert whole(number) == whole(str(number)) == whole(Decimal(number)) == number


@pytest.mark.parametrize("text", ["1e999", "-1e400000000", "1" + "0" * 18, "NaN", "true", "null", "[1]", '"1e3"', '""'])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises((ValueError, ArithmeticError)):
        whole(json.loads(text, parse_float=Decimal))
