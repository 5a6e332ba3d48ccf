"""UnhelpedScans: scans that no new index helps, by filter shape and obstacle; each is the subject of a verdict.

Account limits: indexed searches that were refused because their ID list is longer than a limit of the account.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.indexes.account_limits import allows_no_search
from ldapdiag.analysis.indexes.search_coverage import failing
from ldapdiag.analysis.indexes.simulated_server import notes_unindexed
from ldapdiag.analysis.log.searches import Requester, is_unindexed
from ldapdiag.analysis.log.trends import observed_trend, trend_sentences
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.indexes.candidates import IndexUse
from ldapdiag.wording import counted, number, percent
from ldapdiag.wording import seconds as in_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ldapdiag.analysis.indexes.coverage import IndexCoverage
    from ldapdiag.analysis.indexes.search_coverage import Obstacle, SearchCoverage
    from ldapdiag.servers.indexes.candidates import Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class UnhelpedScans:
    """The scans of one filter shape, with their obstacle."""

    server: str
    """The server, by the name of its instance."""
    host: str
    obstacle: Obstacle
    searches: tuple[SearchCoverage, ...]
    """By base and scope; the most expensive first."""
    total: int
    """Nanoseconds of all searches in the log."""

    @property
    def shape(self) -> str:
        """Return the filter shape."""
        return self.searches[0].group.shape

    @property
    def attribute(self) -> str:
        """Return the attribute that the obstacle concerns, as the filter spells it."""
        return self.obstacle.attribute

    @property
    def count(self) -> int:
        """Return the number of searches."""
        return sum(search.count for search in self.searches)

    @property
    def seconds(self) -> float:
        """Return the time they took."""
        return sum(search.etime for search in self.searches) / SECOND

    @property
    def share(self) -> float:
        """Return their share of the time of all searches, 0 to 1."""
        return sum(search.etime for search in self.searches) / self.total if self.total else 0.0

    @property
    def worth_a_change(self) -> bool:
        """Return whether they take enough time to be worth a change, or fail."""
        return any(search.worth_an_index for search in self.searches)

    @property
    def refused(self) -> int:
        """Return how many failed because they were unindexed."""
        return sum(search.refused for search in self.searches)

    @property
    def failing(self) -> int:
        """Return how many of these are of a base and scope where none is answered."""
        return failing(self.searches)

    @property
    def requesters(self) -> tuple[Requester, ...]:
        """Return the clients and accounts that send them, the most expensive first."""
        return self.searches[0].group.requesters

    @property
    def summary(self) -> str:
        """Return their cost and origin; one sentence per line."""
        senders = ", ".join(f"{each.account} from {each.client}" for each in self.requesters[:3])
        by = ", ".join(refused_accounts(self.requesters)[:3])
        who = f" Accounts with limits: {by}." if by else ""
        failed = f"\n{number(self.refused)} of them failed because there is no index.{who}" if self.refused else ""
        took = f"{in_seconds(self.seconds)} in total ({percent(self.share)} of the search time)"
        cost = f"{counted(self.count, 'search', 'searches')}, {took}."
        when = "".join(f"\n{sentence}" for sentence in trend_sentences(self.searches[0].group.trend))
        return f"{cost}\nSent by {senders or 'unknown clients'}.{failed}{when}"

    @property
    def subject(self) -> str:
        """Return the subject of a verdict on them."""
        return f"{self.shape} at {self.server}"

    @property
    def observed(self) -> dict[str, Any]:
        """Return what a finding observes, by the keys of docs/contract.md."""
        return {
            "server": self.server,
            "attribute": self.attribute,
            "shape": self.shape,
            "part": self.obstacle.text,
            "bases": sorted({search.group.base for search in self.searches})[:MOST_LISTED],
            "searches": self.count,
            "refused": self.refused,
            "refused_accounts": list(refused_accounts(self.requesters))[:MOST_LISTED],
            "limit": None,
            "etime_seconds": round(self.seconds, 9),
            "share": round(self.share, 6),
            "reason": self.obstacle.reason,
            "clients": list(dict.fromkeys(each.client for each in self.requesters))[:MOST_LISTED],
            "accounts": list(dict.fromkeys(each.account for each in self.requesters))[:MOST_LISTED],
            **observed_trend(self.searches[0].group.trend),
        }


def find_unhelped_scans(coverage: IndexCoverage, causes: Collection[Cause]) -> tuple[UnhelpedScans, ...]:
    """Return the scans whose obstacle has one of these causes, the most expensive first."""
    scans_of: dict[str, list[SearchCoverage]] = defaultdict(list)
    obstacles: dict[str, Obstacle] = {}
    for scan in coverage.scans:
        if scan.obstacle is not None and scan.obstacle.cause in causes:
            scans_of[scan.group.shape].append(scan)
            obstacles.setdefault(scan.group.shape, scan.obstacle)
    unhelped = (
        UnhelpedScans(
            server=coverage.server,
            host=coverage.host,
            obstacle=obstacles[shape],
            searches=tuple(scans),
            total=coverage.etime,
        )
        for shape, scans in scans_of.items()
    )
    return tuple(sorted(unhelped, key=lambda scans: (-scans.seconds, scans.shape)))


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
    any_search: bool
    """By the configuration, no search of these accounts is answered."""
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
    """Return the searches that were refused with an index or by any filter, by shape; the most frequent first.

    A server that notes unindexed searches notes refused ones, too: one without the note had an ID list. Of other
    servers, the simulation shows it. Without index configuration none are returned: such searches could be scans.
    """
    by_shape: dict[str, list[SearchCoverage]] = defaultdict(list)
    for search in coverage.searches if coverage.indexes is not None else ():
        if not _refused(search):
            continue
        indexed = not search.is_scan and (notes_unindexed(coverage.family) or search.index_use is IndexUse.INDEXED)
        if indexed or allows_no_search(search, coverage.family):
            by_shape[search.group.shape].append(search)
    limits = (
        AccountLimit(
            searches=tuple(searches),
            refused=sum(_refused(search) for search in searches),
            any_search=all(allows_no_search(search, coverage.family) for search in searches),
            most_complete=max(search.group.most_entries for search in searches),
        )
        for searches in by_shape.values()
    )
    return tuple(sorted(limits, key=lambda each: (-each.refused, each.shape)))


def _refused(search: SearchCoverage) -> int:
    """Return how many searches were refused without a note of an unindexed one."""
    stops = search.stopped.group.stops if search.stopped else {}
    return sum(stop.results for (err, notes), stop in stops.items() if err == ADMIN_LIMIT and not is_unindexed(notes))
