"""Candidates on OpenDJ, its relatives and PingDirectory: from the indexes of the filter, else from the scope.

With an index of uid and none of employeeNumber:

    (&(employeeNumber=1)(uid=x))     the list of uid=x: in an AND one indexed member is sufficient
    (|(uid=x)(employeeNumber=1))     no list: an OR needs one for every member, and stops at the first without
    (!(uid=x))                       no list

An AND looks up equality, presence and approximate matches first, in the order of the filter, then all others except
ranges, then ranges, and stops when at most 10 candidates are left. Without a list for the filter, the entries in scope
are the candidates, unless there are more than a key may have. Then the search is refused (50) without the privilege
unindexed-search.

Source: opendj-server-legacy, backends/pluggable/IndexFilter.java, EntryContainer.java; tested with OpenDJ 4.10.1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import RANGES, And, Assertion, AssertionKind, Node, Not, Or, assertions
from ldapdiag.evidence.ldif import comparable
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.indexes.candidates import Amount, Forecast, IndexUse, Leaf
from ldapdiag.servers.opends.index_lookup import MOST_IN_RANGE, limit_of, look_up, negated, not_looked_up

if TYPE_CHECKING:
    from ldapdiag.servers.indexes.candidates import Database


ENOUGH = 10
"""Candidates: with at most this many an AND looks up nothing more (FILTER_CANDIDATE_THRESHOLD)."""
FAST = frozenset({AssertionKind.EQUALITY, AssertionKind.PRESENCE, AssertionKind.APPROXIMATE})

BASE_ALONE = "only the base entry is tested"
REFUSED = "refused (50), unless the account has the privilege unindexed-search"
BY_NAME = "the server reads the entry by its DN"
BY_GROUP = "the server reads the group instead, though it logs the search as unindexed"
UNINDEXED = "unindexed"
"""The note in the access log for a search without candidates from an index."""


@dataclass(frozen=True, slots=True)
class FilterCandidates:
    """The candidates of a part of a filter."""

    index_use: IndexUse
    """INDEXED: a list of candidates."""
    amount: Amount
    leaves: tuple[Leaf, ...]


def forecast(filter_: Node, base: str, scope: str, database: Database, *, shared: bool) -> Forecast:
    """Predict the use of indexes for a search; `shared`: matching rules with the same keys share one index."""
    if scope == "base":
        return _forecast(IndexUse.INDEXED, tuple(map(not_looked_up, assertions(filter_))), BASE_ALONE)
    found = _find(filter_, database, shared=shared)
    if found.index_use is IndexUse.INDEXED:
        partly = any(leaf.change is not None for leaf in found.leaves)
        return _forecast(IndexUse.PARTIALLY if partly else IndexUse.INDEXED, found.leaves)
    if _is_found_by("entrydn", filter_):
        return _forecast(IndexUse.INDEXED, found.leaves, BY_NAME)
    if found.index_use is IndexUse.UNINDEXED and _is_found_by("ismemberof", filter_):
        return replace(_forecast(IndexUse.INDEXED, found.leaves, BY_GROUP), notes=frozenset({UNINDEXED}))
    return _by_scope(found, base, scope, database)


def longest_list(database: Database) -> int | None:
    """Return the longest list by the limit of the backend; None: any."""
    limit = limit_of(database)
    return None if limit < 0 else limit


def _by_scope(found: FilterCandidates, base: str, scope: str, database: Database) -> Forecast:
    """Predict a search whose filter the indexes do not answer, from the number of entries in its scope."""
    entry_limit = limit_of(database)
    limit = entry_limit if entry_limit >= 0 else MOST_IN_RANGE
    exceeds = database.frequencies.below(base, scope).exceeds(limit)
    if exceeds is False:
        return _forecast(
            IndexUse.INDEXED, found.leaves, f"at most {limit:,} entries are in scope, and all of them are tested"
        )
    # A whole database is assumed to be larger than the limit, unless its size is known.
    whole = scope != "one" and comparable(base) in {"", *map(comparable, database.backend.suffixes)}
    if exceeds is None and not whole:
        return _forecast(IndexUse.DEPENDS, found.leaves, f"on whether more than {limit:,} entries are in scope")
    return _forecast(found.index_use, found.leaves, REFUSED if found.index_use is IndexUse.UNINDEXED else "")


def _forecast(index_use: IndexUse, leaves: tuple[Leaf, ...], why: str = "") -> Forecast:
    """Return a forecast with the possible notes in the log."""
    possible = frozenset({IndexUse.INDEXED, IndexUse.UNINDEXED} if index_use is IndexUse.DEPENDS else {index_use})
    notes = frozenset(UNINDEXED if one is IndexUse.UNINDEXED else "" for one in possible)
    return Forecast(index_use=index_use, leaves=leaves, why=why, possible=possible, notes=notes)


def _find(node: Node, database: Database, *, shared: bool) -> FilterCandidates:
    match node:
        case And(members):
            return _intersection(members, database, shared=shared)
        case Or(members):
            return _union([_find(member, database, shared=shared) for member in members])
        case Not(member):
            return FilterCandidates(IndexUse.UNINDEXED, Amount(), tuple(map(negated, assertions(member))))
        case Assertion():
            leaf = look_up(node, database, shared=shared)
            listed = leaf.index_use is IndexUse.INDEXED
            return FilterCandidates(leaf.index_use, database.frequencies.of(node) if listed else Amount(), (leaf,))


def _intersection(members: tuple[Node, ...], database: Database, *, shared: bool) -> FilterCandidates:
    """Return the intersection of the members, with their predictions in the order of the filter."""
    index_use, most = IndexUse.UNINDEXED, None
    leaves: dict[int, tuple[Leaf, ...]] = {}
    for position in sorted(range(len(members)), key=lambda position: _lookup_rank(members[position])):
        if index_use is IndexUse.INDEXED and most is not None and most <= ENOUGH:
            leaves[position] = tuple(map(not_looked_up, assertions(members[position])))
            continue
        one = _find(members[position], database, shared=shared)
        leaves[position] = one.leaves
        if one.index_use is IndexUse.INDEXED:
            index_use = IndexUse.INDEXED
            most = min((number for number in (most, one.amount.most) if number is not None), default=None)
        elif one.index_use is IndexUse.DEPENDS and index_use is IndexUse.UNINDEXED:
            index_use = IndexUse.DEPENDS
    ordered = tuple(leaf for position in range(len(members)) for leaf in leaves[position])
    return FilterCandidates(index_use, Amount(most=most), ordered)


def _lookup_rank(member: Node) -> int:
    """Return the rank of a member in the lookup order of an AND."""
    if isinstance(member, Assertion):
        return 0 if member.kind in FAST else 2 if member.kind in RANGES else 1
    return 1


def _union(several: list[FilterCandidates]) -> FilterCandidates:
    """Return the union; members after one without a list are predicted as if the server evaluated them."""
    index_uses = {one.index_use for one in several}
    index_use = next((one for one in (IndexUse.UNINDEXED, IndexUse.DEPENDS) if one in index_uses), IndexUse.INDEXED)
    numbers = [one.amount.most for one in several]
    most = None if None in numbers else sum(number for number in numbers if number is not None)
    return FilterCandidates(index_use, Amount(most=most), tuple(leaf for one in several for leaf in one.leaves))


def _is_found_by(attribute: str, node: Node) -> bool:
    """Return whether the provider of a computed attribute finds the entries: one member of an AND, or all of an OR."""
    match node:
        case And(members):
            return any(_is_found_by(attribute, member) for member in members)
        case Or(members):
            return bool(members) and all(_is_found_by(attribute, member) for member in members)
        case Assertion(kind=AssertionKind.EQUALITY):
            return node.attribute == attribute
        case _:
            return False
