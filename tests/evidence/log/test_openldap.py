"""slapd's log: every prefix it stands behind, what clients can put into it, and the corpus against what was sent."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log import operation_kinds
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.openldap import DIALECTS
from ldapdiag.evidence.log.scan import Hints
from log.calls import Calls, calls_of, results_of

if TYPE_CHECKING:
    from pathlib import Path

BY_NAME = {dialect.NAME: dialect for dialect in DIALECTS}
STDERR = BY_NAME["openldap-stderr"]
STAMP = b"6b000aac.1b749727 0x7f6ced7fe6c0 "
TIME = 0x6B000AAC * 10**9 + 0x1B749727


def said(message: bytes) -> list[tuple]:
    """Return the calls for one message behind slapd's own stamp."""
    return calls_of(STDERR.scan, STAMP + message + b"\n")


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            b"conn=7 fd=16 ACCEPT from IP=10.1.1.1:47236 (IP=0.0.0.0:389)",
            ("opened", 7, TIME, b"10.1.1.1", b"0.0.0.0:389"),
        ),
        (
            b"conn=7 fd=16 ACCEPT from IP=[2001:db8::1]:47236 (IP=[::]:389)",
            ("opened", 7, TIME, b"2001:db8::1", b"[::]:389"),
        ),
        (b"conn=7 fd=12 ACCEPT from PATH=/run/ldapi (PATH=/run/ldapi)", ("opened", 7, TIME, b"local", b"")),
        (b'conn=7 op=0 BIND dn="cn=a,dc=b" method=128', ("bind", 7, 0, TIME, b"cn=a,dc=b", b"simple")),
        (b'conn=7 op=0 BIND dn="" method=163', ("bind", 7, 0, TIME, b"", b"SASL")),
        (b'conn=7 op=0 BIND dn="" method=129', ("bind", 7, 0, TIME, b"", b"129")),
        (
            b'conn=7 op=0 BIND dn="cn=a,dc=b" mech=SIMPLE bind_ssf=0 ssf=0',
            ("bind_confirmed", 7, 0, TIME, b"cn=a,dc=b", b"simple"),
        ),
        (
            b'conn=7 op=1 BIND dn="cn=a,dc=b" mech=GSSAPI bind_ssf=56 ssf=56',
            ("bind_confirmed", 7, 1, TIME, b"cn=a,dc=b", b"GSSAPI"),
        ),
        (
            b"conn=7 fd=16 TLS established tls_ssf=256 ssf=256 tls_proto=TLSv1.3 tls_cipher=TLS_AES_256_GCM_SHA384",
            ("tls", 7, TIME, b"TLSv1.3", b"TLS_AES_256_GCM_SHA384"),
        ),
        (b"conn=7 fd=16 TLS established tls_ssf=128 ssf=128", ("tls", 7, TIME, b"TLS", b"128-bit")),
        (b"fd=127 DENIED from unknown (127.0.0.70)", ("refused", TIME, b"127.0.0.70", b"DENIED")),
        (
            b"daemon: accept(8) failed errno=24 (Too many open files)",
            ("refused", TIME, b"?", b"Too many open files"),
        ),
        (
            b"daemon: 1024 beyond descriptor table size 1024",
            ("refused", TIME, b"?", b"beyond descriptor table size"),
        ),
        (
            b'conn=7 op=1 SRCH base="dc=b" scope=2 deref=0 filter="(cn=x)"',
            ("search", 7, 1, TIME, b"dc=b", 2, b"(cn=x)"),
        ),
        (
            b"conn=7 op=1 SEARCH RESULT tag=101 err=4 qtime=0.000011 etime=12.005531 nentries=100 text=",
            (
                "result",
                7,
                OperationResult(1, TIME, operation_kinds.SEARCH, 4, 12_005_531_000, 11_000, 12_005_520_000, 100),
            ),
        ),
        (
            b"conn=7 op=1 SEARCH RESULT tag=101 err=0 nentries=1 text=",
            ("result", 7, OperationResult(1, TIME, operation_kinds.SEARCH, 0, None, None, None, 1)),
        ),
        (
            b"conn=7 op=0 RESULT tag=97 err=49 text=",
            ("result", 7, OperationResult(0, TIME, operation_kinds.BIND, 49, None, None, None, 0)),
        ),
        (
            b"conn=7 op=0 RESULT tag=97 err=0 qtime=-1.999990 etime=-1.999990 text=",
            ("result", 7, OperationResult(0, TIME, operation_kinds.BIND, 0, None, None, None, 0)),
        ),
        (
            b"conn=7 op=0 RESULT tag=97 err=0 qtime=0.000003 etime=0.000002 text=",
            ("result", 7, OperationResult(0, TIME, operation_kinds.BIND, 0, 2_000, 3_000, 0, 0)),
        ),
        (
            b"conn=7 op=0 RESULT oid= err=1 text=TLS already started",
            ("result", 7, OperationResult(0, TIME, operation_kinds.EXTENDED, 1, None, None, None, 0)),
        ),
        (
            b"conn=7 op=0 RESULT tag=99 err=1 text=",
            ("result", 7, OperationResult(0, TIME, operation_kinds.UNKNOWN, 1, None, None, None, 0)),
        ),
        (b'conn=7 op=2 MOD dn="dc=b"', ("request", 7, 2, TIME, operation_kinds.MODIFY, b"dc=b")),
        (b'conn=7 op=2 MODRDN dn="dc=b"', ("request", 7, 2, TIME, operation_kinds.MODRDN, b"dc=b")),
        (b'conn=7 op=2 ADD dn="dc=b"', ("request", 7, 2, TIME, operation_kinds.ADD, b"dc=b")),
        (b'conn=7 op=2 DEL dn="ou=a\\"b"', ("request", 7, 2, TIME, operation_kinds.DELETE, b'ou=a\\"b')),
        (b'conn=7 op=2 CMP dn="dc=b" attr="cn"', ("request", 7, 2, TIME, operation_kinds.COMPARE, b"dc=b")),
        (
            b"conn=7 op=2 EXT oid=1.3.6.1.4.1.1466.20037",
            ("request", 7, 2, TIME, operation_kinds.EXTENDED, b"1.3.6.1.4.1.1466.20037"),
        ),
        (b"conn=7 op=3 ABANDON msg=2", ("abandon", 7, 3, TIME, None)),
        (b"conn=7 op=4 UNBIND", ("unbind", 7, 4, TIME)),
        (b"conn=7 fd=16 closed", ("closed", 7, TIME, b"")),
        (b"conn=7 fd=16 closed (idletimeout)", ("closed", 7, TIME, b"idletimeout")),
        (b"conn=7 fd=16 closed (connection lost on write)", ("closed", 7, TIME, b"connection lost on write")),
        (b'conn=-1 op=0 SRCH base="dc=b" scope=2 deref=0 filter="(cn=x)"', ("internal",)),
        (b"<= mdb_equality_candidates: (displayName) not indexed", ("not_indexed", b"displayName", b"equality")),
        (
            b"<= bdb_substring_candidates: (cn;lang-fr) index_param failed (18)",
            ("not_indexed", b"cn;lang-fr", b"substring"),
        ),
        (b"@(#) $OpenLDAP: slapd 2.5.13+dfsg-5 (Feb  8 2023 01:56:12) $", ("server_started", TIME, b"2.5.13+dfsg-5")),
    ],
)
@pytest.mark.parametrize("ending", [b"", b" ", b"\r"])
def test_each_record_is_one_call(message: bytes, call: tuple, ending: bytes) -> None:
    assert said(message + ending) == [call]


