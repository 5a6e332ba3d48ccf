"""Candidates on OpenLDAP's slapd: what back-mdb finds of a filter in its indexes (back-mdb/filterindex.c, search.c).

    (&(uid=x)(title=y))       the list of uid=x, whatever title has: an AND takes what is not indexed for all entries
    (|(uid=x)(title=y))       all entries: an OR joins every member
    (!(uid=x))                all entries
    (&(nosuch=x)(title=y))    none: what cannot be evaluated matches nothing, and an AND ends where nothing is left

Every search but that of the base alone and of (objectClass=*) is asked as (|(objectClass=referral)(filter)). So without
an eq index of objectClass, which slapd does not make by itself, every search scans (tried with 2.5.13).

`all entries` is all entries in the scope: where that holds fewer than the list, slapd goes through the scope, and looks
at those of the list alone. back-bdb and back-hdb of 2.4 find the same. The limit size.unchecked (err 11) is not judged.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Node, Not, Or, assertions
from ldapdiag.servers.candidates import Cause, Database, Forecast, Leaf, Outlook
from ldapdiag.servers.openldap.index_lookup import look_up

if TYPE_CHECKING:
    from collections.abc import Iterable

REFERRAL = Assertion(
    kind=AssertionKind.EQUALITY, attribute="objectclass", text="(objectClass=referral)", value="referral"
)
BASE_ALONE = "the entry of the base alone is looked at"
NEGATED = "a negation: slapd looks at every entry"


class Found(Enum):
    """What an assertion or a set of them finds."""

    NOTHING = auto()
    LIST = auto()
    PERHAPS = auto()
    """A list, or all; nobody has told what decides it."""
    ALL = auto()


OF_OUTLOOK = {Outlook.UNINDEXED: Found.ALL, Outlook.DEPENDS: Found.PERHAPS}
OF_FOUND = {Found.ALL: Outlook.UNINDEXED, Found.PERHAPS: Outlook.DEPENDS}


def forecast(filter_: Node, base: str, scope: str, database: Database) -> Forecast:
    """Return what becomes of a search; the base does not matter, for all is what is below it."""
    del base
    if scope == "base":
        return Forecast(outlook=Outlook.INDEXED, leaves=tuple(map(_passed, assertions(filter_))), why=BASE_ALONE)
    found, leaves = _find(filter_, database)
    added = _added(filter_, database)
    if any(leaf.outlook is Outlook.UNINDEXED for leaf in added):
        why = "slapd also looks for referrals, and objectClass has no eq index"
        return Forecast(outlook=Outlook.UNINDEXED, leaves=leaves, added=added, why=why)
    outlook = OF_FOUND.get(found, Outlook.INDEXED)
    if outlook is Outlook.INDEXED and any(leaf.outlook is not Outlook.INDEXED for leaf in leaves):
        outlook = Outlook.PARTIALLY
    return Forecast(outlook=outlook, leaves=leaves, added=added)


def _added(filter_: Node, database: Database) -> tuple[Leaf, ...]:
    """Return what slapd joins to a filter by OR: it looks for referrals, too, unless everything is asked for."""
    everything = isinstance(filter_, Assertion) and (filter_.kind, filter_.attribute) == (
        AssertionKind.PRESENCE,
        "objectclass",
    )
    return () if everything else (look_up(REFERRAL, database),)


def _find(node: Node, database: Database) -> tuple[Found, tuple[Leaf, ...]]:
    """Return what a part of a filter finds, and what becomes of its assertions."""
    match node:
        case And(members):
            return _of_and(members, database)
        case Or(members):
            several = [_find(member, database) for member in members]
            return _union(found for found, _ in several), tuple(leaf for _, leaves in several for leaf in leaves)
        case Not(member):
            return _of_not(member, database)
        case Assertion():
            leaf = look_up(node, database)
            if leaf.cause is Cause.UNKNOWN_ATTRIBUTE or _matches_nothing(leaf, database):
                return Found.NOTHING, (leaf,)
            return OF_OUTLOOK.get(leaf.outlook, Found.LIST), (leaf,)


def _of_and(members: tuple[Node, ...], database: Database) -> tuple[Found, tuple[Leaf, ...]]:
    """Return what all members have in common; in the order written, as long as anything is left."""
    found, leaves = Found.ALL, list[Leaf]()
    for member in members:
        if found is Found.NOTHING:
            leaves += map(_passed, assertions(member))
            continue
        one, its = _find(member, database)
        leaves += its
        found = min(found, one, key=lambda each: each.value)
    return found, tuple(leaves)


def _of_not(member: Node, database: Database) -> tuple[Found, tuple[Leaf, ...]]:
    """Return all, but for a set without members: that is constant, and so is what it is not (RFC 4526)."""
    if member == And(()):
        return Found.NOTHING, ()
    return Found.ALL, tuple(_negated(leaf) for leaf in _find(member, database)[1])


def _union(several: Iterable[Found]) -> Found:
    return max(several, key=lambda each: each.value, default=Found.NOTHING)


def _matches_nothing(leaf: Leaf, database: Database) -> bool:
    return leaf.cause is Cause.NONE and database.frequencies.of(leaf.assertion).most == 0


def _negated(leaf: Leaf) -> Leaf:
    """Return what becomes of a negated assertion: nobody looks it up, and it may yet be undefined."""
    cause = leaf.cause if leaf.cause is Cause.UNKNOWN_ATTRIBUTE else Cause.UNINDEXABLE
    return replace(leaf, outlook=Outlook.UNINDEXED, cause=cause, change=None, why=NEGATED)


def _passed(assertion: Assertion) -> Leaf:
    return Leaf(assertion=assertion, outlook=Outlook.INDEXED, cause=Cause.NOT_LOOKED_UP)
