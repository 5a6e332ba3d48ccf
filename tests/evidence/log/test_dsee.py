"""The access log of DSEE: 389-ds's lines behind a message id, and closes of two lines."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.log import ds389_text, dsee
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.operation_kinds import BIND, MODIFY, SEARCH
from log.calls import calls_of

STAMP = b"[18/Aug/2006:15:41:17 +0200] "
TIME = 1155908477 * 10**9


def said(message: bytes) -> list[tuple]:
    """Return the calls for one line."""
    return calls_of(dsee.scan, STAMP + message + b"\n")


LINES = {
    b"op=-1 msgId=-1 - fd=23 slot=23 LDAP connection from 10.1.1.1:42001 to 10.1.1.2": (
        "opened", 13, TIME, b"10.1.1.1", b"10.1.1.2", ("secured", False),
    ),
    b"op=-1 msgId=-1 - fd=23 slot=23 LDAPS connection from [2001:db8::1]:42001 to 10.1.1.2": (
        "opened", 13, TIME, b"2001:db8::1", b"10.1.1.2", ("secured", True),
    ),
    b'op=0 msgId=1 - BIND dn="uid=joe,dc=x" method=128 version=3': ("bind", 13, 0, TIME, b"uid=joe,dc=x", b"simple"),
    b'op=0 msgId=1 - RESULT err=0 tag=97 nentries=0 etime=0 dn="uid=joe,dc=x"': (
        "result", 13, OperationResult(0, TIME, BIND, 0, 0, None, None, 0, b"", b"uid=joe,dc=x"),
        None, ("pages_end", False),
    ),
    b'op=1 msgId=2 - SRCH base="dc=x" scope=2 filter="(cn=a"b)" attrs="cn sn"': (
        "search", 13, 1, TIME, b"dc=x", 2, b'(cn=a"b)',
    ),
    b'op=1 msgId=2 - SRCH base="dc=x" scope=2 filter="(cn=a)" attrs=ALL': (
        "search", 13, 1, TIME, b"dc=x", 2, b"(cn=a)",
    ),
    b"op=1 msgId=2 - RESULT err=0 tag=101 nentries=1 etime=3 notes=U": (
        "result", 13, OperationResult(1, TIME, SEARCH, 0, 3 * 10**9, None, None, 1, b"U", None),
        None, ("pages_end", False),
    ),
    b"op=1 msgId=2 - RESULT err=0 tag=101 nentries=1 etime=0.001230": (
        "result", 13, OperationResult(1, TIME, SEARCH, 0, 1_230_000, None, None, 1, b"", None),
        None, ("pages_end", False),
    ),
    b'op=2 msgId=3 - MOD dn="cn=a,dc=x"': ("request", 13, 2, TIME, MODIFY, b"cn=a,dc=x"),
    b"op=3 msgId=4 - ABANDON targetop=2 msgid=3 nentries=0 etime=0": ("abandon", 13, 3, TIME, 2),
    b"op=4 msgId=5 - UNBIND": ("unbind", 13, 4, TIME),
    b"op=4 msgId=-1 - closing - U1": ("closed", 13, TIME, b"U1"),
    b"op=-1 msgId=-1 - closing from 10.1.1.1:42001 - A1 - Connection aborted": ("closed", 13, TIME, b"A1"),
}  # fmt: skip


@pytest.mark.parametrize("message", LINES)
def test_each_line_is_one_call(message: bytes) -> None:
    assert said(b"conn=13 " + message) == [LINES[message]]
    assert said(b"conn=13 " + message + b"\r") == [LINES[message]]


def test_the_second_line_of_a_close_is_no_close() -> None:
    assert said(b"conn=13 op=-1 msgId=-1 - closed.") == []


def test_internal_operations_are_counted_apart() -> None:
    assert said(b'conn=Internal op=-1 msgId=-1 - SRCH base="dc=x" scope=0 filter="(a=b)" attrs=ALL') == [("internal",)]
    assert said(b"conn=Internal op=-1 msgId=-1 - RESULT err=0 tag=48 nentries=1 etime=0") == []


def test_the_header_names_the_server() -> None:
    header = b"\tSun-Java(tm)-System-Directory/6.3.1 B2009.0814.2240 (32-bit)\n\tldap:389 (/opt/ds)\n\n"
    assert calls_of(dsee.scan, header) == [
        ("header", b"", b"Sun-Java(tm)-System-Directory/6.3.1 B2009.0814.2240 (32-bit)"),
        ("header", b"ldap:389 (/opt/ds)", b""),
    ]


@pytest.mark.parametrize(
    "message",
    [
        b"conn=13 op=1 UNBIND",
        b"conn=13 op=1 msgId=2 - DANCE",
        b"conn=13 op=1 msgId=2 ",
        b"conn=13 op=1 msgId=2 - RESULT err=0 tag=101 nentries=1 etime=1e999",
    ],
)
def test_a_line_that_fits_no_rule_is_kept(message: bytes) -> None:
    assert [call[0] for call in said(message)] == ["misread"]


def test_message_ids_distinguish_the_log_from_that_of_389ds() -> None:
    ours = STAMP + b"conn=13 op=4 msgId=5 - UNBIND\n"
    theirs = STAMP + b"conn=13 op=4 UNBIND\n"
    assert (dsee.recognised(ours), dsee.recognised(theirs)) == (True, False)
    assert (ds389_text.recognised(ours), ds389_text.recognised(theirs)) == (False, True)


@pytest.mark.parametrize("filler", [b'" scope=2 filter="', b'"', b" dn=", b"closing - "])
def test_a_hostile_line_is_one_line(filler: bytes) -> None:
    """A grammar that backtracks does not come back from one of these."""
    assert len(said(b'conn=13 op=1 msgId=2 - SRCH base="' + filler * (1_000_000 // len(filler)))) == 1
