"""IndexCoverage: how the searches of a log find their candidates, which lack an index, and which indexes would help.

The server's note comes first: it shows whether a search was unindexed, but not why. The simulation of its candidate
logic shows why; for servers without notes (slapd) it also shows whether (docs/how-it-decides.md, "Indexes").

Narrowed searches: slow ones of which an index answers a selective part, so that they are no scans.

    (&(objectClass=person)(title=?))    objectClass indexed, slow: a list of all persons is as good as none
    (&(l=?)(title=?))                   l indexed, slow: the entries of the list are tested; a scan is slower

After a plan such a search is what is left of a scan: another index would save little, and is not asked for. Only if it
tests a large part of all entries, by the time that scans take in the same log, it counts as a scan.

Index use: how the server found the candidates of searches, by its notes in the log and by simulation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.indexes.account_limits import ResolvedLimits, allows_no_search
from ldapdiag.analysis.indexes.build_history import BuildHistory
from ldapdiag.analysis.indexes.index_ages import indexed_since, perhaps_indexed_since
from ldapdiag.analysis.indexes.limit_classes import divide
from ldapdiag.analysis.indexes.list_views import without_views
from ldapdiag.analysis.indexes.outweighed_indexes import without_hiding, without_outweighed
from ldapdiag.analysis.indexes.perhaps_pages import may_be_pages
from ldapdiag.analysis.indexes.predictions import entries_in_scope, largest_range
from ldapdiag.analysis.indexes.proposed_indexes import LEAST_SAVED, has_short_list, propose
from ldapdiag.analysis.indexes.remaining_searches import SLOW, RemainingSearches, divide_by_cost, remaining_searches
from ldapdiag.analysis.indexes.reported_use import examines_many
from ldapdiag.analysis.indexes.search_costs import DENSE, MeasuredSearch, measure_costs
from ldapdiag.analysis.indexes.search_coverage import GroupPart, SearchCoverage, parts_by_limit
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes, is_server_suffix
from ldapdiag.analysis.indexes.simulated_database import ConfiguredDatabase
from ldapdiag.analysis.indexes.simulated_server import SimulatedServer, notes_unindexed
from ldapdiag.analysis.indexes.sufficient_sets import SELECTIVE
from ldapdiag.analysis.indexes.united_ranges import scan_instead, unites_ranges
from ldapdiag.analysis.indexes.worth import unlisted_searches, worth_an_index
from ldapdiag.analysis.log.searches import LATER_PAGE, SearchGroup
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import And, Assertion, Node, Not, Or, assertions, parse_shape
from ldapdiag.evidence.log.stamps import MILLISECOND
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.indexes.candidates import Cause, IndexUse
from ldapdiag.servers.traits import traits_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ldapdiag.analysis.indexes.search_costs import SearchCosts
    from ldapdiag.analysis.indexes.simulated_database import SimulatedDatabase
    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.servers.indexes.candidates import Forecast, Leaf

SLOW_AVERAGE = 5 * MILLISECOND
"""The average time of searches that are slow if they return little."""
FEW_RETURNED = 100
"""Entries: a slow search with so small a result has examined many more."""
REFUSED = (11, 50, 53)
"""Result codes of searches that fail because there is no index: adminLimitExceeded, insufficientAccessRights,
unwillingToPerform (RFC 4511, appendix A)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCoverage:
    """All searches of one server's log."""

    kind: ClassVar[str] = "coverage"
    how: ClassVar[str] = Traffic.how

    server: str
    """The server, by the name of its instance."""
    host: str
    family: Family | None
    searches: tuple[SearchCoverage, ...]
    """The most expensive first."""
    remaining: RemainingSearches | None = None
    """Those that are not judged one by one, and not in `searches`; None: there are none."""
    outside_suffixes: int
    """The number of searches below no configured suffix."""
    not_audited: tuple[SearchGroup, ...]
    """These, and those whose request is not in the log."""
    indexes: ServerIndexes | None
    """None: the index configuration was not collected."""
    etime: int
    """Nanoseconds of all searches."""
    seconds: float
    """Between the first record of the log and the last."""
    resolution: int
    """Nanoseconds: the resolution of its times."""
    unlisted: str
    """Why an index may be missing that these searches do not show (worth.py); empty: none may."""
    origins: tuple[str, ...]

    @property
    def scans(self) -> tuple[SearchCoverage, ...]:
        """Return the searches that examine every entry."""
        return tuple(search for search in self.searches if search.is_scan)

    @property
    def undecided(self) -> tuple[SearchCoverage, ...]:
        """Return the slow searches of which neither the log nor a configuration shows whether they use an index."""
        known = self.indexes is not None or notes_unindexed(self.family)
        open_ = {IndexUse.PARTIALLY, IndexUse.DEPENDS}
        return tuple(one for one in self.searches if not known and one.index_use in open_ and one.mean >= SLOW_AVERAGE)

    @property
    def count(self) -> int:
        """Return the number of all results."""
        return sum(search.count for search in self.searches) + (self.remaining.count if self.remaining else 0)

    @property
    def unindexed_at_least(self) -> int:
        """Return the time of all searches that certainly examine every entry, in nanoseconds."""
        return sum(scan.etime for scan in self.scans) + (self.remaining.unindexed.least if self.remaining else 0)

    @property
    def fastest(self) -> int:
        """Return the average time, without waits, of the fastest kind of search, as far as the log shows it."""
        if traits_of(self.family).logs_above is not None:
            return self.resolution
        least = min((search.own_time for search in self.searches if search.completed), default=0)
        return max(least, self.resolution)

    @property
    def harmless(self) -> tuple[SearchCoverage, ...]:
        """Return the searches that are partly unindexed but fast; the server notes many of them."""
        return tuple(
            search for search in self.searches if search.index_use is IndexUse.PARTIALLY and search.mean < SLOW_AVERAGE
        )


