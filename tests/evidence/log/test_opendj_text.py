"""OpenDJ's text access log, in pairs and combined: each record, what clients put into it, and the corpus."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log import opendj_text, operation_kinds
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.scan import Hints
from log.calls import Calls, calls_of

if TYPE_CHECKING:
    from pathlib import Path

STAMP = b"[20/Nov/2026:08:58:03 +0000] "
TIME = 1_795_165_083 * 10**9
MS = 10**6
STARTTLS, WHOAMI = b"1.3.6.1.4.1.1466.20037", b"1.3.6.1.4.1.4203.1.11.3"


def said(message: bytes) -> list[tuple]:
    """Return the calls for one message behind a stamp."""
    return calls_of(opendj_text.scan, STAMP + message + b"\n")


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        (
            b"CONNECT conn=3 from=10.1.1.1:60305 to=10.1.1.2:1389 protocol=LDAP",
            [("opened", 3, TIME, b"10.1.1.1", b"10.1.1.2:1389", ("secured", False))],
        ),
        (
            b"CONNECT conn=3 from=10.1.1.1:60305 to=10.1.1.2:1636 protocol=LDAPS",
            [("opened", 3, TIME, b"10.1.1.1", b"10.1.1.2:1636", ("secured", True))],
        ),
        (
            b"CONNECT conn=3 from=0:0:0:0:0:0:0:1:60305 to=0:0:0:0:0:0:0:1:1389 protocol=LDAP",
            [("opened", 3, TIME, b"0:0:0:0:0:0:0:1", b"0:0:0:0:0:0:0:1:1389", ("secured", False))],
        ),
        (b'DISCONNECT conn=3 reason="Client Unbind"', [("closed", 3, TIME, b"Client Unbind")]),
        (b'DISCONNECT conn=3 reason="I/O Error" msg="An "IO" error"', [("closed", 3, TIME, b"I/O Error")]),
        (
            b'DISCONNECT conn=-1 reason="Administrative Limit Exceeded"',
            [("refused", TIME, b"?", b"Administrative Limit Exceeded")],
        ),
        (
            b'DISCONNECT conn=3 reason="Connection Rejected" msg="Attempt from client 10.1.1.1:60305 to x"',
            [("refused", TIME, b"10.1.1.1", b"Connection Rejected")],
        ),
        (
            b'BIND REQ conn=3 op=0 msgID=1 version=3 type=SIMPLE dn="cn=a,dc=b"',
            [("bind", 3, 0, TIME, b"cn=a,dc=b", b"simple")],
        ),
        (
            b'BIND REQ conn=3 op=0 msgID=1 version=3 type=SASL mechanism=GSSAPI dn="" requestControls=1.2.3,4.5.6',
            [("bind", 3, 0, TIME, b"", b"GSSAPI")],
        ),
        (
            b'BIND RES conn=3 op=0 msgID=1 result=0 authDN="cn=a,dc=b" etime=23',
            [("result", 3, OperationResult(0, TIME, operation_kinds.BIND, 0, 23 * MS, account=b"cn=a,dc=b"))],
        ),
        (
            b'BIND RES conn=3 op=0 msgID=1 result=0 ssf=128 authDN="cn=a" authzDN="cn=b" etime=23',
            [("result", 3, OperationResult(0, TIME, operation_kinds.BIND, 0, 23 * MS, account=b"cn=a"))],
        ),
        (
            b'BIND RES conn=3 op=0 msgID=1 result=49 authFailureReason="no "x" here" authDN="cn=a" etime=2',
            [("result", 3, OperationResult(0, TIME, operation_kinds.BIND, 49, 2 * MS, account=None))],
        ),
        (
            b'SEARCH REQ conn=3 op=1 msgID=2 base="dc=b" scope=wholeSubtree filter="(cn=x)" attrs="ALL"',
            [("search", 3, 1, TIME, b"dc=b", 2, b"(cn=x)")],
        ),
        (
            b'SEARCH REQ conn=3 op=1 msgID=2 base="" scope=base filter="(a=x" attrs="y)" attrs="a" requestControls=1.2',
            [("search", 3, 1, TIME, b"", 0, b'(a=x" attrs="y)')],
        ),
        (
            b"SEARCH RES conn=3 op=1 msgID=2 result=0 nentries=7 etime=3",
            [("result", 3, OperationResult(1, TIME, operation_kinds.SEARCH, 0, 3 * MS, None, None, 7, b""))],
        ),
        (
            b'SEARCH RES conn=3 op=1 msgID=2 result=4 message="" nentries=9 etime=1" nentries=7 unindexed etime=3',
            [("result", 3, OperationResult(1, TIME, operation_kinds.SEARCH, 4, 3 * MS, None, None, 7, b"unindexed"))],
        ),
        (
            b'SEARCH RES conn=3 op=1 msgID=2 result=0 nentries=7 responseControls=1.2 unindexed authzDN="cn=a" etime=3',
            [("result", 3, OperationResult(1, TIME, operation_kinds.SEARCH, 0, 3 * MS, None, None, 7, b"unindexed"))],
        ),
        (
            b'SEARCH RES conn=3 op=1 msgID=2 result=0 nentries=7 authzDN="cn=a unindexed b" etime=3',
            [("result", 3, OperationResult(1, TIME, operation_kinds.SEARCH, 0, 3 * MS, None, None, 7, b""))],
        ),
        (
            b'SEARCH conn=3 op=1 msgID=2 base="dc=b" scope=one filter="(cn=x)" attrs="cn" result=0 nentries=1 etime=5',
            [
                ("search", 3, 1, TIME - 5 * MS, b"dc=b", 1, b"(cn=x)"),
                ("result", 3, OperationResult(1, TIME, operation_kinds.SEARCH, 0, 5 * MS, None, None, 1, b"")),
            ],
        ),
        (
            b'BIND conn=3 op=0 msgID=1 version=3 type=SIMPLE dn="cn=a" result=0 authDN="cn=a,dc=b" etime=23',
            [
                ("bind", 3, 0, TIME - 23 * MS, b"cn=a", b"simple"),
                ("result", 3, OperationResult(0, TIME, operation_kinds.BIND, 0, 23 * MS, account=b"cn=a,dc=b")),
            ],
        ),
        (
            b'MODIFY REQ conn=3 op=2 msgID=3 dn="x" result=9 etime=9',
            [("request", 3, 2, TIME, operation_kinds.MODIFY, b"x")],
        ),
        (
            b'ADD REQ conn=3 op=2 msgID=3 dn="cn=a"b,dc=x" requestControls=1.2',
            [("request", 3, 2, TIME, operation_kinds.ADD, b'cn=a"b,dc=x')],
        ),
        (
            b'COMPARE conn=3 op=2 msgID=3 transactionId=7 dn="cn=a" attr=sn result=5 etime=4',
            [
                ("request", 3, 2, TIME - 4 * MS, operation_kinds.COMPARE, b"cn=a"),
                ("result", 3, OperationResult(2, TIME, operation_kinds.COMPARE, 5, 4 * MS)),
            ],
        ),
        (
            b'EXTENDED conn=3 op=0 msgID=1 name="StartTLS" oid="1.3.6" name="StartTLS" oid="1.3.6" result=0 etime=4',
            [
                ("request", 3, 0, TIME - 4 * MS, operation_kinds.EXTENDED, b"1.3.6"),
                ("result", 3, OperationResult(0, TIME, operation_kinds.EXTENDED, 0, 4 * MS)),
            ],
        ),
        (
            b'EXTENDED REQ conn=3 op=0 msgID=1 oid="1.2.3"',
            [("request", 3, 0, TIME, operation_kinds.EXTENDED, b"1.2.3")],
        ),
        (
            b"MODIFY RES conn=3 op=2 msgID=3 result=0 etime=4",
            [("result", 3, OperationResult(2, TIME, operation_kinds.MODIFY, 0, 4 * MS))],
        ),
        (
            b'MODIFYDN conn=3 op=2 msgID=3 dn="x" newRDN="y" deleteOldRDN="true" result=50 message="no" etime=4',
            [
                ("request", 3, 2, TIME - 4 * MS, operation_kinds.MODRDN, b"x"),
                ("result", 3, OperationResult(2, TIME, operation_kinds.MODRDN, 50, 4 * MS)),
            ],
        ),
        (
            b'EXTENDED RES conn=3 op=2 msgID=3 name="Who" oid="1.2" result=0 authzID=\'dn:uid=a\' etime=4',
            [("result", 3, OperationResult(2, TIME, operation_kinds.EXTENDED, 0, 4 * MS))],
        ),
        (b"ABANDON REQ conn=3 op=4 msgID=5 idToAbandon=4", [("abandon", 3, 4, TIME, None)]),
        (b"ABANDON RES conn=3 op=4 msgID=5 result=118 etime=60", []),
        (b"ABANDON conn=3 op=4 msgID=5 idToAbandon=4 result=118 etime=60", [("abandon", 3, 4, TIME, None)]),
        (b"UNBIND REQ conn=3 op=5 msgID=6", [("unbind", 3, 5, TIME)]),
        (b'SEARCH REQ conn=-1 op=5 msgID=6 base="" scope=sub filter="(a=*)" attrs="ALL"', [("internal",)]),
        (b"SEARCH RES conn=-1 op=5 msgID=6 result=0 nentries=1 etime=1", []),
    ],
)
@pytest.mark.parametrize("ending", [b"", b"\r"])
def test_each_record(message: bytes, calls: list[tuple], ending: bytes) -> None:
    assert said(message + ending) == calls


@pytest.mark.parametrize(
    "message",
    [
        b'SEARCH REQ conn=3 op=1 msgID=2 base="dc=b" scope=sub filter="(cn=',
        b'SEARCH REQ conn=3 op=1 msgID=2 base="dc=b" scope=sideways filter="(cn=x)" attrs="ALL"',
        b"SEARCH RES conn=3 op=1 msgID=2 result=0 nentr",
        b"SEARCH RES conn=3 op=1 msgID=2",
        b"BIND RES conn=3 op=0 msgID=1 result=0 authDN=",
        b'BIND conn=3 op=0 msgID=1 version=3 type=SIMPLE dn="a" result=0 authDN="cn=root" etime=1" result=49 etime=1',
        b"MODIFY RES conn=3 op=2 msgID=3 res",
        b"MODIFY RES conn=3 op=2 msgID=3 result=0 etime=999999999999999999",
        b"CONNECT conn=4 from=127.0.0.1:49708",
        b"NONSENSE conn=4 op=1 msgID=2",
        b"INVALID",
    ],
)
def test_a_cut_or_forged_record_is_counted_as_misread(message: bytes) -> None:
    assert said(message) == [("misread", STAMP + message)]


def test_a_month_spelled_out_is_read_and_a_foreign_one_is_counted() -> None:
    """Report 280 of OpenDJ: the JVM writes months as its locale does."""
    line = b"[%s:11:44:32 +1000] UNBIND REQ conn=3 op=5 msgID=6"
    calls = calls_of(
        opendj_text.scan, b"\n".join([line % b"20/June/2023", line % "20/déc./2023".encode(), line % b"31/Feb/2023"])
    )

    assert calls[0] == ("unbind", 3, 5, 1_687_225_472 * 10**9)
    assert [call[0] for call in calls[1:]][:1] == ["misread"]


def test_the_resolution_of_a_finer_stamp_is_reported() -> None:
    calls = Calls(Hints())
    opendj_text.scan(b"[20/Nov/2026:08:58:03.250 +0000] UNBIND REQ conn=3 op=5 msgID=6\n\n# a comment\n", calls)

    assert calls.made == [
        ("clock", b"+0000"),
        ("resolution", MS),
        ("unbind", 3, 5, TIME + 250 * MS),
        ("passed_over", 2),
    ]
    assert calls.lines == 3


plain = st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=40).map(str.encode)
unquoted = plain.map(lambda text: text.replace(b'"', b"").replace(b"\\", b""))


@given(plain, plain, unquoted, st.sampled_from(["REQ", "combined"]))
def test_a_filter_may_hold_anything_but_its_own_end(base: bytes, text: bytes, attributes: bytes, form: str) -> None:
    half, result = (b"", b" result=0 nentries=3 etime=1") if form == "combined" else (b"REQ ", b"")
    message = b'SEARCH %sconn=3 op=1 msgID=2 base="%s" scope=sub filter="(%s)" attrs="%s"%s' % (
        half, base, text, attributes, result
    )  # fmt: skip

    assert said(message)[0][4:] == (base, 2, b"(" + text + b")")


@pytest.mark.parametrize(
    "message",
    [
        b'SEARCH RES conn=3 op=1 msgID=2 result=4 message="' + b'" nentries=1 x=""' * 60_000,
        b'SEARCH REQ conn=3 op=1 msgID=2 base="' + b'" scope=sub filter="' * 50_000,
        b'SEARCH conn=3 op=1 msgID=2 base="" scope=sub filter="' + b'" attrs="" result=0 nentries=1' * 40_000,
        b'SEARCH conn=3 op=1 msgID=2 base="" scope=sub filter="" attrs="" result=0 message="'
        + b" nentries=1 etime=1" * 50_000,
        b'MODIFY conn=3 op=1 msgID=2 dn="' + b" result=0" * 100_000,
        b'MODIFY REQ conn=3 op=1 msgID=2 dn="' + b'"  ' * 300_000,
        b'DISCONNECT conn=-1 reason="Connection Rejected" msg="' + b" from client " * 80_000,
        b'MODIFY conn=3 op=1 msgID=2 dn="' + b" result=0 etime=1" * 60_000 + b"x",
        b"BIND RES conn=3 op=1 msgID=2 result=0" + b" a=b" * 250_000,
        b'BIND conn=3 op=1 msgID=2 version=3 type=SIMPLE dn="' + b"\\" * 10**6,
        b"CONNECT conn=3 from=" + b":1" * 500_000,
    ],
)
def test_a_line_of_a_megabyte_costs_a_glance(message: bytes) -> None:
    begun = time.process_time()
    said(message)
    opendj_text.recognised(STAMP + message)
    assert time.process_time() - begun < 2


# -- the corpus


def test_pairs_and_combined_tell_the_same(corpus: Path) -> None:
    folder = corpus / "3-opendj-unindexed"
    pairs = calls_of(opendj_text.scan, (folder / "access").read_bytes())
    combined = calls_of(opendj_text.scan, (folder / "access-combined").read_bytes())

    assert opendj_text.recognised((folder / "access").read_bytes()[:65536])
    assert opendj_text.recognised((folder / "access-combined").read_bytes()[:65536])
    assert not [call for call in [*pairs, *combined] if call[0] == "misread"]
    results = [Counter(call for call in calls if call[0] == "result") for calls in (pairs, combined)]
    assert results[0] == results[1]
    searches = [
        Counter((call[1], call[2], *call[4:]) for call in calls if call[0] == "search") for calls in (pairs, combined)
    ]
    # The ten that were abandoned ended without a result, so the combined form does not know of them.
    assert {text for *_, text in searches[0] - searches[1]} == {b"(displayName=*abandon*)"}
    assert (searches[0] - searches[1]).total() == 10
    assert not searches[1] - searches[0]


def test_what_was_sent_is_what_was_read(corpus: Path) -> None:
    folder = corpus / "3-opendj-unindexed"
    calls = calls_of(opendj_text.scan, (folder / "access").read_bytes())
    sent = json.loads((folder / "groundtruth" / "ground_truth.json").read_text())

    requests = Counter(call[4] for call in calls if call[0] == "request")
    writes = sent["writes"]
    assert requests[operation_kinds.ADD] == sum(count for name, count in writes.items() if name.startswith("ADD"))
    assert requests[operation_kinds.DELETE] == writes["DEL rc=0"]
    assert requests[operation_kinds.MODRDN] == writes["MODRDN rc=0"]
    assert sum(call[0] == "abandon" for call in calls) == sent["raw"]["abandoned search (displayName=*abandon*)"]
    assert {call[5] for call in calls if call[0] == "request" and call[4] == operation_kinds.EXTENDED} == {
        STARTTLS,
        WHOAMI,
    }
    targets = Counter(call[5] for call in calls if call[0] == "request" and call[4] == operation_kinds.DELETE)
    assert set(targets) <= {
        b"uid=%b%03d,ou=people,dc=example,dc=com" % (name, number) for name in (b"new", b"ren") for number in range(40)
    }
    opened = Counter(call[3].decode() for call in calls if call[0] == "opened")
    for source, connections in sent["connections_by_source"].items():
        assert opened[source.split()[0].replace("::1", "0:0:0:0:0:0:0:1")] >= connections


def test_the_manuals_samples_are_read(corpus: Path) -> None:
    """Truth: corpus/public/README.md."""
    calls = calls_of(opendj_text.scan, (corpus / "public" / "accesslog" / "opendj-docs-joined.access").read_bytes())

    count = Counter(call[0] for call in calls)
    assert count == {"opened": 5, "closed": 5, "search": 6, "bind": 2, "request": 1, "unbind": 5, "result": 6 + 2 + 1}


@pytest.mark.parametrize(
    "name", ["ping-summarize-text.access", "389-3.1.1-ldapi-probes.access", "openldap-2.4-ossec.log"]
)
def test_relatives_are_not_recognised(corpus: Path, name: str) -> None:
    assert not opendj_text.recognised((corpus / "public" / "accesslog" / name).read_bytes()[:65536])
