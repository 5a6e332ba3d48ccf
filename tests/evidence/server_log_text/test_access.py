from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ldapdiag.evidence.sniff import HEAD_BYTES, head_of, recognise

if TYPE_CHECKING:
    from pathlib import Path


def name_of(data: bytes) -> str | None:
    form = recognise(head_of("access", data[:HEAD_BYTES], whole=len(data) <= HEAD_BYTES))
    return form.name if form and form.read is None else None


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (
            "[20/Nov/2026:08:45:20.751921248 +0000] conn=1 fd=64 slot=64 connection from 192.0.2.1 to 192.0.2.2",
            "389-access",
        ),
        ("[20/Nov/2026:08:45:20 +0000] conn=Internal(0) op=0(0)(0) SRCH base=x", "389-access"),
        ("ds-1  | [20/Nov/2026:08:45:20 +0000] conn=1 op=0 UNBIND", "389-access"),
        ("[20/Nov/2026:08:45:20 +0000] conn=1 op=-1 msgId=-1 - fd=20 slot=20 LDAP connection from x", "dsee-access"),
        ("[20/Nov/2026:08:58:03 +0000] BIND REQ conn=0 op=0 msgID=1 version=3", "opendj-access"),
        ("[20/June/2023:11:44:32 +1000] CONNECT conn=0 from=192.0.2.1:1 to=192.0.2.2:389", "opendj-access"),
    ],
)
def test_access_logs_are_known_and_not_read(line: str, name: str) -> None:
    assert name_of(line.encode()) == name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("1-389ds-unindexed/access", "389-access"),
        ("7-traps/crlf/access.389.utf16", "389-access"),
        ("7-traps/crlf/access.389.bom-crlf", "389-access"),
        ("7-traps/389-nasty/access", "389-access"),
        ("public/accesslog/389-1.2-forum-2011.access", "389-access"),
        ("public/accesslog/389-theoweiss-test.access", "389-access"),
        ("3-opendj-unindexed/access", "opendj-access"),
        ("3-opendj-unindexed/access-combined", "opendj-access"),
        ("public/accesslog/opendj-docs-joined.access", "opendj-access"),
    ],
)
def test_captured_ones_are_known(corpus: Path, path: str, name: str) -> None:
    assert name_of((corpus / path).read_bytes()) == name
