"""United ranges: searches of slapd for a range whose ID list takes longer to make than a scan of all entries.

slapd unites the lists of all values in a range, and copies the list found so far for each of them; both bounds of
(&(uidNumber>=100)(uidNumber<=120)) are read to the end of the index. Without that index, the search tests every entry.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.search_costs import RETURN_OVER_TEST
from ldapdiag.analysis.indexes.worth import LEAST_MEAN
from ldapdiag.evidence.filter_tree import RANGES
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.indexes.candidates import Cause, IndexUse
from ldapdiag.servers.products import product_of
from ldapdiag.wording import counted, rounded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.analysis.indexes.search_costs import SearchCosts
    from ldapdiag.analysis.indexes.search_coverage import SearchCoverage
    from ldapdiag.evidence.family import Family

LONGER = 2
"""How many times the time of a scan a search must take: what a scan takes is measured in other searches."""
FEW_RETURNED = 100
"""Entries that cost little to return, where the log does not show what they cost."""

MOST = 3
"""Kinds of search named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowRanges:
    """The searches that the index of one attribute makes slower."""

    backend: str
    attribute: str
    searches: tuple[SearchCoverage, ...]
    """The most expensive first."""

    @property
    def count(self) -> int:
        """Return the number of searches."""
        return sum(search.count for search in self.searches)

    @property
    def beyond(self) -> int:
        """Return the nanoseconds beyond those of scans."""
        return sum(search.count * (search.mean - _scan_time(search)) for search in self.searches)

    @property
    def sentences(self) -> list[str]:
        """Return what each kind of search takes."""
        return [
            f"{search.group.shape} below {search.group.base or 'the root'} ({search.group.scope}): "
            f"{counted(search.count, 'time')} {rounded(search.mean / SECOND)} s; without the index a scan of about "
            f"{rounded(_scan_time(search) / SECOND)} s."
            for search in self.searches[:MOST]
        ]


def slow_ranges(searches: Iterable[SearchCoverage]) -> tuple[SlowRanges, ...]:
    """Return the searches that take longer than a scan would, by database and attribute; `searches`: as ranked."""
    found: dict[tuple[str, str], list[SearchCoverage]] = defaultdict(list)
    for search in searches:
        if search.scan_instead is not None and search.backends:
            for attribute in sorted(search.scan_instead[0]):
                found[search.backends[0].name, attribute].append(search)
    return tuple(
        SlowRanges(backend=backend, attribute=attribute, searches=tuple(several))
        for (backend, attribute), several in found.items()
    )


def _scan_time(search: SearchCoverage) -> int:
    return search.scan_instead[1] if search.scan_instead is not None else search.mean


def scan_instead(
    search: SearchCoverage, total: float | None, costs: SearchCosts, family: Family | None
) -> tuple[frozenset[str], int] | None:
    """Return the attributes of the ranges, and the nanoseconds that a scan of `total` entries would take.

    Where their number is not known, it takes as long as scans that the log has of the same place.
    None: no list of a range takes longer than that, as far as the log shows.
    """
    if not unites_ranges(search, family) or search.mean < LEAST_MEAN:
        return None
    ranges = _listed_ranges(search)
    tested = costs.examined or (costs.returned.expected / RETURN_OVER_TEST if costs.returned is not None else 0.0)
    testing = total * tested if total and tested else costs.testing_all(search)
    if testing is None or (costs.returned is None and search.returned > FEW_RETURNED):
        return None
    each = costs.returned.expected if costs.returned is not None else RETURN_OVER_TEST * tested
    scan = costs.fixed_of(search) + testing + search.returned * each
    return (ranges, int(scan)) if search.own_time >= LONGER * scan else None


def unites_ranges(search: SearchCoverage, family: Family | None) -> bool:
    """Return whether searches unite the lists of a range, so that their time is not that of the entries they return."""
    product = product_of(family) if family is not None else None
    return product is not None and product.copy_over_test > 0 and not search.is_scan and bool(_listed_ranges(search))


def _listed_ranges(search: SearchCoverage) -> frozenset[str]:
    """Return the attributes of the ranges for which an index makes a list."""
    leaves = search.forecast.leaves if search.forecast is not None else ()
    return frozenset(
        leaf.assertion.name
        for leaf in leaves
        if leaf.assertion.kind in RANGES
        and leaf.index_use is not IndexUse.UNINDEXED
        and leaf.cause in {Cause.NONE, Cause.LIMIT_PERHAPS}
    )
