"""Candidates on OpenDJ, ForgeRock DS, PingDS, and their forerunners OpenDS and Oracle Unified Directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes.opends_index_types import LOCAL_DB
from ldapdiag.servers import opends_candidates

if TYPE_CHECKING:
    from ldapdiag.evidence.filter_tree import Node
    from ldapdiag.servers.candidates import Database, Forecast

SHARED_SINCE = (3,)
"""OpenDJ: the first version whose indexes are named by matching rules. Tried with 4.10.1."""
FORERUNNERS = frozenset({"OpenDS", "Oracle Unified Directory"})


def forecast(filter_: Node, base: str, scope: str, database: Database) -> Forecast:
    """Return what becomes of a search; `scope` is base, one, sub or subordinate."""
    return opends_candidates.forecast(filter_, base, scope, database, shared=shares_keys(database))


def shares_keys(database: Database) -> bool:
    """Tell whether an equality index answers ranges, too; where the version is not known, by the kind of backend."""
    identity = database.configuration.identity
    if identity.product in FORERUNNERS or database.backend.kind == LOCAL_DB:
        return False
    return not identity.version or identity.version >= SHARED_SINCE
