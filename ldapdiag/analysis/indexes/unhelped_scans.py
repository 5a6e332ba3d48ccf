"""UnhelpedScans: scans that no new index helps, by filter shape or by obstacle; each is the subject of a verdict.

Account limits: indexed searches that were refused because their ID list is longer than a limit of the account.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.indexes.account_limits import (
    ADMIN_LIMIT,
    allows_no_search,
    refused_accounts,
    time_limit_sentences,
)
from ldapdiag.analysis.indexes.reported_use import visits_clause
from ldapdiag.analysis.indexes.search_coverage import failing
from ldapdiag.analysis.indexes.simulated_server import notes_unindexed
from ldapdiag.analysis.log.searches import Requester, is_unindexed
from ldapdiag.analysis.log.trends import observed_trend, trend_sentences
from ldapdiag.evidence.filter_tree import AssertionKind, assertions, parse_shape
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.indexes.candidates import IndexUse
from ldapdiag.wording import counted, number, percent
from ldapdiag.wording import seconds as in_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from ldapdiag.analysis.indexes.coverage import IndexCoverage
    from ldapdiag.analysis.indexes.search_coverage import Obstacle, SearchCoverage
    from ldapdiag.analysis.log.trends import Trend
    from ldapdiag.servers.indexes.candidates import Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class UnhelpedScans:
    """The scans of one filter shape, or of all that have the same obstacle."""

    name: str
    """What they have in common: the shape, or the part of their filters (`kind_of`)."""
    server: str
    """The server, by the name of its instance."""
    host: str
    obstacle: Obstacle
    searches: tuple[SearchCoverage, ...]
    """By shape, base and scope; the most expensive first."""
    total: int
    """Nanoseconds of all searches in the log."""

    @property
    def shape(self) -> str:
        """Return the filter shape, the first of several."""
        return self.searches[0].group.shape

    @property
    def by_shape(self) -> tuple[UnhelpedScans, ...]:
        """Return those of each filter shape, the most expensive first."""
        return _most_expensive_first(
            replace(self, name=shape, searches=searches)
            for shape, searches in _grouped(self.searches, lambda search: search.group.shape).items()
        )

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
        each = {search.group.shape: search.group.requesters for search in self.searches}
        return next(iter(each.values())) if len(each) == 1 else _added_up(each.values())

    @property
    def trend(self) -> Trend | None:
        """Return the trend of a single shape."""
        return self.searches[0].group.trend if len(self.by_shape) == 1 else None

    @property
    def summary(self) -> str:
        """Return their cost and origin; one sentence per line."""
        senders = ", ".join(f"{each.account} from {each.client}" for each in self.requesters[:3])
        by = ", ".join(refused_accounts(self.requesters)[:3])
        who = f" Accounts with limits: {by}." if by else ""
        failed = f"\n{number(self.refused)} of them failed because there is no index.{who}" if self.refused else ""
        took = f"{in_seconds(self.seconds)} in total ({percent(self.share)} of the search time)"
        visits = visits_clause(self.searches[0].group) if len(self.searches) == 1 else ""
        cost = f"{counted(self.count, 'search', 'searches')}, {took}{visits}."
        shapes = self.by_shape
        listed = "".join(
            f"\n{one.shape}: {counted(one.count, 'search', 'searches')}, {in_seconds(one.seconds)}."
            for one in shapes[:MOST_LISTED]
            if len(shapes) > 1
        )
        when = "".join(f"\n{one}" for one in (*time_limit_sentences(self.searches), *trend_sentences(self.trend)))
        return f"{cost}\nSent by {senders or 'unknown clients'}.{failed}{when}{listed}"

    @property
    def subject(self) -> str:
        """Return the subject of a verdict on them."""
        return f"{self.name} at {self.server}"

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
            **observed_trend(self.trend),
        }


def shape_of(scan: SearchCoverage) -> str:
    """Return the filter shape of a scan."""
    return scan.group.shape


def kind_of(scan: SearchCoverage) -> str:
    """Return the attribute and the kind of assertion that no index answers, as a part of a filter.

    The same for all filters with such a part, and whatever is known of the server: `(!(uid=?))`, `(cn=*?*)`.
    """
    if scan.obstacle is None:
        return shape_of(scan)
    tree = parse_shape(scan.obstacle.text)
    assertion = next(assertions(tree), None) if tree is not None else None
    if assertion is None and not scan.obstacle.attribute:
        return scan.obstacle.text  # (&)
    if assertion is None:
        return f"(!(…{scan.obstacle.attribute.lower()}…))"  # a negated AND or OR
    rule = f"{':dn' * assertion.dn}{assertion.rule and ':'}{assertion.rule}:"
    text = f"({assertion.attribute}{WRITTEN.get(assertion.kind, f'{rule}=?')})"
    return f"(!{text})" if scan.obstacle.negated else text


WRITTEN = {
    AssertionKind.EQUALITY: "=?",
    AssertionKind.SUBSTRING: "=*?*",
    AssertionKind.GREATER: ">=?",
    AssertionKind.LESS: "<=?",
    AssertionKind.PRESENCE: "=*",
    AssertionKind.APPROXIMATE: "~=?",
}
"""What follows the attribute in a shape; of an extensible match also the rule."""


def find_unhelped_scans(
    coverage: IndexCoverage, causes: Collection[Cause], by: Callable[[SearchCoverage], str] = shape_of
) -> tuple[UnhelpedScans, ...]:
    """Return the scans whose obstacle has one of these causes, those alike `by` a name together."""
    found = (scan for scan in coverage.scans if scan.obstacle is not None and scan.obstacle.cause in causes)
    return _most_expensive_first(
        UnhelpedScans(
            name=name,
            server=coverage.server,
            host=coverage.host,
            obstacle=next(scan.obstacle for scan in scans if scan.obstacle is not None),
            searches=scans,
            total=coverage.etime,
        )
        for name, scans in _grouped(found, by).items()
    )


def _grouped(
    scans: Iterable[SearchCoverage], by: Callable[[SearchCoverage], str]
) -> dict[str, tuple[SearchCoverage, ...]]:
    grouped: dict[str, list[SearchCoverage]] = defaultdict(list)
    for scan in scans:
        grouped[by(scan)].append(scan)
    return {name: tuple(each) for name, each in grouped.items()}


def _most_expensive_first(unhelped: Iterable[UnhelpedScans]) -> tuple[UnhelpedScans, ...]:
    return tuple(sorted(unhelped, key=lambda scans: (-scans.seconds, scans.name)))


def _added_up(each: Iterable[tuple[Requester, ...]]) -> tuple[Requester, ...]:
    """Return the requesters of several shapes, each once."""
    found: dict[tuple[str, str], Requester] = {}
    for one in chain.from_iterable(each):
        key = one.client, one.account
        found[key] = _sum(found[key], one) if key in found else one
    return tuple(sorted(found.values(), key=lambda one: (-one.etime, one.client, one.account)))


def _sum(one: Requester, other: Requester) -> Requester:
    return replace(
        one,
        count=one.count + other.count,
        etime=one.etime + other.etime,
        noted=one.noted + other.noted,
        refused=one.refused + other.refused,
    )


MOST_LISTED = 10
"""The most clients, accounts and bases that a finding lists."""


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
        if indexed or allows_no_search(search.group, search.limits):
            by_shape[search.group.shape].append(search)
    limits = (
        AccountLimit(
            searches=tuple(searches),
            refused=sum(_refused(search) for search in searches),
            any_search=all(allows_no_search(search.group, search.limits) for search in searches),
            most_complete=max(search.group.most_entries for search in searches),
        )
        for searches in by_shape.values()
    )
    return tuple(sorted(limits, key=lambda each: (-each.refused, each.shape)))


def _refused(search: SearchCoverage) -> int:
    """Return how many searches were refused without a note of an unindexed one."""
    stops = search.stopped.group.stops if search.stopped else {}
    return sum(stop.results for (err, notes), stop in stops.items() if err == ADMIN_LIMIT and not is_unindexed(notes))
