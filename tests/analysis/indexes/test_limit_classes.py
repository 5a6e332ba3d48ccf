"""Limit classes: what accounts with limits were answered tells neither the cost nor the cause of a search."""

from __future__ import annotations

import pytest

from audits import PARTLY, SUFFIX, UNINDEXED, Audit
from ldapdiag.finding import Confidence
from ldapdiag.report.indexes.as_data import plans

LIMITED = b"uid=web,dc=example,dc=com"
OTHER = b"uid=portal,dc=example,dc=com"


def audit_of(filter_: str, *results: tuple[bytes, int, bytes, int], base: bytes = SUFFIX) -> Audit:
    """Return an audit of results: account, code, notes, entries; ten of each. displayName has an eq index."""
    audit = Audit()
    audit.has("displayName", "eq")
    audit.has("mail", "pres", "eq", "sub")
    for account, err, notes, entries in results:
        number = audit.log.opens()
        audit.log.binds(number, account)
        for op in range(1, 11):
            took, text = 0.001 if err else 0.1, filter_.encode()
            audit.log.searches(number, op, text, took=took, notes=notes, base=base, err=err, entries=entries)
        audit.log.closes(number)
    return audit


def causes(audit: Audit) -> dict[str, set[str]]:
    """Return the subjects of the findings by check."""
    checks = ("index-not-built", "scan-limit-exceeded", "missing-index", "unindexable-filter")
    return {check: set(found) for check in checks if (found := audit.found(check))}


def test_a_limited_account_does_not_hide_an_index_that_is_not_built() -> None:
    audit = audit_of("(displayName=joe)", (OTHER, 0, UNINDEXED, 1), (LIMITED, 11, UNINDEXED, 0))
    assert causes(audit) == {"index-not-built": {"(displayName=?)"}}
    (found,) = audit.found("index-not-built").values()
    assert (found.observed["searches"], found.observed["refused"]) == (20, 10)
    assert found.observed["refused_accounts"] == [LIMITED.decode()]
    assert found.confidence is Confidence.POSSIBLE, "of those that were answered there is one account"


def test_a_limited_account_that_received_more_shows_a_longer_list() -> None:
    audit = audit_of("(displayName=joe)", (OTHER, 0, UNINDEXED, 1), (LIMITED, 11, UNINDEXED, 500))
    assert causes(audit) == {"scan-limit-exceeded": {"(displayName=?)"}}


@pytest.mark.parametrize(("err", "entries"), [(4, 1), (4, 2)])
def test_a_size_limit_shows_one_entry_more_than_it_returned(err: int, entries: int) -> None:
    audit = audit_of("(displayName=joe)", (OTHER, 0, UNINDEXED, 2), (LIMITED, err, UNINDEXED, entries))
    assert set(causes(audit)) == {"index-not-built" if entries == 1 else "scan-limit-exceeded"}


def test_the_time_of_refused_searches_is_not_the_cost() -> None:
    """Nine in ten are refused within a millisecond; the others take 100 ms each."""
    refused = [(LIMITED, 11, UNINDEXED, 0)] * 9
    audit = audit_of("(title=boss)", (OTHER, 0, UNINDEXED, 1), *refused)
    assert causes(audit) == {"missing-index": {"title"}}
    (found,) = audit.found("missing-index").values()
    assert found.observed["refused_accounts"] == [LIMITED.decode()]
    assert "90 of them failed for lack of an index. Accounts with limits: " in found.detail
    assert LIMITED.decode() in found.detail


def test_what_completes_by_an_index_is_indexed_and_what_is_refused_is_over_the_limit() -> None:
    """Two accounts ask for other values: few have the one, thousands have the other."""
    audit = audit_of("(displayName=joe)", (OTHER, 0, b"", 1), (LIMITED, 11, UNINDEXED, 400))
    assert causes(audit) == {"scan-limit-exceeded": {"(displayName=?)"}}
    (found,) = audit.found("scan-limit-exceeded").values()
    assert (found.observed["searches"], found.observed["refused"]) == (10, 10)


def test_a_limit_below_an_indexed_list_is_a_matter_of_the_account() -> None:
    audit = audit_of("(displayName=joe)", (OTHER, 0, b"", 1033), (LIMITED, 11, b"", 500))
    assert causes(audit) == {"scan-limit-exceeded": {"(displayName=?)"}}
    (found,) = audit.found("scan-limit-exceeded").values()
    assert found.observed["limit"] == "account"
    assert found.observed["refused_accounts"] == [LIMITED.decode()]
    assert "nsLookThroughLimit: 2066" in found.remedies[0].text
    assert f"dn: {LIMITED.decode()}" in found.remedies[0].text
    assert "index" in found.title


