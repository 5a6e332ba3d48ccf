"""IndexPlan: the cheapest set of new indexes for the scans worth an index, and the scans that no index helps.

What the commands of a plan write for one of its attributes, which may be more than the planned index types.

slapd has the indexes of several attributes in one line, and the line of an attribute replaces that of its supertype:

    olcDbIndex: name,sn,title eq    to add sub for name: `name eq,sub`, `sn eq` and `title eq`
    olcDbIndex: name eq             to add sub for cn: `cn eq,sub`
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.indexes.costs import WriteCounts, index_cost
from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.search_coverage import (
    PredictedTime,
    ProposedIndex,
    SearchCoverage,
    failing,
    sum_of,
)
from ldapdiag.analysis.indexes.set_cover.cover import Demand, cheapest
from ldapdiag.analysis.log.searches import Requester, ranked_requesters
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.indexes import Backend
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.index_remedies import indexes_set
from ldapdiag.servers.indexes.candidates import Cause, Change

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from ldapdiag.evidence.indexes import IndexDefinition

SORTED_AS_NUMBERS = "integerOrderingMatch"
"""The rule that every new index of integers has."""


NOT_UNHELPED = (Cause.NOT_BUILT, Cause.YOUNGER, Cause.PAGES)
"""Obstacles of scans that an index may help."""
NOT_KNOWN = (Cause.YOUNGER, Cause.PAGES, Cause.NOT_EXPORTED)
"""Those of which it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedIndexes:
    """The indexes to add for one attribute of one database."""

    attribute: str
    changes: tuple[Change, ...]
    backend: Backend | None
    """None: the index configuration was not collected."""
    resolved: tuple[SearchCoverage, ...]
    """The scans that need these indexes, the most expensive first; some may need others of the plan as well."""
    requesters: tuple[Requester, ...]
    """The clients and accounts that sent them, the most expensive first."""

    @property
    def types(self) -> tuple[str, ...]:
        """Return the index types to add; the matching rules to add, of an index that exists or is for them alone."""
        known = self.backend.definition({self.attribute.lower()}) if self.backend else None
        types = {change.type for change in self.changes if known is None or change.type not in known.types}
        present = {"", *(known.rules if known else ())}
        rules = {change.rule for change in self.changes if known is not None or change.rule != SORTED_AS_NUMBERS}
        return (*sorted(types), *sorted(rules - present)) or tuple(sorted({change.type for change in self.changes}))

    before: int
    """Nanoseconds of the resolved scans that are not refused; of one that needs several attributes, an equal part."""
    after: PredictedTime
    """The predicted nanoseconds of the same with the whole plan."""
    slowed: tuple[SearchCoverage, ...]
    """Scans that would use these indexes, and take longer then: ranges on slapd."""
    mean_after: PredictedTime
    """The predicted average of the resolved scans."""

    @property
    def saved(self) -> int:
        """Return the time that is probably saved, in nanoseconds."""
        return self.before - self.after.expected

    @property
    def mean_before(self) -> int:
        """Return the average of the resolved scans that are not refused."""
        return sum(scan.examining_etime for scan in self.resolved) // max(1, self.examining)

    @property
    def refused(self) -> int:
        """Return how many of the resolved searches are refused for lack of these indexes."""
        return sum(scan.refused for scan in self.resolved)

    @property
    def examining(self) -> int:
        """Return how many are not."""
        return self.search_count - self.refused

    @property
    def search_count(self) -> int:
        """Return the number of resolved searches."""
        return sum(scan.count for scan in self.resolved)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPlan:
    """The indexes to add at one server."""

    kind: ClassVar[str] = "index-plan"
    how: ClassVar[str] = IndexCoverage.how

    server: str
    """The server, by the name of its instance."""
    host: str
    configured: bool
    """False: the index configuration was not collected, so the plan is only a possibility."""
    indexes: tuple[PlannedIndexes, ...]
    """Those without which searches fail first, then the most time saved."""
    exact: bool
    """No other set costs less; if False, the plan costs at most `cost / lower_bound` times as much as the cheapest."""
    cost: int
    lower_bound: int
    resolved: tuple[SearchCoverage, ...]
    """The scans that the plan makes indexed."""
    remaining: tuple[SearchCoverage, ...]
    """The scans that no new index helps."""
    below_threshold: tuple[SearchCoverage, ...]
    """The scans that an index would help, but that take too little time to be worth one."""

    added: frozenset[ProposedIndex]
    """All the indexes to add, one by one."""
    after: PredictedTime
    """The predicted time of the resolved scans with these."""

    @property
    def unbuilt(self) -> tuple[SearchCoverage, ...]:
        """Return the scans that a configured index would help if it were built."""
        return tuple(scan for scan in self.remaining if _has(scan, Cause.NOT_BUILT))

    @property
    def younger(self) -> tuple[SearchCoverage, ...]:
        """Return the scans that indexes younger than the log answer."""
        return tuple(scan for scan in self.remaining if _has(scan, Cause.YOUNGER))

    @property
    def indexed_since(self) -> datetime | None:
        """Return when the last of these indexes was added, changed or built."""
        obstacles = (scan.obstacle for scan in self.younger)
        return max((one.since for one in obstacles if one and one.since), default=None)

    @property
    def perhaps_pages(self) -> tuple[SearchCoverage, ...]:
        """Return the scans whose results may be pages of larger ones: whether an index helps is not known."""
        return tuple(scan for scan in self.remaining if _has(scan, Cause.PAGES))

    @property
    def unhelped(self) -> tuple[SearchCoverage, ...]:
        """Return the scans that no index helps."""
        return tuple(scan for scan in self.remaining if not _has(scan, *NOT_UNHELPED))

    @property
    def unjudged(self) -> tuple[SearchCoverage, ...]:
        """Return the scans of which the evidence does not show whether an index helps."""
        return tuple(scan for scan in self.remaining if scan.filter is None or _has(scan, *NOT_KNOWN))

    @property
    def before(self) -> int:
        """Return the time of the resolved scans in nanoseconds, without those that are refused."""
        return sum(scan.examining_etime for scan in self.resolved)

    @property
    def refused(self) -> int:
        """Return how many of the resolved searches are refused for lack of an index."""
        return sum(scan.refused for scan in self.resolved)

    @property
    def saved(self) -> int:
        """Return the time that is probably saved, in nanoseconds."""
        return self.before - self.after.expected


