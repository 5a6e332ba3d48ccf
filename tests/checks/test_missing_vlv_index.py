"""Virtual list views: those without a VLV index, those that have one, and those that none can answer."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

import facts
from audits import SUFFIX, Audit
from incidents import diagnosed_facts, judged
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.sorting import UNLISTED, Sorting
from ldapdiag.finding import Clear, Confidence, NotJudged
from ldapdiag.remedy import RemedyKind

PERSONS = "(objectClass=person)"
SORTED, BY_INDEX = Sorting(b"-mail cn", 20000, 0), Sorting(b"-mail cn", UNLISTED, 0)
DATABASE = "cn=userRoot,cn=ldbm database,cn=plugins,cn=config"
ACI = 'aci: (targetattr="*")(version 3.0; acl "x"; allow (read,search,compare) userdn="ldap:///all";)\n'
CHECK = "missing-vlv-index"


def vlv(*, sort: str = "-mail cn", scope: int = 2, more: str = "", aci: str = ACI) -> str:
    return (
        f"dn: cn=people,{DATABASE}\nobjectClass: vlvSearch\ncn: people\nvlvBase: {SUFFIX.decode()}\nvlvScope: {scope}\n"
        f"vlvFilter: {PERSONS}\n{aci}\n"
        f"dn: cn=by,cn=people,{DATABASE}\nobjectClass: vlvIndex\ncn: by\nvlvSort: {sort}\n{more}\n"
    )


def audit(*configured: str, **searches: Any) -> Audit:
    one = Audit(others=configured)
    one.asks(searches.pop("filter_", PERSONS), **{"notes": b"U", "sorting": SORTED, "entries": 10} | searches)
    return one


def test_without_an_index_the_one_to_add_is_named() -> None:
    (found,) = audit().found(CHECK).values()
    assert found.confidence is Confidence.CERTAIN
    assert {name: found.observed[name] for name in ("filter", "base", "scope", "sort", "state", "searches")} == {
        "filter": PERSONS, "base": SUFFIX.decode(), "scope": "sub", "sort": "-mail cn", "state": "no-index",
        "searches": 20,
    }  # fmt: skip
    (remedy,) = found.remedies
    for line in (
        "vlvSort: -mail cn",
        "vlvScope: 2",
        f"vlvFilter: {PERSONS}",
        "aci: ",
        "nsIndexVLVAttribute",
    ):
        assert line in remedy.text
    assert remedy.text.index("aci: ") < remedy.text.index("vlvIndex") < remedy.text.index("wait_for_build")


def test_such_views_are_no_searches_that_lack_an_index_of_an_attribute() -> None:
    one = audit(filter_="(&(objectClass=person)(displayName=*))")
    assert one.found(CHECK)
    for check in ("missing-index", "unindexable-filter", "scan-limit-exceeded"):
        assert one.found(check) == {}


def test_plain_searches_beside_them_still_do() -> None:
    one = audit(filter_="(displayName=*)")
    one.asks("(displayName=*)", b"A", entries=3)
    assert one.found(CHECK)
    assert set(one.found("missing-index")) == {"displayName"}


@pytest.mark.parametrize("changed", [{"sort": "cn"}, {"sort": "mail cn"}, {"scope": 1}, {"sort": "-mail"}])
def test_an_index_of_another_search_or_order_does_not_help(changed: dict[str, Any]) -> None:
    (found,) = audit(vlv(**changed)).found(CHECK).values()
    assert found.observed["state"] == "no-index"
    text = found.remedies[0].text
    assert ("dn: cn=people," in text) is False
    assert ("objectClass: vlvSearch" in text) is ("scope" in changed)


def test_no_index_is_proposed_that_would_sort_numbers_as_text() -> None:
    """Measured (test_two_databases.py): the first page by -uidNumber was 20999, 20998…, and 9999, 9998… by an index."""
    one = audit(sorting=Sorting(b"-uidNumber cn", 20000, 0))
    assert one.found(CHECK) == {}
    (verdict,) = judged(one.diagnosis(), CHECK).values()
    assert isinstance(verdict, NotJudged)
    assert "as text" in verdict.reason


def test_an_index_that_fits_and_was_not_used_is_built() -> None:
    (found,) = audit(vlv()).found(CHECK).values()
    assert (found.observed["state"], found.confidence) == ("not-used", Confidence.LIKELY)
    assert "nsIndexVLVAttribute: by" in found.remedies[0].text


@pytest.mark.parametrize(
    "more", ["vlvEnabled: 1\n", f"createTimestamp: {facts.START + timedelta(seconds=1):%Y%m%d%H%M%SZ}\n"]
)
def test_an_index_that_is_used_now_or_is_younger_than_the_log_asks_for_nothing(more: str) -> None:
    assert audit(vlv(more=more)).found(CHECK) == {}


def test_views_by_an_index_ask_for_nothing() -> None:
    one = audit(vlv(), notes=b"", sorting=BY_INDEX)
    (verdict,) = judged(one.diagnosis(), CHECK).values()
    assert isinstance(verdict, Clear)
    assert "answered 20 searches" in verdict.reason


@pytest.mark.parametrize(
    ("filter_", "sorting", "because"),
    [
        ("(cn=joe)", SORTED, "values"),
        ("(&(objectClass=person)(ou=x))", SORTED, "values"),
        (PERSONS, Sorting(b"cn;2.5.13.3", 20000, 1), "not plain attributes"),
    ],
)
def test_what_no_single_index_answers_is_not_judged(filter_: str, sorting: Sorting, because: str) -> None:
    verdicts = judged(audit(filter_=filter_, sorting=sorting).diagnosis(), CHECK).values()
    (verdict,) = [one for one in verdicts if isinstance(one, NotJudged)]
    assert because in verdict.reason


def test_without_the_configuration_it_is_not_judged() -> None:
    one = audit()
    one.configured = False
    (verdict,) = judged(one.diagnosis(), CHECK).values()
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("index-configuration",)


def test_fast_views_are_no_finding() -> None:
    assert audit(took=0.001).found(CHECK) == {}


def test_accounts_without_access_are_refused_by_an_index_in_use() -> None:
    one = Audit(others=(vlv(aci=""),))
    one.asks(PERSONS, err=50, took=0.0001)
    (found,) = one.found(CHECK).values()
    assert found.observed["state"] == "refused"
    assert 'userdn="ldap:///all"' in found.remedies[0].text
    assert "changetype: modify\nadd: aci\n" in found.remedies[0].text


def test_anonymous_accounts_get_access_of_their_own() -> None:
    one = Audit()
    number = one.log.opens()
    for op in range(1, 21):
        one.log.searches(number, op, PERSONS.encode(), took=0.1, notes=b"U", base=SUFFIX, sorting=SORTED)
    (found,) = one.found(CHECK).values()
    assert "ldap:///anyone" in found.remedies[0].text


@pytest.mark.parametrize("keys", [b"cn $(reboot)", b"cn;x`id`", b"a'b"])
def test_hostile_sort_keys_reach_no_command(keys: bytes) -> None:
    for one in audit(sorting=Sorting(keys, 9, 0)).found(CHECK).values():
        assert all(remedy.kind is RemedyKind.ADVICE for remedy in one.remedies)


@pytest.mark.parametrize(
    ("filter_", "errors", "judged_"), [("(sn=x)", 18, False), ("(sn=x)", 0, True), ("(sn:x:=y)", 18, True)]
)
def test_slapd_has_no_such_index_and_refuses_some_orders(filter_: str, errors: int, judged_: bool) -> None:  # noqa: FBT001  a table
    one = Audit(configured=False)
    one.asks(filter_, err=errors)
    facts_of_slapd = [
        replace(fact, family=Family.OPENLDAP) if isinstance(fact, AccessLog) else fact for fact in one.facts()
    ]
    (verdict,) = judged(diagnosed_facts(facts_of_slapd), CHECK).values()
    assert isinstance(verdict, Clear if judged_ else NotJudged)
    assert "sssvlv" in (verdict.reason if isinstance(verdict, Clear) else str(verdict.how))
