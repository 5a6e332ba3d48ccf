"""Unindexed searches in the errors log of 389-ds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log.ds389_notice import Notice, notices

if TYPE_CHECKING:
    from pathlib import Path

HEAD = b"[20/Nov/2026:08:45:20.754113294 +0000] - NOTICE - ldbm_back_search - Unindexed search: "
TIME = 1795164320_754113294


def notice(**fields: object) -> Notice:
    """Return the notice of a client's search."""
    found = {"time": TIME, "base": b"dc=x", "scope": 2, "filter": b"(a=b)", "connection": 1, "operation": 5}
    return Notice(**{**found, "internal": False, **fields})


def test_a_search_of_a_client_has_its_operation_number() -> None:
    line = HEAD + b'search base="dc=x" scope=2 filter="(a=b)" conn=1 op=5\n'
    assert list(notices(line)) == [notice()]
    assert list(notices(line.replace(b"\n", b"\r\n"))) == [notice()]


def test_a_filter_ends_with_the_last_quote_that_can_end_it() -> None:
    line = HEAD + b'search base="dc=x" scope=2 filter="(a=" conn=9 op=9 b)" conn=1 op=5\n'
    assert list(notices(line)) == [notice(filter=b'(a=" conn=9 op=9 b)')]


def test_the_servers_own_search_has_a_source() -> None:
    line = HEAD.replace(b"NOTICE - ldbm_back_search - Un", b"ERR - log_result - Internal un")
    line += (
        b'source (cn=MemberOf Plugin,cn=plugins) search base="dc=x" filter="(a=b)" etime=0.105 nentries=1  notes=A\n'
    )
    assert list(notices(line)) == [notice(scope=None, connection=None, operation=None, internal=True)]
    line = (
        HEAD.replace(b"- Un", b"- Internal un") + b'source (x) search base="dc=x" scope=2 filter="(a=b)" conn=1 op=5\n'
    )
    assert list(notices(line)) == [notice(internal=True)]


def test_a_notice_that_lost_its_end_does_not_swallow_the_next() -> None:
    """The server cuts a line that is too long, and its newline with it."""
    line = (
        HEAD
        + b'search base="dc=x" scope=2 filter="(|(a=b'
        + HEAD
        + b'search base="" scope=1 filter="(c=d)" conn=2 op=0\n'
    )
    assert list(notices(line)) == [notice(base=b"", scope=1, filter=b"(c=d)", connection=2, operation=0)]


def test_a_run_with_hostile_clients(captures: Path) -> None:
    """11 notices, of which two lost their end: a filter of 600 characters and a list of 1000 values."""
    data = (captures / "389ds" / "hostile-clients" / "errors").read_bytes()
    found = list(notices(data))
    assert data.count(b"Unindexed search: ") == 11
    assert [each.connection for each in found] == [1, 2, 3, 4, 5, 6, 7, 8, 26]
    assert found[7].filter == rb'(displayName=he said "x" notes=A \5C and etime=99)'


def test_each_fully_unindexed_search_is_in_both_logs(corpus: Path) -> None:
    """Once here, and once as notes=A in the access log; those that were abandoned have no result, only this."""
    folder = corpus / "1-389ds-unindexed"
    found = {(each.connection, each.operation) for each in notices((folder / "errors").read_bytes())}
    noted = set()
    for line in (folder / "access").read_bytes().splitlines():
        if b" notes=A " in line or b" notes=P,A " in line:
            conn, op = line.split(b" ")[2:4]
            noted.add((int(conn.removeprefix(b"conn=")), int(op.removeprefix(b"op="))))
    assert noted <= found
    assert len(found - noted) == 10


@pytest.mark.parametrize("filler", [HEAD, b'" conn=1 op=1x', b'"', b"[", b'" etime='])
def test_a_hostile_line_is_read_once(filler: bytes) -> None:
    """A grammar that backtracks does not come back from one of these."""
    line = HEAD + b'search base="dc=x" scope=2 filter="' + filler * (1_000_000 // len(filler)) + b"x"
    assert len(list(notices(line))) <= 1


@given(st.binary(max_size=300))
def test_any_bytes_are_read(data: bytes) -> None:
    assert len(list(notices(HEAD + data))) <= 1
