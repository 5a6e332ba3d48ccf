"""Logs that are recognised and not read, with the reason and the next step.

    [07/17/2005:17:29:45 +0200] - CONNECT    - INFO  - conn=1591031 client=129.157.192.132:49216 server=0.0.0.0:9389

Source: Sun Directory Server Enterprise Edition 7.0 Reference, Directory Proxy Server, "Format of an Access Log Message"
"""

from __future__ import annotations

import re

from ldapdiag.evidence.log.line_envelopes import SHORT_FULL
from ldapdiag.evidence.log.pattern import count, pattern

PROXY = pattern(
    rb"^\[\d\d/\d\d/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] - "
    rb"(?:CONNECT|OPERATION|SERVER_OP|DISCONNECT|PROFILE) {1,9}- [A-Z]{4,9} {1,9}- ",
    re.MULTILINE,
)


def refusal(head: bytes) -> str:
    """Return why a log with these first lines is not read, as the end of a sentence; empty for any other file."""
    lines = head.count(b"\n") + 1
    if 2 * count(PROXY, head) > lines:
        return (
            "is an access log of Directory Proxy Server, which is not supported; read the access logs of the directory "
            "servers behind it"
        )
    if 2 * count(SHORT_FULL.lines, head) > lines:
        return (
            "is a journal with a time zone whose abbreviation stands for several offsets, or without operations; "
            "export it with journalctl -o short-iso"
        )
    return ""
