"""Remedying: which sets of new indexes would make a search indexed.

    (displayName=?)                                {displayName eq}
    (&(objectClass=person)(displayName=?*))        {displayName sub}, when there are too many persons
    (|(cn=?)(displayName=?)(mail=*?*))             {displayName eq, mail sub}: an OR needs every branch
    (&(uid=*?*)(employeeNumber=?))                 {employeeNumber eq} or {uid sub}: an AND needs one
    (!(uid=?))                                     none

An empty set among them says that it needs nothing.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Node, Not, Or
from ldapdiag.servers.candidates import Cause, Change, Outlook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ldapdiag.servers.candidates import Leaf

MOST_SETS = 64
"""Alternatives of one search; an AND of ORs has as many as its members multiplied."""

SELECTIVE = frozenset(
    {AssertionKind.EQUALITY, AssertionKind.SUBSTRING, AssertionKind.APPROXIMATE, AssertionKind.EXTENSIBLE}
)
"""What usually matches few entries. Ranges and presence match many, and object classes most of all."""
NOTHING = frozenset[Change]()

ANSWERED = frozenset({Cause.NONE, Cause.NOT_LOOKED_UP, Cause.LIMIT_PERHAPS})

IndexSets = tuple[frozenset[Change], ...]


def sufficient_sets(node: Node, leaf: Callable[[Assertion], Leaf], *, scanned: bool = True) -> IndexSets:
    """Return the smallest sets of changes, any of which would do; none: no index helps.

    `leaf` tells what becomes of an assertion that stands alone. `scanned`: it is known that all of this node looks at
    every entry, so that an index which an assertion seems to have does not help it.
    """
    match node:
        case And(members):
            return _of_and(members, leaf, scanned=scanned)
        case Or(members):
            return _of_or(members, leaf, scanned=scanned)
        case Not():
            return ()
        case Assertion():
            told = leaf(node)
            matches_nothing = told.cause is Cause.UNKNOWN_ATTRIBUTE and told.outlook is not Outlook.UNINDEXED
            if matches_nothing or told.cause is Cause.NOT_BUILT or (not scanned and told.cause in ANSWERED):
                return (NOTHING,)  # what is not built is built, not added
            return (frozenset({told.change}),) if told.change is not None else ()


def _of_and(members: tuple[Node, ...], leaf: Callable[[Assertion], Leaf], *, scanned: bool) -> IndexSets:
    """Return what any member offers; ranges, presence and object classes only where nothing else does."""
    offered = [(_is_selective(member), sufficient_sets(member, leaf, scanned=scanned)) for member in members]
    if any(NOTHING in one for _, one in offered):
        return (NOTHING,)
    best = [one for selective, one in offered if selective and one]
    return _least(each for one in best or [one for _, one in offered] for each in one)


def _of_or(members: tuple[Node, ...], leaf: Callable[[Assertion], Leaf], *, scanned: bool) -> IndexSets:
    """Return what all members need together; one of them that needs something explains why the whole is scanned."""
    several = [sufficient_sets(member, leaf, scanned=False) for member in members]
    if scanned and all(NOTHING in one for one in several):
        several = [sufficient_sets(member, leaf, scanned=True) for member in members]
    return _least(NOTHING.union(*chosen) for chosen in _products(several))


def _is_selective(node: Node) -> bool:
    """Tell whether few entries match, as a rule."""
    match node:
        case And(members):
            return any(map(_is_selective, members))
        case Or(members):
            return all(map(_is_selective, members))
        case Not():
            return False
        case Assertion():
            return node.kind in SELECTIVE and node.attribute != "objectclass"


def _products(several: list[IndexSets]) -> Iterable[tuple[frozenset[Change], ...]]:
    """Yield one alternative of each; as many members are cut down as it takes to stay within reason."""
    if not all(several):
        return ()
    total = 1
    for place, one in enumerate(several):
        room = max(1, MOST_SETS // total)
        several[place] = one[:room]
        total *= len(several[place])
    return product(*several)


def _least(sets: Iterable[frozenset[Change]]) -> IndexSets:
    """Return sets without those that contain another one, the smallest first."""
    kept: list[frozenset[Change]] = []
    for one in sorted(set(sets), key=lambda one: (len(one), sorted(one))):
        if not any(other <= one for other in kept):
            kept.append(one)
    return tuple(kept[:MOST_SETS])
