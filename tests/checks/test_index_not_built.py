from __future__ import annotations

from audits import SUFFIX, UNINDEXED, Audit
from ldapdiag.finding import Confidence


def test_an_index_that_is_configured_and_not_used_where_few_entries_match() -> None:
    audit = Audit()
    audit.has("displayName", "eq")
    audit.asks("(displayName=joe)", UNINDEXED, entries=1)
    (found,) = audit.found("index-not-built").values()
    assert found.observed["attribute"] == "displayName"
    assert found.confidence is Confidence.POSSIBLE, "a single account asks, which may not see all"
    assert "built after this log" in found.detail
    assert audit.found("missing-index") == audit.found("scan-limit-exceeded") == {}


def test_two_accounts_that_see_as_few_make_it_likely() -> None:
    audit = Audit()
    audit.has("displayName", "eq")
    audit.asks("(displayName=joe)", UNINDEXED, entries=1)
    number = audit.log.opens()
    audit.log.binds(number, b"uid=bar,dc=example,dc=com")
    audit.log.searches(number, 1, b"(displayName=jim)", took=0.1, notes=UNINDEXED, base=SUFFIX)
    (found,) = audit.found("index-not-built").values()
    assert found.confidence is Confidence.LIKELY


def test_where_many_entries_match_it_is_the_limit() -> None:
    audit = Audit()
    audit.has("displayName", "eq")
    audit.asks("(displayName=joe)", UNINDEXED, entries=5000)
    assert audit.found("index-not-built") == {}


def test_an_index_that_is_used_is_built() -> None:
    audit = Audit()
    audit.has("displayName", "eq")
    audit.asks("(displayName=joe)", entries=1)
    assert audit.found("index-not-built") == {}
