"""What holds for every audit of indexes, whatever is asked, and however the indexes are set."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from hypothesis import event, example, given
from hypothesis import strategies as st

import facts
from audits import PARTLY, SUFFIX, UNINDEXED, UNKNOWN, Audit
from incidents import diagnosed_facts, ids
from indexes_389 import plugin
from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.plan import IndexPlan
from ldapdiag.analysis.indexes.sufficient_sets import SELECTIVE
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filters import shape
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.finding import NotJudged
from ldapdiag.report.as_json import document
from ldapdiag.report.indexes.as_data import plans
from ldapdiag.servers.indexes.candidates import IndexUse
from reading import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.indexes.candidates import Change, Forecast

Indexes = dict[str, frozenset[str]]
"""Types of indexes, by attribute."""
RULES = frozenset({"caseExactMatch", "integerOrderingMatch"})
"""Matching rules, among the types of an index."""

WHEN = datetime(2026, 11, 20, 9, tzinfo=UTC)
ATTRIBUTES = ("uid", "cn", "displayName", "mail", "description")
TYPES = ("eq", "pres", "sub", "approx")
PLACES = (SUFFIX, b"ou=people,dc=example,dc=com")


@dataclass(frozen=True, slots=True)
class Asked:
    """A filter that is asked again and again, and how the server answers."""

    filter: str
    notes: bytes
    took: float
    entries: int
    base: bytes
    scope: int

    @property
    def shape(self) -> str:
        """The filter without values."""
        return shape(self.filter.encode()).decode()


def assertions() -> st.SearchStrategy[str]:
    """Return assertions of all kinds, most of them such that an index would answer."""
    values = st.sampled_from(("=joe", "=joe", "=jo*", "=*joe*", "=*joe", "=*j*", "=*", ">=joe", "<=joe", "~=joe"))
    plain = st.tuples(st.sampled_from(ATTRIBUTES), values).map(lambda pair: f"({pair[0]}{pair[1]})")
    odd = (
        "(objectClass=person)",
        "(objectClass=*)",
        "(cn:caseExactMatch:=joe)",
        "(nosuchthing=joe)",
        "(nosuchthing=*joe*)",
        "(member=*joe*)",
        "(owner=*joe*)",
        "(ancestorid=5)",
        "(cn;lang-fr=joe)",
    )
    return st.one_of(plain, plain, plain, st.sampled_from(odd))


def filters() -> st.SearchStrategy[str]:
    """Return filters of a few assertions."""

    def sets(members: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        several = st.lists(members, min_size=1, max_size=3).map("".join)
        joined = st.tuples(st.sampled_from("&&|"), several).map(lambda pair: f"({pair[0]}{pair[1]})")
        return st.one_of(joined, joined, members.map(lambda one: f"(!{one})"))

    return st.recursive(assertions(), sets, max_leaves=5)


def workloads() -> st.SearchStrategy[list[Asked]]:
    """Return what is asked: one to six filters that differ without their values, too, of a database of 6000 entries."""

    def possible(one: Asked) -> Asked:
        return replace(one, entries=6000) if one.filter == "(objectClass=*)" else one

    asked = st.builds(
        Asked,
        filter=filters(),
        notes=st.sampled_from((UNINDEXED, UNINDEXED, PARTLY, b"")),
        took=st.sampled_from((0.1, 0.1, 0.02, 0.0002)),
        entries=st.sampled_from((0, 1, 1, 50, 6000)),
        base=st.sampled_from(PLACES),
        scope=st.sampled_from((2, 2, 1)),
    )
    return st.lists(asked.map(possible), min_size=1, max_size=6, unique_by=lambda one: one.shape)


def configurations() -> st.SearchStrategy[Indexes]:
    """Return indexes by attribute."""
    types = st.frozensets(st.sampled_from(TYPES), min_size=1)
    return st.dictionaries(st.sampled_from(ATTRIBUTES), types, max_size=4)


def audit(
    work: Sequence[Asked], indexes: Indexes, begin: tuple[int, float] = (0, 0.0), *, later: Iterable[str] = ()
) -> Audit:
    """Return the server that was asked; its log begins at this connection and this moment.

    `later`: attributes whose indexes were added or changed after the end of the log.
    """
    changed = f"modifyTimestamp: {facts.START + timedelta(days=1):%Y%m%d%H%M%SZ}"
    story = Audit()
    story.log.number, story.log.now = begin
    story.has("objectClass", "eq")
    for attribute, types in sorted(indexes.items()):
        lines = [f"nsMatchingRule: {one}" for one in types & RULES] + [changed] * (attribute in set(later))
        story.has(attribute, *sorted(types - RULES), lines=tuple(lines))
    for one in work:
        story.asks(one.filter, one.notes, took=one.took, entries=one.entries, base=one.base, scope=one.scope)
    return story


def told(evidence: Sequence[Any]) -> dict[str, Any]:
    """Return what is reported; of a log in two files, both stand for one."""
    diagnosis = diagnosed_facts(evidence)
    report = document(diagnosis, WHEN)
    for one in (*report["hosts"], *report["findings"]):
        one["origins"] = sorted(set(one["origins"]))
    return {"plans": plans(diagnosis), **{name: report[name] for name in ("hosts", "verdicts", "findings")}}


def plan_of(diagnosis: Diagnosis) -> IndexPlan:
    """Return the only plan."""
    (plan,) = diagnosis.facts.every(IndexPlan)
    return plan


def changes_of(plan: IndexPlan) -> frozenset[Change]:
    """Return the indexes to add, one by one."""
    return frozenset(change for row in plan.indexes for change in row.changes)


def forecasts(work: Sequence[Asked], indexes: Indexes) -> dict[str, Forecast]:
    """Return what is foreseen of each filter without values; it is asked for where there is a note."""
    noted = [replace(one, notes=UNINDEXED) for one in work]
    (coverage,) = audit(noted, indexes).diagnosis().facts.every(IndexCoverage)
    return {row.group.shape: row.forecast for row in coverage.searches if row.forecast}


def as_noted(work: Sequence[Asked], indexes: Indexes) -> list[Asked]:
    """Return the same with notes as a server with these indexes may write them."""
    foreseen = forecasts(work, indexes)
    told = []
    for one in work:
        may = foreseen[one.shape].notes or {one.notes.decode()}
        told.append(one if one.notes.decode() in may else replace(one, notes=min(may).encode()))
    return told


@given(workloads(), configurations())
def test_without_the_configuration_nobody_is_accused_of_more(work: list[Asked], indexes: Indexes) -> None:
    told = as_noted(work, indexes)
    whole = audit(told, indexes).facts()
    less = [fact for fact in audit(told, indexes).facts() if not isinstance(fact, IndexConfiguration)]
    assert len(less) < len(whole)
    assert ids(diagnosed_facts(less)) <= ids(diagnosed_facts(whole))


@given(workloads(), configurations(), st.data())
def test_two_halves_of_a_log_are_the_log_in_either_order(
    work: list[Asked], indexes: Indexes, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(work)))

    def halves() -> list[Any]:
        first = audit(work[:cut], indexes)
        second = audit(work[cut:], indexes, (first.log.number, first.log.now))
        return [first.log.fact(), second.log.fact()]

    whole = audit(work, indexes).facts()
    configuration = whole[1:]
    expected = told(whole)
    one, other = halves()
    assert told([one, other, *configuration]) == expected
    one, other = halves()
    assert told([*configuration, other, one]) == expected


@given(workloads(), configurations())
def test_what_the_plan_ends_wants_no_plan_any_more(work: list[Asked], indexes: Indexes) -> None:
    plan = plan_of(audit(work, indexes).diagnosis())
    event(f"{len(changes_of(plan))} indexes")
    ended = {row.group.shape for row in plan.resolved}
    cured = [replace(one, notes=b"") if one.shape in ended else one for one in work]
    after = plan_of(audit(cured, with_indexes(indexes, changes_of(plan))).diagnosis())
    assert changes_of(after) == set()
    assert not ended & {row.group.shape for row in (*after.remaining, *after.below_threshold)}


LACKED = "nosuchthing"
"""The attribute that no schema has."""
GROUPING = (plugin("memberof_postop_init", "memberOfGroupAttr: owner"),)
"""The members of groups are in an attribute that usually has none."""
TAKES_BACK = ("harmful-index", "unused-index")
MONTH = 31 * 24 * 3600.0
IN_VAIN = [
    Asked(text, UNINDEXED, took=0.1, entries=1, base=SUFFIX, scope=2)
    for text in ("(|(nosuchthing=joe)(cn=joe))", "(owner=*joe*)")
]
"""An index of these helps no search, or does harm."""


def flagged(one: Asked) -> Asked:
    """Return a search with 389-ds' note on an attribute that its schema lacks, beside the others."""
    notes = [note for note in (one.notes, UNKNOWN * (LACKED in one.filter)) if note]
    return replace(one, notes=b",".join(notes))


