"""Narrowed searches: slow ones of which an index answers a selective part, so that they are no scans.

    (&(objectClass=person)(title=?))    objectClass indexed, slow: a list of all persons is as good as none
    (&(l=?)(title=?))                   l indexed, slow: the entries of the list are tested; a scan is slower

After a plan such a search is what is left of a scan: another index would save little, and is not asked for. Only if it
tests a large part of all entries, by the time that scans take in the same log, it counts as a scan.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.index_use import index_use_of
from ldapdiag.analysis.indexes.sufficient_sets import SELECTIVE
from ldapdiag.evidence.filter_tree import And, Assertion, Node, Not, Or, assertions
from ldapdiag.evidence.log.stamps import MILLISECOND
from ldapdiag.servers.candidates import Cause, IndexUse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ldapdiag.analysis.indexes.search_costs import SearchCosts
    from ldapdiag.analysis.indexes.search_coverage import SearchCoverage
    from ldapdiag.evidence.family import Family
    from ldapdiag.servers.candidates import Leaf

LARGE_PART = 0.25
"""The share of all entries that a search must test to count as a scan although an index answers a part of it."""
SLOW = 5 * MILLISECOND
LISTED = frozenset({Cause.NONE, Cause.LIMIT_PERHAPS})


def by_time_alone(search: SearchCoverage, family: Family | None) -> bool:
    """Return whether a search is taken for a scan only because it is slow."""
    if not search.is_scan or search.filter is None or search.forecast is None:
        return False
    otherwise = index_use_of(search.group, family, search.forecast, noted=search.noted, slow=False)
    return otherwise is not IndexUse.UNINDEXED


def settled(search: SearchCoverage, total: float | None, costs: SearchCosts, family: Family | None) -> SearchCoverage:
    """Return a search with its use of indexes; one that is only slow must be so in half of the cases, not once.

    If it is narrowed, the number of entries that it tests decides, of `total`.
    """
    if not by_time_alone(search, family) or search.filter is None or search.forecast is None:
        return search
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
