"""The cost of an index rises with keys and writes, and is never low for the members of groups."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import facts
from ldapdiag.analysis.indexes.costs import UNIT, WriteCounts, index_cost, is_membership, why_expensive
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.operation_kinds import ADD, MODIFY, SEARCH
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.evidence.log.tables import OTHER
from ldapdiag.evidence.schema import AttributeType, Schema
from ldapdiag.evidence.schema.standard import standard

SCHEMA = standard()
QUIET = WriteCounts()
FAMILIES = st.sampled_from([*Family, None])
NAMES = st.sampled_from(
    ["cn", "uid", "2.5.4.3", "member", "uniqueMember", "manager", "jpegPhoto", "userPassword", "noSuchAttribute", ""]
)
COUNTS = st.integers(0, 10**9)
TYPES = ["pres", "eq", "presence", "equality", "ordering", "approx", "approximate", "sub", "substring", "subany"]
DEARER = [("eq", "approx"), ("approx", "sub"), ("equality", "approximate"), ("approximate", "substring")]
WRITES = st.builds(
    lambda reads, anywhere, modifications, by: WriteCounts(
        operations=reads + anywhere + modifications,
        whole_entries=anywhere,
        modifications=modifications,
        by_attribute=by,
    ),
    COUNTS,
    COUNTS,
    COUNTS,
    st.none() | st.dictionaries(st.sampled_from(["", "cn", "commonname", "uid", "member"]), COUNTS),
)


@given(FAMILIES, NAMES, st.sampled_from(TYPES), WRITES)
def test_a_cost_is_a_whole_number_above_zero(family, name, type_, writes) -> None:
    cost = index_cost(family, name, type_, writes, SCHEMA)
    assert isinstance(cost, int)
    assert cost >= UNIT


@given(FAMILIES, NAMES, WRITES, st.sampled_from(DEARER))
def test_more_keys_cost_more(family, name, writes, pair) -> None:
    less, more = (index_cost(family, name, type_, writes, SCHEMA) for type_ in pair)
    assert less <= more
    assert less < more or why_expensive(family, name, pair[0], SCHEMA)


@given(FAMILIES, NAMES, st.sampled_from(TYPES), COUNTS, COUNTS, COUNTS, COUNTS)
def test_more_writes_are_never_cheaper(family, name, type_, reads, anywhere, modifications, more) -> None:
    def at(added: int, changed: int) -> int:
        operations = 1 + reads + anywhere + modifications + more
        writes = WriteCounts(
            operations=operations, whole_entries=anywhere + added, modifications=modifications + changed
        )
        return index_cost(family, name, type_, writes, SCHEMA)

    assert at(0, 0) <= at(more, 0)
    assert at(0, 0) <= at(0, more)
    assert at(0, 0) >= index_cost(family, name, type_, QUIET, SCHEMA)


@given(FAMILIES, st.sampled_from(["cn", "CN", "commonName", "2.5.4.3"]), st.sampled_from(TYPES), WRITES)
def test_all_names_of_an_attribute_cost_the_same(family, name, type_, writes) -> None:
    assert index_cost(family, name, type_, writes, SCHEMA) == index_cost(family, "cn", type_, writes, SCHEMA)


@given(WRITES, st.sampled_from(["member", "uniqueMember", "memberOf", "memberUid", "MEMBER"]))
def test_substrings_of_members_cost_more_than_a_dozen_others(writes, name) -> None:
    """Where 389-ds compares all values, no plan has them as long as anything else does as well."""
    dear = index_cost(Family.DS389, name, "sub", QUIET, SCHEMA)
    assert dear > 12 * index_cost(Family.DS389, "cn", "sub", writes, SCHEMA)
    assert (
        dear
        > index_cost(Family.OPENLDAP, name, "sub", QUIET, SCHEMA)
        > index_cost(Family.OPENLDAP, "cn", "sub", QUIET, SCHEMA)
    )
    assert index_cost(Family.DS389, name, "eq", QUIET, SCHEMA) == index_cost(Family.DS389, "cn", "eq", QUIET, SCHEMA)


def test_a_subtype_of_member_is_one() -> None:
    own = AttributeType(oid="1.2.3", names=("projectMember",), sup="member")
    schema = Schema(origin=SCHEMA.origin, types={**SCHEMA.types, "projectmember": own, "1.2.3": own})
    assert is_membership("projectMember", schema)
    assert is_membership("1.2.3", schema)
    assert not is_membership("projectMember", SCHEMA)
    assert not is_membership("cn", schema)


@pytest.mark.parametrize(
    ("name", "type_", "said"),
    [
        ("cn", "sub", ""),
        ("member", "eq", ""),
        ("member", "sub", "removing one member of a large group can take minutes"),
        ("manager", "sub", "its values are DNs"),
        ("jpegPhoto", "sub", "not text"),
        ("jpegPhoto", "pres", "long"),
        ("noSuchAttribute", "sub", ""),
    ],
)
def test_an_expensive_index_says_why(name, type_, said) -> None:
    assert said in why_expensive(Family.DS389, name, type_, SCHEMA)
    assert bool(said) == bool(why_expensive(Family.DS389, name, type_, SCHEMA))


@given(FAMILIES, NAMES, st.sampled_from(TYPES))
def test_only_an_index_with_a_reason_costs_more_than_one_of_cn(family, name, type_) -> None:
    dearer = index_cost(family, name, type_, QUIET, SCHEMA) > index_cost(family, "cn", type_, QUIET, SCHEMA)
    assert dearer == bool(why_expensive(family, name, type_, SCHEMA))


class TestWrites:
    def log(self, **modified: int) -> Segment:
        segment = Segment()
        segment.operations[SEARCH], segment.operations[ADD], segment.operations[MODIFY] = 80, 5, 15
        for name, count in modified.items():
            segment.modified.count(name.encode(), count)
        return segment

    def test_without_names_any_change_may_be_of_any_attribute(self) -> None:
        assert WriteCounts.of(self.log()).share("cn", SCHEMA) == 200_000

    def test_with_names_only_those_and_new_entries_count(self) -> None:
        writes = WriteCounts.of(self.log(mail=12, commonname=3))
        shares = [writes.share(name, SCHEMA) for name in ("mail", "cn", "sn")]
        assert shares == [170_000, 80_000, 50_000]

    def test_what_the_table_could_not_hold_may_be_any(self) -> None:
        writes = WriteCounts.of(self.log(mail=12, **{OTHER.decode(): 2}))
        assert writes.share("sn", SCHEMA) == 70_000

    def test_a_log_without_operations_changes_nothing(self) -> None:
        assert WriteCounts.of(Segment()).share("cn", SCHEMA) == 0


def test_the_origin_of_a_schema_changes_no_cost() -> None:
    moved = Schema(origin=facts.origin(), types=SCHEMA.types)
    assert index_cost(None, "cn", "sub", QUIET, moved) == index_cost(None, "cn", "sub", QUIET, SCHEMA)
