from __future__ import annotations

from dataclasses import replace

import pytest

from indexes_389 import BACKEND, LIST, index
from indexes_389 import read as read_389
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
from ldapdiag.analysis.indexes.write_causes import unindexed_internal_searches
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.indexes.internal_search import InternalSearch
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.servers.commands.server_address import ServerAddress
from reading import facts_of

SLAPD = """\
database mdb
suffix dc=a
directory /a
index objectClass eq
index entryCSN eq
{a}
database mdb
suffix dc=b
directory /b
index objectClass eq
{b}
"""


def lacking(configuration: IndexConfiguration) -> set[tuple[str, str, str]]:
    """Return database, attribute and types of what is missing."""
    indexing = ServerIndexes(
        server="ldap",
        host="ldap",
        address=ServerAddress(name="ldap", host="ldap"),
        configuration=configuration,
        schema=standard(),
        entries={},
    )
    return {
        (one.backend.name, one.attribute, ",".join(sorted(change.type for change in one.changes)))
        for one in unindexed_internal_searches(indexing)
    }


def slapd(a: str = "", b: str = "") -> set[tuple[str, str, str]]:
    found = [fact for fact in facts_of(SLAPD.format(a=a, b=b)) if isinstance(fact, IndexConfiguration)]
    return lacking(found[0])


@pytest.mark.parametrize(
    ("a", "expected"),
    [
        ("overlay syncprov", {("{1}mdb", "entryUUID", "eq")}),
        ("overlay unique\nunique_uri ldap:///?mail?sub", {("{1}mdb", "mail", "eq")}),
        ("overlay unique\nunique_uri ldap:///ou=p,dc=b?mail?sub", {("{2}mdb", "mail", "eq")}),
        ("overlay unique\nunique_uri ignore ldap:///?mail?sub", set()),
        ("overlay refint\nrefint_attributes member owner", set()),
        ("overlay memberof\nmemberof-group-oc groupOfNames", set()),
        (
            "overlay dynlist\ndynlist-attrset groupOfURLs memberURL member+memberOf@groupOfNames",
            {("{1}mdb", "member", "eq")},
        ),
        ("overlay constraint\nconstraint_attribute manager uri ldap:///ou=p,dc=a?uid?one", {("{1}mdb", "uid", "eq")}),
        ("overlay accesslog\nlogdb dc=b\nlogpurge 07+00:00 01+00:00", {("{2}mdb", "reqstart", "eq")}),
        ("overlay unique\nunique_attributes $(x) a)(b", set()),
    ],
)
def test_what_an_overlay_needs_in_the_database_that_it_searches(a: str, expected: set[tuple[str, str, str]]) -> None:
    assert slapd(a) == expected


def test_the_same_overlay_of_the_other_database() -> None:
    assert slapd(b="overlay syncprov") == {("{2}mdb", "entryCSN", "eq"), ("{2}mdb", "entryUUID", "eq")}


def test_a_search_that_is_rare_or_of_another_suffix_needs_none() -> None:
    configuration = read_389(BACKEND + LIST + index("nsIndexType: eq"))
    rare = InternalSearch(attribute="title", by="x")
    elsewhere = InternalSearch(attribute="title", by="x", bases=("dc=other",), frequent=True)
    assert not lacking(replace(configuration, internal_searches=(rare, elsewhere)))
    below = replace(elsewhere, bases=("ou=people,dc=example,dc=com",))
    assert lacking(replace(configuration, internal_searches=(below,))) == {("userRoot", "title", "eq")}