def _has(scan: SearchCoverage, *causes: Cause) -> bool:
    return scan.obstacle is not None and scan.obstacle.cause in causes


@provides(IndexPlan)
def plan_indexes(coverage: IndexCoverage, traffic: Traffic) -> IndexPlan:
    """Choose the cheapest set of new indexes for one server."""
    helped = [scan for scan in coverage.scans if scan.sufficient_sets]
    demands = [
        Demand(alternatives=scan.sufficient_sets, worth=max(map(scan.saved, scan.sufficient_sets)))
        for scan in helped
        if scan.worth_an_index
    ]
    cover = cheapest(demands, _costs(demands, coverage, traffic))
    added = frozenset(cover.chosen)
    resolved = [scan for scan in helped if _resolves(added, scan)]
    return IndexPlan(
        server=coverage.server,
        host=coverage.host,
        configured=coverage.indexes is not None,
        indexes=_planned(added, resolved, [scan for scan in coverage.scans if scan.slowed_by(added)]),
        exact=cover.exact,
        cost=cover.cost,
        lower_bound=cover.lower_bound,
        resolved=tuple(resolved),
        remaining=tuple(scan for scan in coverage.scans if not scan.sufficient_sets),
        below_threshold=tuple(scan for scan in helped if not _resolves(added, scan)),
        added=added,
        after=sum_of(scan.after(added) for scan in resolved),
    )


def _costs(
    demands: Sequence[Demand[ProposedIndex]], coverage: IndexCoverage, traffic: Traffic
) -> dict[ProposedIndex, int]:
    """Return the cost of every index in the demands."""
    schema = coverage.indexes.schema if coverage.indexes else standard()
    writes = WriteCounts.of(traffic.segment)
    proposed = {index for demand in demands for indexes in demand.alternatives for index in indexes}
    return {
        (database, change): index_cost(coverage.family, change.attribute, change.type, writes, schema)
        for database, change in proposed
    }


def _resolves(added: frozenset[ProposedIndex], scan: SearchCoverage) -> bool:
    return any(indexes <= added for indexes in scan.sufficient_sets)


