from __future__ import annotations

from dataclasses import replace

import pytest

import facts
from incidents import diagnosed_facts, findings, judged
from indexes_389 import BACKEND, LIST, index, plugin
from ldapdiag.evidence.indexes.entry_count import EntryCount
from ldapdiag.finding import Clear, NotJudged, Severity
from reading import facts_of

CHECK = "missing-server-index"
UNIQUE = plugin("NSUniqueAttr_Init", "uniqueness-attribute-name: title", "uniqueness-subtrees: dc=example,dc=com")
OBJECT_CLASS = index("nsIndexType: eq", attribute="objectClass")


def configured(*entries: str) -> list[object]:
    text = BACKEND + LIST + OBJECT_CLASS + "".join(entries)
    return [replace(fact, origin=facts.origin("ldap", "dse.ldif")) for fact in facts_of(text)]


def found(*entries: str, more: tuple[object, ...] = ()):
    return findings(diagnosed_facts([facts.table([facts.listening()]), *configured(*entries), *more]), CHECK)


def test_uniqueness_needs_equality() -> None:
    ((_, one),) = found(UNIQUE).items()
    assert one.observed["attribute"] == "title"
    assert (one.observed["types"], one.observed["plugins"]) == (["eq"], ["attribute uniqueness"])
    assert one.severity is Severity.MEDIUM
    assert "title" in one.remedies[0].text


def test_an_index_is_enough() -> None:
    assert not found(UNIQUE, index("nsIndexType: eq", attribute="title"))
    assert found(UNIQUE, index("nsIndexType: sub", attribute="title"))


def test_a_plug_in_that_is_off_searches_nothing() -> None:
    assert not found(plugin("NSUniqueAttr_Init", "uniqueness-attribute-name: title", on=False))


def test_a_base_outside_the_database_needs_no_index_in_it() -> None:
    assert not found(plugin("NSUniqueAttr_Init", "uniqueness-attribute-name: title", "uniqueness-subtrees: dc=other"))


def test_numbers_are_assigned_by_range() -> None:
    assignment = "dn: cn=ids,cn=plugins,cn=config\ndnaType: uidNumber\ndnaScope: dc=example,dc=com\n\n"
    ((_, one),) = found(assignment, index("nsIndexType: eq", attribute="uidNumber")).items()
    assert one.observed["types"] == ["eq", "integerOrderingMatch"]
    rule = index("nsIndexType: eq", "nsMatchingRule: integerOrderingMatch", attribute="uidNumber")
    assert not found(assignment, rule)


@pytest.mark.parametrize(("delay", "missing"), [("0", 1), ("-1", 0)])
def test_referential_integrity_by_its_delay(delay: str, missing: int) -> None:
    settings = (f"referint-update-delay: {delay}", "referint-membership-attr: member")
    assert len(found(plugin("referint_postop_init", *settings))) == missing


def test_a_small_database_is_scanned_quickly() -> None:
    count = EntryCount(origin=facts.origin("ldap", "count.ldif"), suffix="dc=example,dc=com", entries=200)
    ((_, one),) = found(UNIQUE, more=(count,)).items()
    assert (one.severity, one.observed["entries"]) == (Severity.INFO, 200)


def test_without_a_plug_in_that_searches_it_is_clear() -> None:
    (one,) = judged(diagnosed_facts([facts.table([facts.listening()]), *configured()]), CHECK).values()
    assert isinstance(one, Clear)


def test_an_excerpt_is_not_judged() -> None:
    (fact,) = [fact for fact in facts_of(OBJECT_CLASS) if fact.kind == "index-configuration"]
    excerpt = replace(fact, origin=facts.origin("ldap", "index.ldif"))
    (one,) = judged(diagnosed_facts([facts.table([facts.listening()]), excerpt]), CHECK).values()
    assert isinstance(one, NotJudged)
