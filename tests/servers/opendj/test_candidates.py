"""What OpenDJ finds of a filter in its indexes: by its own word, and by what it was seen to do (4.10.1)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.filter_tree import Assertion, AssertionKind, parse, parse_shape
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition, ScanLimit
from ldapdiag.evidence.indexes.explanations import IndexExplanations, Outcome
from ldapdiag.evidence.indexes.index_status import IndexState, IndexStatus
from ldapdiag.evidence.origin import Origin
from ldapdiag.evidence.schema import AttributeType, Schema
from ldapdiag.servers.indexes.candidates import (
    Amount,
    Cause,
    Change,
    Database,
    Forecast,
    IndexUse,
    Leaf,
    UnknownFrequencies,
)
from ldapdiag.servers.opendj import candidates as opendj
from ldapdiag.servers.ping import candidates as ping
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = "dc=example,dc=com"
PEOPLE = f"ou=people,{SUFFIX}"
NOWHERE = Origin(path="memory")
SYNTAX = "1.3.6.1.4.1.1466.115.121.1."
LISTED = {IndexUse.INDEXED, IndexUse.PARTIALLY}


@dataclass
class Known:
    """Frequencies as a test knows them."""

    total: int = 20_000
    scopes: dict[tuple[str, str], int] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)
    """By the assertion's text; any other has 20."""

    def of(self, assertion: Assertion) -> Amount:
        entries = self.values.get(assertion.text, 20)
        return Amount(entries, entries)

    def below(self, base: str, scope: str) -> Amount:
        entries = self.scopes.get((base, scope), self.total)
        return Amount(entries, entries)


def known_type(name: str, **rules: str) -> AttributeType:
    return AttributeType(oid="1.2.3", names=(name,), **rules)


def schema_of(*types: AttributeType, whole: bool = False) -> Schema:
    return Schema(origin=NOWHERE, types={name.lower(): one for one in types for name in one.names}, whole=whole)


NO_SCHEMA = schema_of()


def database_of(
    frequencies: Known | UnknownFrequencies | None = None,
    schema: Schema = NO_SCHEMA,
    version: tuple[int, ...] = (4, 10, 1),
    kind: str = "je",
    **indexes: str | IndexDefinition,
) -> Database:
    """Return a database with indexes, each `attribute="equality substring"`."""
    definitions = tuple(
        IndexDefinition(attribute=name, types=frozenset(types.split())) if isinstance(types, str) else types
        for name, types in indexes.items()
    )
    backend = Backend(name="userRoot", suffixes=(SUFFIX,), definitions=definitions, kind=kind)
    identity = ServerIdentity(family=Family.OPENDJ, version=version)
    configuration = IndexConfiguration(origin=NOWHERE, identity=identity, backends=(backend,))
    return Database(configuration=configuration, backend=backend, schema=schema, frequencies=frequencies or Known())


def forecast(filter_: str, database: Database, base: str = SUFFIX, scope: str = "sub") -> Forecast:
    tree = parse(filter_)
    assert tree is not None
    return opendj.forecast(tree, base, scope, database)


def leaf(filter_: str, database: Database) -> Leaf:
    (only,) = forecast(filter_, database).leaves
    return only


class TestTheServersOwnWord:
    """corpus 3: the configuration, the state of its indexes and the number of entries, against debugsearchindex."""

    def database(self, captures: Path, name: str) -> Database:
        folder = captures / "opendj" / "indexes"
        (configuration,) = facts_of((folder / name).read_bytes())
        (status,) = facts_of((folder / "backendstat-show-index-status.txt").read_bytes())
        (count, *_) = facts_of((folder / "cn-monitor-userRoot.ldif").read_bytes())
        backend = replace(configuration.backends[0], suffixes=(count.suffix,))

        class OfTheMonitor(UnknownFrequencies):
            def below(self, base: str, scope: str) -> Amount:
                return Amount(count.entries, count.entries) if (base, scope) == (SUFFIX, "sub") else Amount()

        return Database(
            configuration=configuration,
            backend=backend,
            schema=NO_SCHEMA,
            frequencies=OfTheMonitor(),
            statuses=(status,),
        )

    @pytest.mark.parametrize("name", ["index-entries.ldif", "dsconfig-list-backend-indexes.txt"])
    def test_is_foretold_for_every_filter(self, captures: Path, name: str) -> None:
        content = (captures / "opendj" / "indexes" / "debugsearchindex.txt").read_bytes()
        (explained,) = [fact for fact in facts_of(content) if isinstance(fact, IndexExplanations)]
        asked = [one.removeprefix("# filter: ") for one in content.decode().splitlines() if one.startswith("# filter")]
        database = self.database(captures, name)
        predicted = {text: forecast(text, database).index_use in LISTED for text in asked}
        depends = [text for text in asked if forecast(text, database).index_use is IndexUse.DEPENDS]
        assert predicted == {
            text: one.final.outcome is Outcome.CANDIDATES
            for text, one in zip(asked, explained.explanations, strict=True)
        }
        assert depends == []

    def test_says_why(self, captures: Path) -> None:
        database = self.database(captures, "index-entries.ldif")
        assert {
            text: (leaf(text, database).cause, leaf(text, database).change)
            for text in ("(displayName=*joe*)", "(uid=*00012)", "(objectClass=person)", "(telephoneNumber=*)")
        } == {
            "(displayName=*joe*)": (Cause.NO_INDEX, Change("displayname", "substring")),
            "(uid=*00012)": (Cause.TYPE_MISSING, Change("uid", "substring")),
            "(objectClass=person)": (Cause.LIMIT, None),
            "(telephoneNumber=*)": (Cause.TYPE_MISSING, Change("telephoneNumber", "presence")),
        }


