"""A log that is not read is named, with the next step; a single line of it refuses no file."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.log.line_envelopes import refusal

PROXY = b'[07/17/2005:17:29:45 +0200] - OPERATION  - INFO  - conn=159 op=0 SEARCH RESPONSE err=0 msg="" nentries=22\n'
JOURNAL = b"Fri 2026-11-20 09:00:00 CST vm slapd[7]: conn=1000 op=1 UNBIND\n"
CHANGED = b'20.11.2026 08:45:20 conn=1 op=1 SRCH base="dc=x" scope=2 filter="(cn=a)" attrs=ALL\n'
OTHER = b"[20/Nov/2026:08:45:20 +0000] conn=1 op=1 UNBIND\n"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (PROXY, "Directory Proxy Server"),
        (JOURNAL, "journalctl -o short-iso"),
        (CHANGED, "389-ds whose time stamps have another form"),
    ],
)
def test_it_is_named(line: bytes, name: str) -> None:
    assert name in refusal(line * 3)
    assert refusal(line + OTHER * 3) == refusal(OTHER) == refusal(b"") == ""
