"""Cover: the cheapest set of elements that satisfies every demand.

    Demand((frozenset("a"), frozenset("bc")), worth=5)    satisfied by a, or by b and c together

With alternatives of one element each this is the weighted set cover, which is NP-hard: small problems are solved
exactly; for large ones a lower bound shows how much cheaper a cover could be at most.
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
    components,
    cost_of,
    elements,
)
from ldapdiag.analysis.indexes.set_cover.reduction import reduced
from ldapdiag.analysis.indexes.set_cover.search import solved

REDUCTION_STEPS, SEARCH_STEPS = 400_000, 500_000
"""Steps rather than seconds, so that the answer does not depend on the machine: about half a second each."""


class Sortable(Hashable, Protocol):
    """An element: its order decides between elements that are otherwise equal."""

    def __lt__(self, other: Any, /) -> bool: ...  # noqa: ANN401  as the standard library's own protocol


T = TypeVar("T", bound=Sortable)


@dataclass(frozen=True, slots=True)
class Demand(Generic[T]):
    """A demand for all elements of one of several sets."""

    alternatives: tuple[frozenset[T], ...]
    """An empty set among them: the demand is satisfied already. None at all: nothing satisfies it."""
    worth: int
    """The saving when it is satisfied, in nanoseconds of etime. It orders the answer; every demand is satisfied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover(Generic[T]):
    """A set that satisfies every demand that can be satisfied, and of which no element can be left out."""

    chosen: tuple[T, ...]
    """The largest saving first, then by value."""
    saves: tuple[int, ...]
    """Per chosen element, the worth of the demands that are not satisfied without it. These are no addends: a demand
    for two elements counts for both, and one that either of two elements satisfies counts for neither."""
    cost: int
    exact: bool
    """No other set is cheaper."""
    lower_bound: int
    """No set is cheaper than this; equal to `cost` if that is exact."""
    unsatisfiable: tuple[int, ...]
    """Positions, in the given sequence, of the demands that no set satisfies."""


def cheapest(
    demands: Sequence[Demand[T]],
    costs: Mapping[T, int],
    *,
    reduction_steps: int = REDUCTION_STEPS,
    search_steps: int = SEARCH_STEPS,
) -> Cover[T]:
    """Return the cheapest cover. An element without a cost is not available; costs are above zero.

    The order of the demands and of the elements does not matter. The steps limit the work; what is unsolved when they
    are used up is solved greedily, and the cover is not marked as exact.
    """
    if any(cost <= 0 for cost in costs.values()):
        raise ValueError("a cost must be above zero: a free element needs no plan")
    available = [_available(demand, costs) for demand in demands]
    wanted = [alternatives for alternatives in available if alternatives and frozenset() not in alternatives]
    names = sorted(set[T]().union(*(alternative for alternatives in wanted for alternative in alternatives)))
    chosen, cost, lower_bound = set[T](), 0, 0
    budgets = WorkBudget(reduction_steps), WorkBudget(search_steps)
    for problem in _independent_problems(wanted, names, costs):
        mask, own_cost, own_bound = _solve(problem, *budgets)
        chosen.update(names[problem.names[element]] for element in elements(mask))
        cost, lower_bound = cost + own_cost, lower_bound + own_bound
    saves = _saves(demands, frozenset(chosen))
    order = sorted(sorted(saves), key=lambda element: -saves[element])
    return Cover(
        chosen=tuple(order),
        saves=tuple(saves[element] for element in order),
        cost=cost,
        exact=lower_bound == cost,
        lower_bound=lower_bound,
        unsatisfiable=tuple(position for position, alternatives in enumerate(available) if not alternatives),
    )


def _available(demand: Demand[T], costs: Mapping[T, int]) -> frozenset[frozenset[T]]:
    """Return the alternatives of which every element has a cost."""
    return frozenset(
        alternative for alternative in demand.alternatives if all(element in costs for element in alternative)
    )


def _independent_problems(
    wanted: Sequence[frozenset[frozenset[T]]], names: Sequence[T], costs: Mapping[T, int]
) -> list[CoverProblem]:
    """Return the problems that have no element in common, each with its elements numbered from 0."""
    number = {name: position for position, name in enumerate(names)}
    demands = [
        [[number[element] for element in alternative] for alternative in alternatives] for alternatives in set(wanted)
    ]
    problems = []
    for positions in components([{element for each in demand for element in each} for demand in demands]):
        own = sorted({element for position in positions for each in demands[position] for element in each})
        bit = {element: 1 << position for position, element in enumerate(own)}
        masks = {
            tuple(sorted(sum(bit[element] for element in each) for each in demands[position])) for position in positions
        }
        own_costs = tuple(costs[names[element]] for element in own)
        problems.append(CoverProblem(tuple(sorted(masks)), own_costs, tuple(own)))
    return sorted(problems, key=lambda problem: (len(problem.demands), problem.names))


def _solve(problem: CoverProblem, reduction: WorkBudget, search: WorkBudget) -> tuple[int, int, int]:
    """Return the chosen elements, their cost, and a lower bound for the cost of every cover."""
    chosen, remaining = reduced(problem, reduction)
    cost = lower_bound = cost_of(chosen, problem.costs)
    for demands in _separated(remaining):
        mask, bound = solved(demands, problem.costs, search)
        chosen |= mask
        cost += cost_of(mask, problem.costs)
        lower_bound += bound
    return chosen, cost, lower_bound


def _separated(demands: Sequence[Alternatives]) -> list[list[Alternatives]]:
    """Return the groups of demands that have no element in common after the reduction, the smallest first."""
    supports = [{element for alternative in demand for element in elements(alternative)} for demand in demands]
    groups = [sorted(demands[position] for position in positions) for positions in components(supports)]
    return sorted(groups, key=lambda group: (len(group), group))


def _saves(demands: Sequence[Demand[T]], chosen: frozenset[T]) -> dict[T, int]:
    """Return, per chosen element, the worth of the demands that are not satisfied without it."""
    saves: dict[T, int] = defaultdict(int, dict.fromkeys(chosen, 0))
    for demand in demands:
        satisfied = [alternative for alternative in demand.alternatives if alternative <= chosen]
        for element in frozenset.intersection(*satisfied) if satisfied else ():
            saves[element] += demand.worth
    return saves
