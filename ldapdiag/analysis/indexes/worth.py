"""Worth: which scans save enough time to be worth an index, by absolute limits: an audit afterwards asks for no more.

    each search    5 ms on average, or 1 s once
    all of them    0.1 s for each hour of log, and 0.1 s at least; together with the others that the same indexes help
    or             a twentieth of the time of the log, and 1 s at least, however quick each is

Half of both suffices for a scan if another one is worth an index: what is close to the limit is done in the same go,
and does not exceed it by chance in the next log.

Searches without a result: how long they took is not in the log, so they are neither slow nor quick.

The worst searches are among them: those that the client abandons, or whose connection it closes, because they take too
long. A few are in progress whenever a log ends.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.reported_use import examined_each
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import counted
from ldapdiag.wording import seconds as in_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.analysis.indexes.remaining_searches import RemainingSearches
    from ldapdiag.analysis.indexes.search_coverage import ProposedIndex, SearchCoverage
    from ldapdiag.analysis.log.searches import SearchGroup
    from ldapdiag.analysis.log.traffic import Traffic

LEAST_MEAN, LEAST_ONCE = 5 * MILLISECOND, SECOND
"""The average time, or the time of the slowest search."""
LEAST_TIME = SECOND // 10
"""The time to be saved in all, for each hour of log."""
LEAST_LOAD = 0.05
"""The share of the time of the log that quick searches take, and LEAST_ONCE at least."""
VISITED = 10_000
"""Entries that no search visits in no time: a log with such a search has no times (event 1644 before KB2800945)."""
HOUR = 3600
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What scans must reach to be worth an index. Nanoseconds."""

    mean: int
    in_all: int
    load: int

    @property
    def halved(self) -> Limits:
        """Return the limits for scans beside one that reaches these."""
        return Limits(self.mean // 2, self.in_all // 2, self.load // 2)


NO_SEARCHES = "the access log has no search with a result, except those of one entry (scope base)"
"""The searches of one entry (scope base) need no index, and every server has some: what monitors it sends them."""


def unlisted_searches(
    traffic: Traffic, judged: Iterable[SearchGroup], remaining: RemainingSearches | None = None
) -> str:
    """Return what may hide a search that is worth an index; empty: nothing.

    No results at all among those that are `judged`, as far as the log shows the requests; searches without result;
    without a row in a full table; or `remaining` beside the costliest kinds.
    """
    searches, shapes = traffic.workload.searches, traffic.segment.shapes
    parts = [without_result(search for search in searches if not search.answered)]
    if not any(one.answered for one in judged):
        parts.insert(0, _why_none(searches))
    longest = shapes.omitted + (remaining.longest if remaining else 0)
    unindexed = remaining.unindexed.most if remaining else 0
    if (shapes.full or remaining) and max(longest, unindexed) >= LEAST_TIME * max(1.0, traffic.seconds / HOUR) / 2:
        how = "judged one by one" if remaining and remaining.kinds else "counted separately"
        bound = f"a filter that is not listed took at most {in_seconds(longest / SECOND)}"
        parts.append(f"the log has more different filters than are {how}; {bound}")
    return "; ".join(filter(None, parts))


def _why_none(searches: Iterable[SearchGroup]) -> str:
    """Return why a log has no search that could be judged."""
    answered = [search for search in searches if search.answered and search.scope != "base"]
    if not answered:
        return NO_SEARCHES
    count = counted(sum(one.answered for one in answered), "search")
    if all(one.unidentified for one in answered):
        return f"the requests of all {count} are not in the access log"
    return f"none of the {count} in the access log is below a known suffix, other than the server's own"


def worth_an_index(searches: Sequence[SearchCoverage], seconds: float) -> list[SearchCoverage]:
    """Mark the searches that are worth an index, of a log of so many seconds."""
    load = max(LEAST_ONCE, int(LEAST_LOAD * seconds * SECOND))
    limits = Limits(LEAST_MEAN, int(LEAST_TIME * max(1.0, seconds / HOUR)), load)
    marked = _marked(searches, limits)
    asks = any(search.worth_an_index and search.sufficient_sets for search in marked)
    return _marked(searches, limits.halved) if asks else marked


def _marked(searches: Sequence[SearchCoverage], limits: Limits) -> list[SearchCoverage]:
    saved: dict[frozenset[ProposedIndex], int] = defaultdict(int)
    unhelped: dict[str, int] = defaultdict(int)
    for search in searches:
        for indexes in search.sufficient_sets:
            saved[indexes] += search.saved(indexes)
        if search.is_scan and not search.sufficient_sets:
            unhelped[search.group.shape] += search.etime
    worth = [search.refused > 0 or _is_worth(search, saved, unhelped, limits) for search in searches]
    return [
        search if search.worth_an_index == is_worth else replace(search, worth_an_index=is_worth)
        for search, is_worth in zip(searches, worth, strict=True)
    ]


def _is_worth(
    search: SearchCoverage, saved: dict[frozenset[ProposedIndex], int], unhelped: dict[str, int], limits: Limits
) -> bool:
    """Return whether a search is slow, and it alone or all that one of its sets helps take enough time.

    Those that no index helps count by the time that all scans of their filter take, below any base.
    """
    slowest = search.group.slowest
    once = slowest is not None and slowest.etime >= LEAST_ONCE and search.count >= search.group.answered
    if search.is_scan and not search.etime and (examined_each(search.group) or 0) >= VISITED:
        return True
    busy = search.is_scan and search.etime >= limits.load
    if search.count == 0 or not (once or busy or search.mean >= limits.mean):
        return False
    alone = max(search.etime, unhelped[search.group.shape]) if search.is_scan else search.etime
    best = max((saved[indexes] for indexes in search.sufficient_sets), default=alone)
    return best >= limits.in_all


SEVERAL = 3
"""Fewer may have been in progress when the log ended."""
PART = 10
"""One in so many of a kind of search."""


def without_result(searches: Iterable[SearchGroup]) -> str:
    """Return how many searches lack a result where that is a tenth of their kind or more; empty: none."""
    lacking = [
        search
        for search in searches
        if search.scope != "base" and search.no_result >= max(SEVERAL, search.count / PART)
    ]
    if not lacking:
        return ""
    most = max(lacking, key=lambda one: (one.no_result, one.shape))
    below = f"{most.shape} below {most.base or 'the root'}"
    total = counted(sum(one.no_result for one in lacking), "search", "searches")
    which = f"most {below} ({most.no_result:,})" if len(lacking) > 1 else below
    return (
        f"{total} without result, {which}: abandoned, or their connection or the log ended first; "
        "how long they took is not in the log"
    )
