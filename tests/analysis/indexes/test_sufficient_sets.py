from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.analysis.indexes.sufficient_sets import NOTHING, sufficient_sets
from ldapdiag.evidence.filter_tree import And, Assertion, Not, Or, assertions, parse
from ldapdiag.servers.indexes.candidates import Cause, Change, IndexUse, Leaf

INDEXED = frozenset({"cn", "uid"})
"""Attributes that have every index; others have none."""


def leaf(assertion: Assertion) -> Leaf:
    if assertion.attribute in INDEXED:
        return Leaf(assertion=assertion, index_use=IndexUse.INDEXED, cause=Cause.NONE)
    change = Change(assertion.attribute, {"equality": "eq", "substring": "sub"}.get(assertion.kind, "pres"))
    return Leaf(assertion=assertion, index_use=IndexUse.UNINDEXED, cause=Cause.NO_INDEX, change=change)


def wanted(filter_: str) -> list[set[str]]:
    tree = parse(filter_)
    assert tree is not None
    return [{f"{change.attribute} {change.type}" for change in one} for one in sufficient_sets(tree, leaf)]


@pytest.mark.parametrize(
    ("filter_", "sets"),
    [
        ("(mail=a)", [{"mail eq"}]),
        ("(|(cn=a)(mail=a))", [{"mail eq"}]),
        ("(|(sn=a)(mail=a*))", [{"sn eq", "mail sub"}]),
        ("(&(sn=a)(mail=a*))", [{"mail sub"}, {"sn eq"}]),
        ("(&(objectClass=person)(mail=a))", [{"mail eq"}]),
        ("(&(mail=*)(sn=a))", [{"sn eq"}]),
        ("(&(cn=a)(mail=a))", [{"mail eq"}]),
        ("(!(mail=a))", []),
        ("(&(cn=a)(!(mail=a)))", []),
        ("(|(mail=a)(!(sn=a)))", []),
        ("(&(|(sn=a)(l=a))(mail=a))", [{"mail eq"}, {"l eq", "sn eq"}]),
        ("(|(&(sn=a)(l=a))(mail=a))", [{"l eq", "mail eq"}, {"mail eq", "sn eq"}]),
        ("(&(objectClass=person)(mail=*))", [{"mail pres"}, {"objectclass eq"}]),
    ],
)
def test_what_a_scan_needs(filter_: str, sets: list[set[str]]) -> None:
    assert sorted(wanted(filter_), key=sorted) == sorted(sets, key=sorted)


def test_an_or_whose_parts_all_seem_indexed_and_that_scans_gets_no_index() -> None:
    assert wanted("(|(cn=a)(uid=b))") == []


def test_a_part_that_matches_nothing_needs_nothing() -> None:
    def unknown(assertion: Assertion) -> Leaf:
        return Leaf(assertion=assertion, index_use=IndexUse.INDEXED, cause=Cause.UNKNOWN_ATTRIBUTE)

    tree = parse("(nosuch=a)")
    assert tree is not None
    assert sufficient_sets(tree, unknown) == (NOTHING,)


leaves = st.sampled_from(["(cn=a)", "(mail=a)", "(sn=a)", "(l=a)"])
filters = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda members: f"(&{''.join(members)})"),
        st.lists(inner, min_size=1, max_size=3).map(lambda members: f"(|{''.join(members)})"),
        inner.map(lambda member: f"(!{member})"),
    ),
    max_leaves=6,
)


def answered(node: And | Or | Not | Assertion, has: frozenset[str]) -> bool:
    """Tell whether indexes for equality on these attributes find few candidates, by what AND, OR and NOT mean."""
    match node:
        case And(members):
            return any(answered(member, has) for member in members)
        case Or(members):
            return all(answered(member, has) for member in members)
        case Not():
            return False
        case Assertion():
            return node.attribute in has


@given(filters)
def test_the_sets_are_those_that_suffice_and_no_smaller_ones(filter_: str) -> None:
    tree = parse(filter_)
    assert tree is not None
    told = {frozenset(change.attribute for change in one) for one in sufficient_sets(tree, leaf, scanned=False)}
    names = sorted({one.attribute for one in assertions(tree)} - INDEXED)
    every = [frozenset(some) for count in range(len(names) + 1) for some in combinations(names, count)]
    enough = [some for some in every if answered(tree, some | INDEXED)]
    assert told == {some for some in enough if not any(other < some for other in enough)}
