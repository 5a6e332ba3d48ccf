from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Node, Not, Or, assertions, parse, parse_shape
from ldapdiag.evidence.filters import shape


def only(text: str) -> Assertion:
    """Return the tree of a filter that is one assertion."""
    tree = parse(text)
    assert isinstance(tree, Assertion)
    return tree


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("(uid=joe)", AssertionKind.EQUALITY),
        ("uid=joe", AssertionKind.EQUALITY),
        ("(cn=*)", AssertionKind.PRESENCE),
        ("(cn=a*b)", AssertionKind.SUBSTRING),
        ("(cn~=joe)", AssertionKind.APPROXIMATE),
        ("(n>=1)", AssertionKind.GREATER),
        ("(n<=1)", AssertionKind.LESS),
        ("(cn:caseExactMatch:=x)", AssertionKind.EXTENSIBLE),
        ("(cn:=x)", AssertionKind.EXTENSIBLE),
        ("(:dn:2.5.13.5:=x)", AssertionKind.EXTENSIBLE),
        ("(2.5.4.3=x)", AssertionKind.EQUALITY),
    ],
)
def test_kinds_of_assertions(text: str, kind: AssertionKind) -> None:
    assert only(text).kind is kind


def test_names_options_and_rules_are_folded() -> None:
    result = only("(CN;lang-FR:dn:CaseExactMatch:=x)")
    assert (result.attribute, result.options, result.rule, result.dn) == ("cn", ("lang-fr",), "caseexactmatch", True)
    assert result.name == "CN"


def test_what_slapd_could_not_evaluate_is_marked() -> None:
    result = only("(?employeeNumber>=10)")
    assert (result.undefined, result.attribute, result.name) == (True, "employeenumber", "employeeNumber")


def test_what_slapd_writes_for_sets_of_nothing() -> None:
    assert (parse("(?=true)"), parse("(?=false)")) == (And(()), Or(()))
    assert only("(?=undefined)").undefined
    assert parse_shape(shape(b"(?=true)").decode()) is None, "a shape does not show which of them it is"


@pytest.mark.parametrize(
    ("logged", "alike"),
    [
        ("(&(?=true)(initials=x))", "(&(&)(initials=x))"),
        ("(&(initials=x)(?=true))", "(&(initials=x)(&))"),
        ("(|(?=false)(initials=x))", "(|(|)(initials=x))"),
    ],
)
def test_what_slapd_writes_for_a_set_of_nothing_changes_nothing_in_another(logged: str, alike: str) -> None:
    """As slapd 2.5.13 logs these filters."""
    assert parse_shape(shape(logged.encode()).decode()) == parse_shape(shape(alike.encode()).decode())
    assert parse_shape(shape(b"(!(?=true))").decode()) is None


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("(cn=a*)", (1, (), 0)),
        ("(cn=*ab)", (0, (), 2)),
        ("(cn=*abc*)", (0, (3,), 0)),
        ("(cn=a*bc**def*g)", (1, (2, 3), 1)),
        (r"(cn=\2a\c3\a9*)", (3, (), 0)),
        ("(cn=é*)", (2, (), 0)),
    ],
)
def test_lengths_of_pieces_are_in_octets(text: str, lengths: tuple[int, tuple[int, ...], int]) -> None:
    result = only(text)
    assert (result.initial, result.middle, result.final) == lengths


@pytest.mark.parametrize(
    "text",
    ["", "(", ")", "(a=b", "a=b)", "(a=b)(c=d)", "(&(a=b)", "(!(a=b)(c=d))", "(!)", "(|(a=b)...", "((a=b))", "(=x)"],
)
def test_what_is_no_filter_has_no_tree(text: str) -> None:
    assert parse(text) is None


def test_sets_within_sets_have_a_limit() -> None:
    assert parse("(&" * 40 + "(a=b)" + ")" * 40) is not None
    assert parse("(&" * 50_000 + "(a=b)" + ")" * 50_000) is None


def test_a_shape_takes_the_lengths_of_its_pieces() -> None:
    tree = parse_shape("(|(cn=*?*)(sn=?*?))", "327")
    assert tree is not None
    assert [one.pieces for one in assertions(tree)] == [(3,), (2, 7)]


def test_equal_neighbours_of_an_or_have_the_smallest_length_of_all() -> None:
    assert shape(b"(|(cn=*abcd*)(cn=*ab*))") == b"(|(cn=*?*))"
    tree = parse_shape("(|(cn=*?*))", "42")
    assert tree is not None
    assert [one.pieces for one in assertions(tree)] == [(2,)]


def test_without_lengths_they_are_not_known() -> None:
    tree = parse_shape("(&(objectClass=person)(cn=?*))")
    assert tree is not None
    assert [one.pieces for one in assertions(tree)] == [(), (None,)]
    assert [one.value for one in assertions(tree)] == ["person", None]


leaves = st.builds(
    "({}{}{})".format,
    st.sampled_from(["cn", "uid", "2.5.4.4", "sn;lang-de"]),
    st.sampled_from(["=", ">=", "<=", "~="]),
    st.text(st.characters(exclude_characters="()*\\\0", codec="utf-8"), min_size=1, max_size=8),
)
filters = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(
            lambda sign, members: f"({sign}{''.join(members)})", st.sampled_from("&|"), st.lists(inner, max_size=4)
        ),
        inner.map("(!{})".format),
    ),
    max_leaves=12,
)


def written(node: Node) -> str:
    """Return a tree as RFC 4515 writes it."""
    match node:
        case And(members):
            return f"(&{''.join(map(written, members))})"
        case Or(members):
            return f"(|{''.join(map(written, members))})"
        case Not(member):
            return f"(!{written(member)})"
        case Assertion():
            return node.text


@given(filters)
def test_a_tree_is_the_filter(text: str) -> None:
    tree = parse(text)
    assert tree is not None
    assert written(tree) == text


@given(st.text(alphabet="()&|!=*<>~:?abc\\2 ", max_size=60))
def test_no_text_is_too_much(text: str) -> None:
    parse(text)
    parse_shape(text, "12")
