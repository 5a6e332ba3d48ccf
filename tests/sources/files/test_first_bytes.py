"""A text is called text and shown as text; anything else by its first bytes."""

from __future__ import annotations

import pytest

from ldapdiag.sources.files.first_bytes import CONVERTED, beginning_of


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        (b"root:x:0:0:root:/root:/bin/bash\nbin:x:1:1\n", 'begins "root:x:0:0:root:/root:/bin/bas…"'),
        (b"\n\n  short\n", 'begins "short"'),
        (
            b'192.0.2.1 - - [23/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5\n',
            'a web server\'s log begins like this: "192.0.2.1 - - [23/Nov/2026:10:…"',
        ),
        (b"<!DOCTYPE html>\n<html>", 'a page of HTML begins like this: "<!DOCTYPE html>"'),
        (b"#!/bin/sh\n", 'a script begins like this: "#!/bin/sh"'),
        ("Straße 5\n".encode("utf-16"), 'begins "Straße 5"'),
        ("ä".encode()[:1].join([b"caf", b""]), 'begins "caf"'),
        (b"\x1b[2Jgone \xe2\x80\xaetxt\n", 'begins "?[2Jgone ?txt"'),
        (b"\xff\xd8\xff\xe0 JFIF", "first bytes: ff d8 ff e0"),
        (b"PK\x03\x04", "first bytes: 50 4b 03 04"),
        (b"\x00\x00", "first bytes: 00 00"),
        (b"ElfFile\0" + bytes(16), CONVERTED),
    ],
)
def test_what_a_file_begins_with(head: bytes, shown: str) -> None:
    assert beginning_of(head) == shown
