from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from audits import UNINDEXED, Audit
from indexes_389 import limits as limits_of
from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.plan import IndexPlan
from ldapdiag.catalogue import installed_checks
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
    diagnosis = diagnose(gather([str(tmp_path)]), installed_checks(ReportKind.INDEXES), kind=ReportKind.INDEXES)
    (coverage,) = diagnosis.facts.every(IndexCoverage)
    (scan,) = coverage.scans
    assert scan.obstacle is not None
    assert (scan.obstacle.cause, scan.obstacle.inferred) == (Cause.LIMIT_PERHAPS, True)
    assert "no known schema defines it" in scan.obstacle.reason


TOTAL, TESTED, RETURNED = 20_000, 5e-6, 25e-6
KINDS = {
    "(uid=joe)": (b"", 1), "(sn=x)": (b"", 500), "(title=x)": (UNINDEXED, 200), "(&(l=x)(st=y))": (UNINDEXED, 50),
    "(|(cn=x)(mail=y))": (UNINDEXED, 10), "(employeeNumber>=5)": (UNINDEXED, 1000), "(pager=x)": (UNINDEXED, 1),
}  # fmt: skip


def missing(slow: str, took: float) -> set[str]:
    """Return the indexes that are missing; one of the searches with a filter takes longer by so much."""
    audit = Audit()
    audit.has("uid", "eq")
    audit.has("sn", "eq")
    for filter_, (notes, entries) in KINDS.items():
        tests = (TOTAL - entries) * TESTED if notes else 0.0002
        each = tests + entries * RETURNED
        audit.asks(filter_, notes, took=each, entries=entries, times=30)
        audit.asks(filter_, notes, took=each + (took if filter_ == slow else 0), entries=entries, times=1)
    return set(audit.found("missing-index"))


@pytest.mark.parametrize("took", [1, 10, 1000])
@pytest.mark.parametrize("slow", KINDS)
def test_one_slow_search_hides_no_index(slow: str, took: float) -> None:
    """It may wait for anything: a backup, a lock, a cold cache."""
    usual = missing("", 0)
    assert len(usual) == 6
    assert missing(slow, took) == usual


@pytest.mark.parametrize(
    ("limits", "is_planned"),
    [((4000, None), False), ((4000, -1), True), ((4000, 1000), False), ((-1, 1000), False), ((-1, 0), True)],
)
def test_the_pages_of_a_result_are_as_long_as_its_list(limits, is_planned) -> None:
    """Each page has 1,000 entries, each result 5,000: no list of them is kept, and the server would scan as before."""
    audit = Audit(limit=limits[0])
    if limits[1] is not None:
        audit.others = (limits_of(f"nsslapd-pagedidlistscanlimit: {limits[1]}"),)
    audit.asks("(title=x)", b"P,A", took=0.5, entries=1000, times=100)
    audit.asks("(title=x)", b"U,P", took=0.5, entries=1000, times=400)
    (plan,) = audit.diagnosis().facts.every(IndexPlan)
    assert bool(plan.indexes) is is_planned
    reasons = [one.obstacle.reason for one in plan.remaining]
    assert reasons == ([] if is_planned else ["each search returns 5,000 entries"])
