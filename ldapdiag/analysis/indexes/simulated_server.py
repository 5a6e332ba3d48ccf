"""Simulations: which database each base of a log is answered from, and what its server does there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.frequencies import count_frequencies
from ldapdiag.analysis.indexes.server_indexes import SERVER_SUFFIXES
from ldapdiag.analysis.indexes.simulated_database import ConfiguredDatabase, SimulatedDatabase, UnconfiguredDatabase
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import Assertion, AssertionKind, parse_shape
from ldapdiag.evidence.ldif import comparable
from ldapdiag.servers.candidates import Database
from ldapdiag.servers.products import product_of

if TYPE_CHECKING:
    from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
    from ldapdiag.analysis.log.workload import Workload
    from ldapdiag.evidence.indexes import Backend

NOTING_FAMILIES = frozenset({Family.DS389, Family.DSEE, Family.OPENDJ, Family.PING})
"""Products whose access log says of a search that an index was lacking."""


class SimulatedServer:
    """The databases of one server."""

    def __init__(self, family: Family | None, work: Workload, indexing: ServerIndexes | None) -> None:
        self.family = family
        self.work = work
        self.indexing = indexing
        self._known: dict[str, SimulatedDatabase] = {}

    def databases(self, base: str, scope: str) -> tuple[SimulatedDatabase, ...]:
        """Return what the server does with searches there, by database; none where there is nothing to advise."""
        if self.indexing is None:
            return () if is_server_suffix(base) else (self._of(None),)
        below = (
            scope != "one" and self.family in NOTING_FAMILIES
        )  # slapd looks into a database below only where it is glued
        return tuple(self._of(one) for one in self.indexing.backends(base, below=below))

    def _of(self, backend: Backend | None) -> SimulatedDatabase:
        name = backend.name if backend else ""
        if name not in self._known:
            self._known[name] = self._simulation(backend)
        return self._known[name]

    def _simulation(self, backend: Backend | None) -> SimulatedDatabase:
        product = product_of(self.family) if self.family else None
        if self.indexing is None or backend is None or product is None or product.candidates is None:
            return UnconfiguredDatabase(self.family, frozenset(self._answered()))
        told = count_frequencies(self.work.searches, self.work.segment.lookups, self.indexing, backend)
        database = Database(
            configuration=self.indexing.configuration,
            backend=backend,
            schema=self.indexing.schema,
            frequencies=told,
            statuses=self.indexing.statuses,
        )
        return ConfiguredDatabase(product.candidates, database)

    def _answered(self) -> set[tuple[str, AssertionKind]]:
        """Return the assertions that stood alone and were answered without any note, at a server that notes."""
        if self.family not in NOTING_FAMILIES:
            return set()
        return {
            (tree.attribute, tree.kind)
            for search in self.work.searches
            if search.scope != "base" and search.answered > sum(search.notes.values()) and not search.errors
            if isinstance(tree := parse_shape(search.shape), Assertion)
        }


def is_server_suffix(base: str) -> bool:
    """Tell whether a base is the server's own place."""
    place = comparable(base)
    return any(place == own or place.endswith(f",{own}") for own in SERVER_SUFFIXES)
