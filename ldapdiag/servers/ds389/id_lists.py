"""Id lists: what 389-ds makes of the sets of a filter, member by member, until it knows enough.

Every answer has three values: all ids, a list, or not known, for want of numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import Assertion, AssertionKind
from ldapdiag.servers.candidates import Amount, Cause, Database, Leaf, Outlook
from ldapdiag.servers.ds389.filter_order import LeafPart, Part, Set
from ldapdiag.servers.ds389.index_lookup import ALL, Ids, Lookup, look_up
from ldapdiag.servers.ds389.scan_limits import limits_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.servers.ds389.scan_limits import LimitsOf

ENOUGH = 10
"""Ids: a list no longer ends an AND (FILTER_TEST_THRESHOLD)."""
MOST_WITHOUT = 4000
"""Ids: of no more, `all ids` without some become a list (SLAPD_LDBM_MIN_MAXIDS)."""

NEGATED = "a negation: the server takes every entry"
SUBTRACTED = "a negation: what it finds is only taken off what the rest finds"
ENDED = "what was looked up before was enough"
IN_LISTS = frozenset({Cause.NONE, Cause.LIMIT, Cause.LIMIT_PERHAPS})


class FilterWalk:
    """One filter while the server goes through it."""

    def __init__(self, database: Database, *, limits: LimitsOf = limits_of, checks_names: bool = True) -> None:
        self.database = database
        self.limits = limits
        self.checks_names = checks_names
        self.noted: bool | None = False
        """The server has noted that something had no index; None: that is not known."""
        self.leaves: dict[int, Leaf] = {}
        """By where they are written."""

    @property
    def told(self) -> tuple[Leaf, ...]:
        """Return what became of the assertions, as written."""
        return tuple(self.leaves[place] for place in sorted(self.leaves))

    def find(self, part: Part, *, reached: bool | None, in_and: bool) -> Ids:
        """Return what a part gives; `reached`: the server gets as far, None: that is not known."""
        if isinstance(part, LeafPart):
            told = self._look_up(part.assertion, reached=reached, in_and=in_and)
            self.leaves[part.place] = _as_reached(told.leaf, reached)
            return told.ids
        match part.operator:
            case "and":
                return self._and(part.members, reached=reached, in_and=in_and or len(part.members) > 1)
            case "or":
                return self._or(part.members, reached=reached, in_and=in_and)
            case "not":
                self._pass(part, reached=reached)
                return ALL

    def _look_up(self, assertion: Assertion, *, reached: bool | None, in_and: bool) -> Lookup:
        told = look_up(assertion, self.database, in_and=in_and, limits=self.limits, checks_names=self.checks_names)
        if reached is not False and told.noted is not False and self.noted is not True:
            self.noted = True if reached and told.noted else None
        return told

    def _pass(self, part: Part, *, reached: bool | None) -> None:
        """Tell of negated assertions, which the server does not look up."""
        if isinstance(part, Set):
            for member in part.members:
                self._pass(member, reached=reached)
        elif reached is False:
            self.leaves[part.place] = passed(part.assertion, ENDED)
        else:
            self.leaves[part.place] = _negated(part.assertion, NEGATED)

    def _or(self, members: Sequence[Part], *, reached: bool | None, in_and: bool) -> Ids:
        """Return the union; the first member that is all ids ends it."""
        several = list[Ids]()
        for member in members:
            several.append(self.find(member, reached=reached, in_and=in_and))
            if reached is not False and several[-1].every is not False:
                reached = False if several[-1].every else None
        every = {one.every for one in several}
        mosts = [one.size.most for one in several if one.size.most is not None]
        size = Amount(
            max((one.size.least for one in several), default=0), sum(mosts) if len(mosts) == len(several) else None
        )
        return Ids(every=True if True in every else None if None in every else False, size=size)

    def _and(self, members: Sequence[Part], *, reached: bool | None, in_and: bool) -> Ids:
        """Return the intersection; a list of no more than ENOUGH ids ends it."""
        lists, surely, off = list[Ids](), list[Ids](), list[Ids]()
        low, high = _bounds(members)
        for member in members:
            if member is low:
                continue
            if negated := _negated_equality(member):
                off.append(self._complement(negated, reached=reached, in_and=in_and))
                continue
            if member is high and low is not None and high is not None:
                found = self._between(low, high, reached=reached, in_and=in_and)
            else:
                found = self.find(member, reached=reached, in_and=in_and)
            lists.append(found)
            if reached:
                surely.append(found)
            if reached is not False and (ends := _is_enough(found)) is not False:
                reached = False if ends else None
        return self._without(_intersection(lists, surely), off)

    def _between(self, low: LeafPart, high: LeafPart, *, reached: bool | None, in_and: bool) -> Ids:
        """Return what a range with both its bounds gives: the server reads the index once, between them."""
        found = [self.find(bound, reached=reached, in_and=in_and) for bound in (low, high)]
        if any(
            look_up(bound.assertion, self.database, in_and=in_and).leaf.cause not in IN_LISTS for bound in (low, high)
        ):
            return found[0]
        mosts = [one.size.most for one in found if one.size.most is not None]
        size = Amount(0, min(mosts, default=None))
        return Ids(every=False if any(one.every is False for one in found) else None, size=size)

    def _complement(self, part: LeafPart, *, reached: bool | None, in_and: bool) -> Ids:
        """Look up the equality of a NOT in an AND: the server takes what it finds off the rest."""
        if reached is False or part.assertion.options:  # with options it is not looked up
            self._pass(part, reached=reached)
            return ALL
        told = self._look_up(part.assertion, reached=reached, in_and=in_and)
        self.leaves[part.place] = _negated(part.assertion, SUBTRACTED)
        return told.ids if reached or told.ids.every else replace(told.ids, every=None)

    def _without(self, ids: Ids, off: Sequence[Ids]) -> Ids:
        """Return what is left when lists are taken off: of all ids of a small database, a list."""
        taken = [one for one in off if one.every is not True and one.size.most != 0]
        if not taken:
            return ids
        if ids.every is False:
            return replace(ids, size=Amount(0, ids.size.most))
        suffix = next(iter(self.database.backend.suffixes), "")
        everything = self.database.frequencies.below(suffix, "sub")
        if everything.exceeds(MOST_WITHOUT) is not False:
            return ids
        surely = any(one.every is False and one.size.least > 0 for one in taken)
        return Ids(every=False if surely else None, size=Amount(0, everything.most))


def passed(assertion: Assertion, why: str) -> Leaf:
    """Return that an assertion is not looked up."""
    return Leaf(assertion=assertion, outlook=Outlook.INDEXED, cause=Cause.NOT_LOOKED_UP, why=why)


def _as_reached(leaf: Leaf, reached: bool | None) -> Leaf:  # noqa: FBT001  three values
    """Return what becomes of an assertion, if the server gets as far."""
    if reached is None:
        return replace(leaf, outlook=Outlook.DEPENDS)
    return leaf if reached else passed(leaf.assertion, ENDED)


def _negated(assertion: Assertion, why: str) -> Leaf:
    return Leaf(assertion=assertion, outlook=Outlook.UNINDEXED, cause=Cause.UNINDEXABLE, why=why)


def _intersection(lists: Sequence[Ids], surely: Sequence[Ids]) -> Ids:
    """Return what lists have in common; `surely` are those of them that the server gets to, whatever the others give.

    Where it does not get to a list, another had no more than ENOUGH ids, and is the answer.
    """
    if all(one.every for one in lists):
        return ALL
    concrete = [one for one in lists if one.every is not True]
    least = concrete[0].size.least if len(concrete) == 1 else 0
    mosts = [*_mosts(surely), *(max(ENOUGH, most) for most in _mosts(lists))]
    every = False if any(one.every is False for one in lists) else None
    return Ids(every=every, size=Amount(least, min(mosts, default=None)))


def _mosts(lists: Iterable[Ids]) -> list[int]:
    return [one.size.most for one in lists if one.every is False and one.size.most is not None]


def _is_enough(ids: Ids) -> bool | None:
    """Tell whether a list ends an AND; None: that is not known."""
    if ids.every or ids.size.least > ENOUGH:
        return False
    return True if ids.every is False and ids.size.most is not None and ids.size.most <= ENOUGH else None


def _negated_equality(part: Part) -> LeafPart | None:
    """Return the equality in a NOT, which an AND treats by itself."""
    if isinstance(part, Set) and part.operator == "not":
        (member,) = part.members
        if isinstance(member, LeafPart) and member.assertion.kind is AssertionKind.EQUALITY:
            return member
    return None


def _bounds(members: Sequence[Part]) -> tuple[LeafPart | None, LeafPart | None]:
    """Return the lower and the upper bound of one attribute, which an AND looks up together; list_candidates()."""
    low: LeafPart | None = None
    high: LeafPart | None = None
    for part in members:
        if isinstance(part, LeafPart) and part.assertion.kind is AssertionKind.GREATER:
            low = part if low is None or (high is not None and _type(high) != _type(part)) else low
        elif isinstance(part, LeafPart) and part.assertion.kind is AssertionKind.LESS:
            high = part if high is None or (low is not None and _type(low) != _type(part)) else high
    return (low, high) if low is not None and high is not None and _type(low) == _type(high) else (None, None)


def _type(part: LeafPart) -> tuple[str, tuple[str, ...]]:
    return part.assertion.attribute, part.assertion.options
