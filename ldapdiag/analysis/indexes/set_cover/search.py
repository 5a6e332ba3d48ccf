"""Search: branch and bound. Either the least price is found, or the work is used up and a bound is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.analysis.indexes.set_cover.bound import least_cost
from ldapdiag.analysis.indexes.set_cover.greedy import greedy, improved
from ldapdiag.analysis.indexes.set_cover.problem import Alternatives, WorkBudget, cost_of, without

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class Node(NamedTuple):
    """A part of all sets: those that have what is chosen, and none of what is banned."""

    bound: int
    """No set of this part is cheaper."""
    chosen: int
    banned: int
    demands: Collection[Alternatives]
    """What is not satisfied yet."""


def solved(demands: Sequence[Alternatives], prices: Sequence[int], work: WorkBudget) -> tuple[int, int]:
    """Return a set that satisfies the demands, and what no such set is cheaper than (its own cost, where all is seen).

    Depth first, the most promising branch first: of one demand each alternative is tried in turn, and an alternative of
    one element that has been tried is banned in the branches after it. A branch that cannot be cheaper than the best
    set known is left. What has not been seen when the work is used up is bounded by the least of its bounds.
    """
    best = improved(demands, prices, greedy(demands, prices), WorkBudget(max(work.left // 4, 1)))
    cost = cost_of(best, prices)
    open_ = [Node(least_cost(demands, prices), 0, 0, demands)]
    while open_:
        node = open_.pop()
        if node.bound >= cost:
            continue
        if not node.demands:
            best, cost = node.chosen, node.bound
            continue
        if not work.takes(0):
            open_.append(node)
            break
        open_ += sorted(_branches(node, prices, cost, work), reverse=True)
    return best, min([cost, *(node.bound for node in open_)])


def _branches(node: Node, prices: Sequence[int], cost: int, work: WorkBudget) -> list[Node]:
    """Return the parts of a part: one per alternative of the demand that has the fewest."""
    branches = []
    banned = node.banned
    demand = min(node.demands, key=lambda demand: (len(demand), demand))
    for one in sorted(demand, key=lambda one: (cost_of(one, prices), one)):
        branch = _branch(node, one, banned, prices, work)
        if branch is not None and branch.bound < cost:
            branches.append(branch)
        if not one & (one - 1):
            banned |= one
    return branches


def _branch(node: Node, added: int, banned: int, prices: Sequence[int], work: WorkBudget) -> Node | None:
    """Return a part in which an alternative, and whatever that leaves no choice about, is chosen; None: it is empty."""
    chosen, demands = node.chosen, node.demands
    while added:
        work.takes(sum(map(len, demands)))
        rest = without(demands, added, banned)
        if rest is None:
            return None
        chosen |= added
        demands = rest
        added = 0
        for demand in demands:
            if len(demand) == 1:
                added |= demand[0]
    bound = cost_of(chosen, prices) + least_cost(demands, prices)
    return Node(max(node.bound, bound), chosen, banned, demands)
