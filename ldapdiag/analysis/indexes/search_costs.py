"""SearchCosts: what searches of one server cost, in nanoseconds, measured in its own log.

    fixed      a search that an index answers with two entries at most
    returned   an entry returned, by searches that an index answers with many, or by scans that return most entries
    examined   an entry tested by a scan that returns next to nothing

A scan of N entries that returns r takes fixed + N * examined + r * returned; so each scan has its own `examined`.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.analysis.indexes.match_counts import Estimate
from ldapdiag.servers.candidates import IndexUse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.analysis.indexes.search_coverage import SearchCoverage

FEW, MANY = 2, 20
"""Entries returned by searches that show the fixed cost, and by those that show the cost of each entry."""
ALL_BUT = 0.9
"""The share of a scan's time above which the entries it returns cannot cost what others do: it tests others, too."""
FIXED_SHARE = 0.1
"""The largest share of a scan's time that may be its fixed cost."""
SPARSE = 200
"""One entry returned of so many examined: returning them takes no part worth mentioning."""
LARGE, DENSE = 0.1, 0.5
"""The share of the entries that a scan must return, and of its time that this must take, to measure it there: else the
test of its filter may be what takes so long."""
RETURN_OVER_TEST = 5
"""How many times the time of a test it takes to return an entry, where the log does not show it. Measured: 3 on 389-ds
2.3.1, 9 on slapd 2.5.13."""

USUAL_TOTAL, USUAL_SHARE = 10_000, 4
"""Entries of a scan, and how many times those it returns, where nothing in the log shows them."""


class MeasuredSearch(NamedTuple):
    """The average search of one kind, and how many entries are in its scope."""

    search: SearchCoverage
    total: float | None
    """None: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCosts:
    """The costs that all searches of one server share."""

    fixed: float = 0.0
    most_returned: float | None = None
    """No entry returned costs more: an indexed search that returns one takes no longer."""
    returned: Estimate | None = None
    """None: the log has no search that returns many."""
    examined: float | None = None
    """None: the log has no scan of a known number of entries."""

    def of_returned(self, scan: SearchCoverage, total: float) -> Estimate:
        """Return the cost of each entry that a scan of `total` entries returns."""
        own = scan.own_time - self.fixed_of(scan)
        most = own / scan.returned if scan.returned else own
        tests = max(0.0, total - scan.returned) * (self.examined or 0.0)
        if self.examined is not None and scan.returned >= LARGE * total and own - tests >= DENSE * own:
            each = (own - tests) / scan.returned
            return Estimate(each, each, max(each, most))
        if self.returned is not None and self.returned.expected < ALL_BUT * most:
            return self.returned.within(0.0, most)
        # own = (total - returned) * x + returned * RETURN_OVER_TEST * x
        parts = max(1.0, total - scan.returned + RETURN_OVER_TEST * scan.returned)
        least, expected = own / max(1.0, total), RETURN_OVER_TEST * own / parts
        limit = most if self.most_returned is None else min(most, self.most_returned)
        return Estimate(least, expected, most).within(0.0, limit)

    def fixed_of(self, scan: SearchCoverage) -> float:
        """Return the fixed cost of a scan: where indexed searches wait for something, a small part of its time."""
        return min(self.fixed, FIXED_SHARE * scan.own_time)

    def of_tested(self, scan: SearchCoverage, total: float, returned: float) -> float:
        """Return the cost of each entry that a scan of `total` entries tests without returning it."""
        rest = scan.own_time - self.fixed_of(scan) - scan.returned * returned
        tested = max(0.0, rest) / max(1.0, total - scan.returned)
        return tested or self.examined or 0.0

    def scanned_by(self, scan: SearchCoverage) -> float:
        """Return how many entries a scan probably tests, by its time if the log shows what an entry takes."""
        own = scan.own_time - self.fixed_of(scan)
        each = self.returned.expected if self.returned is not None else RETURN_OVER_TEST * (self.examined or 0.0)
        tested = self.examined or each / RETURN_OVER_TEST
        if not tested or scan.returned * each >= ALL_BUT * own:
            return max(USUAL_TOTAL, USUAL_SHARE * scan.returned)
        return scan.returned + (own - scan.returned * each) / tested


def measure_costs(searches: Iterable[MeasuredSearch]) -> SearchCosts:
    """Measure the costs in the searches of a log."""
    samples = [one for one in searches if _is_plain(one.search)]
    indexed = [one.search for one in samples if one.search.index_use is IndexUse.INDEXED]
    fixed = float(min((one.own_time for one in indexed if one.returned <= FEW), default=0))
    scans = [one for one in samples if one.search.is_scan and one.total]
    examined = _median(
        [
            max(0.0, scan.own_time - fixed) / total
            for scan, total in scans
            if total is not None and scan.returned * SPARSE <= total
        ]
    )
    many = [(max(0.0, one.own_time - fixed), one.returned) for one in indexed if one.returned >= MANY]
    if not many and examined is not None:
        many = [
            (rest, scan.returned)
            for scan, total in scans
            if total is not None
            and scan.returned >= LARGE * total
            and (rest := scan.own_time - fixed - examined * (total - scan.returned)) >= DENSE * scan.own_time
        ]
    upper = min((one.own_time / one.returned for one in indexed if one.returned >= 1), default=None)
    return SearchCosts(fixed=fixed, most_returned=upper, returned=_each(many), examined=examined)


def _is_plain(search: SearchCoverage) -> bool:
    """Return whether searches do nothing but find and return; a limit or a page ends a search early."""
    return search.completed > 0 and search.group.most_limited < 0 and not search.group.sorts


def _each(results: list[tuple[float, float]]) -> Estimate | None:
    """Return the time of each entry, of results with their time and entries: the quartiles over all entries."""
    if not results:
        return None
    ordered = sorted((time / entries, entries) for time, entries in results)
    reached = list(accumulate(entries for _, entries in ordered))
    low, middle, high = (ordered[bisect_left(reached, part * reached[-1])][0] for part in (0.25, 0.5, 0.75))
    return Estimate(low, middle, high)


def _median(values: list[float]) -> float | None:
    """Return the median; importing `statistics` takes 3 % of the start of the program."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return (ordered[middle] + ordered[~middle]) / 2 if ordered else None