class TestSets:
    def test_an_and_needs_one_list_and_an_or_one_of_each(self) -> None:
        database = database_of(sn="equality")
        assert forecast("(&(employeeNumber=1)(sn=smith))", database).index_use is IndexUse.PARTIALLY
        assert forecast("(|(employeeNumber=1)(sn=smith))", database).index_use is IndexUse.UNINDEXED
        assert forecast("(|(sn=jones)(sn=smith))", database).index_use is IndexUse.INDEXED

    def test_an_and_stops_where_ten_are_left(self) -> None:
        few = Known(values={"(uid=a)": 10})
        predicted = forecast("(&(displayName=*x*)(uid=a)(cn>=b))", database_of(few, uid="equality"))
        assert [one.cause for one in predicted.leaves] == [Cause.NOT_LOOKED_UP, Cause.NONE, Cause.NOT_LOOKED_UP]
        assert predicted.index_use is IndexUse.INDEXED
        eleven = Known(values={"(uid=a)": 11})
        predicted = forecast("(&(displayName=*x*)(uid=a)(cn>=b))", database_of(eleven, uid="equality"))
        assert [one.cause for one in predicted.leaves] == [Cause.NO_INDEX, Cause.NONE, Cause.NO_INDEX]

    def test_members_after_the_end_of_an_or_are_predicted_too(self) -> None:
        predicted = forecast("(|(displayName=x)(employeeNumber=1))", database_of(uid="equality"))
        assert [one.change for one in predicted.leaves] == [
            Change("displayname", "equality"),
            Change("employeenumber", "equality"),
        ]

    def test_nothing_answers_a_negation_or_an_empty_and(self) -> None:
        database = database_of(uid="equality presence")
        assert leaf("(!(uid=a))", database).cause is Cause.UNINDEXABLE
        assert forecast("(!(uid=a))", database).index_use is IndexUse.UNINDEXED
        assert forecast("(&)", database).index_use is IndexUse.UNINDEXED
        assert forecast("(|)", database).index_use is IndexUse.INDEXED


