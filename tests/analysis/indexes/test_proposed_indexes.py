from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.catalogue import index_checks
from ldapdiag.diagnosis import diagnose
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.servers.indexes.candidates import Cause
from ldapdiag.sources.gathering import gather

if TYPE_CHECKING:
    from pathlib import Path

CONFIGURATION = "database mdb\nsuffix dc=a\ndirectory /a\nindex objectClass eq\n"
HEAD = "Nov 22 10:00:{:02} ldap slapd[1]: conn=1 "


def test_what_an_index_saves_is_not_known_for_an_attribute_that_no_schema_defines(tmp_path: Path) -> None:
    lines = [HEAD.format(0) + "fd=12 ACCEPT from IP=10.0.0.1:40000 (IP=0.0.0.0:389)"]
    for op in range(1, 40):
        lines.append(HEAD.format(op) + f'op={op} SRCH base="dc=a" scope=2 deref=0 filter="(fooBar>=1)"')
        result = f"op={op} SEARCH RESULT tag=101 err=0 qtime=0.000010 etime=0.100000 nentries=7 text="
        lines.append(HEAD.format(op) + result)
    (tmp_path / "slapd.log").write_text("\n".join(lines) + "\n")
    (tmp_path / "slapd.conf").write_text(CONFIGURATION)
    diagnosis = diagnose(gather([str(tmp_path)]), index_checks(), kind=ReportKind.INDEXES)
    (coverage,) = diagnosis.facts.every(IndexCoverage)
    (scan,) = coverage.scans
    assert scan.obstacle is not None
    assert (scan.obstacle.cause, scan.obstacle.inferred) == (Cause.LIMIT_PERHAPS, True)
    assert "no known schema defines it" in scan.obstacle.reason
