"""IndexTrial: one scan at one simulated database, and whether given new indexes would make it indexed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.costs import is_membership, why_expensive
from ldapdiag.analysis.indexes.limit_classes import shows_few
from ldapdiag.analysis.indexes.simulated_database import ConfiguredDatabase
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import Assertion, AssertionKind
from ldapdiag.evidence.ldif import SECRETS
from ldapdiag.servers.candidates import IndexUse
from ldapdiag.servers.index_types import SUBSTRING_KINDS
from ldapdiag.servers.products import product_of

if TYPE_CHECKING:
    from ldapdiag.analysis.indexes.search_coverage import SearchCoverage
    from ldapdiag.analysis.indexes.simulated_database import SimulatedDatabase
    from ldapdiag.evidence.filter_tree import Node
    from ldapdiag.servers.candidates import Change

PRESENCE = frozenset({"pres", "presence"})
SERVER_MAINTAINED = "the server maintains the indexes it needs of this attribute itself"
OF_SECRETS = "an index of it would contain its secret values, so none is proposed"
FEW_ENTRIES = 100
"""An ID list of no more entries makes a search fast."""
FEW_PRESENT = 1000
"""Entries below a large base that have an attribute: thousands of them elsewhere are not expected."""
MOST_RETURNED = 10_000
"""Entries per result above which no index makes an ID list short enough, if limit and total are unknown."""


@dataclass(frozen=True, slots=True)
class IndexTrial:
    """One scan at one database."""

    scan: SearchCoverage
    filter: Node
    database: SimulatedDatabase
    family: Family | None

    @property
    def database_name(self) -> str:
        """Return the name of the database; empty without index configuration."""
        return self.database.database.backend.name if isinstance(self.database, ConfiguredDatabase) else ""

    def would_help(self, changes: frozenset[Change]) -> bool:
        """Return whether indexes would help; False if most entries, or perhaps none at all, have the attributes."""
        if self.returns_most or any(self.why_never_added(change) for change in changes):
            return False
        if not self.scan.group.entries and not all(self.database.in_schema(change.attribute) for change in changes):
            return False
        index_use = self._with_added(changes)
        by_presence = any(change.type in PRESENCE for change in changes)
        may_match_most = index_use is IndexUse.DEPENDS and by_presence and not self._few_have_it
        return index_use is not IndexUse.UNINDEXED and not (
            may_match_most and isinstance(self.database, ConfiguredDatabase)
        )

    @property
    def _few_have_it(self) -> bool:
        """Return whether few entries below the base have the attribute of the filter; elsewhere is unknown.

        Only 389-ds notes pages: at other servers a page may look like a complete result.
        """
        alone = isinstance(self.filter, Assertion) and self.filter.kind is AssertionKind.PRESENCE
        return self.family is Family.DS389 and alone and shows_few(self.scan.group, self.scan.stops, FEW_PRESENT)

    def certainly_helps(self, changes: frozenset[Change]) -> bool:
        """Return whether indexes help however many entries match."""
        return not changes or self._with_added(changes) in {IndexUse.INDEXED, IndexUse.PARTIALLY}

    def _with_added(self, changes: frozenset[Change]) -> IndexUse:
        return self.database.with_added(self.filter, self.scan.group.base, self.scan.group.scope, changes).index_use

    def why_never_added(self, change: Change) -> str:
        """Return why an index must never be added, as a clause; empty if it may be."""
        name = change.attribute.lower()
        product = product_of(self.family) if self.family else None
        if name == "objectclass":
            return "" if change.type in {"eq", "equality"} else SERVER_MAINTAINED
        maintained = product.never_dropped if product is not None and product.makes_own_indexes else frozenset[str]()
        if name in SECRETS and change.type not in PRESENCE:
            return OF_SECRETS
        if name in maintained:
            return SERVER_MAINTAINED
        if not isinstance(self.database, ConfiguredDatabase):
            return ""
        definition = self.database.database.definition(change.attribute)
        if definition is not None and definition.system:
            return SERVER_MAINTAINED
        schema = self.database.database.schema
        if change.type in SUBSTRING_KINDS and is_membership(change.attribute, schema):
            return why_expensive(self.family, change.attribute, change.type, schema)
        return ""

    @property
    def returns_most(self) -> bool:
        """Return whether a result exceeds the limit of an ID list, or has so many entries that no index is faster."""
        search = self.scan.group
        if not isinstance(self.database, ConfiguredDatabase) or not search.answered:
            return False
        returned, database = search.entries // search.answered, self.database.database
        limit = database.configuration.scan_limit or database.backend.entry_limit or 0
        if 0 < limit < returned:
            return True
        total = database.frequencies.below(search.base, search.scope).most
        return returned > (MOST_RETURNED if total is None else max(FEW_ENTRIES, total // 4))
