"""The stamps before slapd's messages, and the reports of syslog daemons on lost lines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log.openldap import DIALECTS
from ldapdiag.evidence.log.scan import Hints
from ldapdiag.evidence.log.syslog import YEAR_UNKNOWN, yearless
from log.calls import Calls, calls_of

BY_NAME = {dialect.NAME: dialect for dialect in DIALECTS}
SYSLOG = BY_NAME["openldap-syslog"]
END = datetime(2026, 3, 1, 12, tzinfo=UTC)


def year_of(stamp: bytes, hints: Hints) -> int:
    """Return the year that a stamp is read in."""
    return datetime.fromtimestamp(yearless(stamp, hints) // 10**9, UTC).year


@pytest.mark.parametrize(
    ("stamp", "year"),
    [
        (b"Mar  1 11:59:59", 2026),
        (b"Mar  2 11:59:59", 2026),  # a clock that is behind, or another zone
        (b"Mar  2 12:00:01", 2025),
        (b"Dec 31 23:59:59", 2025),
        (b"Jan 1 00:00:00", 2026),
        (b"Feb 29 10:00:00", 2024),
    ],
)
def test_the_year_is_the_last_that_ends_before_the_file(stamp: bytes, year: int) -> None:
    assert year_of(stamp, Hints(year_end=END)) == year


def test_without_a_hint_the_year_is_one_long_ago() -> None:
    assert {year_of(stamp, Hints()) for stamp in (b"Jan  1 00:00:00", b"Feb 29 10:00:00", b"Dec 31 23:59:59")} == {
        YEAR_UNKNOWN
    }


def test_the_zone_is_that_of_the_hints() -> None:
    east = Hints(year_end=END, zone=timezone(timedelta(hours=5, minutes=30)))

    assert yearless(b"Feb 10 12:00:00", Hints(year_end=END)) - yearless(b"Feb 10 12:00:00", east) == 19_800 * 10**9


@given(st.datetimes(END.replace(tzinfo=None) - timedelta(days=363), END.replace(tzinfo=None)))
def test_a_year_of_stamps_is_read_back(when: datetime) -> None:
    when = when.replace(microsecond=0, tzinfo=UTC)

    assert yearless(when.strftime("%b %d %H:%M:%S").encode(), Hints(year_end=END)) == int(when.timestamp()) * 10**9


@pytest.mark.parametrize("stamp", [b"Feb 30 10:00:00", b"Nov 20 25:00:00", b"Foo 20 10:00:00", b"Nov  0 10:00:00"])
def test_what_is_no_time_is_misread(stamp: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        yearless(stamp, Hints(year_end=END))
    line = stamp + b" vm slapd[1]: conn=1 op=1 UNBIND"
    assert calls_of(SYSLOG.scan, line + b"\n") == [("misread", line)]


@pytest.mark.parametrize(
    ("line", "lost"),
    [
        (b"rsyslogd-2177: imuxsock lost 103 messages from pid 5122 due to rate-limiting", 103),
        (b"rsyslogd: imjournal: 84667 messages lost due to rate-limiting", 84667),
        (b"rsyslogd: imjournal: 7 messages lost due to rate-limiting (20000 allowed within 600 seconds)", 7),
        (
            b"rsyslogd: imuxsock[pid: 57, name: /usr/sbin/slapd]: 1024 messages lost due to rate-limiting (9)",
            1024,
        ),
        (b"systemd-journald[301]: Suppressed 917 messages from slapd.service", 917),
        (b"systemd-journal[301]: Suppressed 917 messages from /system.slice/slapd.service", 917),
    ],
)
def test_lines_that_syslog_did_not_keep_are_counted(line: bytes, lost: int) -> None:
    assert calls_of(SYSLOG.scan, b"Nov 20 08:54:04 vm " + line + b"\n") == [("lost", lost)]


@pytest.mark.parametrize(
    "line",
    [
        b"systemd-journald[301]: Suppressed 917 messages from /system.slice/nginx.service",
        b"rsyslogd: imuxsock[pid: 57, name: x] from <vm:x>: begin to drop messages due to rate-limiting",
        b"slapd[3989]: message repeated 2 times: [ => test_filter]",
        b"last message repeated 2 times",
        b"-- MARK --",
        b"smbd[3710]: [2007/09/16 15:12:17, 0] auth/auth_util.c:create_builtin_administrators(785)",
        b"slapd[3989]: @(#) OpenSSH",
        b"slapd[3989]: conn=1 op=1 SRCH attr=cn Suppressed 9 messages from slapd",
    ],
)
def test_what_others_write_is_passed_over(line: bytes) -> None:
    assert calls_of(SYSLOG.scan, b"Nov 20 08:54:04 vm " + line + b"\n") == []


def test_an_escaped_newline_is_no_newline() -> None:
    """The way of rsyslog: it writes a control character as # and three octal digits."""
    banner = (
        rb"Nov 20 08:54:04 vm slapd[3989]: @(#) $OpenLDAP: slapd 2.5.13 (Feb  8 2023 01:56:12) $#012#011Debian <a@b>"
    )

    ((name, _, version),) = calls_of(SYSLOG.scan, banner + b"\n")
    assert (name, version) == ("server_started", b"2.5.13")


@pytest.mark.parametrize(
    ("name", "line", "zones", "resolutions"),
    [
        ("openldap-stderr", b"6b000aac.1b749727 0x7f6ced7fe6c0 ", [b"+0000"], []),
        ("openldap-stderr", b"6b000aac ", [b"+0000"], [10**9]),
        ("openldap-syslog", b"Nov 20 08:54:04 vm slapd[3989]: ", [None], [10**9]),
        ("openldap-syslog-iso", b"2026-11-20T08:54:04.460651+00:00 vm slapd[3989]: ", [b"+00:00"], [1000]),
        ("openldap-syslog-iso", b"2026-11-20T08:54:04.460651123Z vm slapd[3989]: ", [b"Z"], [1]),
    ],
)
def test_each_form_reports_its_zone_and_resolution(
    name: str, line: bytes, zones: list[bytes | None], resolutions: list[int]
) -> None:
    calls = Calls(Hints(year_end=END))
    BY_NAME[name].scan((line + b"conn=7 op=3 UNBIND\n") * 3, calls)

    assert [call[1] for call in calls.made if call[0] == "clock"] == zones
    assert [call[1] for call in calls.made if call[0] == "resolution"] == resolutions


def test_microseconds_in_hex_have_five_digits() -> None:
    ((*_, when),) = calls_of(BY_NAME["openldap-stderr"].scan, b"6b000aac.f4240 0x7f6c conn=7 op=3 UNBIND\n")

    assert when == (0x6B000AAC + 1) * 10**9
