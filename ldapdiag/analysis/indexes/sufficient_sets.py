"""Sufficient sets: the sets of new indexes, any of which would make a search indexed.

    (displayName=?)                                {displayName eq}
    (&(objectClass=person)(displayName=?*))        {displayName sub}, if there are too many persons
    (|(cn=?)(displayName=?)(mail=*?*))             {displayName eq, mail sub}: an OR needs every branch
    (&(uid=*?*)(employeeNumber=?))                 {employeeNumber eq} or {uid sub}: an AND needs one
    (!(uid=?))                                     none

An empty set among them means that the search needs no new index.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Node, Not, Or
from ldapdiag.servers.indexes.candidates import Cause, Change, IndexUse, Leaf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MOST_SETS = 64
"""The most sets kept for one search: an AND of ORs has as many as its members multiplied."""

SELECTIVE = frozenset(
    {AssertionKind.EQUALITY, AssertionKind.SUBSTRING, AssertionKind.APPROXIMATE, AssertionKind.EXTENSIBLE}
)
"""Assertions that usually match few entries. Ranges and presence match many, object classes even more."""
NOTHING = frozenset[Change]()

HAS_INDEX = frozenset({Cause.NONE, Cause.NOT_LOOKED_UP, Cause.LIMIT_PERHAPS})

IndexSets = tuple[frozenset[Change], ...]


def sufficient_sets(node: Node, leaf: Callable[[Assertion], Leaf], *, scanned: bool = True) -> IndexSets:
    """Return the smallest sufficient sets of changes; none: no index helps.

    `leaf` simulates a single assertion. `scanned`: the server is known to scan for this whole node, so an index that an
    assertion seems to have does not help.
    """
    match node:
        case And(members):
            return _of_and(members, leaf, scanned=scanned)
        case Or(members):
            return _of_or(members, leaf, scanned=scanned)
        case Not():
            return ()
        case Assertion():
            return _of_assertion(leaf(node), scanned=scanned)


def _of_assertion(leaf: Leaf, *, scanned: bool) -> IndexSets:
    matches_nothing = leaf.cause is Cause.UNKNOWN_ATTRIBUTE and leaf.index_use is not IndexUse.UNINDEXED
    # An index that is not built must be built, not added; one that is built by now answers later searches.
    if matches_nothing or leaf.cause in {Cause.NOT_BUILT, Cause.YOUNGER} or (not scanned and leaf.cause in HAS_INDEX):
        return (NOTHING,)
    return (frozenset({leaf.change}),) if leaf.change is not None else ()


def _of_and(members: tuple[Node, ...], leaf: Callable[[Assertion], Leaf], *, scanned: bool) -> IndexSets:
    """Return the sets of any member; those of ranges, presence and object classes only if no other member has one."""
    by_member = [(_is_selective(member), sufficient_sets(member, leaf, scanned=scanned)) for member in members]
    if any(NOTHING in sets for _, sets in by_member):
        return (NOTHING,)
    selective = [sets for is_selective, sets in by_member if is_selective and sets]
    return _minimal(each for sets in selective or [sets for _, sets in by_member] for each in sets)


def _of_or(members: tuple[Node, ...], leaf: Callable[[Assertion], Leaf], *, scanned: bool) -> IndexSets:
    """Return unions of one set per member. A member that lacks an index explains why the whole OR is scanned."""
    by_member = [sufficient_sets(member, leaf, scanned=False) for member in members]
    if scanned and all(NOTHING in sets for sets in by_member):
        by_member = [sufficient_sets(member, leaf, scanned=True) for member in members]
    return _minimal(NOTHING.union(*chosen) for chosen in _combinations(by_member))


def _is_selective(node: Node) -> bool:
    """Return whether few entries usually match."""
    match node:
        case And(members):
            return any(map(_is_selective, members))
        case Or(members):
            return all(map(_is_selective, members))
        case Not():
            return False
        case Assertion():
            return node.kind in SELECTIVE and node.attribute != "objectclass"


def _combinations(by_member: list[IndexSets]) -> Iterable[tuple[frozenset[Change], ...]]:
    """Yield one set of each member; members beyond MOST_SETS combinations keep their first sets only."""
    if not all(by_member):
        return ()
    total = 1
    limited = []
    for sets in by_member:
        limited.append(sets[: max(1, MOST_SETS // total)])
        total *= len(limited[-1])
    return product(*limited)


def _minimal(sets: Iterable[frozenset[Change]]) -> IndexSets:
    """Return the sets that contain no other one, the smallest first."""
    kept: list[frozenset[Change]] = []
    for changes in sorted(set(sets), key=lambda each: (len(each), sorted(each))):
        if not any(smaller <= changes for smaller in kept):
            kept.append(changes)
    return tuple(kept[:MOST_SETS])