def test_without_a_complete_result_the_sufficient_limit_is_not_known() -> None:
    audit = audit_of("(displayName=joe)", (LIMITED, 11, b"", 500))
    (found,) = audit.found("scan-limit-exceeded").values()
    assert found.observed["limit"] == "account"
    assert "nsLookThroughLimit:" not in found.remedies[0].text


def test_a_size_limit_of_an_indexed_search_is_no_finding() -> None:
    assert causes(audit_of("(displayName=joe)", (LIMITED, 4, b"", 100))) == {}


def test_only_refused_searches_are_judged_by_themselves() -> None:
    assert causes(audit_of("(title=boss)", (LIMITED, 11, UNINDEXED, 0))) == {"missing-index": {"title"}}
    assert causes(audit_of("(&(mail=*)(title=boss))", (LIMITED, 11, PARTLY, 0))) == {"missing-index": {"title"}}


@pytest.mark.parametrize(
    ("results", "planned"),
    [
        ([(LIMITED, 11, UNINDEXED, 3)], True),
        ([(LIMITED, 53, UNINDEXED, 0)], True),
        ([(LIMITED, 11, UNINDEXED, 4000)], False),
        ([(LIMITED, 11, UNINDEXED, 3), (OTHER, 0, UNINDEXED, 5000)], False),
    ],
)
def test_how_many_have_an_attribute_is_unknown_where_all_searches_were_refused(results, planned) -> None:
    audit = audit_of("(employeeType=*)", *results)
    assert set(audit.found("missing-index")) == ({"employeeType"} if planned else set())
    if planned:
        (found,) = audit.found("missing-index").values()
        assert found.confidence is Confidence.LIKELY
        assert "It helps if fewer entries match than an ID list may have" in found.detail
        (told,) = plans(audit.diagnosis())
        assert [one["after_seconds"] for one in told["predicted"]] == [None]
        assert "answer 10 refused searches" in told["summary"]


def test_a_refused_substring_does_not_stand_for_a_longer_one() -> None:
    audit = Audit()
    audit.has("mail", "eq", "sub")
    audit.asks("(mail=*joe.doe*)", entries=1)
    audit.asks("(mail=*jo*)", UNINDEXED, entries=0, err=11, took=0.001)
    assert causes(audit) == {}
    (found,) = audit.found("substring-too-short").values()
    assert (found.observed["searches"], found.observed["refused"]) == (20, 20)


def test_few_matches_below_a_base_make_an_unbuilt_index_possible() -> None:
    audit = Audit()
    audit.has("displayName", "eq")
    audit.asks("(displayName=joe)", UNINDEXED, entries=1, base=b"ou=people," + SUFFIX)
    (found,) = audit.found("index-not-built").values()
    assert found.confidence is Confidence.POSSIBLE
    assert "unless thousands elsewhere have the same values" in found.detail
    assert set(causes(audit)) == {"index-not-built"}


def test_a_scan_limit_of_the_index_explains_it_as_well() -> None:
    audit = Audit()
    audit.has("displayName", "eq", lines=("nsIndexIDListScanLimit: limit=0 type=eq values=joe",))
    audit.asks("(displayName=joe)", UNINDEXED, entries=1, base=b"ou=people," + SUFFIX)
    assert set(causes(audit)) == {"scan-limit-exceeded"}


@pytest.mark.parametrize("base", [SUFFIX, b"ou=people," + SUFFIX])
def test_a_limited_account_does_not_hide_that_few_entries_have_an_attribute(base: bytes) -> None:
    audit = audit_of("(carLicense=*)", (OTHER, 0, UNINDEXED, 400), (LIMITED, 11, UNINDEXED, 5), base=base)
    assert causes(audit) == {"missing-index": {"carLicense"}}
    (found,) = audit.found("missing-index").values()
    assert ("It helps if fewer entries match" in found.detail) == (base != SUFFIX)


def test_where_a_limited_account_received_more_most_entries_may_have_it() -> None:
    audit = audit_of(
        "(carLicense=*)", (OTHER, 0, UNINDEXED, 400), (LIMITED, 11, UNINDEXED, 500), base=b"ou=a," + SUFFIX
    )
    assert set(causes(audit)) == {"scan-limit-exceeded"}
