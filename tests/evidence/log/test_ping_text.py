"""PingDirectory's text access log and the in-memory server's: each record, and what clients put into it."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log import operation_kinds, ping_text
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.scan import Scan
from log.calls import calls_of, results_of

if TYPE_CHECKING:
    from pathlib import Path

STAMP = b"[20/Nov/2026:08:58:03 +0000] "
TIME = 1_795_165_083 * 10**9
US = 1000
NAMES = b'instanceName="ds1:389" startupID="ABC" threadID=5 conn=1 op=2 msgID=3 '
OF_SDK = b"conn=1 op=2 msgID=3 "
"""As the in-memory server of the SDK begins: its results do not repeat their requests."""


def said(message: bytes) -> list[tuple]:
    """Return the calls for one message behind a stamp, but for the server's name."""
    return [call for call in calls_of(ping_text.scan, STAMP + message + b"\n") if call[0] != "header"]


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        (
            b'CONNECT instanceName="ds1:389" conn=1 from="1.2.3.4" to="5.6.7.8" protocol="LDAP"',
            [("opened", 1, TIME, b"1.2.3.4", b"5.6.7.8", ("secured", False))],
        ),
        (
            b'CONNECT conn=0 from="127.0.0.1:54254" to="127.0.0.1:23891"',
            [("opened", 0, TIME, b"127.0.0.1", b"127.0.0.1:23891", ("secured", False))],
        ),
        (
            b'CONNECT conn=0 from="[::1]:54254" to="[::1]:23891"',
            [("opened", 0, TIME, b"::1", b"[::1]:23891", ("secured", False))],
        ),
        (
            b'CONNECT conn=0 from="2001:db8::1" to="2001:db8::2"',
            [("opened", 0, TIME, b"2001:db8::1", b"2001:db8::2", ("secured", False))],
        ),
        (
            b'CONNECT conn=1 from="1.2.3.4" to="5.6.7.8" protocol="LDAPS"',
            [("opened", 1, TIME, b"1.2.3.4", b"5.6.7.8", ("secured", True))],
        ),
        (b'DISCONNECT conn=1 reason="Client Unbind" msg="bye"', [("closed", 1, TIME, b"Client Unbind")]),
        (b"DISCONNECT conn=1", [("closed", 1, TIME, b"")]),
        (
            b"SEARCH RESULT "
            + NAMES
            + b'base="dc=b" scope=2 filter="(cn=x)" attrs="ALL" resultCode=0 qtime=1 etime=4.567 '
            b'from="app=\'x\'" entriesReturned=5 unindexed=true authzDN="cn=a"',
            [
                ("search", 1, 2, TIME - 4567 * US, b"dc=b", 2, b"(cn=x)"),
                (
                    "result",
                    1,
                    OperationResult(2, TIME, operation_kinds.SEARCH, 0, 4567 * US, 1000 * US, None, 5, b"unindexed"),
                ),
            ],
        ),
        (
            b"SEARCH RESULT " + NAMES + b'resultCode=32 message="no resultCode=0 etime=9" etime=1',
            [("result", 1, OperationResult(2, TIME, operation_kinds.SEARCH, 32, 1000 * US, None, None, 0, b""))],
        ),
        (
            b"SEARCH RESULT " + NAMES + b'message="none" entriesReturned=5 unindexed=false',
            [
                (
                    "result",
                    1,
                    OperationResult(
                        2, TIME, operation_kinds.SEARCH, ping_text.NO_RESULT_CODE, None, None, None, 5, b""
                    ),
                )
            ],
        ),
        (
            b"SEARCH REQUEST " + OF_SDK + b'base="ou=#22x#22" scope=0 filter="(cn=#0a)" attrs="ALL"',
            [("search", 1, 2, TIME, b'ou="x"', 0, b"(cn=\n)")],
        ),
        (b"SEARCH FORWARD " + NAMES + b'base="dc=b" scope=2 filter="(cn=x)" targetHost="5.6.7.8"', []),
        (b"SEARCH ENTRY " + NAMES + b'dn="dc=b"', []),
        (
            b"BIND RESULT "
            + NAMES
            + b'version=3 dn="uid=a" authType="SIMPLE" resultCode=0 etime=1 authDN="uid=a,dc=b"',
            [
                ("bind", 1, 2, TIME - 1000 * US, b"uid=a", b"simple"),
                (
                    "result",
                    1,
                    OperationResult(2, TIME, operation_kinds.BIND, 0, 1000 * US, None, account=b"uid=a,dc=b"),
                ),
            ],
        ),
        (
            b"BIND RESULT " + NAMES + b'resultCode=49 etime=1 authDN="uid=a,dc=b"',
            [("result", 1, OperationResult(2, TIME, operation_kinds.BIND, 49, 1000 * US, None, account=None))],
        ),
        (b"MODDN REQUEST " + OF_SDK + b'dn="dc=b"', [("request", 1, 2, TIME, operation_kinds.MODRDN, b"dc=b")]),
        (
            b"MODDN RESULT " + NAMES + b"resultCode=0",
            [("result", 1, OperationResult(2, TIME, operation_kinds.MODRDN, 0, None, None))],
        ),
        (
            b"EXTENDED RESULT " + NAMES + b'requestOID="1.2" resultCode=0 etime=1',
            [
                ("request", 1, 2, TIME - 1000 * US, operation_kinds.EXTENDED, b"1.2"),
                ("result", 1, OperationResult(2, TIME, operation_kinds.EXTENDED, 0, 1000 * US, None)),
            ],
        ),
        (b"UNBIND REQUEST " + NAMES.strip(), [("unbind", 1, 2, TIME)]),
        (b"ABANDON REQUEST " + OF_SDK + b"idToAbandon=4", [("abandon", 1, 2, TIME, None)]),
        (
            b'SECURITY-NEGOTIATION threadID=1 conn=5 protocol="TLSv1.2" cipher="X"clientServerHandshakeTimeMillis="5"',
            [("tls", 5, TIME, b"TLSv1.2", b"X")],
        ),
        (
            b'SECURITY-NEGOTIATION conn=5 protocol="TLSv1.3" cipher="X" autoAuthenticatedAs="cn=a#22"',
            [("tls", 5, TIME, b"TLSv1.3", b"X"), ("authenticated", 5, TIME, b'cn=a"')],
        ),
        (b'CLIENT-CERTIFICATE conn=5 peerSubject="cn="a" b"', []),
        (
            b"DELETE RESULT " + NAMES + b'requesterIP="10.1.1.1" requesterDN="cn=a" dn="cn=b" resultCode=0 from="x"',
            [
                ("request", 1, 2, TIME, operation_kinds.DELETE, b"cn=b"),
                ("result", 1, OperationResult(2, TIME, operation_kinds.DELETE, 0, None, None)),
                ("identified", 1, TIME, b"10.1.1.1", b"cn=a"),
            ],
        ),
        (
            b"BIND REQUEST " + OF_SDK + b'requesterDN="cn=before" dn="" authType="SASL" saslMechanism="PLAIN"',
            [("bind", 1, 2, TIME, b"", b"PLAIN")],
        ),
        (b'SEARCH RESULT conn=-3 op=1 msgID=2 base="" scope=0 filter="(a=*)" resultCode=0', [("internal",)]),
    ],
)
def test_each_record(message: bytes, calls: list[tuple]) -> None:
    assert said(message) == calls


