"""Sort: the order of the searches in a log's report, and of their clients and accounts.

By: the grouping of the main table in a log's report.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ldapdiag.analysis.log.searches import SearchGroup
    from ldapdiag.analysis.log.workload import SearchTotals


class Sort(StrEnum):
    """The number by which searches are sorted, the largest first."""

    TIME = "time"
    P99 = "p99"
    COUNT = "count"
    WORST = "worst"


OF_TOTALS = frozenset({Sort.TIME, Sort.COUNT})
"""What is counted of a client or an account, too."""

KEYS: dict[Sort, Callable[[SearchGroup], int]] = {
    Sort.TIME: lambda search: search.etime,
    Sort.P99: lambda search: search.etimes.p99,
    Sort.COUNT: lambda search: search.count,
    Sort.WORST: lambda search: search.slowest.etime if search.slowest else -1,
}


def in_order(searches: Iterable[SearchGroup], sort: Sort) -> list[SearchGroup]:
    """Return searches in an order; equal ones stay in the order of their time."""
    return sorted(searches, key=KEYS[sort], reverse=True)


def totals_in_order(totals: Sequence[SearchTotals], sort: Sort) -> Sequence[SearchTotals]:
    """Return clients or accounts, which come by their time, in another order if there is one of them."""
    return sorted(totals, key=lambda one: one.count, reverse=True) if sort is Sort.COUNT else totals


class By(StrEnum):
    """The key that groups searches."""

    SHAPE = "shape"
    CLIENT = "client"
    ACCOUNT = "account"
    SERVER = "server"
    """Servers side by side."""
