"""Predictions for any search on 389-ds and DSEE; tests/live compares them with a real server."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import origin
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Not, Or, assertions, parse
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition, ScanLimit
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.servers.ds389.candidates import MANY, as_written, forecast, rearranged
from ldapdiag.servers.dsee.candidates import forecast as forecast_of_dsee
from ldapdiag.servers.indexes.candidates import Amount, Cause, Change, Database, IndexUse, UnknownFrequencies

COLLATION = "2.16.840.1.113730.3.3.2"
SUFFIX = "dc=example,dc=com"
INDEXES = {"objectClass": "eq", "uid": "eq", "cn": "pres eq sub", "title": "sub", "uidNumber": "eq", "member": "eq"}
LIMIT = 500


def configuration(*definitions, limit=LIMIT, version=(2, 3, 1), family=Family.DS389, **settings):
    known = tuple(IndexDefinition(attribute=name, types=frozenset(types.split())) for name, types in INDEXES.items())
    backend = Backend(name="userRoot", suffixes=(SUFFIX,), definitions=(*known, *definitions))
    return IndexConfiguration(
        origin=origin(),
        identity=ServerIdentity(family=family, version=version),
        backends=(backend,),
        scan_limit=limit,
        **settings,
    )


def database(*definitions, frequencies=None, **settings):
    prediction = configuration(*definitions, **settings)
    return Database(
        configuration=prediction,
        backend=prediction.backends[0],
        schema=standard(),
        frequencies=frequencies or UnknownFrequencies(),
    )


class KnownFrequencies:
    """Frequencies as a function of the attribute; everything below every base."""

    def __init__(self, sizes, everything=100_000):
        self.sizes, self.everything = sizes, everything

    def of(self, assertion):
        size = self.sizes.get(assertion.attribute)
        return Amount() if size is None else Amount(size, size)

    def below(self, base, scope):
        del base, scope
        return Amount(self.everything, self.everything)


def index_use(text, *definitions, sizes=None, base=SUFFIX, scope="sub", **settings):
    frequencies = KnownFrequencies(sizes) if sizes is not None else None
    return forecast(parse(text), base, scope, database(*definitions, frequencies=frequencies, **settings)).index_use


NAMES = ("objectclass", "uid", "cn", "title", "uidnumber", "employeenumber", "nosuch")
LEAVES = st.builds(
    Assertion,
    kind=st.sampled_from(list(AssertionKind)),
    attribute=st.sampled_from(NAMES),
    text=st.just("(x=y)"),
    value=st.none() | st.sampled_from(["person", "12", "a b"]),
    initial=st.none() | st.integers(0, 9),
    middle=st.lists(st.none() | st.integers(1, 9), max_size=2).map(tuple),
    final=st.none() | st.integers(0, 9),
    options=st.sampled_from([(), (), ("lang-fr",)]),
    rule=st.sampled_from(["", "caseexactmatch"]),
)
FILTERS = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(And, st.lists(inner, max_size=4).map(tuple))
        | st.builds(Or, st.lists(inner, max_size=4).map(tuple))
        | st.builds(Not, inner)
    ),
    max_leaves=8,
)
SIZES = st.fixed_dictionaries(dict.fromkeys(NAMES, st.sampled_from([0, 1, 10, 11, LIMIT, LIMIT + 1, 90_000])))


class TestAnyFilter:
    @given(FILTERS, SIZES, st.sampled_from([20, 3000, 100_000]), st.sampled_from(["sub", "one"]))
    def test_more_knowledge_chooses_among_what_was_possible(self, filter_, sizes, everything, scope):
        prediction = forecast(filter_, SUFFIX, scope, database(frequencies=KnownFrequencies(sizes, everything)))
        frequencies = KnownFrequencies(dict.fromkeys(sizes), everything)
        unsure = forecast(filter_, SUFFIX, scope, database(frequencies=frequencies))
        assert prediction.possible <= unsure.possible
        assert prediction.notes <= unsure.notes

    @given(FILTERS, st.sampled_from(["sub", "one", "base"]), st.sampled_from([(), (1, 3, 11), (2, 3, 1), (3, 1, 0)]))
    def test_has_a_leaf_for_each_assertion_in_the_order_they_are_written(self, filter_, scope, version):
        for prediction in (forecast, forecast_of_dsee):
            leaves = prediction(filter_, SUFFIX, scope, database(version=version)).leaves
            assert [leaf.assertion for leaf in leaves] == list(assertions(filter_))

    @given(FILTERS)
    def test_is_looked_up_in_another_order_and_nothing_is_lost(self, filter_):
        def positions(part):
            return (
                [part.position]
                if hasattr(part, "position")
                else [one for each in part.members for one in positions(each)]
            )

        assert sorted(positions(rearranged(as_written(filter_)))) == positions(as_written(filter_))

    @given(FILTERS)
    def test_is_no_matter_when_the_base_alone_is_looked_at(self, filter_):
        assert forecast(filter_, SUFFIX, "base", database()).index_use is IndexUse.INDEXED

    @given(FILTERS, SIZES)
    def test_is_indexed_or_not_on_dsee(self, filter_, sizes):
        prediction = forecast_of_dsee(
            filter_, SUFFIX, "sub", database(frequencies=KnownFrequencies(sizes), family=Family.DSEE)
        )
        assert prediction.index_use is not IndexUse.PARTIALLY
        assert prediction.notes <= {"", "U"}

    @given(LEAVES, SIZES)
    def test_that_lacks_an_index_is_answered_by_the_change_it_names(self, leaf, sizes):
        sizes = dict.fromkeys(sizes, 5)
        (prediction,) = forecast(leaf, SUFFIX, "sub", database(frequencies=KnownFrequencies(sizes))).leaves
        if prediction.change is None:
            return
        added = IndexDefinition(
            attribute=prediction.change.attribute,
            types=frozenset({prediction.change.type}),
            rules=(prediction.change.rule,) if prediction.change.rule else (),
        )
        changed = database(frequencies=KnownFrequencies(sizes))
        kept = tuple(one for one in changed.backend.definitions if one.attribute != added.attribute)
        changed = replace(changed, backend=replace(changed.backend, definitions=(*kept, added)))
        (again,) = forecast(leaf, SUFFIX, "sub", changed).leaves
        assert again.cause in {Cause.NONE, Cause.LIMIT_PERHAPS}


class TestVersions:
    @pytest.mark.parametrize(
        ("version", "prediction"),
        [
            ((1, 3, 11), IndexUse.UNINDEXED),
            ((2, 3, 1), IndexUse.UNINDEXED),
            ((2, 4, 0), IndexUse.INDEXED),
            ((2, 2, 9), IndexUse.DEPENDS),
            ((), IndexUse.DEPENDS),
        ],
    )
    def test_have_a_scan_limit_of_their_own_where_none_is_set(self, version, prediction):
        assert index_use("(uid=x)", sizes={"uid": 4001}, limit=None, version=version) is prediction

    def test_before_1_4_go_through_an_and_as_it_is_written(self):
        filter_ = "(&(employeeNumber=1)(uid=x))"
        assert index_use(filter_, sizes={"uid": 1}) is IndexUse.INDEXED
        assert index_use(filter_, sizes={"uid": 1}, version=(1, 3, 11)) is IndexUse.PARTIALLY

    def test_that_do_not_check_names_scan_for_one_they_do_not_know(self):
        schema = replace(standard(), whole=True)
        new, old = (
            forecast(parse("(nosuch=1)"), SUFFIX, "sub", replace(database(version=version), schema=schema))
            for version in ((2, 3, 1), (1, 4, 0))
        )
        assert [one.leaves[0].cause for one in (new, old)] == [Cause.UNKNOWN_ATTRIBUTE] * 2
        assert (new.index_use, old.index_use) == (IndexUse.INDEXED, IndexUse.UNINDEXED)


class TestWithoutAScanLimit:
    """The note has no meaning there: the list of entries below the base is never over the limit."""

    def test_all_entries_are_looked_at_whatever_is_noted(self):
        prediction = forecast(
            parse("(employeeNumber=1)"), SUFFIX, "sub", database(limit=-1, frequencies=KnownFrequencies({}))
        )
        assert (prediction.index_use, prediction.notes) == (IndexUse.UNINDEXED, {"U"})
        prediction = forecast(
            parse("(!(uid=x))"), SUFFIX, "sub", database(limit=2147483646, frequencies=KnownFrequencies({}))
        )
        assert (prediction.index_use, prediction.notes) == (IndexUse.UNINDEXED, {""})

    def test_few_below_the_base_are_few(self):
        few = database(limit=-1, frequencies=KnownFrequencies({}, MANY))
        assert forecast(parse("(employeeNumber=1)"), f"ou=few,{SUFFIX}", "sub", few).index_use is IndexUse.PARTIALLY

    def test_the_suffix_has_many_entries_unless_their_number_is_known(self):
        assert index_use("(employeeNumber=1)", limit=-1) is IndexUse.UNINDEXED
        assert index_use("(employeeNumber=1)", limit=-1, base=f"ou=x,{SUFFIX}") is IndexUse.DEPENDS


class TestLeaves:
    @pytest.mark.parametrize(
        ("text", "cause", "change"),
        [
            ("(employeeNumber>=5)", Cause.NO_INDEX, Change("employeeNumber", "eq")),
            ("(commonName~=x)", Cause.TYPE_MISSING, Change("cn", "approx")),
            ("(title=x)", Cause.TYPE_MISSING, Change("title", "eq")),
            ("(name=x)", Cause.NO_INDEX, Change("name", "eq")),
            ("(gidNumber<=5)", Cause.NO_INDEX, Change("gidNumber", "eq", "integerOrderingMatch")),
            ("(objectClass=*)", Cause.UNINDEXABLE, None),
            ("(uidNumber=*12*)", Cause.UNINDEXABLE, None),
            ("(cn:caseExactMatch:=x)", Cause.TYPE_MISSING, Change("cn", "eq", "caseExactMatch")),
            ("(cn:2.5.13.5:=x)", Cause.TYPE_MISSING, Change("cn", "eq", "2.5.13.5")),
            ("(cn:CaseExactMatch:=x)", Cause.TYPE_MISSING, Change("cn", "eq", "CaseExactMatch")),
            ("(cn:dn:caseExactMatch:=x)", Cause.TYPE_MISSING, Change("cn", "eq", "caseExactMatch")),
            ("(employeeNumber:caseExactMatch:=x)", Cause.NO_INDEX, Change("employeeNumber", "eq", "caseExactMatch")),
            ("(cn:fr:=x)", Cause.TYPE_MISSING, Change("cn", "eq", f"{COLLATION}.18.1")),
            ("(cn:FR-fr.3:=x)", Cause.TYPE_MISSING, Change("cn", "eq", f"{COLLATION}.18.1")),
            (f"(cn:{COLLATION}.18.1.6:=*x*)", Cause.TYPE_MISSING, Change("cn", "eq", f"{COLLATION}.18.1.6")),
            ("(cn:fr.5:=x)", Cause.TYPE_MISSING, Change("cn", "eq", f"{COLLATION}.18.1")),
            ("(cn:caseExactOrderingMatch:=x)", Cause.UNINDEXABLE, None),
            ("(uidNumber:1.2.840.113556.1.4.803:=2)", Cause.UNINDEXABLE, None),
            ("(cn:=x)", Cause.UNINDEXABLE, None),
            ("(:caseExactMatch:=x)", Cause.UNINDEXABLE, None),
            ("(employeeNumber=a*)", Cause.TOO_SHORT, None),
            ("(uid=x)", Cause.LIMIT_PERHAPS, None),
        ],
    )
    def test_name_the_index_that_would_help(self, text, cause, change):
        (leaf,) = forecast(parse(text), SUFFIX, "sub", database()).leaves
        assert (leaf.cause, leaf.change) == (cause, change)

    @pytest.mark.parametrize(("rule", "unproven"), [("caseExactOrderingMatch", False), ("ourOwnMatch", True)])
    def test_exclude_an_index_by_a_rule_only_if_the_server_is_known_to_make_no_keys(self, rule, unproven):
        (leaf,) = forecast(parse(f"(cn:{rule}:=x)"), SUFFIX, "sub", database()).leaves
        assert (leaf.cause, leaf.unproven) == (Cause.UNINDEXABLE, unproven)

    @pytest.mark.parametrize(
        ("text", "rule", "answered"),
        [
            ("(cn:caseExactMatch:=x)", "caseExactMatch", True),
            ("(cn:dn:caseExactMatch:=x)", "caseExactMatch", True),
            ("(cn:2.5.13.5:=x)", "caseExactMatch", False),
            ("(cn:caseexactmatch:=x)", "caseExactMatch", False),
            ("(cn:fr:=x)", "fr", False),
            ("(cn:fr:=x)", f"{COLLATION}.18.1", True),
            ("(cn:fr.5:=x)", f"{COLLATION}.18.1", True),
            ("(cn:fr.5:=x)", f"{COLLATION}.18.1.6", False),
        ],
    )
    def test_find_an_index_by_its_rule_in_the_same_spelling(self, text, rule, answered):
        (known,) = (one for one in database().backend.definitions if one.attribute == "cn")
        backend = replace(database().backend, definitions=(replace(known, rules=(rule,), scan_limits=()),))
        (leaf,) = forecast(parse(text), SUFFIX, "sub", replace(database(), backend=backend)).leaves
        assert (leaf.index_use is IndexUse.DEPENDS) is answered
        assert leaf.why

    def test_of_an_excerpt_are_not_judged(self):
        (leaf,) = forecast(parse("(mail=x)"), SUFFIX, "sub", database(whole=False)).leaves
        assert (leaf.cause, leaf.index_use, leaf.change) == (Cause.UNCONFIGURED, IndexUse.DEPENDS, Change("mail", "eq"))

    def test_of_computed_values_have_no_index(self):
        prediction = database(virtual_attributes={"mail": "class of service"})
        (leaf,) = forecast(parse("(mail=x)"), SUFFIX, "sub", prediction).leaves
        assert (leaf.cause, leaf.change) == (Cause.UNINDEXABLE, None)


class TestScanLimits:
    INDEX = IndexDefinition(
        attribute="mail",
        types=frozenset({"eq", "sub"}),
        scan_limits=(
            ScanLimit(limit=0, types=frozenset({"eq"}), flags=frozenset({"AND"}), values=("a",)),
            ScanLimit(limit=-1, types=frozenset({"eq"})),
            ScanLimit(limit=30, flags=frozenset({"AND"})),
        ),
    )

    @pytest.mark.parametrize(
        ("text", "size", "prediction"),
        [
            ("(mail=a)", 9000, IndexUse.INDEXED),
            ("(&(mail=a)(objectClass=person))", 20, IndexUse.UNINDEXED),
            ("(&(mail=b)(objectClass=person))", 9000, IndexUse.INDEXED),
            ("(&(mail=abcd*)(objectClass=person))", 31, IndexUse.UNINDEXED),
            ("(&(mail=abcd*)(objectClass=person))", 30, IndexUse.INDEXED),
            ("(&(mail=?)(objectClass=person))", 20, IndexUse.INDEXED),
        ],
    )
    def test_of_an_index_go_by_type_place_and_value(self, text, size, prediction):
        assert index_use(text, self.INDEX, sizes={"mail": size, "objectclass": 90_000}) is prediction

    def test_depend_on_a_value_that_is_not_known(self):
        hidden = And((replace(parse("(mail=x)"), value=None), parse("(objectClass=person)")))
        prediction = forecast(
            hidden, SUFFIX, "sub", database(self.INDEX, frequencies=KnownFrequencies({"mail": 20, "objectclass": 9000}))
        )
        assert prediction.possible >= {IndexUse.INDEXED, IndexUse.UNINDEXED}


class TestDsee:
    def test_takes_the_nearest_threshold(self):
        index = IndexDefinition(attribute="mail", types=frozenset({"eq"}), entry_limit=2000)

        def prediction(size, *definitions, threshold=None):
            known = database(*definitions, frequencies=KnownFrequencies({"mail": size}), family=Family.DSEE, limit=None)
            known = replace(known, backend=replace(known.backend, entry_limit=threshold))
            return forecast_of_dsee(parse("(mail=x)"), SUFFIX, "sub", known).index_use

        plain = replace(index, entry_limit=None)
        assert [prediction(2001, index), prediction(2001, plain)] == [IndexUse.UNINDEXED, IndexUse.INDEXED]
        assert [prediction(4001, plain), prediction(4001, plain, threshold=5000)] == [
            IndexUse.UNINDEXED,
            IndexUse.INDEXED,
        ]
