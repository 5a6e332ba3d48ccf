"""SearchCosts: what searches of one server cost, in nanoseconds, measured in its own log.

    fixed      a search that an index answers with two entries at most
    returned   an entry returned, by searches that an index answers with many, or by scans that return most entries;
               of results of a similar size if there are any: those of a small one are further apart in the database
    examined   an entry tested by a scan that returns next to nothing

A scan of N entries that returns r takes fixed + N * examined + r * returned; so each scan has its own `examined`.

However many entries there are: no index saves more of a scan than testing all of them takes, as those scans of the log
show that return next to nothing. What a scan takes beyond, it takes to return entries.

Match counts: how many candidates a filter has, by the entries it returns and what the log shows of its parts.

    (displayName=?)                         the entries returned, for nothing else is in the ID list
    (displayName=*?*)                       the same, and up to a tenth of all entries, which have its keys
    (&(objectClass=person)(title=?))        returned / the share of persons
    (&(title=?)(l=?))                       neither share is known: both are taken for the square root of the result's
    (|(title=?)(l=?))                       at most the entries returned, in each list

Parts of an AND are taken for independent of each other. What a log cannot show is in the interval, not in the estimate.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import field
from itertools import accumulate
from math import inf, prod
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.simulated_database import WHOLE_TREE
from ldapdiag.evidence.filter_tree import RANGES, And, Assertion, AssertionKind, Node, Not, Or, assertions
from ldapdiag.evidence.ldif import comparable
from ldapdiag.evidence.log.stamps import MILLISECOND
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.servers.indexes.candidates import IndexUse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.analysis.indexes.search_coverage import SearchCoverage

FEW, MANY = 2, 20
"""Entries returned by searches that show the fixed cost, and by those that show the cost of each entry."""
SIMILAR = 2
"""Results cost as much for each entry up to so many powers of two of its number. Measured with 389-ds 2.3.1, each of
2,600 entries 3 to 7 microseconds, each of 130 of as many 18: what is near in the database is near in memory."""
ALL_BUT = 0.9
"""The share of a scan's time above which the entries it returns cannot cost what others do: it tests others, too."""
FIXED_SHARE = 0.1
"""The largest share of a scan's time that may be its fixed cost, if that is longer than UNHINDERED."""
UNHINDERED = MILLISECOND
"""Searches that take less wait for nothing. Measured with slapd 2.5.13: 0.10 ms with an index, 0.13 ms to scan three
entries, 0.15 ms ten, 0.17 ms a hundred: nearly all of it is the fixed cost, of which an index saves nothing."""
SPARSE = 200
"""One entry returned of so many examined: returning them takes no part worth mentioning."""
LARGE, DENSE = 0.1, 0.5
"""The share of the entries that a scan must return, and of its time that this must take, to measure it there: else the
test of its filter may be what takes so long."""
RETURN_OVER_TEST = 5
"""How many times the time of a test it takes to return an entry, where the log does not show it. Measured: 3 on 389-ds
2.3.1, 9 on slapd 2.5.13."""

MOST_OVER_TEST = 1000
"""The same at most, where the server reports how many entries a scan tests: large entries, or slow checks of access."""

SPURIOUS = 0.1
"""The share of all entries that may have the keys of a substring and do not match. Measured with slapd 2.5.13: 600 of
9,000 have `oss `, the only key of `*oss 3*`."""

USUAL_TOTAL, USUAL_SHARE = 10_000, 4
"""Entries of a scan, and how many times those it returns, where nothing in the log shows them."""


class MeasuredSearch(NamedTuple):
    """The average search of one kind, and how many entries are in its scope."""

    search: SearchCoverage
    total: float | None
    """None: not known."""


