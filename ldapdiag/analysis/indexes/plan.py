"""IndexPlan: the cheapest set of new indexes that ends the scans worth ending, and what no index ends."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar

from ldapdiag.analysis.indexes.costs import WriteCounts, index_cost
from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.search_coverage import ProposedIndex, SearchCoverage
from ldapdiag.analysis.indexes.set_cover import Demand, cheapest
from ldapdiag.analysis.log.searches import Requester
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.evidence.indexes import Backend
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.servers.candidates import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedIndexes:
    """The indexes to add for one attribute."""

    attribute: str
    changes: tuple[Change, ...]
    """The indexes, one by one."""
    backend: Backend | None
    """None: the configuration is not known."""
    resolved: tuple[SearchCoverage, ...]
    """The searches it is needed for, the costliest first; others of them may be needed as well."""
    requesters: tuple[Requester, ...]
    """Whom to talk to, the costliest first."""

    @property
    def types(self) -> tuple[str, ...]:
        """Return the types of the indexes."""
        return tuple(sorted({one.type for one in self.changes}))

    @property
    def saved(self) -> int:
        """Nanoseconds that these searches took."""
        return sum(row.etime for row in self.resolved)

    @property
    def search_count(self) -> int:
        """How many they are."""
        return sum(row.count for row in self.resolved)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPlan:
    """What to add to one server's indexes."""

    kind: ClassVar[str] = "index-plan"
    how: ClassVar[str] = IndexCoverage.how

    host: str
    configured: bool
    """The index configuration is at hand; else what the plan says is only possible."""
    indexes: tuple[PlannedIndexes, ...]
    """By the time they save."""
    exact: bool
    """No cheaper set does it; else it costs at most `cost / at_least` times as much as the cheapest."""
    cost: int
    lower_bound: int
    resolved: tuple[SearchCoverage, ...]
    """Scans it ends, each once."""
    remaining: tuple[SearchCoverage, ...]
    """Scans worth ending that no index ends."""
    below_threshold: tuple[SearchCoverage, ...]
    """Scans that an index would end, and that take too little time to be worth one."""

    @property
    def saved(self) -> int:
        """Nanoseconds that the searches took which are indexed then."""
        return sum(row.etime for row in self.resolved)


def plan_indexes(coverage: IndexCoverage, traffic: Traffic) -> IndexPlan:
    """Choose the indexes for one server."""
    scanned = coverage.scans
    wanted = [row for row in scanned if row.worth_an_index and row.sufficient_sets]
    demands = [Demand(alternatives=row.sufficient_sets, worth=row.etime) for row in wanted]
    places = {place for demand in demands for one in demand.alternatives for place in one}
    chosen = cheapest(demands, {place: _price(place, coverage, traffic) for place in places})
    added = frozenset(chosen.chosen)
    backends = {one.name: one for row in scanned for one in row.backends}
    rows = _rows(added, [row for row in scanned if row.sufficient_sets], backends)
    return IndexPlan(
        host=coverage.host,
        configured=coverage.indexes is not None,
        indexes=rows,
        exact=chosen.exact,
        cost=chosen.cost,
        lower_bound=chosen.lower_bound,
        resolved=tuple(row for row in scanned if _ends(row, added)),
        remaining=tuple(row for row in scanned if not row.sufficient_sets),
        below_threshold=tuple(row for row in scanned if row.sufficient_sets and not _ends(row, added)),
    )


def _price(place: ProposedIndex, coverage: IndexCoverage, traffic: Traffic) -> int:
    schema = coverage.indexes.schema if coverage.indexes else standard()
    writes = WriteCounts.of(traffic.segment)
    _, change = place
    return index_cost(coverage.family, change.attribute, change.type, writes, schema)


def _ends(row: SearchCoverage, added: frozenset[ProposedIndex]) -> bool:
    return any(one <= added for one in row.sufficient_sets)


def _rows(
    added: frozenset[ProposedIndex], scanned: list[SearchCoverage], backends: dict[str, Backend]
) -> tuple[PlannedIndexes, ...]:
    """Return the indexes by attribute, each with the searches it is needed for."""
    changes: dict[tuple[str, str], set[Change]] = defaultdict(set)
    asking: dict[tuple[str, str], list[SearchCoverage]] = defaultdict(list)
    for name, change in added:
        changes[name, change.attribute].add(change)
    for row in (row for row in scanned if _ends(row, added)):
        for key in {(name, change.attribute) for one in row.sufficient_sets for name, change in one & added}:
            asking[key].append(row)
    rows = []
    for (name, attribute), several in changes.items():
        others = added - {(name, one) for one in several}
        resolves = [row for row in asking[name, attribute] if not _ends(row, others)]
        rows.append(
            PlannedIndexes(
                attribute=attribute,
                changes=tuple(sorted(several)),
                backend=backends.get(name),
                resolved=tuple(sorted(resolves, key=lambda row: -row.etime)),
                requesters=_askers(resolves),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.saved, row.attribute, row.types)))


def _askers(rows: list[SearchCoverage]) -> tuple[Requester, ...]:
    """Return who asks these searches, each client and account once; the costliest first."""
    told: dict[tuple[str, str], list[int]] = {}
    for search in {id(row.group): row.group for row in rows}.values():
        for one in search.requesters:
            counts = told.setdefault((one.client, one.account), [0, 0, 0])
            for place, count in enumerate((one.count, one.etime, one.noted)):
                counts[place] += count
    askers = (
        Requester(client=client, account=account, count=count, etime=etime, noted=noted)
        for (client, account), (count, etime, noted) in told.items()
    )
    return tuple(sorted(askers, key=lambda one: (-one.etime, -one.count, one.account, one.client)))
