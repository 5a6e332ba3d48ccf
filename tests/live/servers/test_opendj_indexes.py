"""The simulation of OpenDJ's candidates against its own debugsearchindex, and its index remedies pasted as they stand.

What is expected is what the server answers; no verdict is written by hand. LDAPDIAG_OPENDJ names the folder of an
unpacked opendj-server-legacy (lab/opendj.py). It takes a minute, so nobody waits for it unasked.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import examples
from facts import address_of
from lab import opendj as lab
from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.filter_tree import AssertionKind, parse
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.indexes.explanations import Explanation, IndexExplanations, Outcome
from ldapdiag.evidence.indexes.index_status import IndexStatus
from ldapdiag.evidence.ldif import comparable, entries
from ldapdiag.evidence.schema import Schema
from ldapdiag.servers.indexes.candidates import Amount, Change, Database, IndexPlace, IndexUse, UnknownFrequencies
from ldapdiag.servers.opendj import candidates, index_remedies
from reading import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.filter_tree import Assertion

SUFFIX = "dc=example,dc=com"
PEOPLE, SMALL = f"ou=people,{SUFFIX}", f"ou=small,{SUFFIX}"
LIMIT = 100
"""index-entry-limit: so low that a few hundred entries go over it."""
FILTERS = 150
MOST_OPEN = 0.25
"""Share of filters of which the simulation may say that it depends."""
SERVER = address_of(lab.HOST)
SEARCH = f"ldapsearch -x -H ldap://{lab.HOST} -D '{lab.MANAGER}' -w {lab.PASSWORD} -LLL -o ldif-wrap=no"
GIVEN = ("Joe", "Joel", "Anna", "Peter", "Marta", "Ivan", "Lena", "Otto", "Nina", "Karl")
SURNAMES = ("Smith", "Miller", "Jones", "Kim")
ATTRIBUTES = (
    *("uid", "cn", "commonName", "sn", "surname", "givenName", "mail", "displayName", "employeeNumber", "description"),
    *("telephoneNumber", "title", "l", "objectClass", "aci", "foo", "name", "member", "entryUUID"),
)


def people(draw: random.Random) -> str:
    """Return the entries of the test as LDIF."""
    records = [f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n"]
    records += [f"dn: {place}\nobjectClass: organizationalUnit\nou: x\n" for place in (PEOPLE, SMALL)]
    for number in range(400):
        given, name = draw.choice(GIVEN), draw.choice(SURNAMES)
        optional = ["l: Berlin"] * (number % 2) + ["title: Doctor"] * (number % 7 == 0)
        records.append("\n".join([
            f"dn: uid=user{number:03},{SMALL if number % 10 == 0 else PEOPLE}", "objectClass: inetOrgPerson",
            f"uid: user{number:03}", f"cn: {given} {name} {number:03}", f"sn: {name}", f"givenName: {given}",
            f"displayName: {name}, {given} ({number:03})", f"mail: {given}.{number:03}@example.com",
            f"employeeNumber: {1000 + number}", f"description: of unit {number % 37}",
            f"telephoneNumber: +49 30 {number:07}", *optional, "",
        ]))  # fmt: skip
    return "\n".join(records)


class Counted:
    """Frequencies counted in the entries that were loaded."""

    def __init__(self, ldif: str, schema: Schema) -> None:
        self.schema = schema
        self.entries = list(entries(Document(path="loaded", source=lines_of([ldif.encode()]))))
        self.values = Counter[tuple[str, str]]()
        self.present = Counter[str]()
        for entry in self.entries:
            for name, values in entry.attributes.items():
                self.present[name] += 1
                self.values.update({(name, value.lower()) for value in values})

    def of(self, assertion: Assertion) -> Amount:
        name = self.schema.primary(assertion.attribute).lower()
        if assertion.kind is AssertionKind.PRESENCE:
            return Amount(self.present[name], self.present[name])
        if assertion.kind is AssertionKind.EQUALITY and assertion.value is not None:
            count = self.values[name, assertion.value.lower()]
            return Amount(count, count)
        return Amount(0, len(self.entries))

    def below(self, base: str, scope: str) -> Amount:
        place = comparable(base)
        depth = place.count(",") + 1
        inside = [one.key for one in self.entries if one.key.endswith(f",{place}")]
        count = sum(key.count(",") == depth for key in inside) if scope == "one" else len(inside) + (scope == "sub")
        return Amount(count, count)


@pytest.fixture(scope="module")
def opendj(room):
    """Run an OpenDJ with the entries, a low entry limit, a new index and one that is not built."""
    lab.unpacked()
    with lab.running(room, room.folder, room.tools, SUFFIX):
        backend = "--backend-name userRoot"
        for change in (
            f"set-backend-prop {backend} --set index-entry-limit:{LIMIT} --set index-filter-analyzer-enabled:true",
            f"create-backend-index {backend} --index-name l --set index-type:presence",
            f"create-backend-index {backend} --index-name employeeNumber --set index-type:ordering",
        ):
            room.run(f"dsconfig {change} {lab.OPTIONS} -n < /dev/null")
        (room.folder / "people.ldif").write_text(people(random.Random(7)))  # noqa: S311  the same ones each time
        room.run(f"import-ldif -n userRoot -l {room.folder}/people.ldif {lab.OPTIONS} < /dev/null")
        unbuilt = f"create-backend-index {backend} --index-name title --set index-type:equality"
        room.run(f"dsconfig {unbuilt} {lab.OPTIONS} -n < /dev/null")
        yield room


def facts_at(room: Any, base: str, *attributes: str, kind: type) -> list[Any]:
    """Return the facts of one kind that a search tells."""
    found = room.run(f"{SEARCH} -b '{base}' {' '.join(attributes)}")
    return [fact for fact in facts_of(found) if isinstance(fact, kind)]


def database_of(room: Any) -> Database:
    """Return what the server says of its indexes and its schema, and what is known of its entries."""
    (configuration,) = facts_at(room, "cn=config", kind=IndexConfiguration)
    (schema,) = facts_at(room, "cn=schema", "-s", "base", "attributeTypes", kind=Schema)
    return Database(
        configuration=configuration,
        backend=next(one for one in configuration.backends if one.name == "userRoot"),
        schema=schema,
        frequencies=Counted((room.folder / "people.ldif").read_text(), schema),
        statuses=tuple(facts_at(room, "cn=monitor", kind=IndexStatus)),
    )


def explained(room: Any, asked: Sequence[tuple[str, str, str]]) -> Iterable[Explanation]:
    """Ask the server how it answers filters, bases and scopes."""
    lines = [f"{SEARCH} -b '{base}' -s {scope} '{text}' debugsearchindex" for text, base, scope in asked]
    (found,) = facts_of(room.run("\n".join(lines)))
    assert isinstance(found, IndexExplanations)
    return found.explanations


def is_unindexed(room: Any, text: str) -> bool:
    (told,) = explained(room, [(text, SUFFIX, "sub")])
    return told.final.outcome is not Outcome.CANDIDATES


class Filters:
    """Filters of every kind, about what is there and what is not."""

    def __init__(self, draw: random.Random, values: Iterable[tuple[str, str]]) -> None:
        self.draw = draw
        self.values: dict[str, list[str]] = {}
        for name, value in sorted(values):
            self.values.setdefault(name, []).append(value)

    def one(self, depth: int = 0) -> str:
        """Return a filter, sets within sets."""
        chance = self.draw.random()
        if depth > 2 or chance < 0.5:
            return self.assertion()
        if chance > 0.93:
            return f"(!{self.one(depth + 1)})"
        members = "".join(self.one(depth + 1) for _ in range(self.draw.randint(1, 3)))
        return f"({'&' if chance < 0.75 else '|'}{members})"

    def assertion(self) -> str:
        name = self.draw.choice(ATTRIBUTES)
        known = self.values.get({"commonName": "cn", "surname": "sn"}.get(name, name.lower()), [])
        value = self.draw.choice(known) if known and self.draw.random() < 0.8 else "nosuch"
        value = value.replace("(", "").replace(")", "")
        piece = value[: self.draw.randint(1, 8)].strip() or "a"
        if name == "entryUUID":  # what is none matches nothing, whatever the index
            value = piece = "3bac79e9-94e9-364a-9931-095a54e9c072"
        if name == "member":
            value = piece = f"uid=user001,{PEOPLE}"
        forms = [
            *(f"={value}", f"={value}", f"={piece}*", f"=*{piece}*", f"=*{piece}", f"={piece}*{piece}", "=*"),
            *(f">={piece}", f"<={piece}", f"~={piece}", f":={piece}", f":dn:={piece}", f":caseExactMatch:={piece}"),
            f":caseIgnoreMatch:={piece}",
        ]
        return f"({name}{self.draw.choice(forms)})"


def test_the_simulation_says_what_the_server_says(opendj):
    draw = examples.choices(20261120)
    database = database_of(opendj)
    assert isinstance(database.frequencies, Counted)
    filters = Filters(draw, database.frequencies.values)
    places = [(SUFFIX, "sub")] * 4 + [(SMALL, "sub"), (SMALL, "one"), (PEOPLE, "sub"), (PEOPLE, "one")]
    asked = [(filters.one(), *draw.choice(places)) for _ in range(FILTERS)]
    wrong, told = [], Counter[tuple[IndexUse, bool]]()
    for (text, base, scope), server_s in zip(asked, explained(opendj, asked), strict=True):
        tree = parse(text)
        assert tree is not None
        ours = candidates.forecast(tree, base, scope, database)
        scanned = server_s.final.outcome is not Outcome.CANDIDATES
        told[ours.index_use, scanned] += 1
        if ours.index_use is not IndexUse.DEPENDS and scanned is not (ours.index_use is IndexUse.UNINDEXED):
            wrong.append((text, base, scope, ours, server_s))
    assert wrong == []
    assert sum(count for (index_use, _), count in told.items() if index_use is IndexUse.DEPENDS) <= MOST_OPEN * FILTERS
    assert min(sum(count for (_, scanned), count in told.items() if scanned is each) for each in (True, False)) > 20


def test_building_makes_an_index_used(opendj):
    database = database_of(opendj)
    assert is_unindexed(opendj, "(title=nosuch)")
    pasted(
        opendj,
        index_remedies.build_indexes(
            IndexPlace(SERVER, database.backend, database.configuration, database.schema), ["title"]
        ).text,
    )
    assert not is_unindexed(opendj, "(title=nosuch)")


OFFERS = {
    r"(displayName=Smith, Joe \28001\29)": Change("displayName", "equality"),
    "(displayName=Smi*)": Change("displayName", "equality"),
    "(telephoneNumber=*)": Change("telephoneNumber", "presence"),
    "(description>=of unit 36)": Change("description", "ordering"),
    "(cn~=Otto)": Change("cn", "approximate"),
    "(uid=*ser39*)": Change("uid", "substring"),
}
"""Filters without an index, and the one that is to be offered."""


def test_the_indexes_that_are_offered_are_those_that_help_and_go_again(opendj):
    database = database_of(opendj)
    offered = {}
    for text in OFFERS:
        tree = parse(text)
        assert tree is not None
        (leaf,) = candidates.forecast(tree, SUFFIX, "sub", replace(database, frequencies=UnknownFrequencies())).leaves
        offered[text] = leaf.change
        assert is_unindexed(opendj, text)
    assert offered == OFFERS
    changes = sorted(set(OFFERS.values()))
    remedy = index_remedies.add_indexes(
        IndexPlace(SERVER, database.backend, database.configuration, database.schema), changes
    )
    pasted(opendj, remedy.text)
    helped = [text for text in OFFERS if not is_unindexed(opendj, text)]
    assert helped == [text for text in OFFERS if "telephoneNumber" not in text], "every entry has a telephone number"
    assert "[INDEX:displayName.equality]" in pasted(opendj, remedy.verify)
    pasted(opendj, remedy.undo)
    assert all(is_unindexed(opendj, text) for text in OFFERS)


def test_ldif_adds_and_builds_as_the_commands_do(opendj):
    database = database_of(opendj)
    changes = [Change("uid", "substring"), Change("description", "equality")]
    assert is_unindexed(opendj, "(uid=*ser39*)")
    ldif = index_remedies.add_indexes_ldif(
        IndexPlace(SERVER, database.backend, database.configuration, database.schema), changes
    )
    assert ldif is not None
    opendj.run(f"ldapmodify -x -H ldap://{lab.HOST} -D '{lab.MANAGER}' -w {lab.PASSWORD}", stdin=ldif)
    ended = f"{SEARCH} -b cn=tasks '(&(ds-task-id=ldapdiag-*)(ds-task-state=COMPLETED_SUCCESSFULLY))' 1.1"
    opendj.run(f"until {ended} | grep -q dn:; do sleep 0.2; done")
    assert not is_unindexed(opendj, "(uid=*ser39*)")
    assert not is_unindexed(opendj, "(description=of unit 3)")


def test_what_is_dropped_is_gone_and_comes_back(opendj):
    database = database_of(opendj)
    remedy = index_remedies.drop_indexes(
        IndexPlace(SERVER, database.backend, database.configuration, database.schema),
        [Change("sn", "substring"), Change("l", "presence")],
    )
    pasted(opendj, remedy.text)
    assert is_unindexed(opendj, "(sn=*nosuch*)")
    pasted(opendj, remedy.undo)
    assert not is_unindexed(opendj, "(sn=*nosuch*)")


def pasted(room, text):
    """Paste a text as the one whose home holds the password, line by line: each starts a Java of its own."""
    return "".join(room.paste(f"export HOME={room.folder}\n{line}") for line in text.splitlines())
