"""SimulatedDatabase: a server's candidate logic with the present indexes, and with new ones added.

Without index configuration only the log is known: an assertion that the server answered from an index in one search has
an index; for any other the cause is unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from math import inf
from typing import TYPE_CHECKING, Protocol, TypeVar

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import Assertion, AssertionKind, assertions
from ldapdiag.evidence.indexes import Backend, IndexDefinition
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.indexes.candidates import Cause, Change, Forecast, IndexUse, Leaf
from ldapdiag.servers.indexes.index_types import index_type
from ldapdiag.servers.traits import traits_of

if TYPE_CHECKING:
    from ldapdiag.evidence.filter_tree import Node
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.indexes.candidates import Candidates, Database

Key = TypeVar("Key")
Cached = TypeVar("Cached")

WHOLE_TREE = "sub"
NONE = frozenset[str]()
BUILT_IN = frozenset({("objectclass", AssertionKind.EQUALITY)})
"""Every product has these indexes unless an administrator removed them."""
MOST_CACHED = 20_000
"""Results of each kind that are cached; a filter is asked about several times in a row, and hardly later."""
MOST_CHANGED = 2_000
"""Databases after changes that are cached: each has all indexes."""


class SimulatedDatabase(Protocol):
    """The database that answers a search, and what it does with a search."""

    def forecast(self, filter_: Node, base: str, scope: str) -> Forecast:
        """Simulate a search."""

    def leaf(self, assertion: Assertion) -> Leaf:
        """Simulate a search for one assertion."""

    def with_added(self, filter_: Node, base: str, scope: str, changes: frozenset[Change]) -> Forecast:
        """Simulate a search after these indexes are added."""

    def in_schema(self, attribute: str) -> bool:
        """Return whether a known schema defines an attribute."""

    def distinct_lengths(self, piece_lengths: str) -> str:
        """Return lengths of substring pieces, those that make no difference as one length."""


@dataclass(slots=True)
class ConfiguredDatabase:
    """A database whose index configuration is known; results are cached."""

    candidates: Candidates
    database: Database
    younger: Mapping[str, datetime] = field(default_factory=dict)
    """Attributes, in lower case, whose indexes are younger than the log whose searches are simulated; since when."""
    undated: Mapping[str, datetime] = field(default_factory=dict)
    """Those of whose indexes that is not known, and the end of the log: at the latest since then."""
    leaves: dict[Assertion, Leaf] = field(default_factory=dict)
    forecasts: dict[tuple[Node, str, str, frozenset[Change]], Forecast] = field(default_factory=dict)
    changed: dict[frozenset[Change], Database] = field(default_factory=dict)
    """The database after indexes are added."""
    longest_piece: int = field(init=False)
    """Octets: a longer piece of a substring has several keys, as this one has."""

    def __post_init__(self) -> None:
        """Find the longest key of a substring index; one more octet makes two keys."""
        backend, keys = self.database.backend, self.database.configuration.substring_keys
        configured = [length for each in backend.definitions for length in (each.initial, each.middle, each.final)]
        configured += [keys.if_minlen, keys.if_maxlen, keys.any_len]
        self.longest_piece = 1 + max(self.candidates.SUBSTRING_KEY_LENGTH, *(each or 0 for each in configured))

    @property
    def longest_list(self) -> float:
        """Return the entries of the longest ID list, unless an index has a limit of its own; infinite: no limit."""
        limit = self.database.configuration.scan_limit or self.database.backend.entry_limit or 0
        return limit if limit > 0 else inf

    @property
    def longest_list_of_pages(self) -> float:
        """Return the same for paged searches."""
        limit = self.database.configuration.paged_scan_limit or 0
        return (limit if limit > 0 else inf) if limit else self.longest_list

    def forecast(self, filter_: Node, base: str, scope: str) -> Forecast:
        """Simulate a search."""
        return self.with_added(filter_, base, scope, frozenset())

    def leaf(self, assertion: Assertion) -> Leaf:
        """Simulate a search for one assertion below the suffix."""
        if assertion not in self.leaves:
            _make_room(self.leaves, MOST_CACHED)
            suffix = next(iter(self.database.backend.suffixes), "")
            self.leaves[assertion] = self.forecast(assertion, suffix, WHOLE_TREE).leaves[0]
        return self.leaves[assertion]

    def with_added(self, filter_: Node, base: str, scope: str, changes: frozenset[Change]) -> Forecast:
        """Simulate a search after these indexes are added."""
        key = filter_, base, scope, changes
        if key not in self.forecasts:
            _make_room(self.forecasts, MOST_CACHED)
            _make_room(self.database.remembered, MOST_CACHED)
            self.forecasts[key] = self.candidates.forecast(filter_, base, scope, self._changed(changes))
        return self.forecasts[key]

    def _changed(self, changes: frozenset[Change]) -> Database:
        if not changes:
            return self.database
        if changes not in self.changed:
            _make_room(self.changed, MOST_CHANGED)
            inherits = traits_of(self.database.configuration.identity.family).has_default_types
            backend = with_indexes(self.database.backend, changes, self.database.schema, inherits=inherits)
            self.changed[changes] = self.database.with_indexes_of(backend)
        return self.changed[changes]

    def in_schema(self, attribute: str) -> bool:
        """Return whether a known schema defines an attribute."""
        return defines(self.database.schema, attribute, self.database.configuration.identity.family)

    def distinct_lengths(self, piece_lengths: str) -> str:
        """Return lengths of substring pieces, those that make no difference as one length."""
        return "".join(str(min(int(length), self.longest_piece)) for length in piece_lengths)


@dataclass(frozen=True, slots=True)
class UnconfiguredDatabase:
    """A database whose index configuration is not known; the log shows some of its indexes."""

    family: Family | None
    answered: frozenset[tuple[str, AssertionKind]] = frozenset()
    """Attribute and kind of the single assertions that the server answered from an index."""
    schema: Schema = field(default_factory=standard)
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Attributes that the server's schema lacks, by its notes, and why."""

    def forecast(self, filter_: Node, base: str, scope: str) -> Forecast:  # noqa: ARG002  a protocol
        """Return that it depends on the assertions that were not answered from an index elsewhere."""
        return Forecast(index_use=IndexUse.DEPENDS, leaves=tuple(map(self.leaf, assertions(filter_))))

    @property
    def _has_rule_indexes(self) -> bool:
        """Return whether an index by its matching rule may answer an extensible match: on slapd none does."""
        return traits_of(self.family).has_rule_indexes

    def leaf(self, assertion: Assertion) -> Leaf:
        """Return that an assertion has an index, or that this is unknown."""
        if why := self.lacking.get(assertion.attribute, ""):
            # As on 389-ds, which has such a note: nothing is looked up, but for a substring it scans.
            scanned = assertion.kind is AssertionKind.SUBSTRING
            index_use = IndexUse.UNINDEXED if scanned else IndexUse.INDEXED
            return Leaf(assertion=assertion, index_use=index_use, cause=Cause.UNKNOWN_ATTRIBUTE, why=why)
        if computed := traits_of(self.family).computed.get(assertion.attribute, ""):
            why = f"its values are computed ({computed})"
            return Leaf(assertion=assertion, index_use=IndexUse.UNINDEXED, cause=Cause.UNINDEXABLE, why=why)
        type_ = index_type(self.family, assertion.kind)
        if assertion.kind is AssertionKind.SUBSTRING and assertion.initial != 0:
            type_ = traits_of(self.family).initial_type or type_
        if type_ is None and self._has_rule_indexes and assertion.attribute and assertion.rule:
            type_ = index_type(self.family, AssertionKind.EQUALITY)
        if type_ is None or (assertion.kind is AssertionKind.PRESENCE and assertion.attribute == "objectclass"):
            of_every_entry = assertion.kind is AssertionKind.PRESENCE
            return Leaf(
                assertion=assertion,
                index_use=IndexUse.UNINDEXED,
                cause=Cause.UNINDEXABLE,
                why="every entry has this attribute" if of_every_entry else "an extensible match",
            )
        key = (assertion.attribute, assertion.kind)
        if key in self.answered or key in BUILT_IN:
            return Leaf(assertion=assertion, index_use=IndexUse.DEPENDS, cause=Cause.LIMIT_PERHAPS)
        return Leaf(
            assertion=assertion,
            index_use=IndexUse.DEPENDS,
            cause=Cause.UNCONFIGURED,
            change=Change(self.schema.primary(assertion.name), type_, assertion.rule_name),
            why="the index configuration is not known",
        )

    def with_added(self, filter_: Node, base: str, scope: str, changes: frozenset[Change]) -> Forecast:  # noqa: ARG002  a protocol
        """Return that it depends; an assertion with one of these indexes is answered."""
        leaves = (self.leaf(assertion) for assertion in assertions(filter_))
        answered = (
            replace(leaf, cause=Cause.LIMIT_PERHAPS, change=None) if leaf.change in changes else leaf for leaf in leaves
        )
        return Forecast(index_use=IndexUse.DEPENDS, leaves=tuple(answered))

    def in_schema(self, attribute: str) -> bool:
        """Return whether a known schema defines an attribute."""
        return defines(self.schema, attribute, self.family)

    def distinct_lengths(self, piece_lengths: str) -> str:
        """Return the lengths as they are: which make a difference is not known."""
        return piece_lengths


