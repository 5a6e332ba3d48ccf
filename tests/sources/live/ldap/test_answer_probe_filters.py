"""The filters of the probe: each matches the entry that its value is from, and needs the index."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.indexes import IndexDefinition
from ldapdiag.evidence.ldif import Entry
from ldapdiag.sources.live.ldap.answer_probe import any_of, filled, is_usable, patterns_of


def entry(value: str) -> Entry:
    return Entry(dn="uid=x", attributes={"sn": (value,)})


def escaped(text: str) -> str:
    return "".join(f"\\{octet:02x}" for octet in text.encode())


@pytest.mark.parametrize(
    ("value", "below", "above"), [("12", "9", "100"), ("95", "9", "100"), ("7", "7", "10"), ("5990", "9", "10000")]
)
def test_the_bounds_of_a_range_sort_differently_as_text(value: str, below: str, above: str) -> None:
    assert filled("(sn>=@)", entry(value), "sn") == f"(sn>={escaped(below)})"
    assert filled("(sn<=@)", entry(value), "sn") == f"(sn<={escaped(above)})"
    assert int(below) <= int(value) <= int(above)


def test_other_text_has_no_range() -> None:
    assert filled("(sn>=@)", entry("Miller"), "sn") == ""


def test_every_octet_of_a_value_is_escaped() -> None:
    assert filled("(sn=@)", entry("a*)(é"), "sn") == r"(sn=\61\2a\29\28\c3\a9)"


def test_a_short_value_has_no_substrings() -> None:
    assert filled("(sn=*@*)", entry("abc"), "sn") == ""
    assert filled("(sn=*)", entry("abc"), "sn") == "(sn=*)"


def test_an_approximate_match_has_only_words_with_a_phonetic_key() -> None:
    assert filled("(sn~=@)", entry("Main Street 12 (4)"), "sn") == f"(sn~={escaped('Main Street')})"
    assert filled("(sn~=@)", entry("12 34"), "sn") == ""
    assert filled("(sn=@)", entry("12 34"), "sn") == f"(sn={escaped('12 34')})"


@pytest.mark.parametrize("value", ["", "a\\b", "a\nb", "x" * 300])
def test_a_value_that_cannot_be_searched(value: str) -> None:
    assert not is_usable(entry(value), "sn")


def test_every_index_type_has_a_filter() -> None:
    definition = IndexDefinition(attribute="sn", types=frozenset({"eq", "pres"}), rules=("caseExactMatch",))
    assert set(patterns_of(definition)) == {"(sn=@)", "(sn=*)", "(sn:caseExactMatch:=@)", "(sn>=@)", "(sn<=@)"}
    assert patterns_of(IndexDefinition(attribute="a_b)", types=frozenset({"eq"}))) == ()
    assert any_of(["sn", "cn"]) == "(|(sn=*)(cn=*))"
