from __future__ import annotations

import pytest

from audits import UNINDEXED, Audit
from ldapdiag.finding import Confidence, Severity


@pytest.mark.parametrize(
    ("filter_", "part"),
    [
        ("(!(uid=joe))", "(!(uid=?))"),
        ("(&(objectClass=person)(!(uid=joe)))", "(!(uid=?))"),
        ("(objectClass=*)", "(objectClass=*)"),
        ("(cn:caseExactOrderingMatch:=joe)", "(cn:caseExactOrderingMatch:=?)"),
        ("(uidNumber:1.2.840.113556.1.4.803:=2)", "(uidNumber:1.2.840.113556.1.4.803:=?)"),
        ("(cn:=joe)", "(cn:=?)"),
        ("(|(uid=joe)(!(displayName=x)))", "(!(displayName=?))"),
        ("(nsRole=cn=admins,dc=example,dc=com)", "(nsRole=?)"),
    ],
)
def test_what_no_index_answers(filter_: str, part: str) -> None:
    audit = Audit()
    audit.has("uid", "eq")
    audit.asks("(objectClass=person)", b"", entries=6000, times=1)
    audit.asks(filter_, UNINDEXED)
    (found,) = audit.found("unindexable-filter").values()
    assert found.observed["part"] == part
    assert found.remedies[0].where == "client"
    assert audit.found("missing-index") == {}


def test_computed_values_without_the_configuration() -> None:
    audit = Audit(configured=False)
    audit.asks("(nsRole=cn=admins,dc=example,dc=com)", UNINDEXED, entries=0)
    (found,) = audit.found("unindexable-filter").values()
    assert "its values are computed (roles)" in found.title
    assert audit.found("unknown-attribute") == {}


def test_beside_a_part_that_an_index_would_answer_it_is_harmless() -> None:
    audit = Audit()
    audit.asks("(&(displayName=joe)(!(uid=joe)))", UNINDEXED)
    assert audit.found("unindexable-filter") == {}
    assert set(audit.found("missing-index")) == {"displayName"}


def test_severity_follows_the_time() -> None:
    audit = Audit()
    audit.asks("(!(uid=joe))", UNINDEXED, took=0.0001)
    audit.asks("(!(mail=joe))", UNINDEXED, times=700)
    told = audit.found("unindexable-filter")
    assert told["(!(uid=?))"].severity is Severity.INFO
    assert told["(!(mail=?))"].severity is Severity.HIGH


@pytest.mark.parametrize(
    ("rule", "confidence"), [("caseExactOrderingMatch", Confidence.CERTAIN), ("ourOwnMatch", Confidence.LIKELY)]
)
def test_is_certain_only_where_the_servers_code_excludes_an_index(rule: str, confidence: Confidence) -> None:
    audit = Audit()
    audit.asks(f"(cn:{rule}:=joe)", UNINDEXED)
    (found,) = audit.found("unindexable-filter").values()
    assert found.confidence is confidence
    assert ("Not certain" in found.detail) is (confidence is Confidence.LIKELY)


def test_the_time_below_all_bases_counts() -> None:
    """Each base takes less than 0.1 s, all together 10 s."""
    audit = Audit()
    for tenant in range(200):
        audit.asks("(!(uid=joe))", UNINDEXED, times=1, took=0.05, base=b"ou=t%d,dc=example,dc=com" % tenant)
    (found,) = audit.found("unindexable-filter").values()
    assert found.severity is Severity.HIGH  # and more than a twentieth of the time of the log
    assert found.observed["searches"] == 200