@pytest.mark.parametrize(
    "message",
    [
        b"INVALID",
        b'SEARCH REQUEST base="dc=b" scope=2 filter="(cn=x)"',
        b"SEARCH REQUEST conn=1 op=2 msgID=3",
        b'SEARCH RESULT conn=1 op=2 msgID=3 resultCode=0 message="cut',
        b'SEARCH REQUEST conn=1 op=2 base="dc=b" scope=2 filter="(cn=x',
        b"CONNECT conn=1",
        b"SEARCH RESULT conn=1 op=2 msgID=3 resultCode=0 qtime=999999999999999999",
        b"DISCONNECT conn=x",
        *(
            b"SEARCH RESULT conn=1 op=2 msgID=3 resultCode=0 %s" % duration
            for duration in (b"etime=1e999", b"etime=nan", b"qtime=-1", b"etime=1.0E99", b"etime=", b'etime="1"')
        ),
    ],
)
def test_a_cut_record_is_counted_as_misread(message: bytes) -> None:
    assert said(message) == [("misread", STAMP + message)]


@pytest.mark.parametrize(
    ("written", "nanoseconds"),
    [
        (b"0.123", 123_000), (b"0,123", 123_000), (b"12", 12_000_000), (b"4.5E-4", 450), (b"1.25E7", 12_500 * 10**9),
        (b"-999999.999999", None),
    ],
)  # fmt: skip
def test_a_duration_is_in_milliseconds(written: bytes, nanoseconds: int | None) -> None:
    ((name, *values),) = said(b"SEARCH RESULT conn=1 op=2 msgID=3 resultCode=0 etime=" + written)
    assert (name, values[1].etime) == ("result", nanoseconds)


