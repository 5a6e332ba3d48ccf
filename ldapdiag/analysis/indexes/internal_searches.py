"""Internal searches: those of plug-ins and overlays that no index of a database answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.server_indexes import is_server_suffix, is_within
from ldapdiag.evidence.filter_tree import parse
from ldapdiag.evidence.indexes import Backend
from ldapdiag.evidence.ldif import comparable
from ldapdiag.servers.candidates import Cause, Change, Database, UnknownFrequencies
from ldapdiag.servers.products import product_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
    from ldapdiag.evidence.indexes.internal_search import InternalSearch
    from ldapdiag.servers.candidates import Candidates

LACKING = frozenset({Cause.NO_INDEX, Cause.TYPE_MISSING})


@dataclass(frozen=True, slots=True, kw_only=True)
class UnindexedInternalSearch:
    """The searches for one attribute that examine every entry of a database."""

    backend: Backend
    attribute: str
    by: tuple[str, ...]
    """The plug-ins or overlays."""
    changes: tuple[Change, ...]
    """The indexes that answer them."""


def unindexed_internal_searches(indexing: ServerIndexes) -> Iterator[UnindexedInternalSearch]:
    """Yield what plug-ins and overlays search for in ordinary operation without an index, by database and attribute."""
    product = product_of(indexing.configuration.identity.family)
    if product is None or product.candidates is None:
        return
    for backend in indexing.configuration.backends:
        database = Database(
            configuration=indexing.configuration,
            backend=backend,
            schema=indexing.schema,
            frequencies=UnknownFrequencies(),
            statuses=indexing.statuses,
        )
        yield from _unindexed(database, product.candidates, indexing.configuration.internal_searches)


def _unindexed(
    database: Database, candidates: Candidates, searches: Iterable[InternalSearch]
) -> Iterator[UnindexedInternalSearch]:
    """Yield the searches without an index in one database, together by attribute."""
    backend = database.backend
    lacking: dict[str, tuple[dict[str, None], dict[Change, None]]] = {}
    for search in searches:
        needed = _needed(search, database, candidates) if search.frequent and _is_below(search, backend) else ()
        for change in needed:
            by, changes = lacking.setdefault(change.attribute, ({}, {}))
            by[search.by], changes[change] = None, None
    for attribute, (by, changes) in lacking.items():
        yield UnindexedInternalSearch(backend=backend, attribute=attribute, by=tuple(by), changes=tuple(changes))


def _needed(search: InternalSearch, database: Database, candidates: Candidates) -> Iterator[Change]:
    """Yield the indexes that a search lacks; a range of numbers also needs the rule that orders them (389-ds)."""
    tree = parse(("(&({0}>=1)({0}<=2))" if search.ordered else "({0}=1)").format(search.attribute))
    if tree is None:
        return
    definition = database.definition(search.attribute)
    if search.ordered and definition is not None and not definition.rules:
        others = tuple(one for one in database.backend.definitions if one is not definition)
        database = replace(database, backend=replace(database.backend, definitions=others))
    for leaf in candidates.forecast(tree, database.backend.suffixes[0], "sub", database).leaves:
        change = leaf.change if leaf.cause in LACKING else None
        if change and not (definition and change.type in definition.types and not change.rule):
            yield change


def _is_below(search: InternalSearch, backend: Backend) -> bool:
    """Return whether a search reads a database; without bases, each but the server's own."""
    suffixes = [comparable(suffix) for suffix in backend.suffixes]
    if not search.bases:
        return any(not is_server_suffix(suffix) for suffix in suffixes)
    bases = [comparable(base) for base in search.bases]
    return any(is_within(base, suffix) or is_within(suffix, base) for base in bases for suffix in suffixes)
