"""Quantiles: the durations that 50, 95 and 99 % of the results do not exceed, within 4 %; also by kind of operation."""

from __future__ import annotations

from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.durations import edges, quantile
from ldapdiag.evidence.log.operation_kinds import NAMES, SEARCH
from ldapdiag.evidence.log.operation_row import OperationRow
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ldapdiag.evidence.log.segment import Segment


@dataclass(frozen=True)
class Quantiles:
    """A histogram of durations, and its quantiles when they are first asked for; in nanoseconds."""

    durations: Mapping[int, int]
    """The number in each bucket (Durations); not to be changed."""
    longest: int
    """No duration exceeds it."""
    total: int | None = None
    """Their sum, where it is known."""

    @cached_property
    def count(self) -> int:
        """The number of durations."""
        return sum(self.durations.values())

    @cached_property
    def p50(self) -> int:
        """What half of the durations do not exceed."""
        return quantile(self.durations, 50, self.longest, self.total)

    @cached_property
    def p95(self) -> int:
        """What 95 % do not exceed."""
        return quantile(self.durations, 95, self.longest, self.total)

    @cached_property
    def p99(self) -> int:
        """What 99 % do not exceed."""
        return quantile(self.durations, 99, self.longest, self.total)

    @cached_property
    def spread(self) -> int:
        """Their standard deviation, each duration in the middle of its bucket."""
        return spread(self.durations)


NO_TIMES = Quantiles({}, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindTimes:
    """The times of all operations of one kind, in nanoseconds."""

    kind: str
    answered: int
    etime: int
    worst: int
    etimes: Quantiles
    waits: Quantiles | None
    """Of the waits for a worker thread; None if the log has none. Likewise the times without them."""
    optimes: Quantiles | None


def quantiles(durations: Mapping[int, int], longest: int, total: int | None = None) -> Quantiles | None:
    """Return the quantiles of a histogram (Durations) that is not changed any more; None if it is empty."""
    return Quantiles(durations, longest, total) if any(durations.values()) else None


def spread(durations: Mapping[int, int]) -> int:
    """Return the standard deviation of a histogram, each duration in the middle of its bucket; 0 if it is empty."""
    count = sum(durations.values()) or 1
    middles = [(sum(edges(bucket)) / 2, times) for bucket, times in durations.items()]
    mean = sum(middle * times for middle, times in middles) / count
    return round(sqrt(sum((middle - mean) ** 2 * times for middle, times in middles) / count))


def kind_times(segment: Segment) -> tuple[KindTimes, ...]:
    """Return the times of each kind of operation that has a result, the most expensive first."""
    sums: dict[int, OperationRow] = {}
    rows: list[tuple[int, OperationRow]] = [(SEARCH, row) for row in segment.shapes.values()]
    rows.extend((kind, row) for (kind, _), row in segment.targets.items())
    for kind, row in rows:
        sums.setdefault(kind, OperationRow((kind, b""))).merge(row)
    times = (
        KindTimes(
            kind=NAMES[kind],
            answered=row.answered,
            etime=row.etime,
            worst=row.worst[0],
            etimes=quantiles(row.etimes, row.worst[0], row.etime) or NO_TIMES,
            waits=quantiles(row.waits, segment.longest_wait[0], row.wait),
            optimes=quantiles(row.optimes, row.worst[0]),
        )
        for kind, row in sums.items()
        if row.answered
    )
    return tuple(sorted(times, key=lambda each: (-each.etime, each.kind)))