@pytest.mark.parametrize("word", [b"SEARCH", b"BIND", b"ADD", b"DELETE", b"MODIFY", b"MODDN", b"COMPARE", b"EXTENDED"])
def test_requests_that_are_logged_too_count_once(word: bytes) -> None:
    """Log-requests adds a line, and leaves the one of the result as it is."""
    fields = NAMES + b'dn="uid=a" base="dc=b" scope=2 filter="(cn=x)" requestOID="1.2"'
    result = STAMP + word + b" RESULT " + fields + b" resultCode=0 etime=1\n"
    request = STAMP + word + b" REQUEST " + fields + b"\n"

    assert calls_of(ping_text.scan, request + result) == calls_of(ping_text.scan, result)


def test_a_new_startup_is_a_restart() -> None:
    line = b'[20/Nov/2026:08:58:03.250 +0000] UNBIND REQUEST instanceName="ds1" startupID="%s" conn=1 op=2\n'
    scan = Scan()
    ping_text.scan(line % b"A" + line % b"A" + line % b"B", scan)

    assert scan.finish().server_processes == 2


def test_hostile_requests_are_read_as_they_were_sent(captures: Path) -> None:
    data = (captures / "unboundid" / "access").read_bytes()
    calls = calls_of(ping_text.scan, data)

    assert ping_text.recognised(data)
    searches = {call[2]: call[4:] for call in calls if call[0] == "search"}
    assert searches.keys() == set(range(2, 15)) - {4, 12}, "a newline cut these two"
    assert searches[2] == (rb"ou=a\"\ scope=2 deref=0 filter=\"(x=y)\",dc=example,dc=com", 2, b"(cn=1)")
    assert searches[3] == (b'ou="quoted, x",dc=example,dc=com', 2, b"(cn=1)")
    assert searches[7][2] == b'(cn=x" attrs="y)'
    assert searches[8][2] == b'(cn=ends in quote")'
    assert searches[13][2] == b'(\x04\x10no"such" scope=0=*)'
    assert Counter(call[0] for call in calls)["result"] == 23 - 2
    assert [call[3] for call in calls if call[0] == "opened"] == [b"127.0.0.1"]


value = st.text(st.characters(exclude_characters='\n"#', codec="utf-8"), max_size=40).map(str.encode)


@given(value, value, value)
def test_any_quoted_value_is_read_back(base: bytes, text: bytes, message: bytes) -> None:
    line = b'SEARCH RESULT conn=1 op=2 base="%s" scope=1 filter="(%s)" message="%s" resultCode=3' % (
        base,
        text,
        message,
    )

    search, result = said(line)
    assert search[4:] == (base, 1, b"(" + text + b")")
    assert result[2].err == 3


@pytest.mark.parametrize(
    "message",
    [
        b'SEARCH RESULT conn=1 op=2 filter="' + b'(x)"y' * 200_000,
        b"SEARCH RESULT conn=1 op=2" + b" a=b" * 250_000 + b'"',
        b"SEARCH RESULT conn=1 op=2" + b' a="' * 250_000,
        b"SEARCH RESULT conn=1 op=2" + b' filter="' * 100_000 + b"x",
        b"SECURITY-NEGOTIATION" + b" a" * 500_000,
        b"A-" * 500_000,
    ],
)
def test_a_line_of_a_megabyte_costs_a_glance(message: bytes) -> None:
    begun = time.process_time()
    said(message)
    ping_text.recognised(STAMP + message)
    assert time.process_time() - begun < 2


def test_the_sdks_own_samples(corpus: Path) -> None:
    """Truth: corpus/public/README.md. Two of its records name no connection, and one is called INVALID."""
    calls = calls_of(ping_text.scan, (corpus / "public" / "accesslog" / "ping-summarize-text.access").read_bytes())

    count = Counter(call[0] for call in calls)
    assert (count["opened"], count["closed"], count["misread"]) == (2, 2, 3)
    results = Counter(result.kind for result in results_of(calls))
    assert (results[operation_kinds.SEARCH], results[operation_kinds.BIND]) == (6 - 1, 6)
    assert sum(result.notes == b"unindexed" for result in results_of(calls)) == 6 - 1


@pytest.mark.parametrize(
    "path", ["3-opendj-unindexed/access", "3-opendj-unindexed/access-combined", "1-389ds-unindexed/access"]
)
def test_relatives_are_not_recognised(corpus: Path, path: str) -> None:
    assert not ping_text.recognised((corpus / path).read_bytes()[:65536])
