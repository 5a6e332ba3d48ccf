"""Usage: which of a server's indexes no search of its log has asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.evidence.filter_tree import Assertion, AssertionKind, assertions, parse_shape
from ldapdiag.evidence.indexes import Backend
from ldapdiag.servers.candidates import Change
from ldapdiag.servers.index_types import SUBSTRING_KINDS, index_type
from ldapdiag.servers.products import product_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.indexes import IndexDefinition

FALLBACKS = {
    AssertionKind.APPROXIMATE: ("eq", "equality"),
    AssertionKind.GREATER: ("pres",),
    AssertionKind.LESS: ("pres",),
}
"""What slapd and others take where the proper kind is lacking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedIndexes:
    """The indexes of an attribute that nobody asked for."""

    backend: Backend
    attribute: str
    types: tuple[str, ...]

    @property
    def changes(self) -> tuple[Change, ...]:
        """Return the indexes, one by one."""
        return tuple(Change(self.attribute, one) for one in self.types)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexUsage:
    """What of one server's indexes is used."""

    kind: ClassVar[str] = "usage"
    how: ClassVar[str] = IndexCoverage.how

    host: str
    unused: tuple[UnusedIndexes, ...] = ()
    unsearched: tuple[str, ...] = ()
    """Databases that no search went to."""
    reason: str = ""
    """Why nothing can be said."""


def find_index_usage(coverage: IndexCoverage, traffic: Traffic) -> IndexUsage:
    """Compare the indexes of a server with what its log asked for."""
    indexing = coverage.indexes
    if indexing is None:
        return IndexUsage(host=coverage.host, reason=f"no index configuration of {coverage.host}")
    searches = traffic.workload.searches
    if any(search.unidentified for search in searches):
        return IndexUsage(
            host=coverage.host, reason="the log holds searches whose filters are not told: any may use it"
        )
    trees = [(indexing.backends(one.base), parse_shape(one.shape)) for one in searches if one.scope != "base"]
    if any(tree is None for backends, tree in trees if backends):
        return IndexUsage(host=coverage.host, reason="filters were cut off or not understood: any index may be in them")
    unused: list[UnusedIndexes] = []
    silent: list[str] = []
    for backend in indexing.configuration.backends:
        asked = [leaf for held, tree in trees if backend in held and tree for leaf in assertions(tree)]
        if asked:
            unused.extend(_unused(backend, asked, indexing, coverage.family))
        elif backend.definitions:
            silent.append(backend.name)
    return IndexUsage(host=coverage.host, unused=tuple(unused), unsearched=tuple(silent))


def _unused(
    backend: Backend, asked: Iterable[Assertion], indexing: ServerIndexes, family: Family | None
) -> Iterator[UnusedIndexes]:
    used: set[tuple[str, str]] = set()
    for leaf in asked:
        words = {index_type(family, leaf.kind), *FALLBACKS.get(leaf.kind, ())} - {None}
        if leaf.kind is AssertionKind.SUBSTRING:
            words |= SUBSTRING_KINDS
        lineage = [one.name.lower() for one in indexing.schema.lineage(leaf.attribute)] or [leaf.attribute]
        used |= {(name, str(word)) for name in lineage for word in words}
        if leaf.kind is AssertionKind.EXTENSIBLE:
            used |= {(name, word) for name in lineage for word in ("eq", "equality", "extensible")}
    for definition in backend.definitions:
        name = indexing.schema.primary(definition.attribute).lower()
        if _is_needed(name, definition, indexing):
            continue
        types = tuple(sorted(one for one in definition.types if (name, one) not in used))
        if types:
            yield UnusedIndexes(backend=backend, attribute=definition.attribute, types=types)


def _is_needed(name: str, definition: IndexDefinition, indexing: ServerIndexes) -> bool:
    """Tell whether the server needs an index, whatever clients ask for."""
    internal_searches = {indexing.schema.primary(one).lower() for one in indexing.configuration.internal_searches}
    product = product_of(indexing.configuration.identity.family)
    return definition.system or name in internal_searches or (product is not None and name in product.never_dropped)
