"""Cover: a set of elements of least price that satisfies every demand (weighted cover, of AND-OR demands).

    Demand((frozenset("a"), frozenset("bc")), worth=5)    a will do, and so will b with c

With demands of one element per alternative it is the weighted set cover, which nobody knows how to solve quickly:
small instances are solved exactly, and of large ones it is told how far from the least price the answer can be.

    reduction.py  what needs no search: forced elements, demands that others imply, elements that others replace
    greedy.py     a good set, quickly
    bound.py      what no set can be cheaper than
    search.py     branch and bound between the two, as long as the work allows
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ldapdiag.analysis.indexes.set_cover.problem import (
    Alternatives,
    CoverProblem,
    WorkBudget,
    cost_of,
    elements,
    pieces,
)
from ldapdiag.analysis.indexes.set_cover.reduction import reduced
from ldapdiag.analysis.indexes.set_cover.search import solved

REDUCING, SEARCHING = 400_000, 500_000
"""Steps, so that the answer never depends on the machine. Half a second each, or so."""


class Sortable(Hashable, Protocol):
    """What has an order of its own: elements are told in it where nothing else tells them apart."""

    def __lt__(self, other: Any, /) -> bool: ...  # noqa: ANN401  as the standard library's own protocol


T = TypeVar("T", bound=Sortable)


@dataclass(frozen=True, slots=True)
class Demand(Generic[T]):
    """Something that wants one of several sets, whole."""

    alternatives: tuple[frozenset[T], ...]
    """An empty set among them: it is satisfied already. None at all: nothing satisfies it."""
    worth: int
    """What is saved when it is satisfied: nanoseconds of etime. It orders the answer; every demand is satisfied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover(Generic[T]):
    """A set that satisfies every demand that can be satisfied; without any one of it, some demand is not."""

    chosen: tuple[T, ...]
    """What saves most first, then by value."""
    saves: tuple[int, ...]
    """Per element chosen: the worth of the demands that would not be satisfied without it. No parts of a sum: what
    needs two elements counts with both, and what either of two satisfies counts with neither."""
    cost: int
    exact: bool
    """No other set is cheaper."""
    lower_bound: int
    """No set is cheaper than this; equal to `cost` where that is exact."""
    unsatisfiable: tuple[int, ...]
    """Places, in the sequence given, of the demands that no set satisfies."""


def cheapest(
    demands: Sequence[Demand[T]],
    prices: Mapping[T, int],
    *,
    reducing: int = REDUCING,
    searching: int = SEARCHING,
) -> Cover[T]:
    """Return a set of least price. What has no price cannot be had; prices are above zero.

    The order of the demands and of the elements changes nothing. `reducing` and `searching` are the steps of work
    allowed; what is left when they are used up is greedy, and not told to be exact.
    """
    if any(price <= 0 for price in prices.values()):
        raise ValueError("a price is above zero: what is free needs no plan")
    possible = [_possible(demand, prices) for demand in demands]
    wanted = [one for one in possible if one and frozenset() not in one]
    names = sorted(set[T]().union(*(alternative for one in wanted for alternative in one)))
    chosen, cost, at_least = set[int](), 0, 0
    work = WorkBudget(reducing), WorkBudget(searching)
    for piece in _pieces(wanted, names, prices):
        some, paid, bound = _covered(piece, *work)
        chosen.update(piece.names[each] for each in elements(some))
        cost, at_least = cost + paid, at_least + bound
    saves = _saves(demands, frozenset(names[each] for each in chosen))
    order = sorted(sorted(saves), key=lambda each: -saves[each])
    return Cover(
        chosen=tuple(order),
        saves=tuple(saves[each] for each in order),
        cost=cost,
        exact=at_least == cost,
        lower_bound=at_least,
        unsatisfiable=tuple(place for place, one in enumerate(possible) if not one),
    )


def _possible(demand: Demand[T], prices: Mapping[T, int]) -> frozenset[frozenset[T]]:
    return frozenset(one for one in demand.alternatives if all(each in prices for each in one))


def _pieces(
    wanted: Sequence[frozenset[frozenset[T]]], names: Sequence[T], prices: Mapping[T, int]
) -> list[CoverProblem]:
    """Return the instances that have nothing to do with each other, each with its elements numbered from 0."""
    number = {name: place for place, name in enumerate(names)}
    demands = [[[number[each] for each in alternative] for alternative in one] for one in set(wanted)]
    instances = []
    for places in pieces([{each for one in demand for each in one} for demand in demands]):
        own = sorted({each for place in places for one in demands[place] for each in one})
        bit = {each: 1 << place for place, each in enumerate(own)}
        masks = {tuple(sorted(sum(bit[each] for each in one) for one in demands[place])) for place in places}
        instances.append(CoverProblem(tuple(sorted(masks)), tuple(prices[names[each]] for each in own), tuple(own)))
    return sorted(instances, key=lambda one: (len(one.demands), one.names))


def _covered(instance: CoverProblem, reducing: WorkBudget, searching: WorkBudget) -> tuple[int, int, int]:
    """Return what to choose, what it costs, and what no choice is cheaper than."""
    chosen, rest = reduced(instance, reducing)
    cost = at_least = cost_of(chosen, instance.prices)
    for piece in _parted(rest):
        some, bound = solved(piece, instance.prices, searching)
        chosen |= some
        cost += cost_of(some, instance.prices)
        at_least += bound
    return chosen, cost, at_least


def _parted(demands: Sequence[Alternatives]) -> list[list[Alternatives]]:
    """Return the parts that reduction has left without a common element, the smallest first."""
    supports = [{each for one in demand for each in elements(one)} for demand in demands]
    parts = [sorted(demands[place] for place in places) for places in pieces(supports)]
    return sorted(parts, key=lambda part: (len(part), part))


def _saves(demands: Sequence[Demand[T]], chosen: frozenset[T]) -> dict[T, int]:
    """Return, per element chosen, the worth of the demands that would not be satisfied without it."""
    saves: dict[T, int] = defaultdict(int, dict.fromkeys(chosen, 0))
    for demand in demands:
        met = [one for one in demand.alternatives if one <= chosen]
        for each in frozenset.intersection(*met) if met else ():
            saves[each] += demand.worth
    return saves
