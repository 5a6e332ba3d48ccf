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
        ("(&)", "(&)"),
        ("(!(|(&)))", "(!(|(&)))"),
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


ALIKE = ("(!(uid=joe))", "(&(objectClass=person)(!(UID=ann)))", "(|(cn=x)(!(uid=joe)))")


def test_filters_with_the_same_part_are_one_finding_with_their_sums() -> None:
    """Each attribute and kind of assertion has one; the worst filter decides, and all are listed."""
    audit = Audit()
    for times, filter_ in zip((700, 20, 5), ALIKE, strict=True):
        audit.asks(filter_, UNINDEXED, times=times)
    audit.asks("(!(mail=joe))", UNINDEXED, times=3)
    audit.asks("(!(uid=*))", UNINDEXED, times=3)
    told = {one.subject.partition(" at ")[0]: one for one in audit.found("unindexable-filter").values()}
    assert told.keys() == {"(!(uid=?))", "(!(mail=?))", "(!(uid=*))"}
    one = told["(!(uid=?))"]
    assert one.severity is Severity.HIGH
    assert one.observed["searches"] == 725
    assert one.observed["shapes"] == [
        filter_.replace("joe", "?").replace("ann", "?").replace("x", "?") for filter_ in ALIKE
    ]
    assert all(shape in one.detail for shape in one.observed["shapes"])
    assert "3 filters with (!(uid=?))" in one.title
    assert sum(each.observed["searches"] for each in told.values()) == 731


def test_the_worst_filter_decides() -> None:
    """Filters that are each worth no change are not worth one together."""
    audit = Audit()
    names = [
        "cn",
        "sn",
        "l",
        "st",
        "street",
        "title",
        "mail",
        "givenName",
        "initials",
        "description",
        "pager",
        "mobile",
    ]
    for name in names:
        audit.asks(f"(|({name}=x)(!(uid=joe)))", UNINDEXED, took=0.00001, times=1)
    (found,) = audit.found("unindexable-filter").values()
    assert found.severity is Severity.INFO
    assert len(found.observed["shapes"]) == len(names)
    assert len([line for line in found.detail.splitlines() if line.startswith("(|")]) == 10


@pytest.mark.parametrize("filter_", [*ALIKE, "(cn:ourOwnMatch:=joe)", "(nsRole=cn=a,dc=example,dc=com)"])
def test_what_it_is_about_does_not_depend_on_the_configuration(filter_: str) -> None:
    subjects = set()
    for configured in (True, False):
        audit = Audit(configured=configured)
        audit.asks(filter_, UNINDEXED)
        subjects |= {one.subject for one in audit.found("unindexable-filter").values()}
    assert len(subjects) == 1


@pytest.mark.parametrize(
    ("value", "entries", "is_planned"), [("12", 0, False), ("12", 1, True), ("smith", 0, True), ("12 a", 0, True)]
)
def test_no_index_serves_an_approximate_match_for_a_number(value: str, entries: int, *, is_planned: bool) -> None:
    """A 389-ds finds none for (departmentNumber~=12), whatever the index; see tests/live."""
    audit = Audit()
    audit.asks(f"(departmentNumber~={value})", UNINDEXED, entries=0)
    audit.asks("(departmentNumber~=7)", UNINDEXED, entries=entries, took=0.05)
    assert bool(audit.found("missing-index")) is is_planned
    told = audit.found("unindexable-filter")
    assert bool(told) is not is_planned
    assert all("the value of the slowest search" in one.detail for one in told.values())
    assert all(one.confidence is Confidence.LIKELY for one in told.values())
