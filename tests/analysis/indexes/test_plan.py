"""The plan, of a log and a configuration that are written here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from incidents import diagnosed, finding
from indexes_389 import BACKEND, LIST, index, limits
from ldapdiag.analysis.indexes.plan import IndexPlan
from ldapdiag.servers.indexes.candidates import Change
from log_lines import header, stamp

if TYPE_CHECKING:
    from pathlib import Path

SCAN = """{0} conn=1 fd=70 slot=70 connection from 10.10.1.168 to 10.0.0.9
{0} conn=1 op=1 SRCH base="dc=example,dc=com" scope=2 filter="{1}" attrs=ALL
{0} conn=1 op=1 RESULT err=0 tag=101 nentries=1 etime=63.000000000 notes=A
"""
CONFIGURATION = BACKEND + LIST + index("nsIndexType: eq") + limits("nsslapd-idlistscanlimit: 4000")


@pytest.mark.parametrize("filter_", ["(shadowMax>=990)", "(shadowMax=990)", "(&(shadowMax>=990)(shadowMax<=995))"])
def test_numbers_need_an_index_in_their_own_order(tmp_path: Path, filter_: str) -> None:
    """Without integerOrderingMatch 389-ds finds a part of a range, and an index once built cannot be put right."""
    (tmp_path / "access").write_bytes(header() + SCAN.format(stamp(30), filter_).encode())
    (tmp_path / "dse.ldif").write_text(CONFIGURATION)
    diagnosis = diagnosed(tmp_path)
    (plan,) = diagnosis.facts.every(IndexPlan)
    (row,) = plan.indexes
    assert row.changes == (Change("shadowMax", "eq", "integerOrderingMatch"),)
    assert row.types == ("eq",)
    assert [one.group.count for one in row.resolved] == [1]
    remedy, _ = finding(diagnosis, "missing-index").remedies
    assert "integerOrderingMatch" in remedy.text


RANGE = """{0} conn=2 fd=71 slot=71 connection from 10.10.1.169 to 10.0.0.9
{0} conn=2 op=1 SRCH base="{1}" scope=2 filter="{2}" attrs=ALL
{0} conn=2 op=1 RESULT err=0 tag=101 nentries={3} etime=0.200000000 notes=A
"""
PART = "ou=guests,dc=example,dc=com"


@pytest.mark.parametrize(
    ("base", "filter_", "entries", "is_planned"),
    [
        (PART, "(title>=m)", 900, False),
        (PART, "(|(sn=a)(title<=m))", 900, False),
        (PART, "(&(objectClass=person)(title>=m))", 900, True),
        (PART, "(!(title>=m))", 900, True),
        (PART, "(title>=m)", 3, True),
        ("dc=example,dc=com", "(title>=m)", 900, True),
    ],
)
def test_no_index_hides_entries_from_a_range(tmp_path: Path, base, filter_, entries, *, is_planned) -> None:
    """389-ds ends the list of a range at the size limit, wherever its entries are (tests/live/test_range_limit.py)."""
    lines = SCAN.format(stamp(30), "(title=boss)") + RANGE.format(stamp(31), base, filter_, entries)
    (tmp_path / "access").write_bytes(header() + lines.encode())
    (tmp_path / "dse.ldif").write_text(CONFIGURATION)
    (plan,) = diagnosed(tmp_path).facts.every(IndexPlan)
    assert [one.attribute for one in plan.indexes if one.attribute == "title"] == ["title"] * is_planned
    if not is_planned:
        reasons = {one.obstacle.reason for one in plan.remaining if one.obstacle is not None}
        assert any(f"below {PART} it may find fewer entries, without an error" in one for one in reasons)
