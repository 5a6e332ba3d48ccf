"""harmful-index: substrings of members, computed values, and the server's own indexes set wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

import facts
from conftest import CAPTURES
from indexes_389 import BACKEND, DATABASES, LIST, index, plugin
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes, find_server_indexes
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
from ldapdiag.evidence.indexes.internal_search import InternalSearch
from ldapdiag.finding import Clear, Finding, NotJudged, Severity
from ldapdiag.servers.indexes.candidates import Change
from ldapdiag.servers.opendj.index_remedies import drop_indexes
from ldapdiag_checks import harmful_index
from ldapdiag_checks.harmful_index import judge
from reading import facts_of

COS = "dn: cn=codes,dc=example,dc=com\nobjectClass: cosSuperDefinition\ncosAttribute: postalCode override\n\n"


def indexing(*told: IndexConfiguration, host: str = "ldap") -> ServerIndexes:
    """Return what is known of a server's indexes."""
    own = tuple(replace(one, origin=facts.origin(host, one.origin.path.rpartition("/")[2])) for one in told)
    found = find_server_indexes(facts.server(host, identity=own[0].identity), own, (), (), (), ())
    assert isinstance(found, ServerIndexes)
    return found


def of_389(*entries: str) -> ServerIndexes:
    """Return what is read of a 389-ds' configuration."""
    told = facts_of(BACKEND + LIST + "".join(entries))
    return indexing(*(fact for fact in told if isinstance(fact, IndexConfiguration)))


def of_family(family: Family, attribute: str, *types: str) -> ServerIndexes:
    """Return another product's configuration of one attribute."""
    backend = Backend(
        name="userRoot",
        suffixes=("dc=example,dc=com",),
        definitions=(IndexDefinition(attribute=attribute, types=frozenset(types)),),
    )
    identity = ServerIdentity(family=family)
    return indexing(IndexConfiguration(origin=facts.origin(), identity=identity, backends=(backend,)))


def found(told: ServerIndexes) -> dict[str, Finding]:
    return {one.observed["attribute"]: one for one in judge(told) if isinstance(one, Finding)}


@pytest.mark.parametrize("attribute", ["member", "uniqueMember", "memberUid", "UNIQUEMEMBER", "2.5.4.31"])
def test_substrings_of_members(attribute) -> None:
    (one,) = judge(of_389(index("nsIndexType: eq", "nsIndexType: sub", attribute=attribute)))
    assert isinstance(one, Finding)
    assert one.severity is Severity.MEDIUM
    assert one.observed == {
        "server": "ldap",
        "backend": "userRoot",
        "attribute": attribute,
        "types": ["sub"],
        "reason": "a member has as many keys as its name has characters, and every change of a group compares those of "
        "all its members",
    }
    assert one.key == f"ldap|userRoot|{attribute.lower()}"


def test_the_attribute_of_the_memberof_plug_in_is_one_of_members() -> None:
    entries = index("nsIndexType: sub", attribute="team"), index("nsIndexType: sub", attribute="boss")
    assert found(of_389(*entries)) == {}
    with_plugin = found(of_389(*entries, plugin("memberof_postop_init", "memberOfGroupAttr: team")))
    assert set(with_plugin) == {"team"}


def test_groups_of_a_member_are_fewer() -> None:
    assert found(of_389(index("nsIndexType: sub", attribute="memberOf")))["memberOf"].severity is Severity.LOW


@pytest.mark.parametrize(
    ("family", "attribute", "types", "severity"),
    [
        (Family.DSEE, "uniqueMember", ("eq", "sub"), Severity.MEDIUM),
        (Family.OPENLDAP, "member", ("eq", "subinitial"), Severity.LOW),
        (Family.OPENDJ, "member", ("equality", "substring"), Severity.LOW),
        (Family.PING, "uniqueMember", ("substring",), Severity.LOW),
        (Family.OPENDJ, "member", ("equality",), None),
        (Family.DSEE, "nsRole", ("eq",), Severity.HIGH),
        (Family.OPENLDAP, "nsRole", ("eq",), None),
    ],
)
def test_other_products(family, attribute, types, severity) -> None:
    told = of_family(family, attribute, *types)
    if family is Family.DSEE:
        told = replace(told, configuration=replace(told.configuration, virtual_attributes={"nsrole": "roles"}))
    (one,) = judge(told)
    assert getattr(one, "severity", None) is severity
    assert isinstance(one, Finding if severity else Clear)


def test_computed_values_are_in_no_index() -> None:
    one = found(of_389(index("nsIndexType: eq", attribute="nsRole")))["nsRole"]
    assert one.severity is Severity.HIGH
    assert one.observed["reason"].startswith("its values are computed (roles)")


def test_class_of_service_computes_too_where_its_definition_is_at_hand() -> None:
    postal = index("nsIndexType: eq", attribute="postalCode")
    assert found(of_389(postal)) == {}
    assert found(of_389(postal, COS))["postalCode"].observed["types"] == ["eq"]


