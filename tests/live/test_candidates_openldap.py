"""What we foresee of slapd's candidates, against what a slapd says at the level `filter` that it found.

No expected value is written down: filters are drawn, slapd answers them, and its word on every part is compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

import examples
from facts import slapd_of
from lab.directory_servers import PASSWORD, SUFFIX, account
from lab.filter_trace import Part, Traced, traced
from lab.host import Host, wait_for
from lab.odd_slapd import FEW, GAPS, LONG_KEYS, NO_OBJECT_CLASS, PEOPLE, SCHEMA, TAGGED, Drawing, entries
from lab.terminal import paste
from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Node, Not, Or, assertions, parse, parse_shape
from ldapdiag.evidence.filters import shape
from ldapdiag.servers.indexes.candidates import (
    Cause,
    Change,
    Database,
    Forecast,
    IndexPlace,
    IndexUse,
    Leaf,
    UnknownFrequencies,
)
from ldapdiag.servers.openldap.candidates import forecast
from ldapdiag.servers.openldap.index_remedies import (
    add_indexes,
    add_indexes_ldif,
    build_indexes,
    drop_indexes,
)
from reading import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lab.directory_servers import Server

UNCHECKED = "dbnosync\nlimits users size.unchecked=1\n"
"""More candidates than one, and the search ends (err 11) before entries are looked at, which would fill the log.

Without the sync of each entry, indexes are built in a second.
"""

ROWS = (
    "(employeeNumber=10)", "(&(uid=p10)(employeeNumber=10))", "(&(employeeNumber=10)(uid=p10))",
    "(&(objectClass=inetOrgPerson)(employeeNumber=51))", "(&(objectClass=inetOrgPerson)(cn=alder*))",
    "(objectClass=inetOrgPerson)", "(cn=*)", "(|(uid=p10)(employeeNumber=10))", "(|(title=t1)(employeeNumber=10))",
    "(!(uid=p10))", "(&(objectClass=inetOrgPerson)(!(uid=p10)))", "(&(cn=alder*)(!(departmentNumber=1)))",
    "(&(!(departmentNumber=1))(uid=p10))", "(objectClass=*)", "(&(objectClass=*)(uid=p10))", "(cn=a*)", "(cn=*ld*)",
    "(cn=*0)", "(cn=al*)", "(cn=*lde*)", "(cn=*alde*)", "(cn=*10)", "(uid=p1*)", "(uidNumber>=1400)", "(uid>=p1)",
    "(employeeNumber>=1400)", "(cn:caseExactMatch:=alder)", "(nosuchattribute=1)",
    "(&(nosuchattribute=1)(employeeNumber=1))", "(&(employeeNumber=1)(nosuchattribute=1))", "(!(nosuchattribute=1))",
    "(|(nosuchattribute=1)(uid=p1))", "(&)", "(|)", "(!(&))", "(!(|))", "(&(uid=nobody)(employeeNumber=1))",
)  # fmt: skip
"""What was tried with 389-ds (the notes of its log), asked of slapd."""


@dataclass(frozen=True)
class Asked:
    """A search, what slapd told of it and what we foresaw."""

    tree: Node
    told: Traced
    foreseen: Forecast

    def __str__(self) -> str:
        return f"{self.told.scope} {self.told.base} {self.told.filter}: {self.told.found}\nforeseen {self.foreseen}"


class Questioned:
    """A slapd that tells what it finds."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.read = 0

    def database(self) -> Database:
        """Return what its configuration and its schema say, read anew."""
        said = self.server.search("cn=config", "*", "+") + self.server.search("cn=Subschema", "-s", "base", "+")
        facts = {fact.kind: fact for fact in facts_of(said)}
        configuration = facts["index-configuration"]
        (backend,) = [one for one in configuration.backends if SUFFIX in one.suffixes]
        return Database(
            configuration=configuration, backend=backend, schema=facts["schema"], frequencies=UnknownFrequencies()
        )

    def ask(
        self, filters: Sequence[str], base: str = SUFFIX, scope: str = "sub", *, root: bool = False
    ) -> list[Traced]:
        """Search for each filter, one after another, and return what slapd told of each."""
        name = self.server.administrator if root else account("application_xyz")
        asked = ["ldapsearch", "-LLL", "-c", "-x", "-H", "ldap://127.0.0.1", "-D", name, "-w", PASSWORD]
        asked += ["-b", base, "-s", scope, "-f", "-", "(%s)", "1.1"]
        self.server.host.attempt(asked, stdin="".join(f"{one[1:-1]}\n" for one in filters))
        return wait_for(lambda: self._told(len(filters)), f"slapd did not tell of {len(filters)} searches")

    def _told(self, count: int) -> list[Traced]:
        text = self.server.log.read_text()[self.read :]
        logged = [one for one in traced(text.splitlines()) if one.base.endswith(SUFFIX)]
        last = max((one.conn for one in logged), default=0)
        told = [one for one in logged if one.conn == last]  # before that, remedies may have searched
        if len(told) < count:
            return []
        self.read += len(text)
        assert len(told) == count, f"{len(told)} searches in the log, {count} were asked"
        return sorted(told, key=lambda one: (one.conn, one.op))  # a thread may tell late of its result

    def compared(self, filters: Sequence[str], base: str, scope: str) -> Iterator[Asked]:
        """Ask, foresee, and yield both."""
        database = self.database()
        for text, told in zip(filters, self.ask(filters, base, scope), strict=True):
            for written in (text, told.filter):
                tree = parse(written)
                assert tree is not None or "(?=" in written, written
                if tree is not None:
                    yield Asked(tree, told, forecast(tree, base, told.scope, database))


