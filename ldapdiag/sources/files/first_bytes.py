"""What an unrecognised file begins with: a text is shown as text, anything else by its bytes.

root:x:0:0:root:/root:/bin/bash                     begins "root:x:0:0:root:/root:/b…"
192.0.2.1 - - [23/Nov/2026:10:00:00 +0000] "GET     a web server's log begins like this: "192.0.2.1 - - [23/Nov/20…"
ff d8 ff e0                                         first bytes: ff d8 ff e0
"""

from __future__ import annotations

import re

from ldapdiag.evidence.document import encoding_of
from ldapdiag.lazy_pattern import pattern

SHOWN = 30
"""Characters."""
MOST = 1024
"""Bytes that decide whether it is a text."""
CONTROLS = pattern(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
KNOWN = {
    "a web server's log": pattern(r"\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "),
    "a page of HTML": pattern(r"<(?:!doctype\s+)?html\b", re.IGNORECASE),
    "XML": pattern(r"<\?xml\b"),
    "a script": pattern(r"#!\s*/"),
}
"""Texts that are no evidence, by their first line."""
CLOSED_ARCHIVES = {b"PK\x03\x04": "zip", b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!": "rar"}
"""Archives that are not opened, by their first bytes."""
DOCUMENT = pattern(rb"\[Content_Types\]\.xml|mimetypeapplication/|META-INF/")
"""In the first bytes of a zip that is a document or a program."""


def closed_archive(head: bytes) -> str:
    """Return why an archive is not read, as the end of a sentence; empty for anything else."""
    name = next((name for mark, name in CLOSED_ARCHIVES.items() if head.startswith(mark)), "")
    if not name or DOCUMENT.search(head[:200]):
        return ""
    return f"is a {name} archive, which is not opened; unpack it first"


EVENT_LOG = b"ElfFile\0"
"""An event log of Windows (EVTX)."""
CONVERTED = (
    "an event log of Windows; convert it there: wevtutil qe FILE.evtx /lf:true /f:xml "
    '/q:"*[System[(EventID=1644 or EventID=1216 or EventID=1317 or EventID=2889)]]" > events.xml'
)


def text_of(head: bytes) -> str | None:
    """Return the first line with a character of a text; None for anything else."""
    text = head[:MOST].decode(encoding_of(head), errors="replace").removeprefix("\ufeff").removesuffix("\ufffd")
    if "\ufffd" in text or CONTROLS.search(text):
        return None
    return next((line.strip() for line in text.splitlines() if line.strip()), None)


def beginning_of(head: bytes) -> str:
    """Return what a file begins with, as an end of a sentence in parentheses."""
    if head.startswith(EVENT_LOG):
        return CONVERTED
    line = text_of(head)
    if line is None:
        return f"first bytes: {head[:4].hex(' ')}"
    shown = "".join(one if one.isprintable() else "?" for one in line[:SHOWN])
    known = next((name for name, pattern in KNOWN.items() if pattern.match(line)), "")
    begins = f"{known} begins like this:" if known else "begins"
    return f'{begins} "{shown}{"…" * (len(line) > SHOWN)}"'
