from __future__ import annotations

import pytest

from audits import UNINDEXED, Audit
from incidents import not_judged


@pytest.mark.parametrize(
    ("short", "long"), [("(cn=j*)", "(cn=jo*)"), ("(cn=*j)", "(cn=*jo)"), ("(cn=*jo*)", "(cn=*joe*)")]
)
def test_the_short_ones_of_a_shape_are_told_apart_from_the_long_ones(short: str, long: str) -> None:
    audit = Audit()
    audit.has("cn", "eq", "sub")
    audit.asks(short, UNINDEXED, times=7)
    audit.asks(long, times=90, took=0.001)
    (found,) = audit.found("substring-too-short").values()
    assert found.observed["searches"] == 7
    assert found.observed["attribute"] == "cn"
    assert audit.found("missing-index") == {}


def test_an_attribute_without_an_index_for_substrings_is_a_missing_index() -> None:
    audit = Audit()
    audit.has("cn", "eq")
    audit.asks("(cn=joe*)", UNINDEXED)
    assert audit.found("substring-too-short") == {}
    assert set(audit.found("missing-index")) == {"cn"}


def test_no_index_is_added_for_what_would_be_too_short_for_it() -> None:
    audit = Audit()
    audit.asks("(cn=j*)", UNINDEXED)
    assert audit.found("missing-index") == {}
    assert set(audit.found("substring-too-short")) == {"(cn=?*)"}


def test_shorter_keys_are_a_setting() -> None:
    audit = Audit()
    audit.has("cn", "sub", lines=("nsSubStrMiddle: 2",))
    audit.asks("(cn=*jo*)", took=0.001)
    audit.asks("(cn=*j*)", UNINDEXED)
    (found,) = audit.found("substring-too-short").values()
    assert "2" in found.observed["reason"]


def test_without_the_configuration_the_keys_are_not_known() -> None:
    audit = Audit(configured=False)
    audit.asks("(cn=j*)", UNINDEXED)
    assert not_judged(audit.diagnosis(), "substring-too-short", "ldap").missing == ("index-configuration",)