PLACES = ((SUFFIX, "sub"), (PEOPLE, "one"), (FEW, "sub"), (FEW, "one"), (PEOPLE, "children"), (PEOPLE, "base"))
SITES = {"gaps": (GAPS, ""), "long keys, tags": (TAGGED, LONG_KEYS), "no index of objectClass": (NO_OBJECT_CLASS, "")}


@pytest.fixture(scope="module", params=SITES)
def slapd(laboratory, request):
    """Return a slapd with indexes that have gaps."""
    indexes, settings = SITES[request.param]
    with Host("ldap") as host:
        server = laboratory.slapd(
            host, configuration=SCHEMA + settings, database=UNCHECKED + indexes, entries=entries(),
            level="stats,filter",
        )  # fmt: skip
        yield Questioned(server)


@pytest.fixture
def drawing(request) -> Drawing:
    """Return filters that differ from site to site, and are the same in each run."""
    return Drawing(examples.choices(request.node.name))


def test_what_slapd_finds_is_foreseen(slapd, drawing) -> None:
    for base, scope in PLACES:
        filters = [*ROWS, *(drawing.filter() for _ in range(120 if base == SUFFIX else 40))]
        for asked in slapd.compared(filters, base, scope):
            check(asked)
            assert asked.foreseen.index_use is not IndexUse.DEPENDS, asked


def test_a_shape_is_foreseen_like_its_filter(slapd, drawing) -> None:
    """A shape tells less: nothing is foreseen otherwise, but that it may depend on what is not told."""
    database, depends = slapd.database(), 0
    for text in [*ROWS, *(drawing.filter() for _ in range(300))]:
        tree, told = parse(text), shape(text.encode()).decode()
        literal, lengths = forecast(tree, SUFFIX, "sub", database), lengths_of(tree)
        if any(is_soundless(leaf) for leaf in literal.leaves):
            continue  # the value decides, and a shape has none
        assert forecast(parse_shape(told, lengths), SUFFIX, "sub", database).index_use is literal.index_use, (
            text,
            told,
        )
        without = forecast(parse_shape(told), SUFFIX, "sub", database).index_use
        depends += without is IndexUse.DEPENDS
        scans = {one is IndexUse.UNINDEXED for one in (without, literal.index_use)}
        assert without is IndexUse.DEPENDS or len(scans) == 1, (text, told)
    assert depends < 60


def test_a_scan_ends_where_the_scope_does(slapd, drawing) -> None:
    database = slapd.database()
    for base, scope in ((FEW, "sub"), (FEW, "one")):
        (all_below,) = slapd.ask(["(objectClass=*)"], base, scope, root=True)
        filters = [drawing.filter() for _ in range(60)]
        for text, told in zip(filters, slapd.ask(filters, base, scope, root=True), strict=True):
            foreseen = forecast(parse(text), base, told.scope, database)
            if foreseen.index_use is IndexUse.UNINDEXED:
                assert told.examined == all_below.nentries, (text, told)
            assert told.examined <= all_below.nentries, (text, told)


def test_the_remedy_gives_every_assertion_its_list(slapd, drawing) -> None:
    filters = [*ROWS, *(drawing.filter(1) for _ in range(300))]
    database = slapd.database()
    before = [leaf for one in filters for leaf in leaves_of(forecast(parse(one), SUFFIX, "sub", database))]
    changes = tuple(dict.fromkeys(leaf.change for leaf in before if leaf.change))
    assert changes
    remedy = add_indexes(
        IndexPlace(slapd_of("localhost"), database.backend, database.configuration, database.schema), changes
    )
    paste(slapd.server.host, remedy.text)
    for asked in slapd.compared(filters, SUFFIX, "sub"):
        check(asked)
        assert not [leaf for leaf in leaves_of(asked.foreseen) if leaf.change], asked
    paste(slapd.server.host, remedy.undo)
    assert lines_of(slapd.database()) == lines_of(database)