@provides(IndexCoverage)
def audit_searches(
    server: Instance, traffic: Traffic, indexes: ServerIndexes | None, builds: BuildHistory | None
) -> IndexCoverage:
    """Find out for every search of a server's log how its candidates are found, and which indexes would help."""
    workload = traffic.workload
    family = server.family or workload.family
    simulated = SimulatedServer(family, workload, indexes, builds)
    audited = [(group, simulated.databases(group.base, group.scope)) for group in _audited(workload.searches, family)]
    judged, others = divide_by_cost([one for one in audited if one[1]])
    remaining = remaining_searches(len(judged), (group for group, _ in others), workload, family)
    limits = ResolvedLimits(family, indexes.configuration if indexes else None)
    found = [
        (as_logged(coverage, databases, family), _scanned(coverage, databases, family))
        for group, databases in judged
        for coverage in _covered(group, databases, family, limits)
    ]
    totals = [entries_in_scope(search, databases) for search, databases in found]
    costs = measure_costs(
        MeasuredSearch(search, total)
        for (search, _), total in zip(found, totals, strict=True)
        if not by_time_alone(search, family)
        and not may_be_pages(search.group, search.filter, family)
        and not unites_ranges(search, family)
    )
    known = [settled(search, total, costs, family) for (search, _), total in zip(found, totals, strict=True)]
    proposed = [
        search
        if search.obstacle is not None
        else propose(search, databases, family, costs)
        if search.is_scan
        else replace(search, scan_instead=scan_instead(search, total, costs, family))
        for search, (_, databases), total in zip(known, found, totals, strict=True)
    ]
    if limit := traits_of(family).range_limit:
        each = zip(known, totals, found, strict=True)
        largest = [largest_range(search, total, databases) for search, total, (_, databases) in each]
        proposed = without_hiding(proposed, largest, limit)
    covered = worth_an_index(without_outweighed(proposed), traffic.seconds)
    outside = tuple(group for group in workload.searches if _is_outside(group, simulated))
    return IndexCoverage(
        server=server.name,
        host=server.host,
        family=family,
        outside_suffixes=sum(group.count for group in outside),
        not_audited=(*outside, *(group for group in workload.searches if group.unidentified)),
        searches=tuple(sorted(covered, key=_rank)),
        remaining=remaining,
        indexes=indexes,
        etime=workload.search_etime,
        seconds=traffic.seconds,
        resolution=traffic.segment.resolution,
        unlisted=unlisted_searches(traffic, _judged_groups(workload.searches, simulated), remaining)
        or next(_not_exported(covered), ""),
        origins=tuple(sorted({*traffic.origins, *(indexes.origins if indexes else ())})),
    )


