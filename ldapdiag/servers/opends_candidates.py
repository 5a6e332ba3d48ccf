"""Candidates on OpenDJ, its relatives and PingDirectory: what the indexes leave of a filter, and then of the scope.

    (&(employeeNumber=1)(uid=x))     the list of uid=x: an AND takes what any member gives
    (|(uid=x)(employeeNumber=1))     none: an OR needs a list of every member, and stops at the first that gives none
    (!(uid=x))                       none

An AND looks up equality, presence and approximate matches first, in their order, then all others but ranges, then
ranges, and stops where 10 candidates or fewer are left. What is not indexed by its filter is so by its scope, if no
more entries lie there than a key may have. Else it is refused (50), unless the account has the privilege
unindexed-search.

Source: opendj-server-legacy, backends/pluggable/IndexFilter.java, EntryContainer.java; tried with OpenDJ 4.10.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Node, Not, Or, assertions
from ldapdiag.evidence.ldif import comparable
from ldapdiag.servers.candidates import Amount, Forecast, Leaf, Outlook
from ldapdiag.servers.opends_index_lookup import MOST_IN_RANGE, RANGES, limit_of, look_up, negated, passed

if TYPE_CHECKING:
    from ldapdiag.servers.candidates import Database

ENOUGH = 10
"""Candidates; with so few an AND looks up nothing more (FILTER_CANDIDATE_THRESHOLD)."""
FAST = frozenset({AssertionKind.EQUALITY, AssertionKind.PRESENCE, AssertionKind.APPROXIMATE})

BASE_ALONE = "the entry of the base alone is looked at"
REFUSED = "refused (50), unless the account has the privilege unindexed-search"
BY_NAME = "the server reads the entry by its name"
BY_GROUP = "the server reads the group instead, though it logs the search as unindexed"
UNINDEXED = "unindexed"
"""What the access log says of a search whose candidates no index gave."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a part of a filter leaves."""

    outlook: Outlook
    """INDEXED: a list of candidates."""
    amount: Amount
    leaves: tuple[Leaf, ...]


def forecast(filter_: Node, base: str, scope: str, database: Database, *, shared: bool) -> Forecast:
    """Return what becomes of a search; `shared`: rules that compare alike share the keys of one index."""
    if scope == "base":
        return _told(Outlook.INDEXED, tuple(map(passed, assertions(filter_))), BASE_ALONE)
    found = _find(filter_, database, shared=shared)
    if found.outlook is Outlook.INDEXED:
        partly = any(leaf.change is not None for leaf in found.leaves)
        return _told(Outlook.PARTIALLY if partly else Outlook.INDEXED, found.leaves)
    if _is_searched_by("entrydn", filter_):
        return _told(Outlook.INDEXED, found.leaves, BY_NAME)
    if found.outlook is Outlook.UNINDEXED and _is_searched_by("ismemberof", filter_):
        return replace(_told(Outlook.INDEXED, found.leaves, BY_GROUP), notes=frozenset({UNINDEXED}))
    return _by_scope(found, base, scope, database)


def _by_scope(found: Found, base: str, scope: str, database: Database) -> Forecast:
    """Return what becomes of a search whose filter the indexes do not answer, by the entries in its scope."""
    told = limit_of(database)
    limit = told if told >= 0 else MOST_IN_RANGE
    exceeds = database.frequencies.below(base, scope).exceeds(limit)
    if exceeds is False:
        return _told(
            Outlook.INDEXED, found.leaves, f"no more than {limit} entries lie there: all of them are looked at"
        )
    # A database that is asked as a whole is taken for larger than the limit, unless something tells its size.
    whole = scope != "one" and comparable(base) in {"", *map(comparable, database.backend.suffixes)}
    if exceeds is None and not whole:
        return _told(Outlook.DEPENDS, found.leaves, f"on whether more than {limit} entries lie there")
    return _told(found.outlook, found.leaves, REFUSED if found.outlook is Outlook.UNINDEXED else "")


def _told(outlook: Outlook, leaves: tuple[Leaf, ...], why: str = "") -> Forecast:
    """Return a forecast with the words that the log may have for it."""
    possible = frozenset({Outlook.INDEXED, Outlook.UNINDEXED} if outlook is Outlook.DEPENDS else {outlook})
    notes = frozenset(UNINDEXED if one is Outlook.UNINDEXED else "" for one in possible)
    return Forecast(outlook=outlook, leaves=leaves, why=why, possible=possible, notes=notes)


def _find(node: Node, database: Database, *, shared: bool) -> Found:
    match node:
        case And(members):
            return _of_and(members, database, shared=shared)
        case Or(members):
            return _of_or([_find(member, database, shared=shared) for member in members])
        case Not(member):
            return Found(Outlook.UNINDEXED, Amount(), tuple(map(negated, assertions(member))))
        case Assertion():
            leaf = look_up(node, database, shared=shared)
            listed = leaf.outlook is Outlook.INDEXED
            return Found(leaf.outlook, database.frequencies.of(node) if listed else Amount(), (leaf,))


def _of_and(members: tuple[Node, ...], database: Database, *, shared: bool) -> Found:
    """Return the candidates that all lists have in common; those of its members in the order they are written."""
    outlook, most = Outlook.UNINDEXED, None
    leaves: dict[int, tuple[Leaf, ...]] = {}
    for place in sorted(range(len(members)), key=lambda place: _turn(members[place])):
        if outlook is Outlook.INDEXED and most is not None and most <= ENOUGH:
            leaves[place] = tuple(map(passed, assertions(members[place])))
            continue
        one = _find(members[place], database, shared=shared)
        leaves[place] = one.leaves
        if one.outlook is Outlook.INDEXED:
            outlook = Outlook.INDEXED
            most = min((number for number in (most, one.amount.most) if number is not None), default=None)
        elif one.outlook is Outlook.DEPENDS and outlook is Outlook.UNINDEXED:
            outlook = Outlook.DEPENDS
    ordered = tuple(leaf for place in range(len(members)) for leaf in leaves[place])
    return Found(outlook, Amount(most=most), ordered)


def _turn(member: Node) -> int:
    """Return when an AND looks a member up."""
    if isinstance(member, Assertion):
        return 0 if member.kind in FAST else 2 if member.kind in RANGES else 1
    return 1


def _of_or(several: list[Found]) -> Found:
    """Return all candidates together. Members behind one without a list are told as if the server came so far."""
    outlooks = {one.outlook for one in several}
    outlook = next((one for one in (Outlook.UNINDEXED, Outlook.DEPENDS) if one in outlooks), Outlook.INDEXED)
    numbers = [one.amount.most for one in several]
    most = None if None in numbers else sum(number for number in numbers if number is not None)
    return Found(outlook, Amount(most=most), tuple(leaf for one in several for leaf in one.leaves))


def _is_searched_by(attribute: str, node: Node) -> bool:
    """Tell whether the provider of a computed attribute finds the entries: of an AND with one such, an OR of such."""
    match node:
        case And(members):
            return any(_is_searched_by(attribute, member) for member in members)
        case Or(members):
            return bool(members) and all(_is_searched_by(attribute, member) for member in members)
        case Assertion(kind=AssertionKind.EQUALITY):
            return node.attribute == attribute
        case _:
            return False