@pytest.mark.parametrize(
    "message",
    [
        b"conn=7 op=1 SRCH attr=cn mail",
        b'conn=7 op=0 BIND authcid="a" authzid="b"',
        b"conn=7 op=0 BIND anonymous mech=implicit ssf=0",
        b"conn=7 op=0 STARTTLS",
        b"conn=7 op=0 PASSMOD new",
        b"conn=7 op=0 WHOAMI",
        b'conn=7 op=6 do_search: invalid dn: "not a dn"',
        b"conn=-1 op=0 SRCH attr=cn",
        b"daemon: accept(8) failed errno=103 (Software caused connection abort)",
        b"connection_input: conn=7 deferring operation: binding",
        b"slapd starting",
        b"    SUBSTRINGS",
        b"=> mdb_equality_candidates (cn)",
    ],
)
def test_what_is_of_no_use_is_passed_over(message: bytes) -> None:
    assert said(message) == []


@pytest.mark.parametrize(
    "message",
    [
        b"conn=999999 fd=64",
        b'conn=7 op=1 SRCH base="dc=b" scope=2 deref=0 filter="(cn=x',
        b'conn=7 op=1 SRCH base="dc=b" sco',
        b"conn=7 op=1 SEARCH RESULT tag=101 err=0 nent",
        b"conn=7 fd=16 clo",
        b'conn=7 op=1 MOD dn="cn=a,d',
        b"conn=7 op=1 SEARCH RESULT tag=101 err=0 qtime=0.000001 etime=1e999 nentries=1 text=",
        b"conn=7 op=1 SEARCH RESULT tag=101 err=0 qtime=0.000001 etime=9999999999.000000 nentries=1 text=",
        b"conn= op=1 UNBIND",
        b"conn=7 op=99999999999999999999 UNBIND",
    ],
)
def test_a_cut_line_is_counted_as_misread(message: bytes) -> None:
    assert said(message) == [("misread", STAMP + message)]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("openldap-stderr", STAMP),
        ("openldap-stderr", b"6b000aac "),
        ("openldap-container", b"openldap-0        | " + STAMP),
        ("openldap-container", b"\x1b[36mldap_1  |\x1b[0m " + STAMP),
        ("openldap-container", b"openldap-stack-ha " + STAMP),
        ("openldap-container", b"2026-11-20T08:54:04.460651123Z stderr F " + STAMP),
        ("openldap-container", b"2026-11-20T08:54:04.460651123Z " + STAMP),
        ("openldap-container", b"41:" + STAMP),
        ("openldap-syslog", b"Nov 20 08:54:04 vm slapd[3989]: "),
        ("openldap-syslog", b"<167>Nov 20 08:54:04 vm-64 slapd: "),
        ("openldap-syslog", b"Nov 20 08:54:04.460651 ldap.example.com openldap[3989]: "),
        ("openldap-syslog", b"Nov 20 08:54:04 sun slapd[3989]: [ID 848112 local4.debug] "),
        ("openldap-syslog", b"Nov 20 08:54:04 aix local4:debug slapd[3989]: "),
        ("openldap-syslog-iso", b"2026-11-20T08:54:04.460651+00:00 vm slapd[3989]: "),
        ("openldap-syslog-iso", b"2026-11-20T09:54:04+0100 vm slapd[3989]: "),
        ("openldap-syslog-iso", b"2026-11-20T08:54:04.460651123Z vm slapd[3989]: "),
        ("openldap-syslog-rfc5424", b"<167>1 2026-11-20T08:54:04.460651+00:00 vm slapd 3989 - -  "),
        ("openldap-syslog-rfc5424", b'<167>1 2026-11-20T08:54:04Z vm slapd - - [a b="\\]\\"x"][c] \xef\xbb\xbf'),
    ],
)
def test_each_prefix_is_recognised_by_one_dialect_alone(name: str, line: bytes) -> None:
    data = line + b"conn=7 op=3 UNBIND\n"

    assert [dialect.NAME for dialect in DIALECTS if dialect.recognised(b"some noise\n" + data)] == [name]
    ((call, conn, op, when),) = calls_of(BY_NAME[name].scan, data)
    assert (call, conn, op) == ("unbind", 7, 3)
    if name != "openldap-syslog":
        assert when // 10**9 == 0x6B000AAC