def _not_exported(searches: Iterable[SearchCoverage]) -> Iterator[str]:
    """Yield why a search that is worth an index cannot be judged by the schema in the evidence."""
    for one in searches:
        if one.worth_an_index and one.obstacle is not None and one.obstacle.cause is Cause.NOT_EXPORTED:
            yield f"{one.obstacle.attribute}: {one.obstacle.reason}"


def _audited(groups: Iterable[SearchGroup], family: Family | None) -> Iterator[SearchGroup]:
    """Yield the searches whose candidates indexes of attributes may give; list_views.py has the others."""
    for group in groups:
        if group.unidentified or group.scope == "base":
            continue
        searches = without_views(group) if traits_of(family).logs_list_views else group
        if searches is not None:
            yield searches


def _rank(search: SearchCoverage) -> tuple[int, str, str, str]:
    return -search.etime, search.group.shape, search.group.base, search.group.scope


def _is_outside(group: SearchGroup, simulated: SimulatedServer) -> bool:
    """Return whether no configured database answers the searches."""
    audited = not group.unidentified and group.scope != "base" and not is_server_suffix(group.base)
    return audited and not simulated.databases(group.base, group.scope)


def _judged_groups(groups: Iterable[SearchGroup], simulated: SimulatedServer) -> Iterator[SearchGroup]:
    """Yield the searches that a database answers, virtual list views included."""
    for group in groups:
        if not group.unidentified and group.scope != "base" and simulated.databases(group.base, group.scope):
            yield group


def _covered(
    group: SearchGroup, databases: Sequence[SimulatedDatabase], family: Family | None, limits: ResolvedLimits
) -> Iterator[SearchCoverage]:
    """Yield the coverage of a group, in parts if the lengths of its substrings make a difference."""
    completed = divide(group).completed or group
    slow = _is_slow(completed, completed.answered, completed.etime)
    # Fast searches without a note, at a server that notes unindexed searches, are indexed: nothing to simulate.
    simulate = not notes_unindexed(family) or bool(group.notes) or slow
    known = limits.of(group, _backends(databases))
    no_search = allows_no_search(group, known)
    for part, stopped in parts_by_limit(group, databases[0] if simulate else None):
        for found in _judged(part, stopped, family, databases, simulate=simulate, no_search=no_search):
            yield replace(found, limits=known) if known else found


def _judged(
    completed: GroupPart | None,
    stopped: GroupPart | None,
    family: Family | None,
    databases: Sequence[SimulatedDatabase],
    *,
    simulate: bool,
    no_search: bool,
) -> Iterator[SearchCoverage]:
    """Yield the coverage of searches by those that completed; stopped ones are judged alone if they differ.

    They differ if the server notes them and the others need no index: they ask for other values. `no_search`: those
    that were refused are refused by any filter.
    """
    found = _coverage(completed, family, databases, simulate=simulate) if completed else None
    apart = found and not found.is_scan and stopped and stopped.noted and notes_unindexed(family)
    if stopped is None or apart or (found and no_search):
        yield from (found,) if found else ()
        found = None
    if stopped is None:
        return
    refused = stopped.noted > 0 and _refused(stopped, family) > 0
    alone = found or _coverage(stopped, family, databases, simulate=simulate, refused=refused)
    count, etime, noted = (found.count, found.etime, found.noted) if found else (0, 0, 0)
    yield replace(
        alone,
        count=count + stopped.results,
        etime=etime + stopped.etime,
        noted=noted + stopped.noted,
        refused=_refused(stopped, family) if alone.is_scan and not no_search else 0,
        stopped=stopped,
    )


