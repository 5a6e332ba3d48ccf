"""CoverProblem: a cover problem in bit masks: an element is a bit, an alternative a mask of elements."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

Alternatives = tuple[int, ...]
"""The alternatives of one demand: masks above zero, in ascending order."""


@dataclass(frozen=True, slots=True)
class CoverProblem:
    """Demands, each of which wants all elements of one of its alternatives."""

    demands: tuple[Alternatives, ...]
    costs: tuple[int, ...]
    """Of each element."""
    names: tuple[int, ...]
    """The number of each element outside this problem."""


DENSE = 64
"""Elements: those of a larger mask are found faster by its binary digits than one by one."""


class WorkBudget:
    """The remaining steps of work. A step examines one alternative."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def takes(self, steps: int) -> bool:
        """Use up steps; return False if none are left."""
        self.left -= steps
        return self.left > 0


@lru_cache(maxsize=1 << 16)
def elements(mask: int) -> tuple[int, ...]:
    """Return the elements of a mask in ascending order."""
    if mask.bit_count() > DENSE:
        return tuple(element for element, bit in enumerate(bin(mask)[:1:-1]) if bit == "1")
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return tuple(found)


def cost_of(mask: int, costs: Sequence[int]) -> int:
    """Return the cost of all elements of a mask."""
    return sum(costs[element] for element in elements(mask))


def without(demands: Iterable[Alternatives], chosen: int, banned: int = 0) -> set[Alternatives] | None:
    """Return the remaining demands once some elements are chosen and others banned; None: not satisfiable."""
    remaining = set()
    for demand in demands:
        wanted = {alternative & ~chosen for alternative in demand if not alternative & banned}
        if not wanted:
            return None
        if 0 not in wanted:
            remaining.add(tuple(sorted(wanted)))
    return remaining


def components(supports: Sequence[Collection[int]]) -> list[list[int]]:
    """Return the connected components of sets that share elements, as groups of their positions (union-find)."""
    parent: dict[int, int] = {}

    def root(element: int) -> int:
        while (above := parent.setdefault(element, element)) != element:
            parent[element] = parent[above]
            element = above
        return element

    for support in supports:
        first, *others = support
        for element in others:
            parent[root(element)] = root(first)
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for position, support in enumerate(supports):
        groups[root(next(iter(support)))].append(position)
    return list(groups.values())