def defines(schema: Schema, attribute: str, family: Family | None) -> bool:
    """Return whether a schema has an attribute, or leaves out what it is known to have at a product."""
    own = traits_of(family).own_attributes if not schema.whole else NONE
    return schema.find(attribute) is not None or attribute.lower() in own


def _make_room(cache: dict[Key, Cached], most: int) -> None:
    """Empty a cache that is full: what a client may ask for has no end."""
    if len(cache) >= most:
        cache.clear()


def with_indexes(backend: Backend, changes: Iterable[Change], schema: Schema, *, inherits: bool = False) -> Backend:
    """Return a backend with indexes added and built.

    `inherits`: an index line of an attribute replaces that of its supertype, so the new line has its types too (slapd).
    """
    wanted: dict[str, set[Change]] = defaultdict(set)
    for change in changes:
        wanted[change.attribute].add(change)
    definitions = list(backend.definitions)
    for attribute, several in wanted.items():
        known = backend.definition(schema.names(attribute))
        if known is None:
            known = IndexDefinition(
                attribute=attribute, types=_inherited(backend, attribute, schema) if inherits else NONE
            )
            definitions.append(known)
        definitions[next(place for place, one in enumerate(definitions) if one is known)] = replace(
            known,
            types=known.types | {change.type for change in several},
            rules=(*known.rules, *sorted({change.rule for change in several} - {"", *known.rules})),
            built=True,
        )
    return replace(backend, definitions=tuple(definitions))


def _inherited(backend: Backend, attribute: str, schema: Schema) -> frozenset[str]:
    """Return the index types that an attribute has from the index line of its nearest supertype."""
    supertypes = list(schema.lineage(attribute))[1:]
    lines = (backend.definition(schema.names(supertype.oid)) for supertype in supertypes)
    return next((line.types for line in lines if line is not None and line.subtypes), NONE)
