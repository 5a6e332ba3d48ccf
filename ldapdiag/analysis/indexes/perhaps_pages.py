"""Perhaps pages: results that may be parts of larger ones, where the log does not note pages (slapd).

    (mail=*)    40 results, 500 entries each    500 entries have mail? or 20,000, which a client reads in pages of 500

Then nothing is known of how many entries match: an index is neither planned nor excluded.

    the filter has no value     the same search has the same result each time: 500 is a page's size rather than theirs,
                                and where some results are smaller, these are last pages
    any filter                  it takes a third of the time of scans that return next to nothing: it ended early;
                                without such scans in the log, most of the time that its entries take to return
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.search_coverage import Obstacle
from ldapdiag.evidence.filter_tree import Assertion, AssertionKind, Not, assertions
from ldapdiag.servers.indexes.candidates import Cause
from ldapdiag.servers.traits import traits_of
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from ldapdiag.analysis.indexes.search_costs import SearchCosts
    from ldapdiag.analysis.indexes.search_coverage import SearchCoverage
    from ldapdiag.analysis.log.searches import SearchGroup
    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.filter_tree import Node

SEVERAL = 3
"""Results; fewer show no size that repeats."""
LARGEST, ROUND, BINARY = 10_000, 50, 64
"""Entries of a page: clients ask for 100, 500 or 1,000, some for 64, 256 or 1,024."""
FULL = 0.6
"""The least average result, as a part of the largest one: the last page is a smaller one."""
EARLY = 0.3
"""The part of the time of a scan below which a search has not tested every entry."""
RETURNING = 2
"""How many times the time to return its entries such a search takes at most, where no scan shows what one takes."""
WITHOUT_VALUE = frozenset({AssertionKind.PRESENCE})


def may_be_pages(search: SearchGroup, filter_: Node | None, family: Family | None) -> bool:
    """Return whether results of one size may be pages, by that size and by the filter, which has no value."""
    if filter_ is None or isinstance(filter_, Not) or not _may_be_full(search, family):
        return False
    return all(
        one.kind in WITHOUT_VALUE or (one.attribute == "objectclass" and one.kind is AssertionKind.EQUALITY)
        for one in assertions(filter_)
    )


def _may_be_full(search: SearchGroup, family: Family | None) -> bool:
    """Return whether the largest result has the size of a page, in a log that does not note pages."""
    size = search.most_entries
    is_binary = size >= BINARY and size & (size - 1) == 0
    if traits_of(family).logs_pages or search.answered < SEVERAL or not 0 < size <= LARGEST:
        return False
    return size % ROUND == 0 or is_binary


def _repeats(search: SearchGroup) -> bool:
    """Return whether nearly every result has the size of the largest one."""
    return search.entries >= FULL * search.most_entries * search.answered


def obstacle_of_pages(scan: SearchCoverage, family: Family | None, costs: SearchCosts) -> Obstacle | None:
    """Return that nothing is known of an index because the results of a scan may be pages; None: they are results."""
    repeats = _repeats(scan.group)
    early = repeats and _may_be_full(scan.group, family) and _ended_early(scan, costs)
    if scan.filter is None or not (early or may_be_pages(scan.group, scan.filter, family)):
        return None
    assertion = _part(scan.filter)
    size, results = number(scan.group.most_entries), counted(scan.completed, "result")
    reason = (
        f"none of its {results} has more than {size} entries, and {'most' if repeats else 'some'} have as many: they "
        "may be pages of a larger result, which this log does not note, so how many entries match is not known"
    )
    return Obstacle(cause=Cause.PAGES, attribute=assertion.name, text=assertion.text, reason=reason, inferred=True)


def _ended_early(scan: SearchCoverage, costs: SearchCosts) -> bool:
    """Return whether a search takes too little time to have tested every entry."""
    least = costs.least_scan(scan)
    if least:
        return scan.own_time < EARLY * least
    return costs.returned is not None and scan.own_time <= RETURNING * scan.returned * costs.returned.expected


def _part(filter_: Node) -> Assertion:
    found = list(assertions(filter_))
    return next((one for one in found if one.attribute != "objectclass"), found[0])
