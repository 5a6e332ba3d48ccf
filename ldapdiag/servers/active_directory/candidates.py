"""Candidates on a domain controller: which indexes answer a filter, by searchFlags. By Microsoft's documentation.

What event 1644 reports of a search comes first (analysis/indexes/reported_use.py): entries visited (v) and returned
(r), used indexes (U), attributes that no index could be used for (P). This module shows why, and what would help:

    row  sign                                                           verdict
      1  scope base                                                     none: only the base entry is read
      2  v <= 1,000, or r at least half of v                            none
      3  U walks, an AND without indexed part                           missing-index: bit 1, one level also bit 2
      4  U walks, an OR with a part that has no index                   missing-index of all parts, or of none
      5  (a=*x*), (a=*x), no bit 32                                     missing-index: bit 32, from 3 characters on
      6  the same with fewer characters                                 substring-too-short
      7  negations, (objectClass=*), booleans                           unindexable-filter: add a positive part
      8  bitwise rules                                                  unindexable-filter: combine with an equality
      9  matching rule in chain                                         unindexable-filter: tokenGroups, or base scope
     10  (UNDEFINED); a name that the export lacks                      unknown-attribute; not judged
     11  constructed, defunct, not replicated or a secret               unindexable-filter: another attribute
     12  bit 1 is set, U walks, P names the attribute                   index-not-built, at this domain controller
     13  U is an index, v far above r                                   another part of the AND, or scan-limit-exceeded
     14  global catalog (the base is the root, or the clients' sockets
         are to its ports), not in the partial set                      unknown-attribute
     15  v is small, the time is not                                    costly-search: no index
     16  no schema                                                      not judged, but for rows 5 to 9

Source: [MS-ADTS] 2.2.9 (searchFlags) and 3.1.1.3.4.3; learn.microsoft.com, "How tuple indexing works", "Creating
efficient queries", KB3060643 (Event1644Reader).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Node, Not, Or, assertions
from ldapdiag.evidence.indexes.active_directory import BITS, BOOLEAN, LINK, RFC_4517
from ldapdiag.servers.indexes.candidates import Cause, Change, Database, Forecast, IndexUse, Leaf
from ldapdiag.servers.indexes.index_types import is_long_enough

if TYPE_CHECKING:
    from collections.abc import Iterator

ATTRIBUTE, CONTAINER, TUPLE, ANR = (BITS[bit] for bit in (1, 2, 32, 4))
NAMES = "anr"
TUPLE_LENGTH = 3
"""Characters of the shortest key of a tuple index."""
SUBSTRING_KEY_LENGTH = 10
"""Characters of the longest."""
TEXT = f"{RFC_4517}15"
IN_CHAIN = "1.2.840.113556.1.4.1941"
RULES = {
    IN_CHAIN: "the rule in chain reads the groups of groups, one after the other",
    "1.2.840.113556.1.4.803": "a bitwise rule tests each value",
    "1.2.840.113556.1.4.804": "a bitwise rule tests each value",
}
"""Why no index answers an extensible match."""
BROAD = frozenset({"objectclass", "objectcategory", "samaccounttype"})
"""Indexed since Windows 2008 (objectClass) or ever, with a few values that thousands of entries have each."""
UNDEFINED = "logged as (UNDEFINED): the schema lacks the attribute, or its syntax forbids the value"
NOT_EXPORTED = (
    "the server logs it by name, so its schema has it, and the schema in the evidence does not: that is cut, older, "
    "or of another forest, so export all of it"
)
NEGATED = "a negation: an index lists the entries that have a value"

NOTHING, LIST, PERHAPS, ALL = range(4)
"""The candidates of a part of a filter, in ascending order of size; PERHAPS: of most entries."""
INDEX_USES = {ALL: IndexUse.UNINDEXED, PERHAPS: IndexUse.DEPENDS}
SIZES = {use: size for size, use in INDEX_USES.items()}


def forecast(filter_: Node, base: str, scope: str, database: Database) -> Forecast:
    """Predict the use of indexes for a search; the base does not matter."""
    del base
    if scope == "base":
        leaves = tuple(
            Leaf(assertion=each, index_use=IndexUse.INDEXED, cause=Cause.NOT_LOOKED_UP) for each in assertions(filter_)
        )
        return Forecast(index_use=IndexUse.INDEXED, leaves=leaves, why="only the base entry is tested")
    size, found = _find(filter_, scope, database)
    index_use = INDEX_USES.get(size, IndexUse.INDEXED)
    if index_use is IndexUse.INDEXED and any(leaf.index_use is not IndexUse.INDEXED for leaf in found):
        index_use = IndexUse.PARTIALLY
    return Forecast(index_use=index_use, leaves=found)


def _find(node: Node, scope: str, database: Database) -> tuple[int, tuple[Leaf, ...]]:
    """Return the candidates of a part of a filter, and the prediction for each of its assertions."""
    match node:
        case And(members) | Or(members):
            several = [_find(member, scope, database) for member in members]
            sizes = [size for size, _ in several]
            leaves = tuple(leaf for _, own in several for leaf in own)
            return (min(sizes, default=ALL) if isinstance(node, And) else max(sizes, default=NOTHING)), leaves
        case Not(member):
            size, leaves = _find(member, scope, database)
            if isinstance(member, Assertion) and leaves[0].cause is Cause.UNKNOWN_ATTRIBUTE:
                return size, leaves  # neither true nor false
            return ALL, tuple(map(_negated, leaves))
        case Assertion():
            leaf = look_up(node, scope, database)
            nothing = leaf.cause is Cause.UNKNOWN_ATTRIBUTE
            return NOTHING if nothing else SIZES.get(leaf.index_use, LIST), (leaf,)


def _negated(leaf: Leaf) -> Leaf:
    if leaf.cause is Cause.UNKNOWN_ATTRIBUTE:
        return leaf
    return replace(leaf, index_use=IndexUse.UNINDEXED, cause=Cause.UNINDEXABLE, change=None, why=NEGATED)


def look_up(assertion: Assertion, scope: str, database: Database) -> Leaf:
    """Return the prediction for one assertion, whatever else is in the filter."""
    name = assertion.attribute
    if name == NAMES:
        return _of_names(assertion, database)
    if assertion.undefined:  # the log has (UNDEFINED) for the whole assertion
        named = replace(assertion, attribute="", text="(?=undefined)")
        return Leaf(assertion=named, index_use=IndexUse.INDEXED, cause=Cause.UNKNOWN_ATTRIBUTE, why=UNDEFINED)
    definition = database.definition(name)
    types = definition.types if definition is not None else frozenset[str]()
    wanted = next(_wanted(assertion, scope), None)
    if assertion.kind is AssertionKind.EXTENSIBLE:
        return _unindexable(assertion, RULES.get(assertion.rule, "an extensible match"))
    if definition is None:
        return Leaf(assertion=assertion, index_use=IndexUse.DEPENDS, cause=Cause.NOT_EXPORTED, why=NOT_EXPORTED)
    by_link = LINK in types and assertion.kind is AssertionKind.EQUALITY
    if by_link or not types.isdisjoint(_wanted(assertion, scope)):
        return _indexed(assertion, database)
    if why := "a link: equality alone is indexed" if LINK in types else _why_never(assertion, database):
        return _unindexable(assertion, why)
    if wanted is None:
        why = f"shorter than {TUPLE_LENGTH} characters"
        return Leaf(assertion=assertion, index_use=IndexUse.UNINDEXED, cause=Cause.TOO_SHORT, why=why)
    primary = database.schema.primary(assertion.name)
    cause = Cause.TYPE_MISSING if types else Cause.NO_INDEX
    return Leaf(assertion=assertion, index_use=IndexUse.UNINDEXED, cause=cause, change=Change(primary, wanted))


def _wanted(assertion: Assertion, scope: str) -> Iterator[str]:
    """Yield the index types that answer an assertion, the one to add first."""
    if assertion.kind is not AssertionKind.SUBSTRING or assertion.initial != 0:
        if scope == "one":
            yield CONTAINER
        yield ATTRIBUTE
    longest = any(is_long_enough(length, TUPLE_LENGTH) is not False for length in assertion.pieces)
    if assertion.kind is AssertionKind.SUBSTRING and longest:
        yield TUPLE


def _why_never(assertion: Assertion, database: Database) -> str:
    """Return why an index is not advised for an assertion that has none, as a clause; empty: it may be."""
    name, syntax = assertion.attribute, database.schema.syntax(assertion.attribute)
    computed = database.configuration.virtual_attributes.get(name, "")
    if computed:
        return computed
    if name == "objectclass":
        return "every entry has this attribute, with few different values"
    if syntax == BOOLEAN:
        return "a boolean: each of its two values is that of too many entries"
    medial = assertion.kind is AssertionKind.SUBSTRING and assertion.initial == 0
    return "a tuple index is for text alone" if medial and syntax not in {"", TEXT} else ""


def _indexed(assertion: Assertion, database: Database) -> Leaf:
    """Return that an index answers an assertion; of presence and broad values, most entries may be in its list."""
    name = assertion.attribute
    if name == "objectclass" and assertion.kind is AssertionKind.PRESENCE:
        return _unindexable(assertion, "every entry has this attribute")
    broad = name in BROAD or assertion.kind is AssertionKind.PRESENCE or database.schema.syntax(name) == BOOLEAN
    return Leaf(
        assertion=assertion,
        index_use=IndexUse.DEPENDS if broad else IndexUse.INDEXED,
        cause=Cause.LIMIT_PERHAPS if broad else Cause.NONE,
    )


def _unindexable(assertion: Assertion, why: str) -> Leaf:
    return Leaf(assertion=assertion, index_use=IndexUse.UNINDEXED, cause=Cause.UNINDEXABLE, why=why)


def _of_names(assertion: Assertion, database: Database) -> Leaf:
    """Return the prediction for ambiguous name resolution: an OR of the attributes with bit 4 of searchFlags."""
    names = [one for one in database.backend.definitions if ANR in one.types]
    lacking = next((one for one in names if ATTRIBUTE not in one.types), None)
    if lacking is None:
        index_use, cause = (
            (IndexUse.INDEXED, Cause.NONE) if database.configuration.whole else (IndexUse.DEPENDS, Cause.LIMIT_PERHAPS)
        )
        return Leaf(assertion=assertion, index_use=index_use, cause=cause)
    change = Change(lacking.attribute, ATTRIBUTE)
    return Leaf(assertion=assertion, index_use=IndexUse.UNINDEXED, cause=Cause.TYPE_MISSING, change=change)