@pytest.mark.parametrize(
    "other",
    [
        b"[20/Nov/2026:08:45:20.752174125 +0000] conn=1 op=0 UNBIND\n",
        b"[20/Nov/2026:08:58:03 +0000] CONNECT conn=0 from=127.0.0.11:60305 to=127.0.0.1:13489 protocol=LDAP\n",
        b"Nov 20 08:54:04 vm sshd[1]: session opened\n",
        b"tcp 0 0 10.0.0.1:389 10.0.0.2:40000 ESTABLISHED\n",
        b"",
    ],
)
def test_other_texts_are_not_recognised(other: bytes) -> None:
    assert not [dialect.NAME for dialect in DIALECTS if dialect.recognised(other)]


# -- what a client can write

HOSTILE_SEARCHES = [
    (2, rb"ou=a\22 scope\3D2 deref\3D0 filter\3D\22(x\3Dy)\22,dc=example,dc=com", b"(cn=1)"),
    (3, rb"ou=quoted\2C x,dc=example,dc=com", b"(cn=1)"),
    (5, rb"ou=back\5C,dc=example,dc=com", b"(cn=1)"),
    (7, b"dc=example,dc=com", b'(cn=x" attrs="y)'),
    (8, b"dc=example,dc=com", b'(cn=ends in quote")'),
    (9, b"dc=example,dc=com", rb"(cn=new\0Aline\0D\0A6b000aac.1b749727 0x7f6ced7fe6c0 conn=1 fd=3 closed)"),
    (10, b"dc=example,dc=com", rb"(?cn=nul\00 esc\1B[31m del\7F \FF\FE)"),
    (11, b"dc=example,dc=com", b'(?c"n=1)'),
    (13, b"dc=example,dc=com", b'(?\x04\x10no"such" scope=0=*)'),
    (14, b"dc=example,dc=com", b'(?undefined;x-"y=1)'),
]
"""Operation, base and filter of what was sent, but for 4 and 12: their newline cut the line."""


