"""Match counts: how many candidates a filter has, by the entries it returns and what the log shows of its parts.

    (displayName=?)                         the entries returned, for nothing else is in the ID list
    (&(objectClass=person)(title=?))        returned / the share of persons
    (&(title=?)(l=?))                       neither share is known: both are taken for the square root of the result's
    (|(title=?)(l=?))                       at most the entries returned, in each list

Parts of an AND are taken for independent of each other. What a log cannot show is in the interval, not in the estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Node, Not, Or

SOME = 0.5
"""Entries: what a search returns that never returned one."""
RANGES = frozenset({AssertionKind.GREATER, AssertionKind.LESS})


class Estimate(NamedTuple):
    """A number of entries: bounds, and the most probable value between them."""

    least: float
    expected: float
    most: float

    def within(self, least: float, most: float) -> Estimate:
        """Return the estimate between other bounds."""
        low, middle, high = (min(max(value, least), most) for value in self)
        return Estimate(low, middle, high)

    def plus(self, other: Estimate) -> Estimate:
        """Return the sum."""
        return Estimate(self.least + other.least, self.expected + other.expected, self.most + other.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterCounts:
    """What is known of the lists of one filter at one database."""

    total: float
    """Entries that a scan examines."""
    known: Callable[[Assertion], Estimate | None]
    """Return the entries of an assertion's list, as other searches show; None: nothing shows it."""
    has_list: Callable[[Assertion], bool]
    """Return whether an index has a list for an assertion."""
    longest: float
    """The server takes a longer list for all entries."""

    def candidates(self, node: Node, size: Estimate) -> Estimate | None:
        """Return the candidates of a node that `size` entries match; None: all entries."""
        match node:
            case And(members):
                return self._of_and(members, size)
            case Or(members):
                return self._of_or(members, size)
            case Not():
                return None
            case Assertion():
                listed = self.has_list(node) and size.expected <= self.longest
                return size if listed else None

    def sizes(self, node: Node, size: Estimate) -> list[tuple[Assertion, Estimate]]:
        """Return the assertions of a node with the entries that match each; the negated ones excluded."""
        match node:
            case And(members):
                pairs = zip(members, self._sizes_in_and(members, size), strict=True)
                return [found for member, own in pairs for found in self.sizes(member, own)]
            case Or(members):
                sizes = self._sizes_in_or(members, size)
                return [found for member, own in zip(members, sizes, strict=True) for found in self.sizes(member, own)]
            case Not():
                return []
            case Assertion():
                return [(node, size)]

    def _of_and(self, members: tuple[Node, ...], size: Estimate) -> Estimate | None:
        sizes = self._sizes_in_and(members, size)
        found = [self.candidates(member, own) for member, own in zip(members, sizes, strict=True)]
        lists = [one for one in found if one is not None]
        if not lists:
            return None
        # Both bounds of a range have the size of the range: they count once.
        keys = [_range_key(member) or place for place, member in enumerate(members)]
        once = {key: one for key, one in zip(keys, found, strict=True) if one is not None}
        expected = self.total * prod(one.expected / self.total for one in once.values())
        return Estimate(size.least, expected, min(one.most for one in lists)).within(size.least, self.total)

    def _of_or(self, members: tuple[Node, ...], size: Estimate) -> Estimate | None:
        union = Estimate(0, 0, 0)
        for member, own in zip(members, self._sizes_in_or(members, size), strict=True):
            one = self.candidates(member, own)
            if one is None:
                return None
            union = union.plus(one)
        return union.within(size.least, self.total)

    def _sizes_in_and(self, members: tuple[Node, ...], size: Estimate) -> list[Estimate]:
        """Return how many entries match each member of an AND; those of which nothing is known share what is left."""
        known = [self.known(member) if isinstance(member, Assertion) else None for member in members]
        shares = prod(one.expected / self.total for one in known if one is not None)
        # Both bounds of a range share its size.
        unknown = {
            _range_key(member) or place
            for place, (member, one) in enumerate(zip(members, known, strict=True))
            if one is None and not isinstance(member, Not)
        }
        left = min(1.0, max(size.expected, SOME) / self.total / (shares or 1.0))
        each = self.total * left ** (1 / max(1, len(unknown)))
        least = min(size.least, self.total)
        # Of a list that may be too long, what it would be worth if it is not; the bounds have the rest.
        open_ = Estimate(least, min(each, self.longest), self.total).within(least, self.total)
        return [open_ if one is None else one.within(least, self.total) for one in known]

    def _sizes_in_or(self, members: tuple[Node, ...], size: Estimate) -> list[Estimate]:
        """Return how many entries match each member of an OR: no more than match the OR."""
        shared = Estimate(0, size.expected / max(1, len(members)), size.most)
        known = [self.known(member) if isinstance(member, Assertion) else None for member in members]
        return [shared if one is None else one.within(0, size.most) for one in known]


def _range_key(node: Node) -> str:
    """Return the attribute of a range, empty for any other node: the bounds of one range share it."""
    return node.attribute if isinstance(node, Assertion) and node.kind in RANGES else ""
