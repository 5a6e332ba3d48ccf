"""Greedy: a good cover, found quickly, of which no element can be left out."""

from __future__ import annotations

from collections import defaultdict
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.set_cover.problem import Alternatives, WorkBudget, cost_of, elements
from ldapdiag.analysis.indexes.set_cover.reduction import submasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def greedy(demands: Sequence[Alternatives], costs: Sequence[int]) -> int:
    """Return a cover built from the alternatives that satisfy most demands for their cost."""
    ranking = Ranking(demands, costs)
    while ranking.open:
        ranking.choose(ranking.best())
    return ranking.chosen


class Ranking:
    """The alternatives by how many demands they satisfy for their cost, while elements are chosen.

    A heap of (-demands per cost, alternative). A rank in the heap may be too good, so the first one is computed again
    before use. It is never too bad: an alternative that becomes cheaper, because one of its elements is chosen, is
    pushed again.
    """

    def __init__(self, demands: Sequence[Alternatives], costs: Sequence[int]) -> None:
        self.costs = costs
        self.chosen, self.open = 0, (1 << len(demands)) - 1
        self.satisfied = _satisfied_by(demands)
        self.unpaid = {alternative: cost_of(alternative, costs) for alternative in self.satisfied}
        """By alternative: the cost of its elements that are not chosen yet."""
        self.containing: defaultdict[int, list[int]] = defaultdict(list)
        """By element: the alternatives that contain it."""
        for alternative in self.satisfied:
            for element in elements(alternative):
                self.containing[element].append(alternative)
        self.heap = [(self._rank(alternative), alternative) for alternative in self.satisfied]
        heapify(self.heap)

    def best(self) -> int:
        """Return the alternative that satisfies most open demands for its unpaid cost."""
        while True:
            _, alternative = heappop(self.heap)
            if not self.unpaid[alternative] or not self.satisfied[alternative] & self.open:
                continue
            current = (self._rank(alternative), alternative)
            if not self.heap or current <= self.heap[0]:
                return alternative
            heappush(self.heap, current)

    def choose(self, alternative: int) -> None:
        """Choose the elements of an alternative."""
        cheaper: dict[int, None] = {}
        for element in elements(alternative & ~self.chosen):
            for other in self.containing[element]:
                self.unpaid[other] -= self.costs[element]
            cheaper |= dict.fromkeys(self.containing[element])
        self.chosen |= alternative
        for other in cheaper:
            if not self.unpaid[other]:
                self.open &= ~self.satisfied[other]
        for other in cheaper:
            if self.unpaid[other] and self.satisfied[other] & self.open:
                heappush(self.heap, (self._rank(other), other))

    def _rank(self, alternative: int) -> float:
        return -(self.satisfied[alternative] & self.open).bit_count() / self.unpaid[alternative]


def _satisfied_by(demands: Sequence[Alternatives]) -> dict[int, int]:
    """Return which demands (a mask of positions) each alternative satisfies, also by smaller ones that it contains."""
    own: defaultdict[int, int] = defaultdict(int)
    for position, demand in enumerate(demands):
        for alternative in demand:
            own[alternative] |= 1 << position
    satisfied = {}
    for alternative in own:
        satisfied[alternative] = 0
        for part in submasks(alternative):
            satisfied[alternative] |= own.get(part, 0)
    return satisfied


class ChosenSet:
    """A set of elements, and how many alternatives of each demand it contains."""

    def __init__(self, demands: Sequence[Alternatives], chosen: int) -> None:
        self.demands = demands
        self.chosen = chosen
        self.contained = [sum(alternative & ~chosen == 0 for alternative in demand) for demand in demands]
        self.using: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        """By element: (position of the demand, alternative) that need it."""
        for position, demand in enumerate(demands):
            for alternative in demand:
                for element in elements(alternative):
                    self.using[element].append((position, alternative))

    def drop(self, element: int) -> list[int]:
        """Remove an element, and return the positions of the demands that are no longer satisfied."""
        broken = []
        for position, alternative in self.using[element]:
            if alternative & ~self.chosen == 0:
                self.contained[position] -= 1
                if not self.contained[position]:
                    broken.append(position)
        self.chosen &= ~(1 << element)
        return broken

    def add(self, element: int) -> None:
        """Add an element."""
        self.chosen |= 1 << element
        for position, alternative in self.using[element]:
            if alternative & ~self.chosen == 0:
                self.contained[position] += 1

    def drop_redundant(self, costs: Sequence[int], among: int) -> int:
        """Remove the elements that can be left out, the most expensive first, and return them."""
        dropped = 0
        for element in _most_expensive_first(among & self.chosen, costs):
            if self.drop(element):
                self.add(element)
            else:
                dropped |= 1 << element
        return dropped


def _most_expensive_first(mask: int, costs: Sequence[int]) -> list[int]:
    return sorted(elements(mask), key=lambda element: (-costs[element], -element))


def improved(demands: Sequence[Alternatives], costs: Sequence[int], chosen: int, work: WorkBudget) -> int:
    """Return a cover that costs no more, with no redundant element and none that cheaper ones could replace."""
    cover = ChosenSet(demands, chosen)
    cover.drop_redundant(costs, chosen)
    better = True
    while better:
        better = False
        for element in _most_expensive_first(cover.chosen, costs):
            if cover.chosen >> element & 1 and work.takes(len(cover.using[element])):
                better |= _replace(cover, costs, element, work)
    return cover.chosen


def _replace(cover: ChosenSet, costs: Sequence[int], element: int, work: WorkBudget) -> bool:
    """Replace one element if the elements needed instead cost less, and return whether it was replaced."""
    before = cover.chosen
    if added := _added_instead_of(cover, costs, element):
        near = {
            other
            for new in elements(added)
            for position, _ in cover.using[new]
            for other in _all_elements(cover.demands[position])
        }
        work.takes(len(near))
        dropped = cover.drop_redundant(costs, sum(1 << other for other in near)) & ~added
        if cost_of(cover.chosen & ~before, costs) < cost_of(dropped, costs) + costs[element]:
            return True
    for other in elements(cover.chosen & ~before):
        cover.drop(other)
    for other in elements(before & ~cover.chosen):
        cover.add(other)
    return False


def _added_instead_of(cover: ChosenSet, costs: Sequence[int], element: int) -> int:
    """Drop an element, add the cheapest elements that its demands need instead, and return them; 0: not possible."""
    added, budget = 0, 2 * costs[element]
    for position in cover.drop(element):
        if cover.contained[position]:
            continue  # satisfied by an element added for another demand
        others = (alternative for alternative in cover.demands[position] if not alternative >> element & 1)
        missing = _cheapest((alternative & ~cover.chosen for alternative in others), costs)
        budget -= cost_of(missing, costs)
        if not missing or budget <= 0:
            return 0
        for other in elements(missing):
            cover.add(other)
        added |= missing
    return added


def _cheapest(masks: Iterable[int], costs: Sequence[int]) -> int:
    return min(masks, key=lambda mask: (cost_of(mask, costs), mask), default=0)


def _all_elements(demand: Alternatives) -> Iterable[int]:
    return (element for alternative in demand for element in elements(alternative))
