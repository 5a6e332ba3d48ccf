"""An instance of the cover problem in small numbers: elements are bits, an alternative is a mask of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

Alternatives = tuple[int, ...]
"""Of one demand: masks above zero, in their order."""


@dataclass(frozen=True, slots=True)
class CoverProblem:
    """Demands, each of which wants all elements of one of its alternatives."""

    demands: tuple[Alternatives, ...]
    prices: tuple[int, ...]
    """Of each element."""
    names: tuple[int, ...]
    """What each element is called outside."""


DENSE = 64
"""Elements: of a mask with more, they are found faster by its digits than one by one."""


class WorkBudget:
    """The steps of work that are left. A step looks at one alternative."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def takes(self, steps: int) -> bool:
        """Take so many steps; False when none are left."""
        self.left -= steps
        return self.left > 0


@lru_cache(maxsize=1 << 16)
def elements(mask: int) -> tuple[int, ...]:
    """Return the elements of a mask, in their order."""
    if mask.bit_count() > DENSE:
        return tuple(place for place, bit in enumerate(bin(mask)[:1:-1]) if bit == "1")
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return tuple(found)


def cost_of(mask: int, prices: Sequence[int]) -> int:
    """Return what the elements of a mask cost."""
    return sum(prices[each] for each in elements(mask))


def without(demands: Iterable[Alternatives], chosen: int, banned: int = 0) -> set[Alternatives] | None:
    """Return what is still wanted when some elements are chosen and some cannot be had; None: it is impossible."""
    rest = set()
    for demand in demands:
        wanted = {one & ~chosen for one in demand if not one & banned}
        if not wanted:
            return None
        if 0 not in wanted:
            rest.add(tuple(sorted(wanted)))
    return rest


def pieces(supports: Sequence[Collection[int]]) -> list[list[int]]:
    """Return which sets hang together by common elements, as groups of their places."""
    parent: dict[int, int] = {}

    def root(each: int) -> int:
        while (above := parent.setdefault(each, each)) != each:
            parent[each] = parent[above]
            each = above
        return each

    for support in supports:
        first, *others = support
        for each in others:
            parent[root(each)] = root(first)
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for place, support in enumerate(supports):
        groups[root(next(iter(support)))].append(place)
    return list(groups.values())
