"""Candidates: the entries that a server takes from its indexes for a filter, before it tests any of them.

The module `candidates` of each product simulates its server; their common input and output types are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from ldapdiag.lazy_dataclass import NamedTuple, dataclass

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.filter_tree import Assertion, Node
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
    from ldapdiag.evidence.indexes.index_status import IndexStatus
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.commands.server_address import ServerAddress


class IndexUse(StrEnum):
    """How a search finds its candidates."""

    INDEXED = "indexed"
    PARTIALLY = "partially"
    """A part of the filter has no index, but few entries are tested (389-ds notes U)."""
    UNINDEXED = "unindexed"
    """Every entry below the base is tested, or the search is refused."""
    DEPENDS = "depends"
    """It depends on how many entries have a value, which is not known."""


class Cause(StrEnum):
    """Why an assertion yields no list of candidates; NONE: it does."""

    NONE = "indexed"
    NOT_LOOKED_UP = "not-looked-up"
    """Assertions before it left few enough candidates."""
    NO_INDEX = "no-index"
    TYPE_MISSING = "type-missing"
    """The attribute is indexed, but not for this kind of assertion."""
    NOT_BUILT = "not-built"
    YOUNGER = "younger-than-log"
    """There is an index since the log began: what the log shows of the search is from before."""
    TOO_SHORT = "substring-too-short"
    LIMIT = "limit-exceeded"
    LIMIT_PERHAPS = "limit-perhaps"
    """There is an index; whether its ID list is within the limit is not known."""
    UNINDEXABLE = "unindexable"
    """No index answers it: negation, an extensible match without a rule of its own, objectClass=*, computed values."""
    UNKNOWN_ATTRIBUTE = "unknown-attribute"
    """The schema lacks the attribute or a rule for this kind of assertion: nothing matches, nothing is scanned."""
    PAGES = "perhaps-pages"
    """The results may be pages of larger ones: how many entries match is not known."""
    UNCONFIGURED = "no-configuration"
    """The index configuration is not known."""
    NOT_EXPORTED = "not-exported"
    """The server evaluates an attribute that the schema in the evidence lacks: whether it has an index is not known."""


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """An index to add or remove: the primary name of its attribute, and the product's name of the index type."""

    attribute: str
    type: str
    rule: str = ""
    """A matching rule that the index needs (389-ds: the order of its keys, or that of an extensible match); or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """The predicted use of indexes for one assertion of a filter."""

    assertion: Assertion
    index_use: IndexUse
    cause: Cause
    change: Change | None = None
    """The index that would answer it; None if one exists or none would."""
    why: str = ""
    """A lower-case clause for people: `shorter than 3 characters`, `a negation`."""
    unproven: bool = False
    """No index is known to answer it, but neither the server's code nor its manual excludes one."""
    lists_others: str = ""
    """Why its list has many entries that do not match, as a clause; empty: it has none, or few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The predicted use of indexes for a search."""

    index_use: IndexUse
    leaves: tuple[Leaf, ...]
    """One per assertion, in the order of the filter, the negated ones included."""
    added: tuple[Leaf, ...] = ()
    """Assertions that the server adds to the filter with OR (slapd: objectClass=referral): each must be indexed too."""
    why: str = ""
    possible: frozenset[IndexUse] = frozenset()
    """The possible values, if it depends; empty if the product's simulation does not give them."""
    notes: frozenset[str] = frozenset()
    """The possible notes in the server's log (389-ds: none, U, A); empty if the product's simulation lacks them.

    A note differs from the index use: without a scan limit 389-ds reads all entries and notes U, or nothing.
    """


@dataclass(frozen=True, slots=True)
class Amount:
    """Bounds of a number of entries; `most` None: not known."""

    least: int = 0
    most: int | None = None

    def exceeds(self, limit: int) -> bool | None:
        """Return whether it is above a limit (negative: no limit); None if that is not known."""
        if limit < 0 or (self.most is not None and self.most <= limit):
            return False
        return True if self.least > limit else None


class Frequencies(Protocol):
    """Bounds of the number of entries that match, from the evidence."""

    def of(self, assertion: Assertion) -> Amount:
        """Return how many entries the index key of an assertion has; with several keys, the shortest ID list."""

    def usual(self, assertion: Assertion) -> float | None:
        """Return how many entries have the values that searches ask for, on average; None: nothing shows it."""

    def below(self, base: str, scope: str) -> Amount:
        """Return how many entries are in the scope of a base."""


class UnknownFrequencies:
    """Frequencies without evidence."""

    def of(self, assertion: Assertion) -> Amount:  # noqa: ARG002  a protocol
        """Return bounds that exclude nothing."""
        return Amount()

    def usual(self, assertion: Assertion) -> float | None:
        """Return that it is not known."""

    def below(self, base: str, scope: str) -> Amount:  # noqa: ARG002  a protocol
        """Return bounds that exclude nothing."""
        return Amount()


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """The database that answers a search: its indexes, schema and value frequencies."""

    configuration: IndexConfiguration
    backend: Backend
    schema: Schema
    frequencies: Frequencies
    statuses: tuple[IndexStatus, ...] = ()
    """The state of the indexes, as reported by the server's own tool (OpenDJ)."""
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Attributes, in lower case, that the server notes as lacking in its schema, and the evidence as a clause."""
    remembered: dict[object, Any] = field(init=False, compare=False)
    """What few index definitions decide, by these; shared with copies that have other indexes, and no others."""

    def __post_init__(self) -> None:
        """Begin without results."""
        object.__setattr__(self, "remembered", {})

    def with_indexes_of(self, backend: Backend) -> Database:
        """Return the database with other indexes."""
        copy = replace(self, backend=backend)
        object.__setattr__(copy, "remembered", self.remembered)
        return copy

    def definition(self, attribute: str) -> IndexDefinition | None:
        """Return the indexes of an attribute, configured with any of its names; not those of its supertype."""
        key = "names", attribute
        if key not in self.remembered:
            self.remembered[key] = self.schema.names(attribute)
        return self.backend.definition(self.remembered[key])

    @property
    def version(self) -> Version:
        """Return the server's version; empty where it is not known."""
        return self.configuration.identity.version


class IndexPlace(NamedTuple):
    """Where indexes are added, built and dropped."""

    server: ServerAddress
    backend: Backend
    configuration: IndexConfiguration
    schema: Schema


class Candidates(Protocol):
    """The module `candidates` of a product, which simulates its use of indexes."""

    SUBSTRING_KEY_LENGTH: int
    """Octets of the longest key of a substring index, unless it is configured."""

    def forecast(self, filter_: Node, base: str, scope: str, database: Database) -> Forecast:
        """Predict the use of indexes for a search; `scope` is base, one, sub or subordinate."""