def test_the_ldif_does_the_same_and_an_index_is_dropped_again(slapd) -> None:
    database = slapd.database()
    changes = (Change("departmentNumber", "eq"), Change("departmentNumber", "pres"), Change("cn", "approx"))
    place = IndexPlace(slapd_of("localhost"), database.backend, database.configuration, database.schema)
    slapd.server.modify(add_indexes_ldif(place, changes))
    wait_for(lambda: not slapd.server.is_building(), "the build does not end", seconds=60)
    added = slapd.database()
    told = slapd.ask(["(departmentNumber=3)", "(departmentNumber=*)", "(cn~=alder)", "(cn=alder)"])
    forecasts = [forecast(parse(one.filter), SUFFIX, "sub", added) for one in told]
    assert [one.found.is_all for one in told] == [one.index_use is IndexUse.UNINDEXED for one in forecasts]
    assert not any(one.leaves[0].change for one in forecasts[:3])
    paste(
        slapd.server.host,
        drop_indexes(IndexPlace(slapd_of("localhost"), added.backend, added.configuration, added.schema), changes).text,
    )
    dropped = slapd.database()
    assert "departmentNumber" not in lines_of(dropped)
    assert all("approx" not in types for _, types in lines_of(dropped).items() if _ == "cn")


def test_an_index_is_built_anew_while_searches_find_everything(slapd) -> None:
    database = slapd.database()
    attribute = next(one.attribute for one in database.backend.definitions if "eq" in one.types)
    remedy = build_indexes(
        IndexPlace(slapd_of("localhost"), database.backend, database.configuration, database.schema), [attribute]
    )
    paste(slapd.server.host, remedy.text)
    assert lines_of(slapd.database()) == lines_of(database)


def is_soundless(leaf: Leaf) -> bool:
    """Tell whether a value is the reason that an approximate match scans."""
    return leaf.assertion.kind is AssertionKind.APPROXIMATE and leaf.cause is Cause.UNINDEXABLE


def leaves_of(foreseen: Forecast) -> tuple[Leaf, ...]:
    return (*foreseen.leaves, *foreseen.added)


def lines_of(database: Database) -> dict[str, frozenset[str]]:
    """Return the types of the lines of a database."""
    return {one.attribute: one.types for one in database.backend.definitions}


def lengths_of(tree: Node) -> str:
    """Return the lengths of all pieces of a filter, as a log scan tells them."""
    return "".join(str(min(9, length)) for one in assertions(tree) for length in one.pieces)


def check(asked: Asked) -> None:
    """Compare what was foreseen of a search with what slapd told."""
    told, foreseen = asked.told, asked.foreseen
    if told.found is None:
        assert told.scope == "base", asked
        assert foreseen.index_use is IndexUse.INDEXED, asked
        assert {leaf.cause for leaf in foreseen.leaves} <= {Cause.NOT_LOOKED_UP}, asked
        return
    part = told.found
    if foreseen.added:
        referral, part = told.found.parts
        assert (foreseen.added[0].index_use is IndexUse.UNINDEXED) == referral.is_all, asked
    assert [leaf.assertion for leaf in foreseen.leaves] == list(assertions(asked.tree)), asked
    seen: list[bool] = []
    compare(asked.tree, part, iter(foreseen.leaves), asked, seen)
    assert (foreseen.index_use is IndexUse.UNINDEXED) == told.found.is_all, asked
    if not told.found.is_all and None not in seen:
        assert (foreseen.index_use is IndexUse.PARTIALLY) == any(seen), asked


def compare(node: Node, part: Part | None, leaves: Iterator[Leaf], asked: Asked, seen: list[bool | None]) -> None:
    """Compare part by part, with the leaves in order; what slapd did not look up (None) is told of no assertion."""
    match node:
        case And(members) | Or(members):
            parts = part.parts if part is not None else []
            for place, member in enumerate(members):
                compare(member, parts[place] if place < len(parts) else None, leaves, asked, seen)
        case Not(member):
            negated = [next(leaves) for _ in assertions(member)]
            assert {leaf.index_use for leaf in negated} <= {IndexUse.UNINDEXED, IndexUse.INDEXED}, asked
            seen.append(None if part is None else part.is_all)
        case Assertion():
            leaf = next(leaves)
            if part is None:
                seen.append(None)
                return
            assert leaf.cause is not Cause.NOT_LOOKED_UP, asked
            assert (leaf.index_use is IndexUse.UNINDEXED) == part.is_all, (leaf, part, asked)
            assert leaf.cause in causes(part, node), (leaf, part, asked)
            seen.append(part.is_all)


def causes(part: Part, assertion: Assertion) -> set[Cause]:
    """Return the causes that agree with what slapd told of an assertion."""
    if not part.kind:
        return {Cause.UNKNOWN_ATTRIBUTE}
    if not part.is_all:
        return {Cause.NONE}
    if part.not_indexed:
        computed = {Cause.UNINDEXABLE} if assertion.attribute in {"entrydn", "hassubordinates"} else set()
        short = {Cause.TOO_SHORT} if assertion.kind is AssertionKind.SUBSTRING else set()
        return {Cause.NO_INDEX, Cause.TYPE_MISSING} | computed | short
    return {Cause.TOO_SHORT, Cause.TYPE_MISSING} if assertion.kind is AssertionKind.SUBSTRING else {Cause.UNINDEXABLE}