class TestTypes:
    @pytest.mark.parametrize(
        ("filter_", "add"),
        [
            ("(cn=a)", "equality"),
            ("(cn=a*)", "equality"),
            ("(cn=*a)", "substring"),
            ("(cn=a*b)", "substring"),
            ("(cn>=a)", "ordering"),
            ("(cn<=a)", "ordering"),
            ("(cn=*)", "presence"),
            ("(cn~=a)", "approximate"),
            ("(cn:=a)", "equality"),
            ("(cn:caseIgnoreMatch:=a)", "equality"),
        ],
    )
    def test_what_is_offered_answers(self, filter_: str, add: str) -> None:
        missing = leaf(filter_, database_of(uid="equality"))
        assert (missing.cause, missing.change) == (Cause.NO_INDEX, Change("cn", add))
        assert forecast(filter_, database_of(cn=add)).index_use is IndexUse.INDEXED

    def test_an_equality_index_is_in_order_where_the_rules_compare_alike(self) -> None:
        database = database_of(cn="equality", mail="equality", telephoneNumber="equality", schema=schema_of(
            known_type("mail", equality="caseignoreia5match", syntax=f"{SYNTAX}26"),
            known_type("telephoneNumber", equality="telephonenumbermatch", syntax=f"{SYNTAX}50"),
        ))  # fmt: skip
        assert leaf("(cn>=a)", database).cause is Cause.NONE
        assert leaf("(mail>=a)", database).change == Change("mail", "ordering")
        assert leaf("(telephoneNumber>=1)", database).cause is Cause.UNINDEXABLE
        assert leaf("(cn=a*)", database).cause is Cause.NONE

    def test_before_version_3_it_is_not(self) -> None:
        for old in (
            database_of(version=(2, 6, 0), cn="equality"),
            database_of(kind="local-db", version=(), cn="equality"),
        ):
            assert leaf("(cn>=a)", old).change == Change("cn", "ordering")
            assert leaf("(cn=a*)", old).cause is Cause.NONE

    def test_no_piece_is_too_short(self) -> None:
        assert leaf("(cn=*a*)", database_of(cn="substring")).cause is Cause.NONE

    def test_the_presence_index_stands_in_for_the_others(self) -> None:
        database = database_of(aci="presence")
        for filter_ in ("(aci=x)", "(aci=*x*)", "(aci>=x)", "(aci~=x)", "(aci=*)"):
            assert leaf(filter_, database).cause is Cause.NONE
        for filter_ in ("(aci:dn:=x)", "(aci:caseExactMatch:=x)"):
            assert leaf(filter_, database).cause is Cause.UNINDEXABLE

    def test_an_extensible_match_is_answered_by_an_index_of_its_rule(self) -> None:
        own = IndexDefinition(attribute="cn", types=frozenset({"extensible"}), rules=("caseExactMatch",))
        assert leaf("(cn:caseExactMatch:=x)", database_of(cn=own)).cause is Cause.NONE
        assert leaf("(cn:caseExactMatch:=x)", database_of(cn="equality")).cause is Cause.UNINDEXABLE

    def test_every_entry_has_an_object_class(self) -> None:
        assert leaf("(objectClass=*)", database_of(objectClass="equality")).cause is Cause.UNINDEXABLE

    def test_names_of_one_type_are_one_and_options_do_not_matter(self) -> None:
        both = AttributeType(oid="2.5.4.3", names=("cn", "commonName"))
        schema = Schema(origin=NOWHERE, types={"cn": both, "commonname": both, "2.5.4.3": both}, whole=False)
        database = database_of(cn="equality", schema=schema)
        for filter_ in ("(commonName=a)", "(2.5.4.3=a)", "(CN;lang-fr=a)"):
            assert leaf(filter_, database).cause is Cause.NONE

    def test_what_the_schema_does_not_know_is_scanned_for_all_the_same(self) -> None:
        database = database_of(cn="equality", schema=schema_of(known_type("cn"), whole=True))
        assert (leaf("(foo=1)", database).index_use, leaf("(foo=1)", database).cause) == (
            IndexUse.UNINDEXED,
            Cause.UNKNOWN_ATTRIBUTE,
        )

    def test_computed_attributes_have_no_index_but_some_are_found_without(self) -> None:
        database = database_of(uid="equality")
        assert leaf("(hasSubordinates=TRUE)", database).cause is Cause.UNINDEXABLE
        assert forecast("(entryDN=uid=a,dc=b)", database).index_use is IndexUse.INDEXED
        member = forecast("(&(objectClass=person)(isMemberOf=cn=a))", database)
        assert (member.index_use, member.notes) == (IndexUse.INDEXED, frozenset({"unindexed"}))
        assert forecast("(|(title=x)(isMemberOf=cn=a))", database).index_use is IndexUse.UNINDEXED
        assert forecast("(isMemberOf=*)", database).index_use is IndexUse.UNINDEXED


