"""Greedy: a set that satisfies all demands, none of whose elements can be left out; good, and found quickly."""

from __future__ import annotations

from collections import defaultdict
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.set_cover.problem import Alternatives, WorkBudget, cost_of, elements
from ldapdiag.analysis.indexes.set_cover.reduction import parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def greedy(demands: Sequence[Alternatives], prices: Sequence[int]) -> int:
    """Return a set that is put together by what satisfies most demands for its price."""
    ranking = Ranking(demands, prices)
    while ranking.open:
        ranking.choose(ranking.best())
    return ranking.chosen


class Ranking:
    """The alternatives by how many demands they satisfy for their price, while elements are chosen.

    A heap of (-demands per price, alternative). What it says may be too good, so whoever comes first is looked at
    again; it is never too bad, for what becomes cheaper, because an element of it is chosen, is put in anew.
    """

    def __init__(self, demands: Sequence[Alternatives], prices: Sequence[int]) -> None:
        self.prices = prices
        self.chosen, self.open = 0, (1 << len(demands)) - 1
        self.satisfied = _satisfied_by(demands)
        self.costs = {one: cost_of(one, prices) for one in self.satisfied}
        self.sharing: defaultdict[int, list[int]] = defaultdict(list)
        for one in self.satisfied:
            for each in elements(one):
                self.sharing[each].append(one)
        self.heap = [(self._rank(one), one) for one in self.satisfied]
        heapify(self.heap)

    def best(self) -> int:
        """Return the alternative that satisfies most for what is still to be paid for it."""
        while True:
            _, one = heappop(self.heap)
            if not self.costs[one] or not self.satisfied[one] & self.open:
                continue
            now = (self._rank(one), one)
            if not self.heap or now <= self.heap[0]:
                return one
            heappush(self.heap, now)

    def choose(self, one: int) -> None:
        """Choose the elements of an alternative."""
        cheaper: dict[int, None] = {}
        for each in elements(one & ~self.chosen):
            for other in self.sharing[each]:
                self.costs[other] -= self.prices[each]
            cheaper |= dict.fromkeys(self.sharing[each])
        self.chosen |= one
        for other in cheaper:
            if not self.costs[other]:
                self.open &= ~self.satisfied[other]
        for other in cheaper:
            if self.costs[other] and self.satisfied[other] & self.open:
                heappush(self.heap, (self._rank(other), other))

    def _rank(self, one: int) -> float:
        return -(self.satisfied[one] & self.open).bit_count() / self.costs[one]


def _satisfied_by(demands: Sequence[Alternatives]) -> dict[int, int]:
    """Return which demands (a mask of their places) each alternative satisfies, by the smaller ones within it, too."""
    own: defaultdict[int, int] = defaultdict(int)
    for place, demand in enumerate(demands):
        for one in demand:
            own[one] |= 1 << place
    satisfied = {}
    for one in own:
        satisfied[one] = 0
        for part in parts(one):
            satisfied[one] |= own.get(part, 0)
    return satisfied


class ChosenSet:
    """A chosen set, and by how many of its alternatives each demand holds."""

    def __init__(self, demands: Sequence[Alternatives], chosen: int) -> None:
        self.demands = demands
        self.chosen = chosen
        self.holds = [sum(one & ~chosen == 0 for one in demand) for demand in demands]
        self.using: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        """By element: (place of the demand, alternative) that need it."""
        for place, demand in enumerate(demands):
            for one in demand:
                for each in elements(one):
                    self.using[each].append((place, one))

    def drop(self, each: int) -> list[int]:
        """Let go of an element, and return the places of the demands that no longer hold."""
        broken = []
        for place, one in self.using[each]:
            if one & ~self.chosen == 0:
                self.holds[place] -= 1
                if not self.holds[place]:
                    broken.append(place)
        self.chosen &= ~(1 << each)
        return broken

    def add(self, each: int) -> None:
        """Choose an element."""
        self.chosen |= 1 << each
        for place, one in self.using[each]:
            if one & ~self.chosen == 0:
                self.holds[place] += 1

    def drop_redundant(self, prices: Sequence[int], among: int) -> int:
        """Let go of what can be left out, the dearest first, and return it."""
        dropped = 0
        for each in sorted(elements(among & self.chosen), key=lambda each: (-prices[each], -each)):
            if self.drop(each):
                self.add(each)
            else:
                dropped |= 1 << each
        return dropped


def improved(demands: Sequence[Alternatives], prices: Sequence[int], chosen: int, work: WorkBudget) -> int:
    """Return a set no dearer, in which nothing can be left out and no element is worth replacing by cheaper ones."""
    held = ChosenSet(demands, chosen)
    held.drop_redundant(prices, chosen)
    better = True
    while better:
        better = False
        for each in sorted(elements(held.chosen), key=lambda each: (-prices[each], -each)):
            if held.chosen >> each & 1 and work.takes(len(held.using[each])):
                better |= _replace(held, prices, each, work)
    return held.chosen


def _replace(held: ChosenSet, prices: Sequence[int], each: int, work: WorkBudget) -> bool:
    """Do without one element, if what is needed in its place costs less; tell whether it did."""
    before = held.chosen
    if added := _in_place_of(held, prices, each):
        near = {other for one in elements(added) for place, _ in held.using[one] for other in _all(held.demands[place])}
        work.takes(len(near))
        dropped = held.drop_redundant(prices, sum(1 << other for other in near)) & ~added
        if cost_of(held.chosen & ~before, prices) < cost_of(dropped, prices) + prices[each]:
            return True
    for other in elements(held.chosen & ~before):
        held.drop(other)
    for other in elements(before & ~held.chosen):
        held.add(other)
    return False


def _in_place_of(held: ChosenSet, prices: Sequence[int], each: int) -> int:
    """Drop an element, add what the demands that it leaves want instead, and return that; 0 when nothing will do."""
    added, budget = 0, 2 * prices[each]
    for place in held.drop(each):
        if held.holds[place]:
            continue  # by what was added for another one
        missing = _cheapest((one & ~held.chosen for one in held.demands[place] if not one >> each & 1), prices)
        budget -= cost_of(missing, prices)
        if not missing or budget <= 0:
            return 0
        for other in elements(missing):
            held.add(other)
        added |= missing
    return added


def _cheapest(missing: Iterable[int], prices: Sequence[int]) -> int:
    return min(missing, key=lambda one: (cost_of(one, prices), one), default=0)


def _all(demand: Alternatives) -> Iterable[int]:
    return (each for one in demand for each in elements(one))
