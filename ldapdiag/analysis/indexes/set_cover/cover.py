"""Cover: the cheapest set of elements that satisfies every demand.

    Demand((frozenset("a"), frozenset("bc")), worth=5)    satisfied by a, or by b and c together

With alternatives of one element each this is the weighted set cover, which is NP-hard: small problems are solved
exactly; for large ones a lower bound shows how much cheaper a cover could be at most.

Search: branch and bound, until the cheapest cover is found or the budget of work is used up.

Bound: a lower bound for the cost of every cover, by sharing out the costs among the demands (a dual solution).

Greedy: a good cover, found quickly, of which no element can be left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ldapdiag.analysis.indexes.set_cover.problem import (
    Alternatives,
    CoverProblem,
    WorkBudget,
    components,
    cost_of,
    elements,
    without,
)
from ldapdiag.analysis.indexes.set_cover.reduction import reduced, submasks
from ldapdiag.lazy_dataclass import NamedTuple, dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

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


class Branch(NamedTuple):
    """The covers that contain the chosen elements and none of the banned ones."""

    bound: int
    """No cover of this branch is cheaper."""
    chosen: int
    banned: int
    demands: Collection[Alternatives]
    """The demands that are not satisfied yet."""


def solved(demands: Sequence[Alternatives], costs: Sequence[int], work: WorkBudget) -> tuple[int, int]:
    """Return a cover, and a lower bound for the cost of every cover: its own cost, if the search was complete.

    Depth first, the most promising branch first: each alternative of one demand is tried in turn, and an alternative of
    one element is banned in the branches after its own. A branch that cannot be cheaper than the best known cover is
    dropped. If the work is used up, the remaining branches are bounded by the least of their bounds.
    """
    best = improved(demands, costs, greedy(demands, costs), WorkBudget(max(work.left // 4, 1)))
    cost = cost_of(best, costs)
    open_ = [Branch(least_cost(demands, costs), 0, 0, demands)]
    while open_:
        branch = open_.pop()
        if branch.bound >= cost:
            continue
        if not branch.demands:
            best, cost = branch.chosen, branch.bound
            continue
        if not work.takes(0):
            open_.append(branch)
            break
        open_ += sorted(_branches(branch, costs, cost, work), reverse=True)
    return best, min([cost, *(branch.bound for branch in open_)])


def _branches(parent: Branch, costs: Sequence[int], cost: int, work: WorkBudget) -> list[Branch]:
    """Return the branches of a branch: one per alternative of the demand with the fewest."""
    branches = []
    banned = parent.banned
    demand = min(parent.demands, key=lambda demand: (len(demand), demand))
    for alternative in sorted(demand, key=lambda mask: (cost_of(mask, costs), mask)):
        branch = _branch(parent, alternative, banned, costs, work)
        if branch is not None and branch.bound < cost:
            branches.append(branch)
        if not alternative & (alternative - 1):
            banned |= alternative
    return branches


def _branch(parent: Branch, added: int, banned: int, costs: Sequence[int], work: WorkBudget) -> Branch | None:
    """Return the branch with an alternative and all that it forces chosen; None: no cover is in it."""
    chosen, demands = parent.chosen, parent.demands
    while added:
        work.takes(sum(map(len, demands)))
        remaining = without(demands, added, banned)
        if remaining is None:
            return None
        chosen |= added
        demands = remaining
        added = 0
        for demand in demands:
            if len(demand) == 1:
                added |= demand[0]
    bound = cost_of(chosen, costs) + least_cost(demands, costs)
    return Branch(max(parent.bound, bound), chosen, banned, demands)


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
