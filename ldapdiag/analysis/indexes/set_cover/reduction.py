"""Reduction: solve the parts of a problem that need no search. Each rule keeps at least one cheapest cover."""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from itertools import chain, combinations
from operator import and_
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.set_cover.problem import Alternatives, CoverProblem, WorkBudget, elements, without

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterator, Sequence

SMALL = 4
"""Elements: all submasks of a mask with no more are looked up; of a larger one, itself and its elements."""


def reduced(problem: CoverProblem, work: WorkBudget) -> tuple[int, tuple[Alternatives, ...]]:
    """Return the elements chosen without a search, and the remaining demands in ascending order."""
    chosen, demands = 0, set(problem.demands)
    before = None
    while demands != before and work.takes(len(demands)):
        before = demands
        demands = {minimal(demand, work) for demand in demands}
        forced = 0
        for demand in demands:
            forced |= reduce(and_, demand)
        chosen |= forced
        demands = without(demands, forced) or set()
        demands = _without_implied(demands, work)
        demands = _without_replaceable(demands, problem.costs, work)
    return chosen, tuple(sorted(demands))


def minimal(demand: Alternatives, work: WorkBudget) -> Alternatives:
    """Return the alternatives that contain no other one."""
    kept: list[int] = []
    single = 0
    for alternative in sorted(demand, key=int.bit_count):
        if alternative & single or (work.takes(len(kept)) and any(smaller & ~alternative == 0 for smaller in kept)):
            continue
        if alternative & (alternative - 1):
            kept.append(alternative)
        else:
            single |= alternative
    return tuple(sorted([*kept, *(1 << element for element in elements(single))]))


def _without_implied(demands: Collection[Alternatives], work: WorkBudget) -> set[Alternatives]:
    """Return the demands without those that are satisfied whenever another one is.

    One implies another if each of its alternatives contains one of the other's. Two demands cannot imply each other:
    they would have the same minimal alternatives.
    """
    ordered = sorted(demands)
    having: defaultdict[int, list[int]] = defaultdict(list)
    for position, demand in enumerate(ordered):
        for alternative in demand:
            having[alternative].append(position)
    implied: set[int] = set()
    for position, demand in enumerate(ordered):
        if position in implied:
            continue
        rarest = min(demand, key=lambda mask: (sum(len(having.get(part, ())) for part in submasks(mask)), mask))
        for other in chain.from_iterable(having.get(part, ()) for part in submasks(rarest)):
            if other == position or other in implied:
                continue
            if not work.takes(len(demand)):
                return _remaining(ordered, implied)
            if all(any(part & ~alternative == 0 for part in ordered[other]) for alternative in demand):
                implied.add(other)
    return _remaining(ordered, implied)


def _remaining(demands: Sequence[Alternatives], removed: Container[int]) -> set[Alternatives]:
    return {demand for position, demand in enumerate(demands) if position not in removed}


def submasks(alternative: int) -> Iterator[int]:
    """Yield the masks within a mask, itself included: all of a small one; of a large one, itself and its elements."""
    own = [1 << element for element in elements(alternative)]
    if len(own) > SMALL:
        yield from own
        yield alternative
        return
    for size in range(1, len(own) + 1):
        yield from map(sum, combinations(own, size))


def _without_replaceable(
    demands: Collection[Alternatives], costs: Sequence[int], work: WorkBudget
) -> set[Alternatives]:
    """Return the demands without the alternatives that need an element which a cheaper one can replace everywhere."""
    remaining = sorted(demands)
    using: defaultdict[int, list[int]] = defaultdict(list)
    for position, demand in enumerate(remaining):
        for element in {element for alternative in demand for element in elements(alternative)}:
            using[element].append(position)
    for element in sorted(using, key=lambda element: (-costs[element], -element)):
        users = [
            position
            for position in using[element]
            if any(alternative >> element & 1 for alternative in remaining[position])
        ]
        if not work.takes(sum(len(remaining[position]) for position in users)):
            break
        if users and _is_replaceable(element, [remaining[position] for position in users], costs, work):
            for position in users:
                remaining[position] = tuple(mask for mask in remaining[position] if not mask >> element & 1)
    return set(remaining)


def _is_replaceable(element: int, users: Collection[Alternatives], costs: Sequence[int], work: WorkBudget) -> bool:
    """Return whether one other element that costs no more can replace an element in every demand."""
    own = 1 << element
    fewest = min(users, key=lambda demand: (len(demand), demand))
    first = next(alternative for alternative in fewest if alternative & own)
    others = {other for alternative in fewest for other in elements(alternative & ~first)}
    for other in sorted(others, key=lambda other: (costs[other], other)):
        if (costs[other], other) > (costs[element], element):
            return False
        if all(_replaces(demand, own, 1 << other, work) for demand in users):
            return True
    return False


def _replaces(demand: Alternatives, own: int, other: int, work: WorkBudget) -> bool:
    """Return whether every alternative with one element has a counterpart with the other instead, or with less."""
    return all(
        work.takes(len(demand)) and any(mask & ~((alternative & ~own) | other) == 0 for mask in demand)
        for alternative in demand
        if alternative & own
    )
