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