@pytest.mark.parametrize(
    ("attribute", "lines", "severity"),
    [
        ("parentid", ("nsIndexIDListScanLimit: limit=5000 type=eq flags=AND",), Severity.LOW),
        ("parentid", ("nsIndexIDListScanLimit: limit=-1",), None),
        ("parentid", ("nsMatchingRule: integerOrderingMatch",), None),
        ("objectClass", ("nsIndexIDListScanLimit: limit=0 type=eq values=person",), None),
        ("ancestorid", (), Severity.LOW),
    ],
)
def test_the_servers_own_indexes_are_told_of_and_never_touched(attribute, lines, severity) -> None:
    (one,) = judge(of_389(index("nsSystemIndex: true", "nsIndexType: eq", *lines, attribute=attribute)))
    assert getattr(one, "severity", None) is severity
    assert getattr(one, "remedies", ()) == ()


def test_an_index_that_an_upgrade_left() -> None:
    left = index("nsSystemIndex: true", "nsIndexType: eq", attribute="entrydn")
    tree = index("nsSystemIndex: true", "nsIndexType: subtree", attribute="entryrdn")
    (one,) = found(of_389(left, tree)).values()
    assert (one.severity, one.remedies) == (Severity.MEDIUM, ())
    assert not found(of_389(left)), "a server before entryrdn needs it"


def test_an_attribute_that_the_servers_schema_lacks() -> None:
    told = of_389(index("nsIndexType: eq", attribute="dispalyName"), index("nsIndexType: eq"))
    assert not found(told), "its schema was not collected"
    (one,) = found(replace(told, schema_is_known=True)).values()
    assert (one.observed["attribute"], one.severity) == ("dispalyName", Severity.LOW)
    assert one.remedies


def test_a_default_index_is_the_servers_own_although_its_schema_lacks_the_attribute() -> None:
    """389-ds 2.3.1 indexes targetuniqueid by default, and no file of its schema defines it."""
    template = "dn: cn=targetuniqueid,cn=default indexes,cn=config,cn=ldbm database,cn=plugins,cn=config\n"
    told = replace(of_389(index("nsIndexType: eq", attribute="targetuniqueid")), schema_is_known=True)
    assert set(found(told)) == {"targetuniqueid"}
    text = f"{template}objectClass: nsIndex\ncn: targetuniqueid\nnsSystemIndex: true\nnsIndexType: eq\n\n"
    assert not found(replace(of_389(index("nsIndexType: eq", attribute="targetuniqueid"), text), schema_is_known=True))


def test_a_real_servers_indexes_do_no_harm() -> None:
    text = (CAPTURES / "389ds" / "indexes" / "userRoot-subtree.ldif").read_text()
    (configuration,) = [fact for fact in facts_of(text) if isinstance(fact, IndexConfiguration)]
    told = indexing(configuration)
    (clear,) = judge(told)
    assert isinstance(clear, Clear)
    assert clear.reason.startswith(f"{len(told.configuration.backends[0].definitions)} attributes with an index")


def test_no_index_at_all_is_no_claim() -> None:
    (verdict,) = judge(of_389())
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("index-configuration",)


def test_an_excerpt_is_cleared_as_such() -> None:
    (clear,) = judge(indexing(*[fact for fact in facts_of(index("nsIndexType: eq")) if hasattr(fact, "backends")]))
    assert isinstance(clear, Clear)
    assert "in the available excerpt" in clear.reason


def test_what_harms_is_taken_away_and_nothing_else(monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(harmful_index, "drop_indexes", lambda *about: asked.append(about) or ())
    told = of_389(
        index("nsIndexType: eq", "nsIndexType: sub", attribute="member"),
        index("nsIndexType: eq", "nsSystemIndex: true", attribute="ancestorid"),
        index("nsIndexType: pres", "nsIndexType: eq", attribute="nsRole"),
    )
    assert len(found(told)) == 3
    assert [(place.server.name, place.backend.name, set(changes)) for place, changes in asked] == [
        ("ldap", "userRoot", {Change("member", "sub")}),
        ("ldap", "userRoot", {Change("nsRole", "pres"), Change("nsRole", "eq")}),
    ]
    assert all(place.configuration is told.configuration for place, _ in asked)


@pytest.mark.parametrize("name", ["member; rm -rf /", "member\nnsIndexType: sub", "$(member)", "a" * 3000])
def test_hostile_names_reach_no_command(name, monkeypatch) -> None:
    monkeypatch.setattr(harmful_index, "drop_indexes", lambda *about: (drop_indexes(*about),))
    told = of_family(Family.OPENDJ, name, "substring")
    relying = replace(told.configuration, internal_searches=(InternalSearch(attribute=name.lower(), by="MemberOf"),))
    (one,) = judge(replace(told, configuration=relying))
    assert isinstance(one, Finding)
    (remedy,) = one.remedies
    assert name not in remedy.text


def test_every_database_is_looked_at() -> None:
    other = f"dn: cn=other,{DATABASES}\ncn: other\nnsslapd-suffix: dc=other\n\n"
    sub = index("nsIndexType: sub", attribute="member", backend="other")
    (one,) = judge(of_389(index("nsIndexType: eq", attribute="member"), other, sub))
    assert isinstance(one, Finding)
    assert one.observed["backend"] == "other"
