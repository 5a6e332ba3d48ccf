"""What slapd finds in its indexes, foreseen: what the real one in tests/live cannot be brought to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.filter_tree import Assertion, parse, parse_shape
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, SubstringKeys
from ldapdiag.evidence.indexes.slapd_lines import IndexLines
from ldapdiag.evidence.origin import Origin
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.servers.indexes.candidates import Amount, Cause, Change, Database, IndexUse, UnknownFrequencies
from ldapdiag.servers.openldap.candidates import forecast

BASE = "dc=example,dc=com"


class Counted(UnknownFrequencies):
    """Frequencies of some attributes."""

    def __init__(self, **amounts: Amount) -> None:
        self.amounts = amounts

    def of(self, assertion: Assertion) -> Amount:
        return self.amounts.get(assertion.attribute, Amount())


def database(*lines: str, frequencies: UnknownFrequencies | None = None, whole: bool = True, **keys: int) -> Database:
    """Return a database with these index lines."""
    read = IndexLines()
    for line in lines:
        read.take(line)
    backend = Backend(name="{1}mdb", suffixes=(BASE,), definitions=tuple(read.definitions.values()), kind="mdb")
    configuration = IndexConfiguration(
        origin=Origin(path="host/config.ldif"), identity=ServerIdentity(family=Family.OPENLDAP), backends=(backend,),
        whole=whole, substring_keys=SubstringKeys(**keys),
    )  # fmt: skip
    return Database(
        configuration=configuration, backend=backend, schema=standard(), frequencies=frequencies or UnknownFrequencies()
    )


def foreseen(text: str, place: Database, scope: str = "sub"):
    return forecast(parse(text), BASE, scope, place)


OBJECT_CLASS = "objectClass eq"


def test_a_list_of_too_many_entries_is_a_range() -> None:
    some = Counted(title=Amount(65535, 65535))
    more = Counted(title=Amount(65536))
    assert foreseen("(title=x)", database(OBJECT_CLASS, "title eq", frequencies=some)).index_use is IndexUse.INDEXED
    found = foreseen("(title=x)", database(OBJECT_CLASS, "title eq", frequencies=more))
    assert (found.index_use, found.leaves[0].cause) == (IndexUse.UNINDEXED, Cause.LIMIT)


def test_an_and_ends_where_nothing_is_left() -> None:
    place = database(OBJECT_CLASS, "uid eq", frequencies=Counted(uid=Amount(0, 0)))
    found = foreseen("(&(uid=nobody)(title=x))", place)
    assert found.index_use is IndexUse.INDEXED
    assert [leaf.cause for leaf in found.leaves] == [Cause.NONE, Cause.NOT_LOOKED_UP]
    assert foreseen("(&(title=x)(uid=nobody))", place).leaves[0].cause is Cause.NO_INDEX


def test_without_an_index_of_object_class_every_search_scans() -> None:
    found = foreseen("(uid=x)", database("uid eq"))
    assert found.index_use is IndexUse.UNINDEXED
    assert found.leaves[0].index_use is IndexUse.INDEXED
    assert [leaf.change for leaf in found.added] == [Change("objectClass", "eq")]
    assert foreseen("(uid=x)", database("uid eq"), "base").index_use is IndexUse.INDEXED


def test_of_an_excerpt_nothing_is_missed() -> None:
    found = foreseen("(title=x)", database("uid eq", whole=False))
    assert (found.index_use, found.leaves[0].cause) == (IndexUse.DEPENDS, Cause.UNCONFIGURED)
    assert foreseen("(uid>=x)", database(OBJECT_CLASS, whole=False)).index_use is IndexUse.DEPENDS


@pytest.mark.parametrize("lengths", ["", "1", "2", "3", "4", "9"])
def test_longer_pieces_never_find_less(lengths) -> None:
    """Of two pieces in one filter, the digit is that of both."""
    places = [database(OBJECT_CLASS, "cn sub", any_len=size) for size in (2, 4, 8, 12)]
    order = [IndexUse.INDEXED, IndexUse.DEPENDS, IndexUse.UNINDEXED]
    index_uses = [forecast(parse_shape("(cn=*?*)", lengths), BASE, "sub", place).index_use for place in places]
    assert index_uses == sorted(index_uses, key=order.index)


def test_what_the_log_marks_scans_nothing() -> None:
    found = foreseen("(?employeeNumber>=10)", database(OBJECT_CLASS))
    assert (found.index_use, found.leaves[0].cause) == (IndexUse.INDEXED, Cause.UNKNOWN_ATTRIBUTE)


@pytest.mark.parametrize(
    ("text", "lines", "amount", "index_use"),
    [
        ("(cn;lang-fr=*)", ("cn pres,eq,sub",), Amount(), IndexUse.INDEXED),
        ("(cn;lang-fr=*)", ("cn pres,eq,sub",), Amount(403, 403), IndexUse.INDEXED),
        ("(cn;lang-fr=*)", ("cn pres,eq,sub", "cn;lang-fr pres"), Amount(70_000, 70_000), IndexUse.UNINDEXED),
        ("(cn;lang-fr=x)", ("cn pres,eq,sub",), Amount(), IndexUse.INDEXED),
        ("(cn;lang-fr=ab*)", ("cn pres,eq,sub",), Amount(), IndexUse.INDEXED),
        ("(cn=*)", ("cn pres,eq,sub",), Amount(), IndexUse.INDEXED),
    ],
)
def test_presence_of_tagged_values_is_that_of_the_attribute(text, lines, amount, index_use) -> None:
    """Measured with 2.5.13, 8 of 403 entries with cn;lang-fr: 403 candidates, whatever the lines; 1 for a value."""
    found = foreseen(text, database(OBJECT_CLASS, *lines, frequencies=Counted(cn=amount)))
    assert found.index_use is index_use
    if index_use is IndexUse.UNINDEXED:
        assert (found.leaves[0].cause, found.leaves[0].change) == (Cause.LIMIT, None)


NAMES = st.sampled_from(
    ["cn", "sn", "uid", "title", "mail", "name", "createTimestamp", "nosuch", "cn;lang-fr", "2.5.4.3"]
)
ASKED = st.sampled_from(["=x", "=*", "=a*", "=*abcd*", ">=20260101000000Z", "~=x", ":caseExactMatch:=x"])
LEAVES = st.builds("({}{})".format, NAMES, ASKED)
FILTERS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("(!{})".format, inner),
        st.builds("(&{})".format, st.lists(inner, max_size=4).map("".join)),
        st.builds("(|{})".format, st.lists(inner, max_size=4).map("".join)),
    ),
    max_leaves=12,
)
LINES = st.lists(
    st.builds("{} {}".format, st.sampled_from(["cn", "sn", "uid", "title", "mail", "createTimestamp", "objectClass"]),
              st.sampled_from(["eq", "pres", "sub", "pres,eq", "eq,sub", "approx", "eq,nosubtypes", "eq,nolang"])),
    unique_by=lambda line: line.split()[0],
)  # fmt: skip


@given(FILTERS, LINES, st.sampled_from(["base", "one", "sub", "subordinate"]))
def test_each_assertion_is_predicted_once_in_filter_order(text, lines, scope) -> None:
    tree = parse(text)
    found = forecast(tree, BASE, scope, database(*lines))
    assert [leaf.assertion.text for leaf in found.leaves] == _leaves(text)
    assert all(leaf.change is None for leaf in found.leaves if leaf.index_use is IndexUse.INDEXED)
    assert (scope == "base") <= (found.index_use is IndexUse.INDEXED)


@given(FILTERS, LINES)
def test_all_indexes_of_object_class_and_names_of_their_own_find_no_less(text, lines) -> None:
    """Types added to lines that are there, no line taking another's place."""
    before = foreseen(text, database(*lines, OBJECT_CLASS))
    wider = [f"{line.split()[0]} pres,eq,sub,approx" for line in (*lines, OBJECT_CLASS)]
    after = foreseen(text, database(*dict.fromkeys(wider)))
    assert after.index_use is not IndexUse.UNINDEXED or before.index_use is IndexUse.UNINDEXED


def _leaves(text: str) -> list[str]:
    return [f"({one.partition(')')[0]})" for one in text.split("(") if one and one[0] not in "&|!"]
