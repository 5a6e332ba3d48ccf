"""UnusedIndexes: the indexes of a server that no search of its log used."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.indexes.build_states import changed
from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.worth import HOUR
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.filter_tree import Assertion, AssertionKind, assertions, parse_shape
from ldapdiag.evidence.indexes import Backend
from ldapdiag.evidence.indexes.internal_search import EVERY_ATTRIBUTE
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.indexes.candidates import Change
from ldapdiag.servers.indexes.index_types import SUBSTRING_KINDS, index_type
from ldapdiag.servers.products import product_of
from ldapdiag.servers.traits import traits_of
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.indexes import IndexDefinition

FALLBACKS = {
    AssertionKind.APPROXIMATE: ("eq", "equality"),
    AssertionKind.GREATER: ("pres",),
    AssertionKind.LESS: ("pres",),
}
"""The types that slapd and others use if the proper type is not configured."""

DAY = 24 * HOUR
"""Seconds. Applications repeat their searches daily; a shorter log shows what ran in it, not what never runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedIndex:
    """The indexes of one attribute that no search used."""

    backend: Backend
    attribute: str
    types: tuple[str, ...]
    seconds: float
    """Of log since it was added or last changed."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """Return one change for each index."""
        return tuple(Change(self.attribute, type_) for type_ in self.types)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedIndexes:
    """The unused indexes of one server."""

    kind: ClassVar[str] = "usage"
    how: ClassVar[str] = IndexCoverage.how

    server: str
    """The server, by the name of its instance."""
    unused: tuple[UnusedIndex, ...] = ()
    young: tuple[UnusedIndex, ...] = ()
    """Those added or changed less than a day before the end of the log."""
    unsearched: tuple[str, ...] = ()
    """Databases that no search was sent to."""
    is_searched: bool = False
    """Whether one was sent to any database."""
    hidden: tuple[str, ...] = ()
    """Searches of the server itself that may use any of them: its configuration does not name their attributes."""
    reason: str = ""
    """Why the usage is unknown; empty if it is known."""


@provides(UnusedIndexes)
def find_unused_indexes(coverage: IndexCoverage, traffic: Traffic) -> UnusedIndexes:
    """Compare the indexes of a server with the assertions in its log."""
    indexes = coverage.indexes
    if indexes is None:
        return UnusedIndexes(server=coverage.server, reason=f"no index configuration of {coverage.server}")
    searches = traffic.workload.searches
    if not searches:
        return UnusedIndexes(server=coverage.server, reason="the access log has no search")
    if traits_of(coverage.family).logs_above is not None:
        return UnusedIndexes(
            server=coverage.server, reason="the log has expensive searches alone; others may use any index"
        )
    if any(search.unidentified for search in searches):
        return UnusedIndexes(
            server=coverage.server, reason="the log has searches without a filter, which may use any index"
        )
    filters = [
        (indexes.backends(search.base), parse_shape(search.shape)) for search in searches if search.scope != "base"
    ]
    if any(filter_ is None for backends, filter_ in filters if backends):
        return UnusedIndexes(
            server=coverage.server, reason="filters were cut off or not understood, and may use any index"
        )
    unused: list[UnusedIndex] = []
    unsearched: list[str] = []
    is_searched = False
    for backend in indexes.configuration.backends:
        searched = [
            assertion
            for backends, filter_ in filters
            if backend in backends and filter_
            for assertion in assertions(filter_)
        ]
        if searched:
            is_searched = True
            unused.extend(_unused(backend, searched, indexes, coverage.family, traffic))
        elif backend.definitions:
            unsearched.append(backend.name)
    if unused and coverage.seconds < DAY:
        return UnusedIndexes(server=coverage.server, reason=_too_short(len(unused), coverage.seconds))
    return UnusedIndexes(
        server=coverage.server,
        unused=tuple(one for one in unused if one.seconds >= DAY),
        young=tuple(one for one in unused if one.seconds < DAY),
        unsearched=tuple(unsearched),
        is_searched=is_searched,
        hidden=indexes.configuration.hidden_searches,
    )


def _too_short(unused: int, seconds: float) -> str:
    indexed = counted(unused, "attribute")
    span = f"{seconds / HOUR:.1f} h" if seconds >= HOUR else counted(round(seconds), "second")
    return f"the log covers {span}, less than a day; no search in it used the indexes of {indexed}, but a daily job may"


def _unused(
    backend: Backend,
    searched: Iterable[Assertion],
    indexes: ServerIndexes,
    family: Family | None,
    traffic: Traffic,
) -> Iterator[UnusedIndex]:
    """Yield the indexes of a database that no assertion in its searches may use."""
    used = _used(searched, indexes, family)
    for definition in backend.definitions:
        name = indexes.schema.primary(definition.attribute).lower()
        if _is_needed(name, definition, indexes):
            continue
        types = tuple(sorted(type_ for type_ in definition.types if (name, type_) not in used))
        if types:
            seconds = _seconds_since(changed(definition), traffic)
            yield UnusedIndex(backend=backend, attribute=definition.attribute, types=types, seconds=seconds)


def _seconds_since(at: datetime | None, traffic: Traffic) -> float:
    """Return how much of a log was written since a time; None: all of it."""
    last = traffic.segment.last_time
    if at is None or last is None:
        return traffic.seconds
    return max(0.0, min(traffic.seconds, last / SECOND - at.timestamp()))


def _used(searched: Iterable[Assertion], indexes: ServerIndexes, family: Family | None) -> set[tuple[str, str]]:
    """Return attribute (primary name, lower case) and type of every index that assertions may use."""
    used: set[tuple[str, str]] = set()
    for assertion in searched:
        types = {index_type(family, assertion.kind), *FALLBACKS.get(assertion.kind, ())} - {None}
        if assertion.kind is AssertionKind.SUBSTRING:
            types |= SUBSTRING_KINDS
        if assertion.kind is AssertionKind.EXTENSIBLE:
            types |= {"eq", "equality", "extensible"}
        lineage = indexes.schema.lineage(assertion.attribute)
        names = [type_.name.lower() for type_ in lineage] or [assertion.attribute]
        used |= {(name, str(type_)) for name in names for type_ in types}
    return used


def _is_needed(name: str, definition: IndexDefinition, indexes: ServerIndexes) -> bool:
    """Return whether the server itself needs an index, whatever the clients search for."""
    internal = {indexes.schema.primary(each.attribute).lower() for each in indexes.configuration.internal_searches}
    product = product_of(indexes.configuration.identity.family)
    searched = name in internal or EVERY_ATTRIBUTE in internal
    by_product = product.never_dropped | product.searched_by_rules if product is not None else frozenset[str]()
    return definition.system or searched or name in by_product
