"""Unhelped: scans that no index ends, by what stands in their way and the filter; one subject each."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.log.searches import Requester
from ldapdiag.evidence.log.stamps import SECOND

if TYPE_CHECKING:
    from collections.abc import Collection

    from ldapdiag.analysis.indexes.coverage import IndexCoverage
    from ldapdiag.analysis.indexes.obstacles import Obstacle
    from ldapdiag.analysis.indexes.search_coverage import SearchCoverage
    from ldapdiag.servers.candidates import Cause

MOST = 10
"""Clients and accounts of each that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnhelpedScans:
    """The searches of one filter without values that one thing stands in the way of."""

    host: str
    obstacle: Obstacle
    searches: tuple[SearchCoverage, ...]
    """By base and scope; the costliest first."""
    total: int
    """Nanoseconds of all searches of the log."""

    @property
    def shape(self) -> str:
        """The filter without values."""
        return self.searches[0].group.shape

    @property
    def attribute(self) -> str:
        """The attribute in the way, as the filter's first spelling has it."""
        return self.obstacle.attribute

    @property
    def count(self) -> int:
        """How many searches."""
        return sum(row.count for row in self.searches)

    @property
    def seconds(self) -> float:
        """How long they took."""
        return sum(row.etime for row in self.searches) / SECOND

    @property
    def share(self) -> float:
        """Of the time of all searches."""
        return sum(row.etime for row in self.searches) / self.total if self.total else 0.0

    @property
    def worth_an_index(self) -> bool:
        """Tell whether they take time enough to do something about them, or fail."""
        return any(row.worth_an_index for row in self.searches)

    @property
    def refused(self) -> int:
        """How many failed."""
        return sum(row.refused for row in self.searches)

    @property
    def requesters(self) -> tuple[Requester, ...]:
        """Who asks, the costliest first."""
        return self.searches[0].group.requesters

    @property
    def summary(self) -> str:
        """What they cost, and who asks; a sentence a line."""
        many = f"{self.count} searches" if self.count != 1 else "1 search"
        share = "less than 1 %" if self.share < 0.01 else f"{self.share:.0%}"
        who = ", ".join(f"{asker.account} from {asker.client}" for asker in self.requesters[:3])
        failed = f"\n{self.refused} of them failed for want of an index." if self.refused else ""
        cost = f"{many}, {self.seconds:.3g} s in all ({share} of the search time)."
        return f"{cost}\nAsked by {who or 'nobody known'}.{failed}"

    @property
    def subject(self) -> str:
        """What a verdict on them is about."""
        return f"{self.shape} at {self.host}"

    @property
    def observed(self) -> dict[str, Any]:
        """The numbers, by the keys of the contract."""
        return {
            "server": self.host,
            "attribute": self.attribute,
            "shape": self.shape,
            "part": self.obstacle.text,
            "bases": sorted({row.group.base for row in self.searches})[:MOST],
            "searches": self.count,
            "refused": self.refused,
            "etime_seconds": round(self.seconds, 9),
            "share": round(self.share, 6),
            "reason": self.obstacle.reason,
            "clients": list(dict.fromkeys(asker.client for asker in self.requesters))[:MOST],
            "accounts": list(dict.fromkeys(asker.account for asker in self.requesters))[:MOST],
        }


def find_unhelped_scans(coverage: IndexCoverage, causes: Collection[Cause]) -> tuple[UnhelpedScans, ...]:
    """Return the scans that one of these causes stands in the way of, the costliest first."""
    groups: dict[str, list[SearchCoverage]] = defaultdict(list)
    hindrances: dict[str, Obstacle] = {}
    for row in coverage.scans:
        if row.obstacle is not None and row.obstacle.cause in causes:
            groups[row.group.shape].append(row)
            hindrances.setdefault(row.group.shape, row.obstacle)
    told = (
        UnhelpedScans(host=coverage.host, obstacle=hindrances[shape], searches=tuple(rows), total=coverage.etime)
        for shape, rows in groups.items()
    )
    return tuple(sorted(told, key=lambda one: (-one.seconds, one.shape)))
