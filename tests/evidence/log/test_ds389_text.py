"""The access log of 389-ds as text: each era's lines, what clients can put into them, and real logs."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log import ds389_text
from ldapdiag.evidence.log.operation_kinds import ADD, BIND, COMPARE, DELETE, EXTENDED, MODIFY, MODRDN, SEARCH
from log.calls import Calls, calls_of, results_of

CAPTURES = Path(__file__).parents[2] / "captures"
STAMP, TIME = b"[20/Nov/2026:08:45:20.751921248 +0000] ", 1795164320_751921248
CLEAR, SECURED = ("secured", False), ("secured", True)
ANSWERED = b"err=0 tag=101 nentries=1"


def said(message: bytes, stamp: bytes = STAMP) -> list[tuple]:
    """Return the calls for one line."""
    return calls_of(ds389_text.scan, stamp + message + b"\n")


LINES = {
    b"fd=64 slot=64 connection from 10.1.1.1 to 10.1.1.2": ("opened", 7, TIME, b"10.1.1.1", b"10.1.1.2", CLEAR),
    b"fd=64 slot=64 SSL connection from ::1 to ::1": ("opened", 7, TIME, b"::1", b"::1", SECURED),
    b"fd=64 slot=64 connection from local to /run/slapd-x.socket": ("opened", 7, TIME, b"local", b"", CLEAR),
    b"fd=64 slot=64 connection from unknown to 10.1.1.2": ("opened", 7, TIME, b"unknown", b"10.1.1.2", CLEAR),
    b"fd=64 HAProxy new_address_from=10.9.9.9 to new_address_dest=10.1.1.2": ("proxied_client", 7, TIME, b"10.9.9.9"),
    b'AUTOBIND dn="cn=Directory Manager"': ("authenticated", 7, TIME, b"cn=Directory Manager"),
    b"TLS1.2 client bound as uid=joe,dc=x": ("authenticated", 7, TIME, b"uid=joe,dc=x"),
    b"SSL client bound as uid=joe,dc=x": ("authenticated", 7, TIME, b"uid=joe,dc=x"),
    b"TLS1.3 256-bit AES-GCM": ("tls", 7, TIME, b"TLS1.3", b"256-bit AES-GCM"),
    b"TLS1.0 128-bit RC4; client CN=x; issuer CN=y client bound as z": ("tls", 7, TIME, b"TLS1.0", b"128-bit RC4"),
    b"SSL 256-bit AES": ("tls", 7, TIME, b"SSL", b"256-bit AES"),
    b'op=0 BIND dn="uid=joe,dc=x" method=128 version=3': ("bind", 7, 0, TIME, b"uid=joe,dc=x", b"simple"),
    b'op=0 BIND dn="cn=a" method=sasl version=3 mech=X" method=128 version=3': (
        "bind", 7, 0, TIME, b'cn=a" method=sasl version=3 mech=X', b"simple",
    ),
    b'op=0 BIND dn="" method=sasl version=3 mech=GSSAPI': ("bind", 7, 0, TIME, b"", b"GSSAPI"),
    b'op=0 BIND dn="" method=sasl version=3 mech=EXTERNAL, no certificate': ("bind", 7, 0, TIME, b"", b"EXTERNAL"),
    b'op=0 BIND dn="" method=sasl': ("bind", 7, 0, TIME, b"", b"SASL"),
    b'op=0 BIND dn="" method=129 version=2': ("bind", 7, 0, TIME, b"", b"129"),
    b"op=3 UNBIND": ("unbind", 7, 3, TIME),
    b"op=3 UNBIND, decoding error: not a NULL": ("unbind", 7, 3, TIME),
    b'op=1 SRCH base="dc=x" scope=2 filter="(cn=a)" attrs=ALL': ("search", 7, 1, TIME, b"dc=x", 2, b"(cn=a)"),
    b'op=1 SRCH base="" scope=0 filter="(cn=a)" attrs="cn sn" options=persistent authzid="dn"': (
        "search", 7, 1, TIME, b"", 0, b"(cn=a)",
    ),
    b'op=1 SRCH base="dc=x" scope=2 filter="(cn=a)"': ("search", 7, 1, TIME, b"dc=x", 2, b"(cn=a)"),
    b'op=1 SRCH base="dc=x" scope=2 filter="(cn=a", Bad search filter': ("search", 7, 1, TIME, b"dc=x", 2, b"(cn=a"),
    b'op=2 ADD dn="cn=a,dc=x"': ("request", 7, 2, TIME, ADD, b"cn=a,dc=x"),
    b'op=2 MOD dn="cn=a,dc=x"': ("request", 7, 2, TIME, MODIFY, b"cn=a,dc=x"),
    b'op=2 MOD dn="cn="Doe, Joe",dc=x"': ("request", 7, 2, TIME, MODIFY, b'cn="Doe, Joe",dc=x'),
    b'op=2 MOD dn="cn=a", no such "entry"': ("request", 7, 2, TIME, MODIFY, b"cn=a"),
    b'op=2 MOD dn="cn=cut': ("request", 7, 2, TIME, MODIFY, b"cn=cut"),
    b'op=2 DEL dn="cn=a,dc=x" authzid="cn=b"': ("request", 7, 2, TIME, DELETE, b"cn=a,dc=x"),
    b'op=2 MODRDN dn="cn=a" newrdn="cn=b" newsuperior="(null)"': ("request", 7, 2, TIME, MODRDN, b"cn=a"),
    b'op=2 CMP dn="cn=a,dc=x" attr="sn"': ("request", 7, 2, TIME, COMPARE, b"cn=a,dc=x"),
    b'op=2 EXT oid="1.3.6.1.4.1.1466.20037" name="startTLS"': (
        "request", 7, 2, TIME, EXTENDED, b"1.3.6.1.4.1.1466.20037",
    ),
    b'op=2 EXT oid="1.3.6.1.4.1.4203.1.11.3"': ("request", 7, 2, TIME, EXTENDED, b"1.3.6.1.4.1.4203.1.11.3"),
    b"op=4 ABANDON targetop=3 msgid=4 nentries=0 etime=0.0000091731": ("abandon", 7, 4, TIME, 3),
    b"op=4 ABANDON targetop=NOTFOUND msgid=4": ("abandon", 7, 4, TIME, None),
    b"op=4 ABANDON targetop=Simple Paged Results msgid=4": ("abandon", 7, 4, TIME, None),
    b"op=4 ABANDON targetop=SUPPRESSED-BY-PLUGIN msgid=4": ("abandon", 7, 4, TIME, None),
    b"op=5 fd=64 closed - U1": ("closed", 7, TIME, b"U1"),
    b"op=-1 fd=64 closed error 104 (Connection reset by peer) - B1": ("closed", 7, TIME, b"B1"),
    b"op=-1 fd=64 closed error - B1": ("closed", 7, TIME, b"B1"),
    b"op=-1 fd=64 closed Idle timeout (nsslapd-idletimeout) - T1": ("closed", 7, TIME, b"T1"),
    b"op=-1 fd=64 closed": ("closed", 7, TIME, b""),
    b"op=-1 fd=64 Disconnect - Operation canceled - Connection aborted - A1": ("closed", 7, TIME, b"A1"),
    b"op=-1 fd=64 Disconnect - Connection reset by peer - TCP connection reset by peer.": (
        "closed", 7, TIME, b"reset",
    ),
    b"op=-1 fd=64 Disconnect - Encountered end of file.": ("closed", 7, TIME, b"Encountered end of file."),
    b'(Internal) op=0(1)(1) SRCH base="dc=x" scope=0 filter="(cn=*)" attrs=ALL': ("internal",),
}  # fmt: skip


@pytest.mark.parametrize("message", LINES)
def test_each_line_is_one_call(message: bytes) -> None:
    assert said(b"conn=7 " + message) == [LINES[message]]
    assert said(b"conn=7 " + message + b"\r") == [LINES[message]]


PASSED_OVER = (
    b"conn=7 TLS1.3 failed to map client certificate to LDAP DN (text)",
    b"conn=7 SSL failed to obtain channel info; Netscape Portable Runtime error -8023 (text)",
    b"conn=7 op=1 SORT",
    b"conn=7 op=1 VLV 0:2:6990:1320 1320:1320",
    b'conn=7 op=1 ENTRY dn="cn=a,dc=x"',
    b"conn=7 op=1 REFERRAL",
    b"conn=7 op=1 STAT read index: duration 0.000011687",
    b"conn=7 op=1 STAT read index: attribute=cn key(eq)=x --> count 1 (duration 0.1) x",
    b"conn=7 (Internal) op=0(1)(1) STAT read index: attribute=cn key(eq)=x --> count 1",
    b'conn=7 op=1 SESSION "x"',
    b"conn=7 op=1 UNPROCESSED OPERATION - need new password",
    b"conn=7 op=1 RESULT err=0 tag=48 nentries=1 etime=0.000000001",
    b"conn=7 (Internal) op=0(1)(1) RESULT err=0 tag=48 nentries=1 etime=0.001414865",
    b"conn=Internal(0) op=0(1)(1) RESULT err=0 tag=48 nentries=0 etime=0.009761385",
)


@pytest.mark.parametrize("message", PASSED_OVER)
def test_lines_of_no_use_are_understood(message: bytes) -> None:
    calls = Calls(None)
    ds389_text.scan(STAMP + message + b"\n", calls)
    assert [made for made in calls.made if made[0] not in {"clock", "resolution"}] == [("passed_over",)]
    assert calls.lines == 1


@pytest.mark.parametrize(
    "message",
    [
        b'conn=Internal(0) op=0(1)(1) SRCH base="dc=x" scope=2 filter="(cn=a)" attrs=ALL',
        b'conn=Internal op=-1 MOD dn="cn=a"',
        b'conn=Internal  SRCH base="dc=x" scope=2 filter="(cn=a)" attrs=ALL',
    ],
)
def test_internal_operations_are_counted_apart(message: bytes) -> None:
    assert said(message) == [("internal",)]


HOSTILE_SEARCHES = {
    b'base="dc=x" scope=2 filter="(cn=a"b\\28c\\29)" attrs="1.1"': (b"dc=x", 2, b'(cn=a"b\\28c\\29)'),
    b'base="dc=x" scope=2 filter="(cn=x" notes=A details="y)" attrs="1.1"': (b"dc=x", 2, b'(cn=x" notes=A details="y)'),
    b'base="dc=x" scope=2 filter="(cn=x" attrs="y)" attrs="1.1"': (b"dc=x", 2, b'(cn=x" attrs="y)'),
    b'base="dc=x" scope=2 filter="(cn=" scope=0 filter="(a=b)" attrs=ALL': (b"dc=x", 2, b'(cn=" scope=0 filter="(a=b)'),
    b'base="cn="x",dc=x" scope=1 filter="(cn=a)" attrs="a"b c"': (b'cn="x",dc=x', 1, b"(cn=a)"),
}


@pytest.mark.parametrize("text", HOSTILE_SEARCHES)
def test_quotes_do_not_end_a_field(text: bytes) -> None:
    assert said(b"conn=7 op=1 SRCH " + text) == [("search", 7, 1, TIME, *HOSTILE_SEARCHES[text])]


MISREAD = (
    b"conn=7 op=1",
    b"conn=7 op=1 ",
    b"conn=7 op=1 RESULT err=0 tag=10",
    b'conn=7 op=1 SRCH base="dc=x" scope=2 filt',
    b'conn=7 op=1 BIND dn="cn=a',
    b"conn=99999999999999999999 op=1 UNBIND",
    b"conn=x op=1 UNBIND",
    b"conn=7 op=1 DANCE",
    b"conn=7 was closed",
)


@pytest.mark.parametrize("message", MISREAD)
def test_a_line_that_fits_no_rule_is_counted_and_kept(message: bytes) -> None:
    [call] = said(message)
    assert call[0] == "misread"
    assert message in call[1]


STAMPS = {
    b"[20/Nov/2026:08:45:20 +0000] ": 1795164320 * 10**9,
    b"[20/Nov/2026:08:45:20.75 +0000] ": 1795164320 * 10**9 + 750_000_000,
    b"[20/Nov/2026:08:45:20.751921Z] ": 1795164320 * 10**9 + 751_921_000,
    b"[20/Nov/2026:03:45:20.751921248 -0500] ": TIME,
    b"[20/November/2026:08:45:20.751921248 +0000] ": TIME,
    b"ldap_1     | [20/Nov/2026:08:45:20.751921248 +0000] ": TIME,
}


@pytest.mark.parametrize("stamp", STAMPS)
def test_the_stamp_of_each_era(stamp: bytes) -> None:
    assert said(b"conn=7 op=3 UNBIND", stamp) == [("unbind", 7, 3, STAMPS[stamp])]


def test_zone_and_resolution_are_reported() -> None:
    calls = Calls(None)
    ds389_text.scan(b"[27/Apr/2015:13:16:35 -0400] conn=1 op=1 UNBIND\n", calls)
    assert {("clock", b"-0400"), ("resolution", 10**9)} <= set(calls.made)


def test_a_stamp_that_is_no_time_is_no_record() -> None:
    [call] = said(b"conn=7 op=3 UNBIND", b"[32/Nov/2026:08:45:20.751921248 +0000] ")
    assert call[0] == "misread"


def test_the_header_names_the_server() -> None:
    header = b"\t389-Directory/2.3.1 B2025.016.1616\n\tlocalhost:389 (/etc/dirsrv/slapd-x)\n\n"
    assert calls_of(ds389_text.scan, header) == [
        ("header", b"", b"389-Directory/2.3.1 B2025.016.1616"),
        ("header", b"localhost:389 (/etc/dirsrv/slapd-x)", b""),
    ]


HOSTILE = {
    "a base of quotes": b'conn=7 op=1 SRCH base="' + b'" scope=2' * 100_000,
    "a filter of quotes": b'conn=7 op=1 SRCH base="" scope=2 filter="' + b'"' * 1_000_000,
    "attributes": b'conn=7 op=1 SRCH base="" scope=2 filter="' + b'" attrs' * 150_000,
    "filters": b'conn=7 op=1 SRCH base="' + b'" scope=2 filter="' * 60_000,
    "session ids": b"conn=7 op=1 RESULT " + ANSWERED + b" etime=0" + b' sid="x" pr_idx=0 pr_cookie=0' * 40_000 + b"x",
    "notes": b"conn=7 op=1 RESULT " + ANSWERED + b" etime=0" + b' sid="" notes=P details="x" pr_idx=0' * 30_000,
    "accounts": b"conn=7 op=1 RESULT err=0 tag=97 nentries=0 etime=0" + b' dn="x' * 200_000,
    "binds": b'conn=7 op=1 BIND dn="' + b'" method' * 150_000,
    "dashes": b"conn=7 op=1 fd=3 Disconnect" + b" - " * 300_000,
    "digits": b"conn=" + b"7" * 1_000_000,
    "blanks": b" " * 1_000_000,
}


@pytest.mark.parametrize("message", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_line_is_one_line(message: bytes) -> None:
    """A grammar that backtracks does not come back from one of these."""
    assert len(said(message)) == 1
    assert len(said(message, b"")) <= 1


@given(st.lists(st.binary(max_size=60) | st.sampled_from([STAMP + b"conn=7 " + line for line in LINES])))
def test_any_lines_are_all_accounted_for(lines: list[bytes]) -> None:
    data = b"".join(line.replace(b"\n", b"") + b"\n" for line in lines)
    calls = Calls(None)
    ds389_text.scan(data, calls)
    actual = Counter(made[0] for made in calls.made if made[0] not in {"clock", "resolution", "header"})
    assert calls.lines == len(lines) == actual.total()


@given(st.data())
def test_a_log_cut_between_lines_gives_the_same_calls(data: st.DataObject) -> None:
    lines = (CAPTURES / "389ds" / "hostile-filters" / "access").read_bytes().splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines)))
    left, right = b"".join(lines[:at]), b"".join(lines[at:])
    scan = ds389_text.scan
    assert calls_of(scan, left) + calls_of(scan, right) == calls_of(scan, left + right)


def counted(data: bytes) -> Counter[str]:
    """Return how often each call is made."""
    return Counter(made[0] for made in calls_of(ds389_text.scan, data))


def test_hostile_clients_forge_nothing() -> None:
    """26 clients each sent a bind, a search and an unbind; one base and one bind DN tore their lines."""
    data = (CAPTURES / "389ds" / "hostile-filters" / "access").read_bytes()
    assert ds389_text.recognised(data)
    assert counted(data) == {
        "header": 2, "opened": 26, "bind": 25, "search": 25, "result": 52, "unbind": 26, "closed": 26, "misread": 6,
    }  # fmt: skip
    results = results_of(calls_of(ds389_text.scan, data))
    assert Counter(result.kind for result in results) == {BIND: 26, SEARCH: 26}
    assert max(result.etime or 0 for result in results) < 10 * 10**9, "the forged lines say 99 seconds"


TRUTHS = {
    "389-1.2-forum-2011.access": {"opened": 2, "closed": 2, "bind": 2, "search": 5, "result": 7, "unbind": 1},
    "389-1.2-wiki-audit-events.access": {
        "opened": 8, "closed": 5, "bind": 12, "search": 6, "result": 18, "unbind": 4, "sorting": 4,
    },
    "389-1.2.11-rhel6-insights.access": {"header": 2, "opened": 2, "closed": 1, "search": 3, "result": 3},
    "389-1.3-wiki-console-login.access": {
        "opened": 5, "closed": 6, "bind": 6, "search": 4, "result": 11, "unbind": 5,
    },
    "389-1.3.5-wiki-hires.access": {"closed": 2},
    "389-1.3.6-wiki-replication.access": {"opened": 1, "bind": 1, "request": 4, "result": 5},
    "389-1.4-wiki-logging-perf.access": {"bind": 1, "search": 1, "result": 20},
    "389-1.4.3-wiki-wtime.access": {"search": 2, "result": 2},
    "389-1.4.3-freeipa-2020.access": {"opened": 2, "closed": 2, "search": 2, "result": 2},
    "389-1.4-dvtirol-readme.access": {"opened": 1, "closed": 1, "bind": 1, "search": 1, "result": 2},
    "389-2.3-wiki-stat.access": {"search": 2, "result": 2, "index_lookup": 5},
    "389-2.x-wiki-ds-basics.access": {
        "opened": 1, "closed": 1, "bind": 3, "authenticated": 1, "search": 3, "result": 6, "unbind": 1, "sorting": 4,
    },
    "389-3.1.1-ldapi-probes.access": {
        "header": 2, "opened": 160, "closed": 159, "bind": 160, "authenticated": 160, "search": 160, "result": 478,
        "unbind": 159, "request": 159,
    },
    "389-3.1.1-ldapi-probes-tail.access": {
        "opened": 39, "closed": 41, "bind": 40, "authenticated": 40, "search": 40, "result": 120,
        "unbind": 40, "request": 40,
    },
    "389-3.x-wiki-session-id.access": {"search": 6, "result": 6},
    "389-theoweiss-comprehensive.access": {
        "opened": 5, "closed": 3, "bind": 5, "search": 2, "request": 2, "result": 10, "unbind": 1},
    "389-theoweiss-test.access": {"closed": 1, "bind": 1, "search": 1, "result": 2},
}  # fmt: skip
"""The content by corpus/public/README.md, and by grep where that has no number."""


@pytest.mark.parametrize("name", TRUTHS)
def test_public_logs_of_every_era(corpus: Path, name: str) -> None:
    data = (corpus / "public" / "accesslog" / name).read_bytes()
    assert ds389_text.recognised(data)
    assert counted(data) == TRUTHS[name]


def test_a_whole_run_is_understood(corpus: Path) -> None:
    """corpus/README.md, 1: 173 opened, 173 closed; 10 searches abandoned; each line has a rule."""
    data = (corpus / "1-389ds-unindexed" / "access").read_bytes()
    made = calls_of(ds389_text.scan, data)
    found = Counter(call[0] for call in made)
    assert (found["opened"], found["closed"], found["abandon"], found["misread"]) == (173, 173, 10, 0)
    assert Counter(call[3] for call in made if call[0] == "closed") == {
        b"U1": 130, b"B1": 22, b"T1": 12, b"reset": 5, b"B2": 2, b"Encountered end of file.": 2,
    }  # fmt: skip
    noted = Counter(result.notes for result in results_of(made) if result.kind == SEARCH)
    assert (noted[b"A"], noted[b"P,A"], noted[b"U,P"], noted[b"U"], noted[b"F"]) == (419, 4, 12, 79, 8)


def test_rotated_files_hold_what_was_sent(corpus: Path) -> None:
    """The load came from 127.0.0.60 to 65; one more connection is the administrator's."""
    folder = corpus / "7-traps" / "389-rotation-gzip"
    sent = json.loads((folder / "sent.json").read_text())["total"]
    files = [gzip.decompress(path.read_bytes()) for path in sorted(folder.glob("access.*.gz"))]
    made = calls_of(ds389_text.scan, b"".join([*files, (folder / "access").read_bytes()]))
    opened = [call for call in made if call[0] == "opened" and call[3].startswith(b"127.0.0.6")]
    unindexed = [result for result in results_of(made) if result.notes == b"A"]
    found = Counter(call[0] for call in made)
    assert (len(opened), len(unindexed)) == (sent["conn"], sent["slow"])
    assert (found["search"], found["misread"]) == (sent["slow"] + sent["fast"], 0)


def test_other_servers_logs_are_not_taken() -> None:
    assert not ds389_text.recognised(STAMP + b'conn=7 op=0 msgId=1 - BIND dn="" method=128 version=3\n')
    assert not ds389_text.recognised(STAMP + b"CONNECT conn=0 from=127.0.0.11:60305 to=127.0.0.1:389 protocol=LDAP\n")
    assert not ds389_text.recognised(STAMP + b"- NOTICE - main - conn=1 op=1 is mentioned\n")
    assert not ds389_text.recognised(b"6b000aac.1b749727 0x7f6ced7fe6c0 conn=7 op=1 UNBIND\n")
