"""The time of a line: from the stamps of 389-ds and slapd, and none where it would be a guess."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ldapdiag.analysis.load.descriptors import logged_time


@pytest.mark.parametrize(
    "line",
    [
        "[20/Nov/2026:09:45:18.529737884 +0100] - ERR - accept_thread - Not listening for new connections",
        "[20/Nov/2026:08:45:18 +0000] - Not listening for new connections",
        "6ab7b21e.32864e18 0x7f9c26e20200 fd=127 DENIED from unknown (127.0.0.70)",
        "6ab7b21e fd=127 DENIED from unknown (127.0.0.70)",
        "openldap-0  | 6ab7b21e.1b749727 0x7f6ced7fe6c0 daemon: accept(8) failed errno=24",
        "<167>1 2026-11-20T08:45:18.365207+00:00 vm slapd 3989 - -  daemon: accept(8) failed errno=24",
        "2026-11-20T08:45:18Z vm slapd[3989]: daemon: accept(8) failed errno=24",
    ],
)
def test_is_read_in_utc(line: str) -> None:
    expected = datetime(2026, 11, 20, 8, 45, 18, tzinfo=UTC)
    if "6ab7b21e" in line:
        expected = datetime.fromtimestamp(0x6AB7B21E, UTC)
    assert logged_time(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "Nov 20 09:21:35 vm slapd[25675]: fd=127 DENIED from unknown (127.0.0.70)",
        "[99/Nov/2026:08:45:18 +0000] - Not listening",
        "[20/Nix/2026:08:45:18 +0000] - Not listening",
        "conn=1 op=0 6ab7b21e ",
        "",
    ],
)
def test_without_a_year_a_zone_or_a_date_it_is_unknown(line: str) -> None:
    assert logged_time(line) is None
