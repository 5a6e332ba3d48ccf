"""The dialect of a log is that of most of its first lines, whatever single lines a client has put into it."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log.dialects import NOTICES, recognise

LINES = {
    "389-text": b"[20/Nov/2026:08:45:20.752174123 +0000] conn=1 op=1 UNBIND",
    "389-json": b'{"local_time":"2025-02-10T13:49:28.4 -0500", "operation":"UNBIND", "conn_id":1, "op_id":1}',
    NOTICES: b"[20/Nov/2026:08:45:20.752174123 +0000] - ERR - log_result - x",
    "dsee-text": b"[18/Aug/2006:15:41:17 +0200] conn=13 op=2 msgId=3 - UNBIND",
    "openldap-stderr": b"6b000aac.1b749727 0x7f6ced7fe6c0 conn=1 op=2 UNBIND",
    "openldap-syslog": b"Nov 20 08:54:04 vm slapd[3989]: conn=1 op=2 UNBIND",
    "openldap-syslog-iso": b"2026-11-20T08:54:04.460651+00:00 vm slapd[3989]: conn=1 op=2 UNBIND",
    "openldap-syslog-rfc5424": b"<167>1 2026-11-20T08:54:04.460651+00:00 vm slapd 3989 - -  conn=1 op=2 UNBIND",
    "openldap-container": b"openldap-0  | 6b000aac.1b749727 0x7f6ced7fe6c0 conn=1 op=2 UNBIND",
    "opendj-text": b"[20/Nov/2026:08:58:03 +0000] UNBIND REQ conn=0 op=2 msgID=3",
    "opendj-json": b'{"eventName":"DJ-LDAP","request":{"operation":"UNBIND","connId":0,"msgId":3}}',
    "ping-text": b"[20/Nov/2026:08:58:03.123 +0000] UNBIND REQUEST conn=0 op=2",
    "ping-json": b'{"timestamp":"2024-01-01T00:00:00.000Z","messageType":"REQUEST","operationType":"UNBIND"}',
    "active-directory-1644": b'"event 1644","DC1","2026-11-20T08:54:04Z","DC=x"',
}


def named(*lines: bytes) -> str | None:
    dialect = recognise(b"".join(line + b"\n" for line in lines))
    return dialect.name if dialect else None


@pytest.mark.parametrize("name", LINES)
def test_each_line_is_of_one_dialect(name: str) -> None:
    assert named(LINES[name]) == name


@pytest.mark.parametrize(("genuine", "forged"), list(permutations(LINES, 2)))
def test_a_forged_line_does_not_change_the_dialect_wherever_it_is(genuine: str, forged: str) -> None:
    line, other = LINES[genuine], LINES[forged]

    assert named(other, line, line) == named(line, other, line) == named(line, line, other) == genuine


def test_many_short_lines_that_one_filter_has_forged_do_not_outnumber_those_in_the_rest_of_a_head() -> None:
    genuine = [LINES["389-text"] + b" " * 100] * 300
    forged = [LINES["openldap-syslog"]] * 400

    assert named(*genuine[:100], *forged, *genuine[100:]) == named(*forged, *genuine) == "389-text"


@given(st.lists(st.sampled_from(sorted(LINES)), min_size=1, max_size=12), st.randoms())
def test_the_most_frequent_dialect_wins_and_the_order_of_the_lines_has_no_effect(names: list[str], random) -> None:
    shuffled = random.sample(names, len(names))
    lines = [b"no line of a log", b"", *(LINES[name] for name in names)]

    found = named(*lines)

    assert names.count(found or "") == max(map(names.count, names))
    assert found == named(*(LINES[name] for name in shuffled))


@given(st.binary(max_size=200))
def test_no_bytes_crash_it(data: bytes) -> None:
    dialect = recognise(data)

    assert dialect is None or dialect.recognised(data)
