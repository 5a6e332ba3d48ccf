"""SimulatedServer: the databases that answer searches below each base of a log, and their candidate logic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.frequencies import count_frequencies
from ldapdiag.analysis.indexes.limit_classes import divide
from ldapdiag.analysis.indexes.server_indexes import is_server_suffix
from ldapdiag.analysis.indexes.simulated_database import ConfiguredDatabase, SimulatedDatabase, UnconfiguredDatabase
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import Assertion, AssertionKind, parse_shape
from ldapdiag.servers.candidates import Database
from ldapdiag.servers.products import product_of

if TYPE_CHECKING:
    from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
    from ldapdiag.analysis.log.workload import Workload
    from ldapdiag.evidence.indexes import Backend

NOTING_FAMILIES = frozenset({Family.DS389, Family.DSEE, Family.OPENDJ, Family.PING})
"""Products whose access log notes unindexed searches."""


class SimulatedServer:
    """The databases of one server, each simulated once."""

    def __init__(self, family: Family | None, workload: Workload, indexes: ServerIndexes | None) -> None:
        self.family = family
        self.workload = workload
        self.indexes = indexes
        self._databases: dict[str, SimulatedDatabase] = {}

    def databases(self, base: str, scope: str) -> tuple[SimulatedDatabase, ...]:
        """Return the databases that answer a search; none for the server's own suffixes and for unknown ones."""
        if self.indexes is None:
            return () if is_server_suffix(base) else (self._database(None),)
        return tuple(self._database(backend) for backend in self.indexes.backends(base, below=scope != "one"))

    def _database(self, backend: Backend | None) -> SimulatedDatabase:
        name = backend.name if backend else ""
        if name not in self._databases:
            self._databases[name] = self._simulate(backend)
        return self._databases[name]

    def _simulate(self, backend: Backend | None) -> SimulatedDatabase:
        product = product_of(self.family) if self.family else None
        if self.indexes is None or backend is None or product is None or product.candidates is None:
            return UnconfiguredDatabase(self.family, frozenset(self._indexed_elsewhere()))
        frequencies = count_frequencies(self.workload.searches, self.workload.segment.lookups, self.indexes, backend)
        database = Database(
            configuration=self.indexes.configuration,
            backend=backend,
            schema=self.indexes.schema,
            frequencies=frequencies,
            statuses=self.indexes.statuses,
        )
        return ConfiguredDatabase(product.candidates, database, self.workload.began)

    def _indexed_elsewhere(self) -> set[tuple[str, AssertionKind]]:
        """Return the single assertions that a server which notes unindexed searches answered without a note."""
        if self.family not in NOTING_FAMILIES:
            return set()
        return {
            (tree.attribute, tree.kind)
            for group in self.workload.searches
            if (search := divide(group).completed) is not None
            if search.scope != "base" and search.answered > sum(search.notes.values()) and not search.errors
            if isinstance(tree := parse_shape(search.shape), Assertion)
        }