def _planned(
    added: frozenset[ProposedIndex], scans: list[SearchCoverage], scans_slowed: Sequence[SearchCoverage]
) -> tuple[PlannedIndexes, ...]:
    """Return the added indexes by database and attribute, each with the scans that need them."""
    backends = {backend.name: backend for scan in scans for backend in scan.backends}
    changes: dict[tuple[str, str], set[Change]] = defaultdict(set)
    for database, change in added:
        changes[database, change.attribute].add(change)
    using = _scans_using(added, scans)
    needing: dict[tuple[str, str], list[SearchCoverage]] = {}
    for (database, attribute), own in changes.items():
        others = added - {(database, change) for change in own}
        needing[database, attribute] = [scan for scan in using[database, attribute] if not _resolves(others, scan)]
    lines = Counter(id(scan) for several in needing.values() for scan in several)
    after = {id(scan): scan.after(added) for scan in scans}
    planned = [
        PlannedIndexes(
            attribute=attribute,
            changes=tuple(sorted(changes[database, attribute])),
            backend=backends.get(database),
            resolved=tuple(sorted(several, key=lambda scan: -scan.etime)),
            requesters=_requesters(several),
            before=sum(scan.examining_etime // lines[id(scan)] for scan in several),
            after=sum_of(after[id(scan)].part(lines[id(scan)]) for scan in several),
            slowed=tuple(scan for scan in scans_slowed if _uses(scan, database, attribute, added)),
            mean_after=sum_of(after[id(scan)] for scan in several).part(
                max(1, sum(scan.examining for scan in several))
            ),
        )
        for (database, attribute), several in needing.items()
    ]
    return tuple(sorted(planned, key=lambda row: (-failing(row.resolved), -row.saved, row.attribute, row.types)))


def _uses(scan: SearchCoverage, database: str, attribute: str, added: frozenset[ProposedIndex]) -> bool:
    """Return whether an added index of an attribute is in a set that makes a scan slower."""
    keys = {(name, change.attribute) for indexes in scan.slower if indexes <= added for name, change in indexes}
    return (database, attribute) in keys


def _scans_using(
    added: frozenset[ProposedIndex], scans: Iterable[SearchCoverage]
) -> dict[tuple[str, str], list[SearchCoverage]]:
    """Return, by database and attribute, the scans for which an added index is in a sufficient set."""
    using: dict[tuple[str, str], list[SearchCoverage]] = defaultdict(list)
    for scan in scans:
        keys = {
            (database, change.attribute) for indexes in scan.sufficient_sets for database, change in indexes & added
        }
        for key in keys:
            using[key].append(scan)
    return using


def _requesters(scans: list[SearchCoverage]) -> tuple[Requester, ...]:
    """Return the clients and accounts of scans, each once, the most expensive first."""
    totals: dict[tuple[str, str], list[int]] = {}
    # Parts of one group share its requesters.
    for group in {id(scan.group): scan.group for scan in scans}.values():
        for requester in group.requesters:
            total = totals.setdefault((requester.client, requester.account), [0, 0, 0, 0])
            counts = (requester.count, requester.etime, requester.noted, requester.refused)
            for column, count in enumerate(counts):
                total[column] += count
    return ranked_requesters(totals)


def set_with(row: PlannedIndexes, plan: IndexPlan, coverage: IndexCoverage) -> tuple[IndexDefinition, ...]:
    """Return what the commands of the whole plan write for an attribute, and for those that share its line.

    None without the index configuration, and for what no command can add.
    """
    backend, indexes = row.backend, coverage.indexes
    if backend is None or indexes is None:
        return ()
    beside = [index for index in plan.indexes if index.backend is not None and index.backend.name == backend.name]
    changes = [change for one in beside for change in one.changes]
    written = indexes_set(backend, changes, indexes.configuration, indexes.schema)
    names = indexes.schema.names(row.attribute)
    own = [one for one in written if one.attribute.lower() in names]
    planned = frozenset[str]().union(*(indexes.schema.names(one.attribute) for one in beside))
    lines = {one.written for one in own} - {""}
    return (*own, *(one for one in written if one.attribute.lower() not in planned and one.written in lines))


def indexes_as_data(indexes: IndexDefinition) -> dict[str, str | list[str]]:
    """Return the indexes of one attribute as plain values, for JSON."""
    return {"attribute": indexes.attribute, "types": sorted(indexes.types), "rules": list(indexes.rules)}
