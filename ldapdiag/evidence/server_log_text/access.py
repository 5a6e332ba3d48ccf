"""Access logs that are known and not read for a diagnosis: `ldapdiag log` is to read them.

    [20/Nov/2026:08:45:20.751921248 +0000] conn=1 fd=64 slot=64 connection from 127.0.0.11 to 127.0.0.1
    [20/Nov/2026:08:45:20 +0000] conn=1 op=0 msgId=1 - BIND dn="cn=x" method=128 version=3
    [20/Nov/2026:08:58:03 +0000] CONNECT conn=0 from=127.0.0.11:60305 to=127.0.0.1:13489 protocol=LDAP

389-ds, DSEE (the same with msgId) and OpenDJ. slapd has one log for everything; that is read in slapd.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head

if TYPE_CHECKING:
    from collections.abc import Callable

STAMP = r"(?:[^\s=\"]{1,255} {1,80}\| )?\[\d\d/[^\s/\]]{3,12}/\d{4}:\d\d:\d\d:\d\d(?:\.\d{1,9})? ?(?:[+-]\d{4}|Z)\] "
NETSCAPE = re.compile(STAMP + r"conn=(?:\d+|Internal)", re.ASCII)
WITH_MESSAGE_ID = re.compile(STAMP + r"conn=\S{1,40} op=\S{1,40} msgId=", re.ASCII)
OPENDJ = re.compile(STAMP + r"[A-Z]{3,20} (?:REQ |RES )?conn=", re.ASCII)


def is_access(head: Head) -> bool:
    """Tell whether this is an access log of any of them."""
    return _is_ds389(head) or _is_dsee(head) or _is_opendj(head)


def _is_dsee(head: Head) -> bool:
    return any(WITH_MESSAGE_ID.match(line) for line in head.lines)


def _is_ds389(head: Head) -> bool:
    return any(NETSCAPE.match(line) for line in head.lines) and not _is_dsee(head)


def _is_opendj(head: Head) -> bool:
    return any(OPENDJ.match(line) for line in head.lines) and not any(NETSCAPE.match(line) for line in head.lines)


def _format(name: str, server: str, recognises: Callable[[Head], bool]) -> Format:
    title = f"an access log of {server} (read by `ldapdiag log`, which is not built yet)"
    return Format(name=name, title=title, recognises=recognises, read=None)


FORMATS = (
    _format("389-access", "389-ds", _is_ds389),
    _format("dsee-access", "DSEE", _is_dsee),
    _format("opendj-access", "OpenDJ", _is_opendj),
)