def own_schema() -> Schema:
    """Return all of the server's own schema, which an audit from files may lack."""
    origin = facts.origin("ldap", "schema.ldif")
    return replace(standard(), origin=origin, whole=True)


@given(workloads(), configurations(), st.sampled_from(([], [own_schema()])))
@example(IN_VAIN, {}, [])
def test_no_later_audit_takes_a_planned_index_back(work: list[Asked], indexes: Indexes, schemas: list[Schema]) -> None:
    """The next audit has the same searches as noted then, the schema, and also a month of log."""
    work = [flagged(one) for one in work]
    before = audit(work, indexes)
    before.others = GROUPING
    plan = plan_of(diagnosed_facts([*before.facts(), *schemas]))
    planned = changes_of(plan)
    event(f"{len(planned)} indexes")
    assert LACKED not in {change.attribute for change in planned}
    then = {scan.group.shape: scan.after(plan.added).part(scan.count).expected / 1e9 for scan in plan.resolved}
    cured = [flagged(replace(one, notes=b"", took=then[one.shape])) if one.shape in then else one for one in work]
    added = {(change.attribute, change.type) for change in planned}
    for end in (0.0, MONTH):
        story = audit(cured, with_indexes(indexes, planned))
        story.others = GROUPING
        story.log.opens(when=max(end, story.log.now))
        diagnosis = diagnosed_facts([*story.facts(), own_schema()])
        assert then.keys().isdisjoint(scan.group.shape for scan in plan_of(diagnosis).resolved)
        for check, one in diagnosis.found:
            assert check != "missing-index" or not schemas  # a schema that was not known may show another need
            types = one.observed["types"] if check in TAKES_BACK else ()
            assert not {(one.observed["attribute"], type_) for type_ in types} & added