class TestLimits:
    def test_a_key_that_reaches_the_entry_limit_lists_nothing(self) -> None:
        often = Known(values={"(sn=smith)": 4000, "(sn=rare)": 3999})
        database = database_of(often, sn="equality")
        assert leaf("(sn=smith)", database).cause is Cause.LIMIT
        assert leaf("(sn=rare)", database).cause is Cause.NONE

    def test_the_index_s_own_limit_goes_before_the_backend_s_and_0_is_none(self) -> None:
        often = Known(values={"(sn=smith)": 4000, "(sn=*mit*)": 300})
        for limit, cause in ((0, Cause.NONE), (5000, Cause.NONE), (100, Cause.LIMIT)):
            own = IndexDefinition(attribute="sn", types=frozenset({"equality"}), entry_limit=limit)
            assert leaf("(sn=smith)", database_of(often, sn=own)).cause is cause
        limits = (ScanLimit(limit=300, types=frozenset({"substring"})),)
        ping_s = IndexDefinition(attribute="sn", types=frozenset({"substring"}), scan_limits=limits, middle=3)
        assert leaf("(sn=*mit*)", database_of(often, sn=ping_s)).cause is Cause.LIMIT

    def test_unknown_frequencies_leave_it_open(self) -> None:
        predicted = forecast("(sn=smith)", database_of(UnknownFrequencies(), sn="equality"))
        assert (predicted.index_use, predicted.leaves[0].cause) == (IndexUse.DEPENDS, Cause.LIMIT_PERHAPS)

    def test_an_index_that_would_list_nothing_is_not_offered(self) -> None:
        often = Known(values={"(l=*)": 5000})
        assert (leaf("(l=*)", database_of(often)).cause, leaf("(l=*)", database_of(often)).change) == (
            Cause.LIMIT,
            None,
        )

    def test_a_range_of_keys_lists_more_than_one_key_may_have(self) -> None:
        database = database_of(Known(values={"(cn=*jo*)": 4725}), cn="substring")
        assert leaf("(cn=*jo*)", database).cause is Cause.LIMIT_PERHAPS, "one of the keys may be over the limit"
        fine = IndexState(attribute="cn", index="caseIgnoreSubstringsMatch:6", valid=True, keys=9, over_limit=0)
        status = IndexStatus(origin=NOWHERE, suffix=SUFFIX, states=(fine,))
        assert leaf("(cn=*jo*)", replace(database, statuses=(status,))).cause is Cause.NONE

    def test_an_index_that_is_not_built_is_not_used(self) -> None:
        database = database_of(title="equality substring")
        unbuilt = IndexState(attribute="title", index="caseIgnoreSubstringsMatch:6", valid=False)
        database = replace(database, statuses=(IndexStatus(origin=NOWHERE, suffix=SUFFIX, states=(unbuilt,)),))
        assert leaf("(title=*a*)", database).cause is Cause.NOT_BUILT
        assert leaf("(title=a)", database).cause is Cause.NONE


class TestScope:
    def test_few_entries_in_scope_are_as_good_as_an_index(self) -> None:
        small = Known(scopes={(PEOPLE, "sub"): 4000, (PEOPLE, "one"): 4001})
        database = database_of(small)
        assert forecast("(displayName=*x*)", database, PEOPLE).index_use is IndexUse.INDEXED
        assert forecast("(displayName=*x*)", database, PEOPLE, "one").index_use is IndexUse.UNINDEXED

    def test_of_an_unknown_branch_it_depends_and_of_the_whole_it_does_not(self) -> None:
        database = database_of(UnknownFrequencies())
        assert forecast("(displayName=*x*)", database, PEOPLE).index_use is IndexUse.DEPENDS
        assert forecast("(displayName=*x*)", database).index_use is IndexUse.UNINDEXED

    def test_the_base_alone_needs_no_index(self) -> None:
        assert forecast("(displayName=*x*)", database_of(), scope="base").index_use is IndexUse.INDEXED

    def test_a_refusal_is_predicted(self) -> None:
        predicted = forecast("(displayName=*x*)", database_of())
        assert "unindexed-search" in predicted.why
        assert predicted.notes == frozenset({"unindexed"})


class TestPing:
    def test_ranges_need_an_ordering_index(self) -> None:
        database = database_of(cn="equality")
        tree = parse("(cn>=a)")
        assert tree is not None
        (only,) = ping.forecast(tree, SUFFIX, "sub", database).leaves
        assert only.change == Change("cn", "ordering")

    def test_what_a_composite_index_may_answer_is_left_open(self) -> None:
        tree = parse_shape("(manager=?)")
        assert tree is not None
        predicted = ping.forecast(tree, SUFFIX, "sub", database_of(manager="composite"))
        assert predicted.index_use is IndexUse.DEPENDS


def test_shapes_are_judged_like_filters() -> None:
    tree = parse_shape("(&(sn=?)(cn=*?*))", "2")
    assert tree is not None
    predicted = opendj.forecast(tree, SUFFIX, "sub", database_of(sn="equality", cn="substring"))
    assert predicted.index_use is IndexUse.INDEXED
    assert [one.assertion.kind for one in predicted.leaves] == [AssertionKind.EQUALITY, AssertionKind.SUBSTRING]
