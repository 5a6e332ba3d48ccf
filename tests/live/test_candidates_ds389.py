"""The candidates of 389-ds against a real one: what is foretold of a search, and what the server writes of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

import examples
from lab.directory_servers import DSE, SUFFIX
from lab.host import Host
from lab.laboratory import need
from lab.odd_directory import (
    LOOKTHROUGH_LIMIT,
    PERSON,
    SCAN_LIMIT,
    TRIED,
    UNBUILT,
    Asked,
    ask,
    drawn,
    index_entry,
    limit_scans,
    load,
)
from ldapdiag.evidence.filter_tree import AssertionKind, assertions, parse
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.schema import Schema
from ldapdiag.servers.ds389.candidates import MANY, forecast
from ldapdiag.servers.indexes.candidates import Amount, Cause, Database, IndexUse, UnknownFrequencies
from reading import facts_of

LOADS = {"fewer": (1500, 220), "many": (4400, 80)}
"""Entries, below and above what 389-ds takes for many in two places, and how many searches are drawn."""
SEED = 7
UNLIMITED = 2147483646
INDEXED, LACKING = {Cause.NONE}, {Cause.NO_INDEX, Cause.TYPE_MISSING, Cause.NOT_BUILT}
OWN_WAYS = {"entrydn", "hassubordinates"}
"""Attributes of which the statistics say nothing, or under another name."""
STAT_TYPES = {AssertionKind.EQUALITY: "eq", AssertionKind.SUBSTRING: "sub", AssertionKind.APPROXIMATE: "approx"}


@dataclass
class Measured:
    """What the server says of single assertions and of places, asked beforehand without any limit."""

    lists: dict = field(default_factory=dict)
    places: dict = field(default_factory=dict)

    def of(self, assertion):
        return self.lists.get(assertion.text, Amount())

    def below(self, base, scope):
        count = self.places[base, scope]
        return Amount(count, count)


@dataclass
class Trial:
    """One load: the searches, what the server wrote of them, and what is foretold."""

    server: object
    database: Database
    asked: list
    logged: dict
    """By scan limit."""

    def told(self, limit):
        configuration = replace(self.database.configuration, scan_limit=limit)
        database = replace(self.database, configuration=configuration)
        return [forecast(parse(one.filter), one.base, one.scope, database) for one in self.asked]


def measured(server, asked, database):
    """Ask the server, while it has no limit, for every assertion on whose number it depends, and every place."""
    leaves = {leaf.text: leaf for one in asked for leaf in assertions(parse(one.filter))}
    (*texts,) = (text for text, leaf in leaves.items() if depends(leaf, database))
    told = dict(zip(texts, ask(server, [Asked(text) for text in texts]), strict=True))
    places = sorted({(one.base, one.scope) for one in asked} | {(SUFFIX, "sub")})
    counted = ask(server, [Asked("(|(objectClass=*)(objectClass=ldapsubentry))", *place) for place in places])
    return Measured(
        lists={text: amount_of(text, one) for text, one in told.items()},
        places={place: one.entries for place, one in zip(places, counted, strict=True)},
    )


def amount_of(text, logged):
    """Return the length of the shortest list of an assertion's keys; of presence and ranges that of the result."""
    lists = [ids for (_, _, key), ids in logged.lookups.items() if key != "referral"]
    if lists:
        return Amount(min(lists), min(lists))
    return Amount(logged.entries, None if parse(text).options else logged.entries)


@pytest.fixture(scope="module")
def room(laboratory):
    need("ns-slapd", "ldapsearch")
    with Host("ldap") as host:
        yield laboratory.ds389(host, settings={"nsslapd-statlog-level": "1"})


@pytest.fixture(scope="module", params=LOADS)
def trial(room, request):
    total, count = LOADS[request.param]
    load(room, total)
    room.modify(index_entry(UNBUILT, "nsIndexType: eq\n").replace("\nobject", "\nchangetype: add\nobject", 1))
    asked = [*TRIED, *drawn(examples.choices(SEED), count)]
    limit_scans(room, UNLIMITED)
    database = database_of(room)
    database = replace(database, frequencies=measured(room, asked, database))
    logged = {UNLIMITED: ask(room, asked)}
    limit_scans(room, SCAN_LIMIT)
    logged[SCAN_LIMIT] = ask(room, asked)
    room.modify(f"dn: cn={UNBUILT},cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config\nchangetype: delete\n")
    return Trial(room, database, asked, logged)


def depends(leaf, database):
    limited = replace(database.configuration, scan_limit=SCAN_LIMIT)
    (told,) = forecast(leaf, SUFFIX, "sub", replace(database, configuration=limited)).leaves
    return told.cause is Cause.LIMIT_PERHAPS


