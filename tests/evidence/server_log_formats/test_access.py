from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ldapdiag.evidence.formats import HEAD_BYTES, formats, head_of, recognise
from ldapdiag.evidence.server_log_formats.access import ACCESS, LOGS, dialect_of

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.evidence.format import Head


def head(data: bytes) -> Head:
    return head_of("access", data[:HEAD_BYTES], whole=len(data) <= HEAD_BYTES)


def name_of(data: bytes) -> str | None:
    form = recognise(head(data))
    return form.name if form and form.read is None else None


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (
            "[20/Nov/2026:08:45:20.751921248 +0000] conn=1 fd=64 slot=64 connection from 192.0.2.1 to 192.0.2.2",
            "389-text",
        ),
        ("[20/Nov/2026:08:45:20 +0000] conn=Internal(0) op=0(0)(0) SRCH base=x", "389-text"),
        ("ds-1  | [20/Nov/2026:08:45:20 +0000] conn=1 op=0 UNBIND", "389-text"),
        ("[20/Nov/2026:08:45:20 +0000] conn=1 op=-1 msgId=-1 - fd=20 slot=20 LDAP connection from x", "dsee-text"),
        ("[20/Nov/2026:08:58:03 +0000] BIND REQ conn=0 op=0 msgID=1 version=3", "opendj-text"),
        ("[20/June/2023:11:44:32 +1000] CONNECT conn=0 from=192.0.2.1:1 to=192.0.2.2:389", "opendj-text"),
    ],
)
def test_access_logs_are_known_and_read_as_streams(line: str, name: str) -> None:
    assert name_of(line.encode()) == name
    assert name in LOGS


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("1-389ds-unindexed/access", "389-text"),
        ("7-traps/crlf/access.389.utf16", "389-text"),
        ("7-traps/crlf/access.389.bom-crlf", "389-text"),
        ("7-traps/389-nasty/access", "389-text"),
        ("public/accesslog/389-1.2-forum-2011.access", "389-text"),
        ("public/accesslog/389-theoweiss-test.access", "389-text"),
        ("3-opendj-unindexed/access", "opendj-text"),
        ("3-opendj-unindexed/access-combined", "opendj-text"),
        ("public/accesslog/opendj-docs-joined.access", "opendj-text"),
        (
            "2-openldap-unindexed/filter-level/grep-conn-notindexed-candidates.slapd.stderr.stats-filter.log",
            "openldap-access",
        ),
    ],
)
def test_captured_ones_are_known(corpus: Path, path: str, name: str) -> None:
    assert name_of((corpus / path).read_bytes()) == name


@pytest.mark.parametrize("name", ["slapd.stderr.log", "syslog-iso.log", "syslog-traditional.log"])
def test_slapds_one_log_is_both(corpus: Path, name: str) -> None:
    start = head((corpus / "2-openldap-unindexed" / name).read_bytes())
    form = recognise(start)
    assert form is not None
    assert (form.name, form.read is None) == ("slapd-log", False)
    assert form.name in LOGS
    assert dialect_of(start) in ACCESS


def test_every_dialect_has_a_door() -> None:
    doors = {form.name for form in formats()} & LOGS
    families = {dialect.family for dialect in ACCESS if dialect.name not in doors}
    assert families == {"openldap"}, "slapd's logs come in by slapd-log and openldap-access"


def test_an_errors_log_is_none(captures: Path) -> None:
    errors = head((captures / "389ds" / "hostile-clients" / "errors").read_bytes())
    assert dialect_of(errors) is None
