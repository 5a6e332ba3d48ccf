"""Reduction: what of an instance needs no search. Each rule leaves at least one set of least price."""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from itertools import chain, combinations
from operator import and_
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.set_cover.problem import Alternatives, CoverProblem, WorkBudget, elements, without

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterator, Sequence

FEW = 4
"""Elements: of alternatives with no more, all parts are looked up; of others, themselves and their elements."""


def reduced(instance: CoverProblem, work: WorkBudget) -> tuple[int, tuple[Alternatives, ...]]:
    """Return the elements that are chosen without a search, and the demands that are left, in their order."""
    chosen, demands = 0, set(instance.demands)
    before = None
    while demands != before and work.takes(len(demands)):
        before = demands
        demands = {minimal(demand, work) for demand in demands}
        forced = 0
        for demand in demands:
            forced |= reduce(and_, demand)
        chosen |= forced
        demands = without(demands, forced) or set()
        demands = _unimplied(demands, work)
        demands = _unreplaced(demands, instance.prices, work)
    return chosen, tuple(sorted(demands))


def minimal(demand: Alternatives, work: WorkBudget) -> Alternatives:
    """Return the alternatives that contain no other: whoever has the greater has the lesser."""
    kept: list[int] = []
    single = 0
    for one in sorted(demand, key=int.bit_count):
        if one & single or (work.takes(len(kept)) and any(other & ~one == 0 for other in kept)):
            continue
        if one & (one - 1):
            kept.append(one)
        else:
            single |= one
    return tuple(sorted([*kept, *(1 << each for each in elements(single))]))


def _unimplied(demands: Collection[Alternatives], work: WorkBudget) -> set[Alternatives]:
    """Return the demands without those that are satisfied whenever another one is.

    One implies another when each of its alternatives contains one of the other's. Two cannot imply each other: they
    would have the same minimal alternatives.
    """
    ordered = sorted(demands)
    having: defaultdict[int, list[int]] = defaultdict(list)
    for place, demand in enumerate(ordered):
        for one in demand:
            having[one].append(place)
    implied: set[int] = set()
    for place, demand in enumerate(ordered):
        if place in implied:
            continue
        rarest = min(demand, key=lambda one: (sum(len(having.get(part, ())) for part in parts(one)), one))
        for other in chain.from_iterable(having.get(part, ()) for part in parts(rarest)):
            if other == place or other in implied:
                continue
            if not work.takes(len(demand)):
                return _left(ordered, implied)
            if all(any(part & ~one == 0 for part in ordered[other]) for one in demand):
                implied.add(other)
    return _left(ordered, implied)


def _left(demands: Sequence[Alternatives], gone: Container[int]) -> set[Alternatives]:
    return {demand for place, demand in enumerate(demands) if place not in gone}


def parts(alternative: int) -> Iterator[int]:
    """Yield the masks contained in a mask, itself among them: all of a small one, some of a large one."""
    own = [1 << each for each in elements(alternative)]
    if len(own) > FEW:
        yield from own
        yield alternative
        return
    for size in range(1, len(own) + 1):
        yield from map(sum, combinations(own, size))


def _unreplaced(demands: Collection[Alternatives], prices: Sequence[int], work: WorkBudget) -> set[Alternatives]:
    """Return the demands without the alternatives that need an element in whose place a cheaper one does as well."""
    left = sorted(demands)
    using: defaultdict[int, list[int]] = defaultdict(list)
    for place, demand in enumerate(left):
        for each in {each for one in demand for each in elements(one)}:
            using[each].append(place)
    for each in sorted(using, key=lambda each: (-prices[each], -each)):
        users = [place for place in using[each] if any(one >> each & 1 for one in left[place])]
        if not work.takes(sum(len(left[place]) for place in users)):
            break
        if users and _is_replaced(each, [left[place] for place in users], prices, work):
            for place in users:
                left[place] = tuple(one for one in left[place] if not one >> each & 1)
    return set(left)


def _is_replaced(each: int, users: Collection[Alternatives], prices: Sequence[int], work: WorkBudget) -> bool:
    """Tell whether another element, no dearer, can stand in for one wherever that is wanted."""
    own = 1 << each
    fewest = min(users, key=lambda demand: (len(demand), demand))
    first = next(one for one in fewest if one & own)
    others = {other for one in fewest for other in elements(one & ~first)}
    for other in sorted(others, key=lambda other: (prices[other], other)):
        if (prices[other], other) > (prices[each], each):
            return False
        if all(_stands_in(demand, own, 1 << other, work) for demand in users):
            return True
    return False


def _stands_in(demand: Alternatives, own: int, other: int, work: WorkBudget) -> bool:
    """Tell whether every alternative with one element has another in which a second takes its place, or less."""
    return all(
        work.takes(len(demand)) and any(less & ~((one & ~own) | other) == 0 for less in demand)
        for one in demand
        if one & own
    )
