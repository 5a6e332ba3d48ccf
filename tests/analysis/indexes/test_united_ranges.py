"""Searches of slapd for a range that an index makes slower than a scan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from analysis.indexes.test_predictions import SLAPD, slapd_log
from incidents import diagnosed, findings
from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.search_costs import SearchCosts
from ldapdiag.analysis.indexes.united_ranges import scan_instead, slow_ranges
from ldapdiag.evidence.family import Family
from ldapdiag.finding import Severity

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.finding import Finding

BETWEEN, ABOVE, ONE = "(&(uidNumber>=100)(uidNumber<=119))", "(uidNumber>=19900)", "(uidNumber=100)"
SCAN = ("(employeeNumber=5)", 0.02, 1)
USUAL = ("(uid=joe)", 0.0002, 1), ("(sn=x)", 0.0035, 500), ("(objectClass=*)", 0.15, 20_000)
"""20,000 entries: 7 microseconds to return one; to test one, 1 by SCAN, 1.4 by a fifth of returning one."""


def found(tmp_path: Path, *searches: tuple[str, float, int], indexed: str = "objectClass,uid,sn,uidNumber") -> dict:
    """Return the findings on ranges, by attribute."""
    (tmp_path / "slapd.log").write_text(slapd_log(*searches))
    (tmp_path / "slapd.conf").write_text(
        SLAPD.replace("objectClass,uid,sn", indexed).replace("core.schema", "nis.schema")
    )
    told: list[Finding] = list(findings(diagnosed(tmp_path), "harmful-index").values())
    return {one.observed["attribute"]: one for one in told}


@pytest.mark.parametrize("usual", [(*USUAL, SCAN), USUAL])
def test_an_index_that_makes_ranges_slower_is_found(tmp_path, usual) -> None:
    one = found(tmp_path, *usual, (BETWEEN, 0.43, 20), (ABOVE, 0.0007, 100), (ONE, 0.0002, 1))["uidNumber"]
    assert one.severity is Severity.MEDIUM  # 20 searches take more than a hundredth of the time of the log
    assert one.observed["backend"] == "{1}mdb"
    (sentence,) = one.detail.splitlines()
    assert sentence.startswith("(&(uidNumber>=?)(uidNumber<=?)) below dc=example,dc=com (sub): 20 times 0.43 s; ")
    assert "remove the index" in one.remedies[0].text


@pytest.mark.parametrize(
    ("search", "indexed"),
    [
        ((BETWEEN, 0.03, 20), "objectClass,uid,sn,uidNumber"),  # less than two scans
        ((BETWEEN, 0.004, 20), "objectClass,uid,sn,uidNumber"),
        ((BETWEEN, 0.43, 20), "objectClass,uid,sn"),  # it is a scan
        ((ABOVE, 0.2, 19_000), "objectClass,uid,sn,uidNumber"),  # it returns nearly all entries
        ((ONE, 0.43, 20), "objectClass,uid,sn,uidNumber"),
    ],
)
def test_what_takes_no_longer_than_a_scan_is_left_alone(tmp_path, search, indexed) -> None:
    assert found(tmp_path, *USUAL, SCAN, search, indexed=indexed) == {}


@pytest.mark.parametrize("other", [SCAN, ("(employeeNumber=5)", 0.06, 4321)])
def test_a_scan_of_the_same_place_shows_it_where_the_number_of_entries_is_unknown(tmp_path, other) -> None:
    """Nothing returned everything; 50 s of 60 were such a range, which was said to be free of harm."""
    one = found(tmp_path, ("(uid=joe)", 0.0002, 1), ("(sn=x)", 0.0035, 500), other, ("(uidNumber<=900)", 0.7, 957))
    assert "without the index a scan of about 0.0" in one["uidNumber"].detail


def test_what_a_scan_takes_must_be_in_the_log(tmp_path) -> None:
    assert found(tmp_path, ("(uid=joe)", 0.0002, 1), (BETWEEN, 0.43, 20)) == {}


def test_only_slapd_copies_lists(tmp_path) -> None:
    found(tmp_path, *USUAL, SCAN, (BETWEEN, 0.43, 20))
    (coverage,) = diagnosed(tmp_path).facts.every(IndexCoverage)
    (slow,) = slow_ranges(coverage.searches)
    (search,) = slow.searches
    assert slow.beyond == pytest.approx(20 * 0.41e9, rel=0.05)
    costs = SearchCosts(examined=1000.0)
    assert scan_instead(search, 20_000.0, costs, Family.OPENLDAP) is not None
    assert scan_instead(search, 20_000.0, costs, Family.DS389) is None
    assert scan_instead(search, None, costs, Family.OPENLDAP) is None
    many = replace(search, group=replace(search.group, entries=search.group.answered * 101), most_entries=101)
    assert scan_instead(many, 20_000.0, costs, Family.OPENLDAP) is None, "what it costs to return them is not known"