EmptyScans = Mapping[tuple[str, str], Mapping[int, tuple[float, float]]]
"""The least and the most time of scans that return next to nothing: by base (comparable) and scope, and by the number
of parts of their filter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCosts:
    """The costs that all searches of one server share."""

    fixed: float = 0.0
    """The least."""
    usual_fixed: float = 0.0
    most_returned: float | None = None
    """No entry returned costs more: an indexed search that returns one takes no longer."""
    returned: Estimate | None = None
    """None: the log has no search that returns many."""
    similar: Mapping[int, Estimate] = field(default_factory=dict)
    """By the bit length of the number of entries, the same of results of a similar size."""
    examined: float | None = None
    """None: the log has no scan of a known number of entries."""
    empty_scans: EmptyScans = field(default_factory=dict)
    quickest_scans: Mapping[tuple[str, str], Mapping[int, float]] = field(default_factory=dict)
    """The least time of scans that return anything, by the same: testing every entry takes no longer."""

    def most_saved(self, scan: SearchCoverage, parts: float) -> float:
        """Return how long a scan tests entries at most: as one that returns next to nothing below the same base.

        `parts`: of its filter; what takes longer to test counts as several.
        """
        longest = self.longest_scan(scan, parts)
        return float(scan.own_time) if longest is None else min(float(scan.own_time), longest)

    def longest_scan(self, search: SearchCoverage, parts: float) -> float | None:
        """Return how long scans below the same base that return next to nothing take at most; None: there is none.

        Of a filter with more parts, each part as long. Those below an entry above the base count as well.
        """
        times = [
            most * max(1.0, parts / number)
            for place in _places(search)
            for number, (_, most) in self.empty_scans.get(place, {}).items()
        ]
        return max(times, default=None)

    def testing_all(self, search: SearchCoverage) -> float | None:
        """Return how long a scan would test entries at most; None: the log has no scan of the same place."""
        parts = _parts(search)
        longest = self.longest_scan(search, parts)
        if longest is not None:
            return longest
        times = [
            least * max(1.0, parts / number)
            for place in _places(search)
            for number, least in self.quickest_scans.get(place, {}).items()
        ]
        return min(times, default=None)

    def scanned_above(self, scan: SearchCoverage, tested: float) -> float:
        """Return how many entries are in the largest tree around the base, by its quickest scan; 0: there is none."""
        parts = _parts(scan)
        times = [
            min(least * min(1.0, parts / number) for number, least in found.items())
            for place in _places(scan)
            if (found := self.quickest_scans.get(place))
        ]
        return max(times, default=0.0) / tested if tested else 0.0

    def least_scan(self, scan: SearchCoverage) -> float:
        """Return how long a scan of the same scope that returns next to nothing takes at least; 0: there is none."""
        place = comparable(scan.group.base), scan.group.scope
        return min((least for least, _ in self.empty_scans.get(place, {}).values()), default=0.0)

    def of_returned(self, scan: SearchCoverage, total: float) -> Estimate:
        """Return the cost of each entry that a scan of `total` entries returns."""
        own = scan.own_time - self.fixed_of(scan)
        most = own / scan.returned if scan.returned else own
        tests = max(0.0, total - scan.returned) * (self.examined or 0.0)
        if self.examined is not None and scan.returned >= LARGE * total and own - tests >= DENSE * own:
            each = (own - tests) / scan.returned
            return Estimate(each, each, max(each, most))
        returned = self.similar.get(int(max(MANY, scan.returned)).bit_length(), self.returned)
        if returned is not None and returned.expected < ALL_BUT * most:
            return returned.within(0.0, most)
        # own = (total - returned) * x + returned * RETURN_OVER_TEST * x
        parts = max(1.0, total - scan.returned + RETURN_OVER_TEST * scan.returned)
        least, expected = own / max(1.0, total), RETURN_OVER_TEST * own / parts
        limit = most if self.most_returned is None else min(most, self.most_returned)
        if scan.group.reported:
            limit = min(limit, MOST_OVER_TEST * least)
        return Estimate(least, expected, most).within(0.0, limit)

    def fixed_of(self, scan: SearchCoverage, *, usual: bool = False) -> float:
        """Return the fixed cost of a scan: where indexed searches wait for something, a small part of its time."""
        fixed = self.usual_fixed if usual else self.fixed
        return min(fixed, scan.own_time, max(UNHINDERED, FIXED_SHARE * scan.own_time))

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
    samples = [search for search in searches if _is_plain(search.search)]
    indexed = [sample.search for sample in samples if sample.search.index_use is IndexUse.INDEXED]
    # A log with reports may have expensive searches alone: the quickest of these shows no fixed cost.
    quick = [float(one.usual_time) for one in indexed if one.returned <= FEW and not one.group.reported]
    fixed = min(quick, default=0.0)
    scans = [sample for sample in samples if sample.search.is_scan and sample.total]
    examined = _median(
        [
            max(0.0, scan.usual_time - fixed) / total
            for scan, total in scans
            if total is not None and scan.returned * SPARSE <= total
        ]
    )
    many = [(max(0.0, one.usual_time - fixed), one.returned) for one in indexed if one.returned >= MANY]
    if not many and examined is not None:
        many = [
            (rest, scan.returned)
            for scan, total in scans
            if total is not None
            and scan.returned >= LARGE * total
            and (rest := scan.usual_time - fixed - examined * (total - scan.returned)) >= DENSE * scan.usual_time
        ]
    upper = min((one.usual_time / one.returned for one in indexed if one.returned >= 1), default=None)
    return SearchCosts(
        fixed=fixed,
        usual_fixed=_median(quick) or fixed,
        most_returned=upper,
        returned=_each(many),
        similar=_similar(many),
        examined=examined,
        empty_scans=_empty_scans(samples, fixed),
        quickest_scans=_quickest_scans(samples),
    )


def _parts(scan: SearchCoverage) -> int:
    return max(1, sum(1 for _ in assertions(scan.filter))) if scan.filter is not None else 1


def _quickest_scans(samples: Iterable[MeasuredSearch]) -> dict[tuple[str, str], dict[int, float]]:
    found: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for scan in (sample.search for sample in samples if sample.search.is_scan):
        times = found[comparable(scan.group.base), scan.group.scope]
        times[_parts(scan)] = min(times.get(_parts(scan), float(scan.own_time)), float(scan.own_time))
    return found


def _empty_scans(samples: Iterable[MeasuredSearch], fixed: float) -> EmptyScans:
    """Return the scans that return next to nothing, of all entries if their number is known."""
    found: dict[tuple[str, str], dict[int, tuple[float, float]]] = defaultdict(dict)
    for scan, total in samples:
        if scan.is_scan and returns_nearly_nothing(scan, total):
            time = scan.own_time - SearchCosts(fixed=fixed).fixed_of(scan)
            times = found[comparable(scan.group.base), scan.group.scope]
            least, most = times.get(_parts(scan), (time, time))
            times[_parts(scan)] = min(least, time), max(most, time)
    return found


def returns_nearly_nothing(scan: SearchCoverage, total: float | None) -> bool:
    """Return whether a scan of `total` entries, None if not known, only tests them: it returns next to none."""
    return scan.returned < MANY if total is None else scan.returned * SPARSE <= total


def _places(search: SearchCoverage) -> set[tuple[str, str]]:
    """Return base and scope of searches, and of the whole trees that they are in."""
    base = comparable(search.group.base)
    return {(base, search.group.scope), *((above, WHOLE_TREE) for above in _and_above(base))}


def _and_above(dn: str) -> Iterator[str]:
    """Yield a DN and all that are above it; a comma within a value yields one that no entry has."""
    while dn:
        yield dn
        dn = dn.partition(",")[2]
    yield ""


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


def _similar(results: list[tuple[float, float]]) -> dict[int, Estimate]:
    """Return the time of each entry by the bit length of their number: the quartiles over results of a similar size."""
    each: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for time, entries in results:
        length = int(entries).bit_length()
        for near in range(length - SIMILAR, length + SIMILAR + 1):
            each[near].append((time / entries, 1.0))
    return {length: found for length, several in each.items() if (found := _each(several)) is not None}


def _median(values: list[float]) -> float | None:
    """Return the median; importing `statistics` takes 3 % of the start of the program."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return (ordered[middle] + ordered[~middle]) / 2 if ordered else None