def test_hostile_requests_are_read_as_they_were_sent(captures: Path) -> None:
    calls = calls_of(STDERR.scan, (captures / "openldap" / "hostile" / "slapd.stderr.log").read_bytes())

    searches = [(op, base, text) for name, _, op, _, base, _, text in (c for c in calls if c[0] == "search")]
    assert searches == HOSTILE_SEARCHES
    answered = [call[2].op for call in calls if call[0] == "result" and call[1] == 1000]
    assert answered == list(range(23))
    misread = [call[1].rpartition(b"0 ")[2] for call in calls if call[0] == "misread"]
    assert [line.split(b" ")[-1] for line in misread] == [
        b'base="ou=line', b'filter="(cn=1)"', b'filter="(?cn', b'x=1)"', b"4", b'4"'
    ]  # fmt: skip
    assert Counter(call[0] for call in calls if call[0] in {"opened", "closed"}) == {"opened": 2, "closed": 2}


dn_text = st.text(st.characters(min_codepoint=1, exclude_characters="\n"), max_size=40).map(
    lambda text: re.sub(r'["\\=]', lambda found: f"\\{ord(found[0]):02X}", text).encode("utf-8", "surrogatepass")
)
filter_text = st.binary(max_size=60).map(lambda text: b"(" + text.replace(b"\n", b"\\0A") + b")")


@given(dn_text, filter_text, st.integers(0, 10**18 - 1), st.integers(0, 3))
def test_any_search_slapd_prints_is_read_back(base: bytes, text: bytes, conn: int, scope: int) -> None:
    message = b'conn=%d op=1 SRCH base="%s" scope=%d deref=0 filter="%s"' % (conn, base, scope, text)

    assert said(message) == [("search", conn, 1, TIME, base, scope, text)]


