"""Bound: what no set that satisfies all demands can be cheaper than, by splitting the prices among the demands."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.set_cover.problem import Alternatives, elements

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def least_cost(demands: Iterable[Alternatives], prices: Sequence[int]) -> int:
    """Return a lower bound of the cost of every set that satisfies the demands.

    Each demand takes from the prices what makes each of its alternatives pay it an amount y at least, and no element
    pays more than its price in all. A set that satisfies the demands contains an alternative of each, which pays its y;
    so the set pays the sum of all y at least, and no more than its elements cost.
    """
    residual = list(prices)
    total = 0
    for demand in sorted(demands, key=len):
        share = min(sum([residual[each] for each in elements(one)]) for one in demand)
        if share:
            total += share
            _take(share, demand, residual)
    return total


def _take(share: int, demand: Alternatives, residual: list[int]) -> None:
    """Make each alternative pay its share. What is in many of them pays first: it pays for all of them at once."""
    large = []
    for one in demand:
        if one & (one - 1):
            large.append(one)
        else:
            residual[one.bit_length() - 1] -= share
    if not large:
        return
    paid: Counter[int] = Counter()
    common = Counter(each for one in large for each in elements(one))
    for one in large:
        owed = share - sum(paid[each] for each in elements(one))
        for each in sorted(elements(one), key=lambda each: -common[each]):
            if owed <= 0:
                break
            part = min(owed, residual[each])
            paid[each] += part
            residual[each] -= part
            owed -= part
