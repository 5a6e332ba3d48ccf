"""Candidates: what a server finds of a filter in its indexes before it looks at any entry, and why not more.

Each family's room `candidates` simulates its own server; what all of them ask and answer is here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.filter_tree import Assertion, Node
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
    from ldapdiag.evidence.indexes.index_status import IndexStatus
    from ldapdiag.evidence.schema import Schema


class Outlook(StrEnum):
    """How a search finds its candidates."""

    INDEXED = "indexed"
    PARTIALLY = "partially"
    """Something had no index, and all the same few entries are looked at (389-ds notes U)."""
    UNINDEXED = "unindexed"
    """Every entry below the base is looked at, or the search is refused."""
    DEPENDS = "depends"
    """On how many entries have a value, which nobody has told."""


class Cause(StrEnum):
    """Why an assertion gives no list of entries, or that it does."""

    NONE = "indexed"
    NOT_LOOKED_UP = "not-looked-up"
    """What was looked up before it was enough."""
    NO_INDEX = "no-index"
    TYPE_MISSING = "type-missing"
    """The attribute is indexed, but not for this kind of assertion."""
    NOT_BUILT = "not-built"
    TOO_SHORT = "substring-too-short"
    LIMIT = "limit-exceeded"
    LIMIT_PERHAPS = "limit-perhaps"
    """There is an index; whether its list is short enough is not known."""
    UNINDEXABLE = "unindexable"
    """No index answers it: negation, an extensible match without a rule of its own, objectClass=*, computed values."""
    UNKNOWN_ATTRIBUTE = "unknown-attribute"
    """The schema does not know it, or has no rule for this kind of assertion: nothing matches, nothing is scanned."""
    UNCONFIGURED = "no-configuration"
    """The index configuration is not known."""


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """An index to add: its attribute by the primary name, and the type in the family's words."""

    attribute: str
    type: str
    rule: str = ""
    """A matching rule without which the new index gives wrong answers (389-ds: integerOrderingMatch); empty: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """What becomes of one assertion."""

    assertion: Assertion
    outlook: Outlook
    cause: Cause
    change: Change | None = None
    """The index that would answer it; None where it has one, or none would."""
    why: str = ""
    """In words, for people: `shorter than 3 characters`, `negation`; a lower-case clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What becomes of a search."""

    outlook: Outlook
    leaves: tuple[Leaf, ...]
    """One per assertion, in the order they are written; the negated ones, too."""
    added: tuple[Leaf, ...] = ()
    """Assertions that the server joins to the filter by OR (slapd: objectClass=referral): each must be indexed, too."""
    why: str = ""
    possible: frozenset[Outlook] = frozenset()
    """Where it depends: what it may be; empty where the family does not tell."""
    notes: frozenset[str] = frozenset()
    """What the server's log may say of it (389-ds: nothing, U, A); empty where the family does not tell.

    It is not the outlook: without a scan limit 389-ds reads all entries and says U, or nothing.
    """


@dataclass(frozen=True, slots=True)
class Amount:
    """How many entries there are of something: at least, and at most; None is not known."""

    least: int = 0
    most: int | None = None

    def exceeds(self, limit: int) -> bool | None:
        """Tell whether it is more than a limit (negative: there is none); None: that is not known."""
        if limit < 0 or (self.most is not None and self.most <= limit):
            return False
        return True if self.least > limit else None


class Frequencies(Protocol):
    """How many entries have what, as far as anything tells."""

    def of(self, assertion: Assertion) -> Amount:
        """Return how many entries the key (the shortest of the lists of the keys) of an assertion has."""

    def below(self, base: str, scope: str) -> Amount:
        """Return how many entries lie in the scope of a base."""


class UnknownFrequencies:
    """Frequencies of which nothing is known."""

    def of(self, assertion: Assertion) -> Amount:  # noqa: ARG002  a protocol
        """Return that nothing is known."""
        return Amount()

    def below(self, base: str, scope: str) -> Amount:  # noqa: ARG002  a protocol
        """Return that nothing is known."""
        return Amount()


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """What a search is answered from."""

    configuration: IndexConfiguration
    backend: Backend
    schema: Schema
    frequencies: Frequencies
    statuses: tuple[IndexStatus, ...] = ()
    """What the server's own tool says of the state of its indexes (OpenDJ)."""

    def definition(self, attribute: str) -> IndexDefinition | None:
        """Return the indexes of an attribute, by whatever of its names they are configured; not its supertype's."""
        return self.backend.definition(self.schema.names(attribute))

    @property
    def version(self) -> Version:
        """Return the server's version; empty where it is not known."""
        return self.configuration.identity.version


class Candidates(Protocol):
    """The room `candidates` of a family: a module of plain functions."""

    def forecast(self, filter_: Node, base: str, scope: str, database: Database) -> Forecast:
        """Return what becomes of a search; `scope` is base, one, sub or subordinate."""
