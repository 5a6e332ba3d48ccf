"""Lines of journalctl become lines of syslog with a time that is right or none."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.log.envelopes import envelopes_of
from ldapdiag.evidence.log.line_envelopes import CRI, REWRITTEN, SHORT_FULL, SHORT_UNIX, TOOL

MESSAGE = b" vm slapd[7]: conn=1000 op=1 UNBIND"


@pytest.mark.parametrize(
    ("zone", "offset"),
    [(b"UTC", b"+00:00"), (b"CEST", b"+02:00"), (b"EST", b"-05:00"), (b"+03", b"+0300"), (b"-0330", b"-0330")],
)
def test_short_full_has_the_offset_of_its_zone(zone: bytes, offset: bytes) -> None:
    piece = SHORT_FULL.piece(b"Fri 2026-11-20 09:00:00.123456 " + zone + MESSAGE)

    assert piece
    assert piece.text == b"2026-11-20T09:00:00.123456" + offset + MESSAGE


@pytest.mark.parametrize("zone", [b"CST", b"IST", b"PST"])
def test_an_abbreviation_of_several_zones_gives_no_time(zone: bytes) -> None:
    assert SHORT_FULL.piece(b"Fri 2026-11-20 09:00:00 " + zone + MESSAGE) is None


def test_short_unix_has_seconds_since_1970() -> None:
    piece = SHORT_UNIX.piece(b"1795165200.000042" + MESSAGE)

    assert piece
    assert piece.text == b"2026-11-20T09:00:00.000042+00:00" + MESSAGE


def test_cri_names_the_stream_and_whether_the_line_goes_on() -> None:
    part = CRI.piece(b"2026-11-20T09:00:00.1Z stderr P a ")
    end = CRI.piece(b"2026-11-20T09:00:00.1+01:00 stderr F:x b")

    assert part == (b"a ", None, b"stderr", True)
    assert end == (b"b", None, b"stderr", False)


@pytest.mark.parametrize(
    ("line", "writer"),
    [
        (b"ds-1  | [20/Nov/2026:09", b"ds-1"),
        (b"\x1b[36mds-1  |\x1b[0m [20/Nov/2026:09", b"ds-1"),
        (b"[pod/ds-0/ds] [20/Nov/2026:09", b"ds-0/ds"),
        (b"ds-0 ds [20/Nov/2026:09", b"ds-0 ds"),
    ],
)
def test_tools_name_the_container(line: bytes, writer: bytes) -> None:
    assert TOOL.piece(line) == (b"[20/Nov/2026:09", (writer, b""), b"", False)


@pytest.mark.parametrize(
    "line",
    [
        b"[20/Nov/2026:08:45:20.752174123 +0000] conn=1 op=1 UNBIND\n",
        b"6b000aac.1b749727 0x7f6ced7fe6c0 conn=1 op=2 UNBIND\n",
        b"Nov 20 08:54:04 vm slapd[3989]: conn=1 op=2 UNBIND\n",
        b"<167>1 2026-11-20T08:54:04.460651+00:00 vm slapd 3989 - -  conn=1 op=2 UNBIND\n",
        b'{"eventName":"DJ-LDAP","message":"x","request":{"operation":"UNBIND"}}\n',
        b"ESTAB 0 0 10.0.0.1:389 10.0.0.2:50000\n",
        b"",
    ],
)
def test_a_plain_log_is_in_no_envelope(line: bytes) -> None:
    assert envelopes_of(line * 20) == ()


def test_a_log_with_such_stamps_is_recognised() -> None:
    line = b'2026-11-29T10:00:00.123456789+01:00 conn=1 op=%d SRCH base="dc=x" scope=2 filter="(cn=a)" attrs=ALL\n'
    assert envelopes_of(b"".join(line % op for op in range(9))) == (REWRITTEN,)


@pytest.mark.parametrize("zone", [b"+01:00", b"+0100", b" +01:00", b" +0100"])
@pytest.mark.parametrize("event", [b"fd=64 slot=64 connection from 10.0.0.1 to 10.0.0.2", b"op=1 UNBIND"])
@pytest.mark.parametrize("brackets", [b"%b", b"[%b]"])
def test_an_iso_stamp_of_389_ds_becomes_its_own(zone: bytes, event: bytes, brackets: bytes) -> None:
    piece = REWRITTEN.piece(brackets % (b"2026-11-29T10:00:00.123456789" + zone) + b" conn=1 " + event)
    assert piece
    assert piece.text == b"[29/Nov/2026:10:00:00.123456789 +0100] conn=1 " + event


@pytest.mark.parametrize(
    "event",
    [
        b"fd=12 ACCEPT from IP=10.0.0.1:4711 (IP=0.0.0.0:389)",
        b"op=1 SEARCH RESULT tag=101 err=0 nentries=1 text=",
        b'op=1 SRCH base="dc=x" scope=2 deref=0 filter="(cn=a)"',
    ],
)
def test_a_line_of_slapd_stays_one(event: bytes) -> None:
    assert REWRITTEN.piece(b"2026-11-29T10:00:00.123456+01:00 conn=1000 " + event) is None


def test_a_month_that_is_none_stays() -> None:
    assert REWRITTEN.piece(b"2026-13-29T10:00:00Z conn=1 op=1 UNBIND") is None
