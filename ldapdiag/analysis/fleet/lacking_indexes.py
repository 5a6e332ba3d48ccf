"""Lacking indexes: what the others have and some replicas lack, by the plan of each server that lacks it.

The notes of the access logs show which replica lacks an index; the simulation of its server shows which one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import parse_shape
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ldapdiag.analysis.fleet.comparison import Comparison
    from ldapdiag.analysis.fleet.differences import DifferingSearch
    from ldapdiag.analysis.indexes.coverage import IndexCoverage
    from ldapdiag.analysis.indexes.plan import IndexPlan
    from ldapdiag.analysis.indexes.search_coverage import ProposedIndex, SearchCoverage
    from ldapdiag.evidence.filter_tree import Node
    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.servers.indexes.candidates import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class LackingServer:
    """One server that lacks an index, and one kind of search that shows it."""

    search: DifferingSearch
    coverage: IndexCoverage | None
    changes: tuple[Change, ...]
    """What to add there; empty: an index for it exists, or none would help."""
    backend: Backend | None
    """None: the index configuration was not collected, or several databases would change."""
    filter: Node | None

    @property
    def is_configured(self) -> bool:
        """Return whether the index configuration of the server is in the evidence."""
        return self.coverage is not None and self.coverage.indexes is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class LackingIndex:
    """The servers on which one kind of search is unindexed for lack of the same index, the most time lost first."""

    changes: tuple[Change, ...]
    servers: tuple[LackingServer, ...]

    @property
    def search(self) -> DifferingSearch:
        """Return the search that lost the most time."""
        return self.servers[0].search

    @property
    def what(self) -> str:
        """Return the index in words: `mail eq`; empty: not known."""
        return ", ".join(f"{change.attribute} {change.rule or change.type}" for change in self.changes)


def lacking_indexes(
    comparison: Comparison, coverages: Mapping[str, IndexCoverage], plans: Mapping[str, IndexPlan]
) -> tuple[LackingIndex, ...]:
    """Return the indexes that some servers lack; the most time lost first."""
    found: dict[tuple[object, ...], list[LackingServer]] = {}
    for search in comparison.searches:
        coverage = coverages.get(search.server)
        scan = _scan(search, coverage)
        if not search.lacks_index and not (scan and _answered_by_index(search, coverages)):
            continue
        plan = plans.get(search.server)
        chosen = _chosen(scan, plan.added if plan else frozenset())
        lacking = LackingServer(
            search=search,
            coverage=coverage,
            changes=tuple(sorted(change for _, change in chosen)),
            backend=_backend(scan, {name for name, _ in chosen}),
            filter=scan.filter if scan else parse_shape(search.group.shape),
        )
        found.setdefault((lacking.changes, search.group.base.lower()) if lacking.changes else search.key, []).append(
            lacking
        )
    return tuple(
        sorted(
            (LackingIndex(changes=several[0].changes, servers=_each_once(several)) for several in found.values()),
            key=lambda one: (-one.search.lost, one.search.server, one.search.key),
        )
    )


def _each_once(several: Iterable[LackingServer]) -> tuple[LackingServer, ...]:
    """Return each server with the search that lost the most time."""
    ordered = sorted(several, key=lambda one: (-one.search.lost, one.search.server, one.search.key))
    return tuple({one.search.server: one for one in reversed(ordered)}[name] for name in _names(ordered))


def _names(ordered: Iterable[LackingServer]) -> dict[str, None]:
    return dict.fromkeys(one.search.server for one in ordered)


def _scan(search: DifferingSearch, coverage: IndexCoverage | None) -> SearchCoverage | None:
    """Return how the server finds the candidates of a search that it scans for; None if it does not."""
    scans = [scan for scan in coverage.scans if _key(scan) == search.key] if coverage else []
    return max(scans, key=lambda one: one.etime, default=None)


def _answered_by_index(search: DifferingSearch, coverages: Mapping[str, IndexCoverage]) -> bool:
    """Return whether another server is configured with an index that answers the search, by simulation."""
    others = (coverages.get(name) for name in search.others)
    return any(
        _key(one) == search.key and not one.is_scan
        for coverage in others
        if coverage is not None and coverage.indexes is not None
        for one in coverage.searches
    )


def _key(one: SearchCoverage) -> tuple[str, str, str]:
    return one.group.shape, one.group.base, one.group.scope


def _chosen(scan: SearchCoverage | None, planned: frozenset[ProposedIndex]) -> frozenset[ProposedIndex]:
    """Return the set of new indexes that the server's plan has, else the smallest."""
    sets = sorted(scan.sufficient_sets, key=lambda one: (not one <= planned, len(one), sorted(one))) if scan else []
    return sets[0] if sets else frozenset()


def _backend(scan: SearchCoverage | None, names: set[str]) -> Backend | None:
    return next((backend for backend in scan.backends if names == {backend.name}), None) if scan else None
