from __future__ import annotations

from audits import UNINDEXED, Audit
from incidents import not_judged
from ldapdiag.finding import Confidence, Severity


def test_a_list_over_the_limit_is_no_missing_index() -> None:
    audit = Audit()
    audit.asks("(objectClass=person)", UNINDEXED, entries=6000, times=3, took=0.5)
    (found,) = audit.found("scan-limit-exceeded").values()
    assert found.observed["attribute"] == "objectClass"
    assert found.confidence is Confidence.CERTAIN
    assert "limit" in found.observed["reason"] or "4000" in found.observed["reason"]
    assert "would not help" in found.detail


def test_where_nobody_tells_how_many_have_the_value_it_is_likely() -> None:
    audit = Audit()
    audit.asks("(objectClass=person)", UNINDEXED, entries=20, err=4, times=3, took=0.5)
    (found,) = audit.found("scan-limit-exceeded").values()
    assert found.confidence is Confidence.LIKELY


def test_what_takes_no_time_is_worth_knowing_and_no_more() -> None:
    audit = Audit()
    audit.asks("(objectClass=person)", UNINDEXED, entries=6000, times=3, took=0.001)
    (found,) = audit.found("scan-limit-exceeded").values()
    assert found.severity is Severity.INFO


def test_an_and_of_a_list_over_the_limit_and_something_without_an_index_is_about_the_latter() -> None:
    audit = Audit()
    audit.asks("(objectClass=person)", UNINDEXED, entries=6000, times=1, took=0.001)
    audit.asks("(&(objectClass=person)(displayName=joe))", UNINDEXED)
    assert set(audit.found("scan-limit-exceeded")) == {"(objectClass=person)"}
    assert set(audit.found("missing-index")) == {"displayName"}


def test_without_the_configuration_the_limit_is_not_known() -> None:
    audit = Audit(configured=False)
    audit.asks("(objectClass=person)", UNINDEXED, entries=6000)
    assert not_judged(audit.diagnosis(), "scan-limit-exceeded", "ldap").missing == ("index-configuration",)


def test_where_all_entries_that_match_were_returned_the_limit_of_the_one_index_can_be_raised() -> None:
    audit = Audit()
    audit.has("l", "eq")
    audit.asks("(l=berlin)", UNINDEXED, entries=4801, times=3, took=0.5)
    (found,) = audit.found("scan-limit-exceeded").values()
    assert "nsIndexIDListScanLimit: limit=6100 type=eq" in found.remedies[1].text


def test_where_a_limit_cut_the_result_off_their_number_is_not_known() -> None:
    audit = Audit()
    audit.has("l", "eq")
    audit.asks("(l=berlin)", UNINDEXED, entries=4801, err=4, times=3, took=0.5)
    (found,) = audit.found("scan-limit-exceeded").values()
    assert len(found.remedies) == 1
