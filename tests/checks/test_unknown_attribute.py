from __future__ import annotations

import pytest

from analysis.indexes.test_predictions import SLAPD, slapd_log
from audits import UNINDEXED, UNKNOWN, Audit
from incidents import diagnosed, findings
from ldapdiag.finding import Confidence, Severity


def test_what_the_server_notes_is_told_with_its_attribute() -> None:
    audit = Audit()
    audit.asks("(noSuchThing=1)", UNKNOWN, times=8, took=0.001, entries=0)
    (found,) = audit.found("unknown-attribute").values()
    assert (found.observed["attribute"], found.observed["searches"]) == ("noSuchThing", 8)
    assert found.severity is Severity.LOW


@pytest.mark.parametrize("configured", [False, True])
def test_what_the_product_has_itself_is_not_unknown(configured: bool) -> None:  # noqa: FBT001  a parameter
    audit = Audit(configured=configured)
    audit.asks("(nsAccountLock=true)", UNINDEXED, entries=0)
    audit.asks("(|(nsRole=cn=a)(noSuchThing=1))", UNKNOWN, took=0.001, entries=0)
    (found,) = audit.found("unknown-attribute").values()
    assert found.observed["attribute"] == "noSuchThing"


def test_of_several_attributes_it_is_one_of_them() -> None:
    audit = Audit()
    audit.has("uid", "eq")
    audit.asks("(|(uid=joe)(noSuchThing=1))", UNKNOWN, took=0.001)
    (found,) = audit.found("unknown-attribute").values()
    assert found.observed["attribute"] in {"", "noSuchThing"}


@pytest.mark.parametrize(("asked", "lacking"), [(["(costCenter=5)"], "noSuchThing"), ([], "")])
def test_an_attribute_that_another_search_shows_to_be_known_is_not_the_one(asked, lacking) -> None:
    audit = Audit()
    audit.asks("(|(costCenter=5)(noSuchThing=1))", UNKNOWN, took=0.001)
    for filter_ in asked:
        audit.asks(filter_, took=0.001)
    (found,) = audit.found("unknown-attribute").values()
    assert (found.observed["attribute"], found.confidence) == (lacking, Confidence.CERTAIN)


def test_a_substring_of_it_scans_and_gets_no_index() -> None:
    audit = Audit()
    audit.asks("(noSuchThing=*joe*)", b"A,F", entries=0)
    (found,) = audit.found("unknown-attribute").values()
    assert "the result is always empty, and an index would not change that" in found.detail
    assert not audit.found("missing-index")


def test_attributes_that_are_known_are_clear() -> None:
    audit = Audit()
    audit.asks("(uid=joe)", took=0.001)
    assert audit.found("unknown-attribute") == {}


def test_a_negated_part_is_told_with_its_own_reason(tmp_path) -> None:
    """It was said that slapd scans the database, which it does not where another part has an index."""
    filter_ = "(&(uid=joe)(!(?shadowExpire<=18000)))"
    (tmp_path / "slapd.log").write_text(slapd_log(("(uid=joe)", 0.0002, 1), (filter_, 0.0002, 0)))
    (tmp_path / "slapd.conf").write_text(SLAPD.replace("core.schema", "nis.schema"))
    (found,) = findings(diagnosed(tmp_path), "unknown-attribute").values()
    assert "the attribute has no ordering rule" in found.title