def database_of(server):
    (configuration,) = [
        one
        for one in facts_of(server.host.run(["cat", DSE]), path="ds/dse.ldif")
        if isinstance(one, IndexConfiguration)
    ]
    schema_text = server.search("cn=schema", "-s", "base", "attributeTypes")
    (schema,) = [one for one in facts_of(schema_text, path="ds/schema.ldif") if isinstance(one, Schema)]
    (backend,) = [one for one in configuration.backends if one.name.lower() == "userroot"]
    built = tuple(replace(one, built=False) if one.attribute == UNBUILT else one for one in backend.definitions)
    return Database(
        configuration=configuration,
        backend=replace(backend, definitions=built),
        schema=schema,
        frequencies=UnknownFrequencies(),
    )


def letter(notes):
    """Return the note on indexes alone."""
    return next((one for one in notes.split(",") if one in {"U", "A"}), "")


@pytest.mark.parametrize("limit", [SCAN_LIMIT, UNLIMITED])
class TestNotes:
    def test_are_among_those_foretold(self, trial, limit):
        wrong = [
            (asked, letter(logged.notes), sorted(told.notes))
            for asked, logged, told in zip(trial.asked, trial.logged[limit], trial.told(limit), strict=True)
            if logged.err == 0 and letter(logged.notes) not in told.notes
        ]
        assert not wrong, "\n".join(map(str, wrong))

    def test_depend_seldom(self, trial, limit):
        told = trial.told(limit)
        assert sum(len(one.notes) > 1 for one in told) < len(told) / 20

    def test_are_the_outlook_as_long_as_the_limit_is_low(self, trial, limit):
        for logged, told in zip(trial.logged[limit], trial.told(limit), strict=True):
            if limit <= MANY and len(told.notes) == 1 and logged.err == 0:
                assert (
                    told.index_use
                    is {"A": IndexUse.UNINDEXED, "U": IndexUse.PARTIALLY, "": IndexUse.INDEXED}[letter(logged.notes)]
                )


@pytest.mark.parametrize("limit", [SCAN_LIMIT, UNLIMITED])
class TestCauses:
    def test_of_what_was_not_looked_up(self, trial, limit):
        for leaf, asked, logged in told_apart(trial, limit):
            if leaf.cause is Cause.NOT_LOOKED_UP:
                assert not ids(logged), asked

    def test_of_what_was_looked_up(self, trial, limit):
        for leaf, asked, logged in told_apart(trial, limit):
            if leaf.cause in {*INDEXED, *LACKING, Cause.LIMIT} and leaf.index_use is not IndexUse.DEPENDS:
                assert ids(logged), asked

    def test_of_lists_and_of_all_ids(self, trial, limit):
        every = max(count for logged in trial.logged[limit] for count in logged.lookups.values())
        seen = Counter()
        for leaf, asked, logged in told_apart(trial, limit):
            if leaf.cause in {*INDEXED, *LACKING, Cause.LIMIT} and (counts := ids(logged)):
                assert (min(counts) < every) is (leaf.cause is Cause.NONE), (asked, leaf)
                seen[leaf.cause] += 1
        assert seen.keys() >= ({Cause.NONE, *LACKING, Cause.LIMIT} if limit == SCAN_LIMIT else {Cause.NONE, *LACKING})


def told_apart(trial, limit):
    """Yield the leaves whose lookups the server's statistics tell from those of the others of their search."""
    for asked, logged, told in zip(trial.asked, trial.logged[limit], trial.told(limit), strict=True):
        alike = Counter(key_of(leaf, trial.database) for leaf in told.leaves)
        for leaf in told.leaves if logged.err == 0 else ():
            name, kind = key = key_of(leaf, trial.database)
            if kind and alike[key] == 1 and name not in OWN_WAYS:
                yield leaf, asked, {one[2]: count for one, count in logged.lookups.items() if one[:2] == key}


def key_of(leaf, database):
    primary = database.schema.primary(leaf.assertion.attribute).lower()
    return primary, STAT_TYPES.get(leaf.assertion.kind, "")


def ids(logged):
    return [count for key, count in logged.items() if key != "referral"]


class TestIndexUse:
    """Without a scan limit the note says nothing; the lookthrough limit shows how many entries are looked at."""

    def test_unindexed_means_that_many_are_looked_at(self, trial):
        assert LOOKTHROUGH_LIMIT == MANY
        limit_scans(trial.server, UNLIMITED)
        refused = [one.err == 11 for one in ask(trial.server, trial.asked, PERSON)]
        seen = Counter()
        for asked, many, told in zip(trial.asked, refused, trial.told(UNLIMITED), strict=True):
            if told.index_use is IndexUse.UNINDEXED:
                assert many, asked
            elif not any(
                trial.database.frequencies.of(leaf.assertion).exceeds(MANY) is not False for leaf in told.leaves
            ):
                assert not many, asked
            seen[many, told.index_use] += 1
        many_there_are = trial.database.frequencies.below(SUFFIX, "sub").least > MANY
        assert (seen[True, IndexUse.UNINDEXED] > 20) is many_there_are
