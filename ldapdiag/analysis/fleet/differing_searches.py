"""Searches that one server answers in another way than the others do: without an index, or much more slowly."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.fleet.replicas import Fleet
    from ldapdiag.analysis.log.searches import SearchGroup

Key = tuple[Family | None, str, str, str]
"""Product, shape, base and scope, in lower case: only some products note what is unindexed."""

ENOUGH = 100
"""Results of a server, below which nothing is said of it."""
SLOWER = 4.0
"""Times the median of the other servers' medians."""
NOTICEABLE = 1_000_000
"""Nanoseconds that a search must take longer."""
NOT_HERE = (10, 32)
"""referral and noSuchObject (RFC 4511, appendix A): the server does not have the entries."""
MOSTLY, HARDLY = 0.5, 0.01
"""Shares of the results that are noted as unindexed: a server lacks the index, or has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferingSearch:
    """One kind of search, on a server where it differs from the others. Times in nanoseconds."""

    server: str
    group: SearchGroup
    others: tuple[str, ...]
    """The servers that it was compared with."""
    their_median: int
    lacks_index: bool
    """It is unindexed here and indexed there; False: it is only slower."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Return shape, base and scope."""
        return self.group.shape, self.group.base, self.group.scope

    @property
    def lost(self) -> int:
        """Return the time that it took longer than the others, in total."""
        return max(0, self.group.answered * (self.group.etimes.p50 - self.their_median))


def differing_searches(fleet: Fleet) -> tuple[DifferingSearch, ...]:
    """Return the searches that differ, those that lack an index first, then by the time lost."""
    found = [one for groups in compared_searches(fleet).values() for one in _differing(groups)]
    return tuple(sorted(found, key=lambda one: (not one.lacks_index, -one.lost, one.server, one.key)))


def compared_searches(fleet: Fleet) -> dict[Key, dict[str, SearchGroup]]:
    """Return the searches that several servers of one product answered often enough, by server."""
    by_key: dict[Key, dict[str, SearchGroup]] = {}
    for replica in fleet.replicas:
        for group in replica.workload.searches:
            if group.answered >= ENOUGH and not group.unidentified and not is_elsewhere(group):
                key = (replica.workload.family, group.shape.lower(), group.base.lower(), group.scope)
                by_key.setdefault(key, {})[replica.name] = group
    return {key: groups for key, groups in by_key.items() if len(groups) > 1}


def is_elsewhere(group: SearchGroup) -> bool:
    """Return whether the server mostly answered that it does not have the entries."""
    return sum(group.errors.get(code, 0) for code in NOT_HERE) > group.answered / 2


def _differing(groups: dict[str, SearchGroup]) -> Iterator[DifferingSearch]:
    shares = {name: group.unindexed / group.answered for name, group in groups.items()}
    with_index = tuple(name for name, share in shares.items() if share <= HARDLY)
    for name, group in groups.items():
        others = tuple(one for one in groups if one != name)
        lacks_index = shares[name] >= MOSTLY and bool(with_index)
        against = with_index if lacks_index else others
        their_median = int(median(groups[one].etimes.p50 for one in against))
        longer = group.etimes.p50 - their_median
        is_slower = len(others) > 1 and group.etimes.p50 >= SLOWER * their_median and longer >= NOTICEABLE
        if lacks_index or is_slower:
            yield DifferingSearch(
                server=name, group=group, others=against, their_median=their_median, lacks_index=lacks_index
            )
