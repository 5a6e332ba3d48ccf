"""index-drift: replicas compared by suffix and attribute, whatever the attribute is called and however it is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import facts
from conftest import CAPTURES
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes, find_server_indexes
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
from ldapdiag.finding import Clear, Finding, NotJudged, Severity
from ldapdiag_checks.index_drift import judge
from reading import facts_of

SUFFIX = "dc=example,dc=com"
BASIS = {"uid": {"eq"}, "cn": {"eq", "pres", "sub"}}
NAMES = ["uid", "cn", "mail", "roomNumber"]


def replica(host, indexes, *, suffix=SUFFIX, family=Family.DS389, **traits) -> ServerIndexes:
    """Return a server with indexes: types by attribute, or definitions."""
    definitions = tuple(
        types if isinstance(types, IndexDefinition) else IndexDefinition(attribute=name, types=frozenset(types))
        for name, types in indexes.items()
    )
    return known(
        host,
        IndexConfiguration(
            origin=facts.origin(host, "dse.ldif"),
            identity=ServerIdentity(family=family),
            backends=(Backend(name="userRoot", suffixes=(suffix,), definitions=definitions),),
            **traits,
        ),
    )


def known(host, configuration) -> ServerIndexes:
    own = replace(configuration, origin=facts.origin(host, "dse.ldif"))
    found = find_server_indexes(facts.server(host, identity=own.identity), (own,), (), (), (), ())
    assert isinstance(found, ServerIndexes)
    return found


def found(*replicas) -> dict[str, Finding]:
    return {one.observed["attribute"]: one for one in judge(replicas) if isinstance(one, Finding)}


def test_an_index_that_one_replica_lacks() -> None:
    one, clear = judge((replica("ds1", BASIS), replica("ds2", BASIS | {"displayName": {"eq", "sub"}})))
    assert isinstance(one, Finding)
    assert one.severity is Severity.MEDIUM
    assert one.observed == {
        "attribute": "displayName",
        "types": ["eq", "sub"],
        "servers": {"ds1": [], "ds2": ["eq", "sub"]},
    }
    assert one.title == f"displayName below {SUFFIX} has different indexes: ds1 has none; ds2 eq,sub"
    assert one.hosts == ("ds1", "ds2")
    assert one.origins == ("ds1/dse.ldif", "ds2/dse.ldif")
    assert isinstance(clear, Clear)
    assert clear.reason == "the indexes of 2 other attributes are the same"


def test_a_type_that_one_replica_lacks() -> None:
    one = found(replica("ds1", BASIS), replica("ds2", BASIS | {"cn": {"eq"}}), replica("ds3", BASIS))["cn"]
    assert one.severity is Severity.LOW
    assert one.observed["types"] == ["pres", "sub"]
    assert one.observed["servers"]["ds2"] == ["eq"]


def test_a_matching_rule_that_one_replica_lacks() -> None:
    plain = IndexDefinition(attribute="uidNumber", types=frozenset({"eq"}))
    ordered = replace(plain, rules=("integerOrderingMatch",))
    one = found(replica("ds1", {"uidNumber": plain}), replica("ds2", {"uidNumber": ordered}))["uidNumber"]
    assert one.observed["types"] == ["integerorderingmatch"]


@pytest.mark.parametrize(
    "other",
    [
        {"UID": {"eq"}, "CN": {"sub", "pres", "eq"}},
        {"userid": {"eq"}, "commonName": {"eq", "pres", "sub"}},
        {"0.9.2342.19200300.100.1.1": {"eq"}, "2.5.4.3": {"eq", "pres", "sub"}},
        BASIS | {"entryusn": IndexDefinition(attribute="entryusn", types=frozenset({"eq"}), system=True)},
        BASIS | {"sn": set()},
        {"uid": {"eq"}, "cn": {"eq", "pres", "subinitial", "subany", "subfinal"}},
    ],
)
def test_one_configuration_in_other_words_is_no_drift(other) -> None:
    (clear,) = judge((replica("ds1", BASIS), replica("ds2", other, suffix="DC=Example, DC=com")))
    assert isinstance(clear, Clear)
    assert clear.subject == f"indexes of {SUFFIX} at ds1, ds2"


@pytest.mark.parametrize(
    "replicas",
    [
        (),
        (replica("ds1", BASIS),),
        (replica("ds1", BASIS), replica("ds2", {}, suffix="dc=other")),
        (replica("ds1", BASIS), replica("ds2", {}, family=Family.OPENLDAP)),
    ],
)
def test_nothing_to_compare(replicas) -> None:
    (verdict,) = judge(replicas)
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("index-configuration",)
    assert verdict.how


def test_an_excerpt_is_compared_in_what_it_tells() -> None:
    excerpt = replica("ds2", {"cn": {"eq"}}, whole=False)
    one, rest = judge((replica("ds1", BASIS | {"mail": {"eq"}}), excerpt))
    assert isinstance(one, Finding)
    assert one.observed["attribute"] == "cn"
    assert isinstance(rest, NotJudged)
    assert "of ds2 only an excerpt" in rest.reason


def test_two_tellings_of_a_real_server_agree() -> None:
    """As LDIF, and as dsconf lists it: what differs is what the listing leaves out, never an index."""
    folder = CAPTURES / "389ds" / "indexes"
    told = []
    for name in ("userRoot-subtree.ldif", "dsconf-backend-index-list.txt"):
        (configuration,) = [one for one in facts_of((folder / name).read_text()) if isinstance(one, IndexConfiguration)]
        (backend,) = configuration.backends
        backend = replace(backend, suffixes=(SUFFIX,))
        told.append(known(name, replace(configuration, backends=(backend,))))
    assert found(*told) == {}


indexes = st.dictionaries(
    st.sampled_from(NAMES), st.sets(st.sampled_from(["eq", "pres", "sub", "approx"]), min_size=1), max_size=4
)


@given(st.lists(indexes, min_size=2, max_size=4))
def test_what_is_found_is_what_differs(each) -> None:
    replicas = tuple(replica(f"ds{number}", one) for number, one in enumerate(each))
    differing = {name for name in NAMES if len({frozenset(one.get(name, ())) for one in each}) > 1}
    told = found(*replicas)
    assert set(told) == differing
    for name, one in told.items():
        assert one.observed["servers"] == {f"ds{number}": sorted(own.get(name, ())) for number, own in enumerate(each)}
        assert set(one.observed["types"]) == {
            type_
            for own in each
            for type_ in own.get(name, ())
            if any(type_ not in other.get(name, ()) for other in each)
        }


@given(st.lists(indexes, min_size=2, max_size=4), st.randoms(use_true_random=False), st.integers(0, 3))
def test_order_changes_nothing_and_less_evidence_finds_no_more(each, random, left_out) -> None:
    replicas = [replica(f"ds{number}", one) for number, one in enumerate(each)]
    mixed = random.sample(replicas, len(replicas))
    assert list(judge(tuple(mixed))) == list(judge(tuple(replicas)))
    fewer = [one for number, one in enumerate(replicas) if number != left_out % len(replicas)]
    assert set(found(*fewer)) <= set(found(*replicas))
