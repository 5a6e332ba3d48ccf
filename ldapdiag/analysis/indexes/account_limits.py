"""Account limits: indexed searches that were refused because their ID list is longer than a limit of the account."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.simulated_server import NOTING_FAMILIES
from ldapdiag.analysis.log.searches import is_unindexed
from ldapdiag.servers.candidates import IndexUse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.analysis.indexes.coverage import IndexCoverage
    from ldapdiag.analysis.indexes.search_coverage import SearchCoverage
    from ldapdiag.analysis.log.searches import Requester

MOST_LISTED = 10
"""The most clients, accounts and bases that a finding lists."""
ADMIN_LIMIT = 11
"""adminLimitExceeded (RFC 4511, appendix A)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountLimit:
    """The refused searches of one filter shape."""

    searches: tuple[SearchCoverage, ...]
    """By base and scope."""
    refused: int
    most_complete: int
    """Entries of the largest complete result; at most 0: unknown."""

    @property
    def shape(self) -> str:
        """Return the filter shape."""
        return self.searches[0].group.shape

    @property
    def etime(self) -> int:
        """Return the nanoseconds that the refused searches took."""
        return sum(search.stopped.etime for search in self.searches if search.stopped)

    @property
    def accounts(self) -> tuple[str, ...]:
        """Return the accounts whose searches of this shape were refused."""
        return refused_accounts(self.searches[0].group.requesters)


def refused_accounts(requesters: Iterable[Requester]) -> tuple[str, ...]:
    """Return the accounts that had refused searches, each once, the most expensive first."""
    return tuple(dict.fromkeys(each.account for each in requesters if each.refused))


def find_account_limits(coverage: IndexCoverage) -> tuple[AccountLimit, ...]:
    """Return the indexed searches that were refused, by filter shape; the most frequent first.

    A server that notes unindexed searches notes refused ones, too: one without the note had an ID list. Of other
    servers, the simulation shows it. Without index configuration none are returned: such searches could be scans.
    """
    by_shape: dict[str, list[SearchCoverage]] = defaultdict(list)
    for search in coverage.searches if coverage.indexes is not None else ():
        if _refused(search) and (coverage.family in NOTING_FAMILIES or search.index_use is IndexUse.INDEXED):
            by_shape[search.group.shape].append(search)
    limits = (
        AccountLimit(
            searches=tuple(searches),
            refused=sum(_refused(search) for search in searches),
            most_complete=max(search.group.most_entries for search in searches),
        )
        for searches in by_shape.values()
    )
    return tuple(sorted(limits, key=lambda each: (-each.refused, each.shape)))


def _refused(search: SearchCoverage) -> int:
    """Return how many searches were refused although an index answers them."""
    if search.is_scan or search.stopped is None:
        return 0
    stops = search.stopped.group.stops
    return sum(stop.results for (err, notes), stop in stops.items() if err == ADMIN_LIMIT and not is_unindexed(notes))