@given(
    st.lists(
        st.sampled_from([b"conn=1 ", b"op=1 ", b'SRCH base="', b'"', b"\\", b" text=", STAMP, b"\n", b"\r", b" ", b"x"])
    )
)
def test_every_line_is_counted_and_accounted_for(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    calls = Calls(Hints())
    STDERR.scan(data, calls)

    passed_over = sum(call[1] for call in calls.made if call[0] == "passed_over")
    actual = [call for call in calls.made if call[0] not in {"clock", "resolution", "passed_over"}]
    assert calls.lines == len(data.splitlines() if b"\r" not in data else data.replace(b"\r", b"x").splitlines())
    assert passed_over + len(actual) == calls.lines


@pytest.mark.parametrize(
    "line",
    [
        b'conn=1 op=1 SRCH base="' + b'"' * 10**6,
        b'conn=1 op=1 SRCH base="" scope=2 deref=0 filter="' + b'" ' * (5 * 10**5) + b"x",
        b'conn=1 op=1 SRCH base="' + b"\\" * 10**6,
        b"conn=1 op=1 RESULT tag=97 err=0 " + b" " * 10**6,
        b"im" + b":" * 10**6,
        b"<= mdb_" + b"a" * 10**6,
    ],
)
def test_a_line_of_a_megabyte_costs_a_glance(line: bytes) -> None:
    for dialect, stamp in ((STDERR, STAMP), (BY_NAME["openldap-syslog"], b"Nov 20 08:54:04 vm slapd[3989]: ")):
        begun = time.process_time()
        calls_of(dialect.scan, stamp + line + b"\n")
        dialect.recognised(stamp + line)
        assert time.process_time() - begun < 2


# -- the corpus


def requested(calls: list[tuple]) -> Counter[int]:
    """Return how many requests there are of each kind."""
    of_call = {
        "search": operation_kinds.SEARCH,
        "bind": operation_kinds.BIND,
        "unbind": operation_kinds.UNBIND,
        "abandon": operation_kinds.ABANDON,
    }
    return Counter(
        call[4] if call[0] == "request" else of_call[call[0]] for call in calls if call[0] in {*of_call, "request"}
    )


def test_four_tellings_of_one_run_are_one_story(corpus: Path) -> None:
    folder = corpus / "2-openldap-unindexed"
    tellings = {
        "openldap-stderr": "slapd.stderr.log",
        "openldap-syslog": "syslog-traditional.log",
        "openldap-syslog-iso": "syslog-iso.log",
        "openldap-syslog-rfc5424": "syslog-rfc5424.head1500.log",
    }
    stories = {}
    for name, file in tellings.items():
        data = (folder / file).read_bytes()
        assert [dialect.NAME for dialect in DIALECTS if dialect.recognised(data[:65536])] == [name]
        stories[name] = [timeless(call) for call in calls_of(BY_NAME[name].scan, data)]

    # Two threads write to stderr and to syslog in another order.
    assert stories["openldap-syslog"] == stories["openldap-syslog-iso"]
    assert Counter(stories["openldap-syslog"]) == Counter(stories["openldap-stderr"])
    head = stories["openldap-syslog-rfc5424"]
    assert len(head) > 1000
    assert head == stories["openldap-syslog-iso"][: len(head)]


def timeless(call: tuple) -> tuple:
    """Return a call without its time, which some forms have with a coarser resolution."""
    if call[0] == "result":
        return (*call[:2], call[2]._replace(time=0))
    place = {"opened": 2, "tls": 2, "closed": 2, "server_started": 1}.get(call[0], 3)
    return call[:place] + call[place + 1 :]


def test_what_was_sent_is_what_was_read(corpus: Path) -> None:
    folder = corpus / "2-openldap-unindexed"
    calls = calls_of(STDERR.scan, (folder / "slapd.stderr.log").read_bytes())
    sent = json.loads((folder / "groundtruth" / "ground_truth.json").read_text())

    assert not [call for call in calls if call[0] == "misread"]
    literal = Counter(call[6].lower() for call in calls if call[0] == "search")
    for tag in ("A3-displayname-eq", "A1-quickr-or", "A2-and-displayname-eq"):
        assert sent["searches"][tag]["sent"] > 0
        assert literal[sent["searches"][tag]["example"].lower().encode()] > 0
    opened = Counter(call[3].decode() for call in calls if call[0] == "opened")
    for source, connections in sent["connections_by_source"].items():
        address, _, protocol = source.partition(" ")
        assert opened[address] >= connections, protocol
    assert Counter(call[3] for call in calls if call[0] == "closed")[b"idletimeout"] == 12
    assert requested(calls)[operation_kinds.ABANDON] == 10


def test_the_refused_are_no_connections(captures: Path) -> None:
    folder = captures / "openldap" / "fd-exhaustion"
    for name, file in (("openldap-stderr", "slapd.stderr.log"), ("openldap-syslog", "syslog-traditional.log")):
        calls = calls_of(BY_NAME[name].scan, (folder / file).read_bytes())

        assert Counter(call[0] for call in calls if call[0] in {"opened", "closed"}) == {"opened": 114, "closed": 114}
        assert not [call for call in calls if call[0] == "misread"]


@pytest.mark.parametrize(
    ("written", "nanoseconds"), [(b"0.5", 500_000_000), (b"12.0000000019", None), (b"3.000000019", 3_000_000_019)]
)
def test_a_duration_has_one_to_nine_decimals(written: bytes, nanoseconds: int | None) -> None:
    calls = said(b"conn=1 op=2 RESULT tag=103 err=0 qtime=0.000022 etime=%b text=" % written)

    assert [result.etime for result in results_of(calls)] == ([] if nanoseconds is None else [nanoseconds])