def _coverage(
    part: GroupPart,
    family: Family | None,
    databases: Sequence[SimulatedDatabase],
    *,
    simulate: bool,
    refused: bool = False,
) -> SearchCoverage:
    """Return the coverage of a part of a group; `refused`: some were refused for the entries they would examine."""
    group = part.group
    tree = parse_shape(group.shape, part.piece_lengths)
    forecast, deciding = _decided(tree, group, databases, family) if tree and simulate else (None, databases[0])
    slow = (refused or _is_slow(group, part.results, part.etime)) and not has_short_list(forecast, deciding)
    index_use = index_use_of(group, family, forecast, noted=part.noted, slow=slow)
    return SearchCoverage(
        group=group,
        piece_lengths=part.piece_lengths,
        filter=tree,
        backends=_backends(databases),
        count=part.results,
        etime=part.etime,
        most_entries=part.most_entries,
        noted=part.noted,
        refused=0,
        index_use=index_use,
        forecast=forecast,
    )


def _backends(databases: Sequence[SimulatedDatabase]) -> tuple[Backend, ...]:
    return tuple(each.database.backend for each in databases if isinstance(each, ConfiguredDatabase))


def as_logged(search: SearchCoverage, databases: Sequence[SimulatedDatabase], family: Family | None) -> SearchCoverage:
    """Return a search that was a scan before an index which is younger than the log; others as they are.

    Where the log notes no unindexed searches, one that is slow for what it returns was a scan.
    """
    reports = examines_many(search.group) is not None
    slow = not notes_unindexed(family) and not reports and _is_slow(search.group, search.count, search.etime)
    if not (search.is_scan or slow):
        return search
    obstacle = indexed_since(search, databases) or perhaps_indexed_since(search, databases, {IndexUse.INDEXED})
    return replace(search, index_use=IndexUse.UNINDEXED, obstacle=obstacle) if obstacle is not None else search


def _decided(
    tree: Node, group: SearchGroup, databases: Sequence[SimulatedDatabase], family: Family | None
) -> tuple[Forecast, SimulatedDatabase]:
    """Return the forecast of a search that decides whether it is a scan, and its database.

    Where the log notes unindexed searches, the note is about all databases; else the first that is scanned decides.
    """
    asked = databases[:1] if notes_unindexed(family) else databases
    found = [(one.forecast(tree, group.base, group.scope), one) for one in asked]
    return next((one for one in found if one[0].index_use is IndexUse.UNINDEXED), found[0])


def _scanned(
    search: SearchCoverage, databases: Sequence[SimulatedDatabase], family: Family | None
) -> Sequence[SimulatedDatabase]:
    """Return the databases in which the search is a scan, if any; all, where the log's notes are about all of them."""
    tree = search.filter
    if tree is None or notes_unindexed(family) or len(databases) == 1:
        return databases
    found = [(database.forecast(tree, search.group.base, search.group.scope), database) for database in databases]
    return [one for forecast, one in found if forecast.index_use is IndexUse.UNINDEXED] or databases


def _refused(part: GroupPart, family: Family | None) -> int:
    """Return how many searches failed because there is no index; servers that note unindexed searches note these."""
    failed = sum(part.group.errors.get(error, 0) for error in REFUSED)
    return min(failed, part.noted if notes_unindexed(family) else part.results)


def _is_slow(group: SearchGroup, count: int, etime: int) -> bool:
    """Return whether searches took longer than the entries returned and the wait for a worker thread explain."""
    waited = group.wait * count // group.answered if group.answered else 0
    return count > 0 and etime - waited >= SLOW_AVERAGE * count and group.entries <= FEW_RETURNED * group.answered


LARGE_PART = 0.25
"""The share of all entries that a search must test to count as a scan although an index answers a part of it."""
LISTED = frozenset({Cause.NONE, Cause.LIMIT_PERHAPS})


def by_time_alone(search: SearchCoverage, family: Family | None) -> bool:
    """Return whether a search is taken for a scan only because it is slow."""
    if not search.is_scan or search.filter is None or search.forecast is None or search.obstacle is not None:
        return False
    otherwise = index_use_of(search.group, family, search.forecast, noted=search.noted, slow=False)
    return otherwise is not IndexUse.UNINDEXED


