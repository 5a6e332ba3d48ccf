"""Search: branch and bound, until the cheapest cover is found or the budget of work is used up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.analysis.indexes.set_cover.bound import least_cost
from ldapdiag.analysis.indexes.set_cover.greedy import greedy, improved
from ldapdiag.analysis.indexes.set_cover.problem import Alternatives, WorkBudget, cost_of, without

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


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