SOME = 0.5
"""Entries: what a search returns that never returned one."""
MANY_VALUES = RANGES | {AssertionKind.PRESENCE}


class Estimate(NamedTuple):
    """A number of entries: bounds, and the most probable value between them."""

    least: float
    expected: float
    most: float

    def within(self, least: float, most: float) -> Estimate:
        """Return the estimate between other bounds."""
        low, middle, high = (min(max(value, least), most) for value in self)
        return Estimate(low, middle, high)

    def plus(self, other: Estimate) -> Estimate:
        """Return the sum."""
        return Estimate(self.least + other.least, self.expected + other.expected, self.most + other.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterCounts:
    """What is known of the lists of one filter at one database."""

    total: float
    """Entries that a scan examines."""
    known: Callable[[Assertion], Estimate | None]
    """Return the entries of an assertion's list, as other searches show; None: nothing shows it."""
    has_list: Callable[[Assertion], bool]
    """Return whether an index has a list for an assertion."""
    longest: float
    """The server takes a longer list for all entries."""
    of_part: bool = False
    """The scope is a part of the database, of which a list of many values has all entries."""

    def candidates(self, node: Node, size: Estimate) -> Estimate | None:
        """Return the candidates of a node that `size` entries match; None: all entries."""
        match node:
            case And(members):
                return self._of_and(members, size)
            case Or(members):
                return self._of_or(members, size)
            case Not():
                return None
            case Assertion():
                listed = self.has_list(node) and size.expected <= self.longest
                return self._listed(node, size) if listed else None

    def sizes(self, node: Node, size: Estimate) -> list[tuple[Assertion, Estimate]]:
        """Return the assertions of a node with the entries that match each; the negated ones excluded."""
        match node:
            case And(members):
                pairs = zip(members, self._sizes_in_and(members, size), strict=True)
                return [found for member, own in pairs for found in self.sizes(member, own)]
            case Or(members):
                sizes = self._sizes_in_or(members, size)
                return [found for member, own in zip(members, sizes, strict=True) for found in self.sizes(member, own)]
            case Not():
                return []
            case Assertion():
                return [(node, size)]

    def _listed(self, assertion: Assertion, size: Estimate) -> Estimate:
        """Return the list of an assertion that `size` entries match: that of a substring has those with its keys."""
        if self.of_part and assertion.kind in MANY_VALUES and self.longest < inf:
            return size._replace(most=self.total)  # it may be too long for what others have
        spurious = SPURIOUS * self.total if assertion.kind is AssertionKind.SUBSTRING else 0.0
        return size._replace(most=max(size.most, min(self.total, self.longest, size.most + spurious)))

    def _of_and(self, members: tuple[Node, ...], size: Estimate) -> Estimate | None:
        sizes = self._sizes_in_and(members, size)
        found = [self.candidates(member, own) for member, own in zip(members, sizes, strict=True)]
        lists = [one for one in found if one is not None]
        if not lists:
            return None
        # Both bounds of a range have the size of the range: they count once.
        keys = [_range_key(member) or place for place, member in enumerate(members)]
        once = {key: one for key, one in zip(keys, found, strict=True) if one is not None}
        expected = self.total * prod(one.expected / self.total for one in once.values())
        return Estimate(size.least, expected, min(one.most for one in lists)).within(size.least, self.total)

    def _of_or(self, members: tuple[Node, ...], size: Estimate) -> Estimate | None:
        union = Estimate(0, 0, 0)
        for member, own in zip(members, self._sizes_in_or(members, size), strict=True):
            one = self.candidates(member, own)
            if one is None:
                return None
            union = union.plus(one)
        return union.within(size.least, self.total)

    def _sizes_in_and(self, members: tuple[Node, ...], size: Estimate) -> list[Estimate]:
        """Return how many entries match each member of an AND; those of which nothing is known share what is left."""
        known = [self.known(member) if isinstance(member, Assertion) else None for member in members]
        shares = prod(one.expected / self.total for one in known if one is not None)
        # Both bounds of a range share its size.
        unknown = {
            _range_key(member) or place
            for place, (member, one) in enumerate(zip(members, known, strict=True))
            if one is None and not isinstance(member, Not)
        }
        left = min(1.0, max(size.expected, SOME) / self.total / (shares or 1.0))
        each = self.total * left ** (1 / max(1, len(unknown)))
        least = min(size.least, self.total)
        # Of a list that may be too long, what it would be worth if it is not; the bounds have the rest.
        open_ = Estimate(least, min(each, self.longest), self.total).within(least, self.total)
        return [open_ if one is None else one.within(least, self.total) for one in known]

    def _sizes_in_or(self, members: tuple[Node, ...], size: Estimate) -> list[Estimate]:
        """Return how many entries match each member of an OR: no more than match the OR."""
        shared = Estimate(0, size.expected / max(1, len(members)), size.most)
        known = [self.known(member) if isinstance(member, Assertion) else None for member in members]
        return [shared if one is None else one.within(0, size.most) for one in known]


def _range_key(node: Node) -> str:
    """Return the attribute of a range, empty for any other node: the bounds of one range share it."""
    return node.attribute if isinstance(node, Assertion) and node.kind in RANGES else ""
