from __future__ import annotations

from audits import UNKNOWN, Audit
from ldapdiag.finding import Severity


def test_what_the_server_notes_is_told_with_its_attribute() -> None:
    audit = Audit()
    audit.asks("(noSuchThing=1)", UNKNOWN, times=8, took=0.001, entries=0)
    (found,) = audit.found("unknown-attribute").values()
    assert (found.observed["attribute"], found.observed["searches"]) == ("noSuchThing", 8)
    assert found.severity is Severity.LOW


def test_of_several_attributes_it_is_one_of_them() -> None:
    audit = Audit()
    audit.has("uid", "eq")
    audit.asks("(|(uid=joe)(noSuchThing=1))", UNKNOWN, took=0.001)
    (found,) = audit.found("unknown-attribute").values()
    assert found.observed["attribute"] in {"", "noSuchThing"}


def test_attributes_that_are_known_are_clear() -> None:
    audit = Audit()
    audit.asks("(uid=joe)", took=0.001)
    assert audit.found("unknown-attribute") == {}
