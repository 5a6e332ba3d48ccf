"""Simulation: a server's own candidate logic over its indexes as they are, and as they would be with more of them.

Where the configuration is not at hand, only what the log shows is known: an assertion that the server answered from an
index elsewhere has one; for any other the cause is open.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import Assertion, AssertionKind, assertions
from ldapdiag.evidence.indexes import Backend, IndexDefinition
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.servers.candidates import Cause, Change, Forecast, Leaf, Outlook
from ldapdiag.servers.index_types import index_type

if TYPE_CHECKING:
    from ldapdiag.evidence.filter_tree import Node
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.candidates import Candidates, Database

WHOLE_TREE = "sub"
NONE = frozenset[str]()
ALWAYS = frozenset({("objectclass", AssertionKind.EQUALITY)})
"""What every product has an index for unless somebody took it away."""


class SimulatedDatabase(Protocol):
    """What a server does with a search."""

    def forecast(self, filter_: Node, base: str, scope: str) -> Forecast:
        """Return what becomes of a search."""

    def leaf(self, assertion: Assertion) -> Leaf:
        """Return what becomes of an assertion that stands alone."""

    def with_added(self, filter_: Node, base: str, scope: str, changes: frozenset[Change]) -> Outlook:
        """Return what would become of a search with these indexes added."""

    def in_schema(self, attribute: str) -> bool:
        """Tell whether a schema at hand has an attribute."""


@dataclass(slots=True)
class ConfiguredDatabase:
    """The simulation of one database."""

    candidates: Candidates
    database: Database
    leaves: dict[Assertion, Leaf] = field(default_factory=dict)
    forecasts: dict[tuple[Node, str, str], Forecast] = field(default_factory=dict)

    def forecast(self, filter_: Node, base: str, scope: str) -> Forecast:
        """Return what becomes of a search."""
        known = self.forecasts.get((filter_, base, scope))
        if known is None:
            known = self.candidates.forecast(filter_, base, scope, self.database)
            self.forecasts[filter_, base, scope] = known
        return known

    def leaf(self, assertion: Assertion) -> Leaf:
        """Return what becomes of an assertion that stands alone, below the suffix."""
        if assertion not in self.leaves:
            suffix = next(iter(self.database.backend.suffixes), "")
            self.leaves[assertion] = self.forecast(assertion, suffix, WHOLE_TREE).leaves[0]
        return self.leaves[assertion]

    def with_added(self, filter_: Node, base: str, scope: str, changes: frozenset[Change]) -> Outlook:
        """Return what would become of a search with these indexes added."""
        inherits = self.database.configuration.identity.family is Family.OPENLDAP
        backend = with_indexes(self.database.backend, changes, self.database.schema, inherits=inherits)
        return self.candidates.forecast(filter_, base, scope, replace(self.database, backend=backend)).outlook

    def in_schema(self, attribute: str) -> bool:
        """Tell whether a schema at hand has an attribute."""
        return self.database.schema.find(attribute) is not None


@dataclass(frozen=True, slots=True)
class UnconfiguredDatabase:
    """What a log alone tells of a server whose index configuration is not at hand."""

    family: Family | None
    answered: frozenset[tuple[str, AssertionKind]] = frozenset()
    """Attribute and kind of assertions that the server answered from an index when they stood alone."""
    schema: Schema = field(default_factory=standard)

    def forecast(self, filter_: Node, base: str, scope: str) -> Forecast:  # noqa: ARG002  a protocol
        """Return that it depends, on each assertion that was not answered elsewhere."""
        return Forecast(outlook=Outlook.DEPENDS, leaves=tuple(map(self.leaf, assertions(filter_))))

    def leaf(self, assertion: Assertion) -> Leaf:
        """Return that it has an index, or that nobody knows."""
        word = index_type(self.family, assertion.kind)
        if word is None or (assertion.kind is AssertionKind.PRESENCE and assertion.attribute == "objectclass"):
            why = "every entry has it" if assertion.kind is AssertionKind.PRESENCE else "an extensible match"
            return Leaf(assertion=assertion, outlook=Outlook.UNINDEXED, cause=Cause.UNINDEXABLE, why=why)
        asked = (assertion.attribute, assertion.kind)
        if asked in self.answered or asked in ALWAYS:
            return Leaf(assertion=assertion, outlook=Outlook.DEPENDS, cause=Cause.LIMIT_PERHAPS)
        return Leaf(
            assertion=assertion,
            outlook=Outlook.DEPENDS,
            cause=Cause.UNCONFIGURED,
            change=Change(attribute=self.schema.primary(assertion.name), type=word),
            why="the index configuration is not known",
        )

    def with_added(self, filter_: Node, base: str, scope: str, changes: frozenset[Change]) -> Outlook:  # noqa: ARG002  a protocol
        """Return that it depends."""
        return Outlook.DEPENDS

    def in_schema(self, attribute: str) -> bool:
        """Tell whether a schema at hand has an attribute."""
        return self.schema.find(attribute) is not None


def with_indexes(backend: Backend, changes: Iterable[Change], schema: Schema, *, inherits: bool = False) -> Backend:
    """Return a backend with indexes added, and built.

    `inherits`: a line of an attribute's own hides that of its supertype, so it has its types, too (slapd).
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
        definitions[definitions.index(known)] = replace(
            known,
            types=known.types | {one.type for one in several},
            rules=(*known.rules, *sorted({one.rule for one in several} - {"", *known.rules})),
            built=True,
        )
    return replace(backend, definitions=tuple(definitions))


def _inherited(backend: Backend, attribute: str, schema: Schema) -> frozenset[str]:
    """Return the types of index that an attribute has from the line of its nearest supertype."""
    above = (backend.definition(schema.names(one.oid)) for one in list(schema.lineage(attribute))[1:])
    return next((one.types for one in above if one is not None and one.subtypes), NONE)