def of_slapd(story: Audit, indexes: Indexes) -> list[Any]:
    """Return the same log as slapd's, and its configuration with these indexes."""
    lines = "".join(f"olcDbIndex: {name} {','.join(sorted(types))}\n" for name, types in sorted(indexes.items()))
    database = (
        "dn: olcDatabase={1}mdb,cn=config\nobjectClass: olcMdbConfig\nolcDatabase: {1}mdb\n"
        f"olcSuffix: {SUFFIX.decode()}\nolcDbDirectory: /var/lib/ldap\nolcDbIndex: objectClass eq\n{lines}\n"
    )
    read = [replace(one, origin=facts.origin("ldap", "config.ldif")) for one in facts_of(database)]
    return [story.log.fact(family=Family.OPENLDAP), *read]


LISTS = ("predicted", "not_built", "indexed_later", "perhaps_pages", "no_index_helps", "not_worth_an_index")


@given(workloads(), configurations(), st.sampled_from((Family.DS389, Family.OPENLDAP)))
def test_every_scan_is_in_one_list_of_the_plan(work: list[Asked], indexes: Indexes, family: Family) -> None:
    """Pages of 500 entries too, which slapd's log does not note."""
    story = audit([*work, Asked("(title=*)", UNINDEXED, 0.02, 500, SUFFIX, 2)], indexes)
    diagnosis = diagnosed_facts(of_slapd(story, indexes) if family is Family.OPENLDAP else story.facts())
    listed = Counter(row["shape"] for plan in plans(diagnosis) for name in LISTS for row in plan[name])
    (coverage,) = diagnosis.facts.every(IndexCoverage)
    event(f"pages: {any(plan['perhaps_pages'] for plan in plans(diagnosis))}")
    assert listed == Counter(scan.group.shape for scan in coverage.scans)


OF_SCANS = frozenset({"missing-index", "index-not-built", "scan-limit-exceeded", "unindexable-filter"})