def settled(search: SearchCoverage, total: float | None, costs: SearchCosts, family: Family | None) -> SearchCoverage:
    """Return a search with its use of indexes; one that is only slow must be so in half of the cases, not once.

    If it is narrowed, the number of entries that it tests decides, of `total`.
    """
    if not by_time_alone(search, family) or search.filter is None or search.forecast is None:
        return replace(search, index_use=IndexUse.UNINDEXED) if _tests_many(search, costs, family) else search
    once = search.completed == search.group.answered and search.group.etimes.p50 < SLOW
    leaves = dict(zip(assertions(search.filter), search.forecast.leaves, strict=True))
    if not once and not _has_list(search.filter, leaves):
        return search
    if not once and total and costs.examined:
        returned = costs.returned.expected if costs.returned else 0.0
        tests = search.own_time - costs.fixed_of(search) - search.returned * returned
        if tests >= LARGE_PART * total * costs.examined:
            return search
    return replace(search, index_use=IndexUse.PARTIALLY, refused=0)


def _tests_many(search: SearchCoverage, costs: SearchCosts, family: Family | None) -> bool:
    """Return whether searches that return many take longer than these explain, by a large part of a scan.

    Where the log notes unindexed searches, a note says so. What takes several times as long as to test all entries
    returns large ones: no test explains it, and no index would save a part worth mentioning.
    """
    if notes_unindexed(family) or search.index_use not in {IndexUse.PARTIALLY, IndexUse.DEPENDS}:
        return False
    if costs.returned is None or search.group.etimes.p50 < SLOW:
        return False
    whole = costs.testing_all(search)
    if whole is None or whole < LEAST_SAVED * search.own_time:
        return False
    tests = search.own_time - costs.fixed_of(search) - search.returned * costs.returned.most
    return tests >= max(LARGE_PART * whole, DENSE * search.own_time, SLOW_AVERAGE)


def _has_list(node: Node, leaves: Mapping[Assertion, Leaf]) -> bool:
    match node:
        case And(members):
            return any(_has_list(member, leaves) for member in members)
        case Or(members):
            return all(_has_list(member, leaves) for member in members)
        case Not():
            return False
        case Assertion():
            selective = node.kind in SELECTIVE and node.attribute != "objectclass"
            return selective and leaves[node].cause in LISTED


def index_use_of(
    search: SearchGroup, family: Family | None, forecast: Forecast | None, *, noted: int, slow: bool
) -> IndexUse:
    """Return how searches found their candidates: by the server's report or note, else by the simulation.

    A slow search that returns little has examined nearly every entry, even if an index answers a part of its filter: a
    list of all persons is no better than a scan. So is one of entries most of which do not match.
    """
    index_use = forecast.index_use if forecast else IndexUse.DEPENDS
    if (examines := examines_many(search)) is not None:
        return IndexUse.UNINDEXED if examines else IndexUse.INDEXED
    if family is not None and notes_unindexed(family):
        index_use = _by_note(search, family, forecast, noted=noted, slow=slow)
    perhaps_all = forecast is not None and any(leaf.lists_others for leaf in forecast.leaves)
    may_be_scan = perhaps_all or index_use in {IndexUse.PARTIALLY, IndexUse.DEPENDS}
    return IndexUse.UNINDEXED if slow and may_be_scan else index_use


def _by_note(search: SearchGroup, family: Family, forecast: Forecast | None, *, noted: int, slow: bool) -> IndexUse:
    """Return the meaning of the note, or of its absence."""
    simulated = forecast.index_use if forecast else None
    if not noted:
        may_lack_note = simulated is IndexUse.UNINDEXED and forecast is not None and "" in forecast.notes
        if may_lack_note and slow:
            return IndexUse.UNINDEXED
        return IndexUse.INDEXED if search.answered else IndexUse.DEPENDS
    fully = any(traits_of(family).unindexed_note in notes.split(",") for notes in search.notes if notes != LATER_PAGE)
    if not fully:
        # Without a scan limit, 389-ds notes a full scan as U.
        return IndexUse.UNINDEXED if simulated is IndexUse.UNINDEXED else IndexUse.PARTIALLY
    overnoted = traits_of(family).overnotes and simulated is IndexUse.INDEXED and not slow
    return IndexUse.PARTIALLY if overnoted else IndexUse.UNINDEXED
