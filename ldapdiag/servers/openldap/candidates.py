"""Candidates on OpenLDAP's slapd: simulation of back-mdb (back-mdb/filterindex.c, search.c).

With an index of uid and none of title:

    (&(uid=x)(title=y))       the ID list of uid=x: in an AND, a member without an index stands for all entries
    (|(uid=x)(title=y))       all entries: an OR is the union of predictions members
    (!(uid=x))                all entries
    (&(nosuch=x)(title=y))    none: an undefined assertion matches nothing, and an AND ends when no entry is left

Except for scope base and for (objectClass=*), slapd searches for (|(objectClass=referral)(filter)). So without an eq
index of objectClass, which slapd does not create by itself, every search scans (tested with 2.5.13).

`All entries` means all in the scope: if the scope has fewer entries than the ID list, slapd goes through the scope and
tests those that are in the list. back-bdb and back-hdb of 2.4 have the same result. size.unchecked (err 11) is ignored.
"""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Node, Not, Or, assertions
from ldapdiag.servers.indexes.candidates import Cause, Database, Forecast, IndexUse, Leaf
from ldapdiag.servers.openldap.index_lookup import ANY_LEN, LONGEST_LIST, look_up

if TYPE_CHECKING:
    from collections.abc import Iterable

SUBSTRING_KEY_LENGTH = ANY_LEN
REFERRAL = Assertion(
    kind=AssertionKind.EQUALITY, attribute="objectclass", text="(objectClass=referral)", value="referral"
)
BASE_ALONE = "only the base entry is tested"
NEGATED = "a negation: slapd scans the database"


COPY_OVER_TEST = 1 / 300
"""The time to copy one ID in mdb_idl_union(), as a share of the time to test an entry. slapd copies the list found so
far for each key of a range: measured with 2.5.13, 20,000 keys of one entry each take 30 times as long as the scan."""
APPROXIMATE_OVER_TEST = 3.0
"""2.5.13 took 2.3 times as long for (title~=boss) as for (employeeNumber=x), 9,000 entries; 389-ds as long."""


def why_no_approximate(value: str, entries: int) -> str:  # noqa: ARG001  a function of a product
    """Return why an approximate index does not serve a value, as a clause; empty: it does.

    phonetic() in phonetic.c leaves nothing of a word without letters. Measured with 2.5.13: `12 Main` scans as before;
    `Main 12`, `B 7` and `A-B 12` found nothing, where a scan found the entries with these values. What is not ASCII
    once accents are removed is ignored: `Main \u0414` is served as `Main`; a value of it alone scans.
    """
    words = unicodedata.normalize("NFKD", value).encode("ascii", "ignore").decode().split()
    if words and all(any(character.isalpha() for character in word) for word in words):
        return ""
    return "a word without Latin letters has no key: with an approximate index slapd would scan, or find nothing"


def longest_list(database: Database) -> int:  # noqa: ARG001  a function of a product
    """Return the longest ID list; of a longer one slapd keeps first and last."""
    return LONGEST_LIST


class CandidateSet(Enum):
    """The candidates of a part of a filter, in ascending order of size."""

    NOTHING = auto()
    LIST = auto()
    PERHAPS = auto()
    """A list, or all; the evidence does not show which."""
    ALL = auto()


CANDIDATE_SETS = {IndexUse.UNINDEXED: CandidateSet.ALL, IndexUse.DEPENDS: CandidateSet.PERHAPS}
OUTLOOKS = {CandidateSet.ALL: IndexUse.UNINDEXED, CandidateSet.PERHAPS: IndexUse.DEPENDS}


def forecast(filter_: Node, base: str, scope: str, database: Database) -> Forecast:
    """Predict the use of indexes for a search; the base does not matter."""
    del base
    if scope == "base":
        return Forecast(
            index_use=IndexUse.INDEXED, leaves=tuple(map(_not_looked_up, assertions(filter_))), why=BASE_ALONE
        )
    candidates, leaves = _find(filter_, database)
    added = _added(filter_, database)
    if any(leaf.index_use is IndexUse.UNINDEXED for leaf in added):
        why = "slapd also searches for referrals, and objectClass has no eq index"
        return Forecast(index_use=IndexUse.UNINDEXED, leaves=leaves, added=added, why=why)
    index_use = OUTLOOKS.get(candidates, IndexUse.INDEXED)
    if index_use is IndexUse.INDEXED and any(leaf.index_use is not IndexUse.INDEXED for leaf in leaves):
        index_use = IndexUse.PARTIALLY
    return Forecast(index_use=index_use, leaves=leaves, added=added)


def _added(filter_: Node, database: Database) -> tuple[Leaf, ...]:
    """Return what slapd adds to a filter with OR: a search for referrals, unless the filter is (objectClass=*)."""
    everything = isinstance(filter_, Assertion) and (filter_.kind, filter_.attribute) == (
        AssertionKind.PRESENCE,
        "objectclass",
    )
    return () if everything else (look_up(REFERRAL, database),)


def _find(node: Node, database: Database) -> tuple[CandidateSet, tuple[Leaf, ...]]:
    """Return the candidates of a part of a filter, and the prediction for each of predictions assertions."""
    match node:
        case And(members):
            return _intersection(members, database)
        case Or(members):
            several = [_find(member, database) for member in members]
            return _union(candidates for candidates, _ in several), tuple(
                leaf for _, leaves in several for leaf in leaves
            )
        case Not(member):
            return _complement(member, database)
        case Assertion():
            leaf = look_up(node, database)
            if leaf.cause is Cause.UNKNOWN_ATTRIBUTE or _matches_nothing(leaf, database):
                return CandidateSet.NOTHING, (leaf,)
            return CANDIDATE_SETS.get(leaf.index_use, CandidateSet.LIST), (leaf,)


def _intersection(members: tuple[Node, ...], database: Database) -> tuple[CandidateSet, tuple[Leaf, ...]]:
    """Return the intersection of the members, in the order of the filter, until no entry is left."""
    candidates, leaves = CandidateSet.ALL, list[Leaf]()
    for member in members:
        if candidates is CandidateSet.NOTHING:
            leaves += map(_not_looked_up, assertions(member))
            continue
        one, predictions = _find(member, database)
        leaves += predictions
        candidates = min(candidates, one, key=lambda each: each.value)
    return candidates, tuple(leaves)


def _complement(member: Node, database: Database) -> tuple[CandidateSet, tuple[Leaf, ...]]:
    """Return all entries; none for the negation of the empty AND, which is always true (RFC 4526)."""
    if member == And(()):
        return CandidateSet.NOTHING, ()
    return CandidateSet.ALL, tuple(_negated(leaf) for leaf in _find(member, database)[1])


def _union(several: Iterable[CandidateSet]) -> CandidateSet:
    return max(several, key=lambda each: each.value, default=CandidateSet.NOTHING)


def _matches_nothing(leaf: Leaf, database: Database) -> bool:
    return leaf.cause is Cause.NONE and database.frequencies.of(leaf.assertion).most == 0


def _negated(leaf: Leaf) -> Leaf:
    """Return the prediction for a negated assertion: it is not looked up, but may be undefined."""
    undefined = leaf.cause is Cause.UNKNOWN_ATTRIBUTE
    cause, why = (leaf.cause, leaf.why) if undefined else (Cause.UNINDEXABLE, NEGATED)
    return replace(leaf, index_use=IndexUse.UNINDEXED, cause=cause, change=None, why=why)


def _not_looked_up(assertion: Assertion) -> Leaf:
    return Leaf(assertion=assertion, index_use=IndexUse.INDEXED, cause=Cause.NOT_LOOKED_UP)