@given(workloads(), configurations())
def test_the_same_log_accuses_no_index_that_is_younger(work: list[Asked], indexes: Indexes) -> None:
    """Who carries out the plan and audits again with the same log is asked for nothing, and is told so once."""
    plan = plan_of(audit(work, indexes).diagnosis())
    ended = {row.group.shape for row in plan.resolved}
    event(f"{len(changes_of(plan))} indexes")
    added = with_indexes(indexes, changes_of(plan))
    later = {change.attribute for change in changes_of(plan)}
    diagnosis = audit(work, added, later=later).diagnosis()
    after = plan_of(diagnosis)
    assert not ended & {row.group.shape for row in (*after.resolved, *after.unbuilt, *after.unhelped)}
    assert ended <= {row.group.shape for row in after.younger}
    accused = {one.observed.get("shape") for check, one in diagnosis.found if check in OF_SCANS}
    assert not ended & accused
    verdicts = [one.verdict for one in diagnosis.judged if one.check == "index-not-built"]
    assert sum(isinstance(one, NotJudged) for one in verdicts) == bool(ended)


@given(workloads(), configurations())
def test_no_more_time_is_saved_than_is_taken(work: list[Asked], indexes: Indexes) -> None:
    plan = plan_of(audit(work, indexes).diagnosis())
    for scan in plan.resolved:
        least, expected, most = scan.after(plan.added)
        assert 0 <= least <= expected <= most <= scan.etime
    saved = [row.saved for row in plan.indexes]
    assert all(one >= 0 for one in saved)
    assert sum(saved) <= plan.saved + len(saved)  # halves are rounded


@given(workloads(), configurations())
def test_what_takes_as_long_as_predicted_wants_no_plan_any_more(work: list[Asked], indexes: Indexes) -> None:
    plan = plan_of(audit(work, indexes).diagnosis())
    then = {scan.group.shape: scan.after(plan.added).part(scan.count).expected / 1e9 for scan in plan.resolved}
    cured = [replace(one, notes=b"", took=then[one.shape]) if one.shape in then else one for one in work]
    after = plan_of(audit(cured, with_indexes(indexes, changes_of(plan))).diagnosis())
    assert changes_of(after) == set()


RESTS_ON_PRESENCE = [
    Asked(text, UNINDEXED, took=0.1, entries=entries, base=SUFFIX, scope=2)
    for text, entries in (("(uid=*)", 1), ("(!(uid=joe))", 0), ("(&(uid=joe)(uid=*))", 0))
]
"""The presence index that the first filter wants would answer the last one as well, with all who have the attribute."""


@given(workloads(), configurations())
@example(RESTS_ON_PRESENCE, {})
def test_without_any_one_index_of_the_plan_something_scans(work: list[Asked], indexes: Indexes) -> None:
    """Below the suffix; of a smaller place nobody tells how many entries it has.

    To test whatever a range, a presence or an object class matches is a scan, too: a plan does not rest on it.
    What another change brings along cannot be left out: an index by a matching rule has its type, too.
    """
    work = as_noted([replace(one, base=SUFFIX, scope=2) for one in work], indexes)
    plan = plan_of(audit(work, indexes).diagnosis())
    changes, ended = changes_of(plan), {row.group.shape for row in plan.resolved}
    every = forecasts(work, with_indexes(indexes, changes))
    assert IndexUse.UNINDEXED not in {every[one].index_use for one in ended}
    brought_along = {replace(change, rule="") for change in changes if change.rule}
    for change in sorted(changes - brought_along):
        less = forecasts(work, with_indexes(indexes, changes - {change}))
        assert [shape for shape in ended if may_scan(less[shape]) and less[shape] != every[shape]], change


def may_scan(forecast: Forecast) -> bool:
    """Return whether a search may test every entry, or all that match nothing but what usually matches many."""
    answered = [leaf.assertion for leaf in forecast.leaves if leaf.index_use is not IndexUse.UNINDEXED]
    selective = any(each.kind in SELECTIVE and each.attribute != "objectclass" for each in answered)
    return UNINDEXED.decode() in forecast.notes or (forecast.index_use is IndexUse.PARTIALLY and not selective)


def with_indexes(indexes: Indexes, changes: Iterable[Change]) -> Indexes:
    """Return the indexes with those of a plan."""
    added = dict(indexes)
    for change in changes:
        added[change.attribute] = added.get(change.attribute, frozenset()) | {change.type, change.rule} - {""}
    return added
