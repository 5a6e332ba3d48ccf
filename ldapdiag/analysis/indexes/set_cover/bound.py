"""Bound: a lower bound for the cost of every cover, by sharing out the costs among the demands (a dual solution)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.set_cover.problem import Alternatives, elements

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def least_cost(demands: Iterable[Alternatives], costs: Sequence[int]) -> int:
    """Return a lower bound for the cost of every set that satisfies the demands.

    Each demand claims an amount y, which the elements of each of its alternatives pay together; no element pays more
    than its cost in all. A cover contains an alternative of each demand, which pays its y: so its elements pay at least
    the sum of all y, and at most their cost.
    """
    remaining = list(costs)
    total = 0
    for demand in sorted(demands, key=len):
        share = min(sum([remaining[element] for element in elements(alternative)]) for alternative in demand)
        if share:
            total += share
            _pay(share, demand, remaining)
    return total


def _pay(share: int, demand: Alternatives, remaining: list[int]) -> None:
    """Deduct a share from each alternative. Elements of many alternatives pay first: they pay for all of them."""
    large = []
    for alternative in demand:
        if alternative & (alternative - 1):
            large.append(alternative)
        else:
            remaining[alternative.bit_length() - 1] -= share
    if not large:
        return
    paid: Counter[int] = Counter()
    common = Counter(element for alternative in large for element in elements(alternative))
    for alternative in large:
        owed = share - sum(paid[element] for element in elements(alternative))
        for element in sorted(elements(alternative), key=lambda element: -common[element]):
            if owed <= 0:
                break
            part = min(owed, remaining[element])
            paid[element] += part
            remaining[element] -= part
            owed -= part
