"""Candidates on OpenDJ, ForgeRock DS, PingDS and their predecessors OpenDS and Oracle Unified Directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes.opends_index_types import LOCAL_DB
from ldapdiag.servers.opends import candidates
from ldapdiag.servers.opends.index_lookup import SUBSTRING_LENGTH

if TYPE_CHECKING:
    from ldapdiag.evidence.filter_tree import Node
    from ldapdiag.servers.indexes.candidates import Database, Forecast

SUBSTRING_KEY_LENGTH = SUBSTRING_LENGTH
SHARED_SINCE = (3,)
"""The first version of OpenDJ with one index per matching rule. Tested with 4.10.1."""
PREDECESSORS = frozenset({"OpenDS", "Oracle Unified Directory"})


def forecast(filter_: Node, base: str, scope: str, database: Database) -> Forecast:
    """Predict the use of indexes for a search; `scope` is base, one, sub or subordinate."""
    return candidates.forecast(filter_, base, scope, database, shared=shares_keys(database))


def shares_keys(database: Database) -> bool:
    """Return whether an equality index also answers ranges; if the version is not known, by the kind of backend."""
    identity = database.configuration.identity
    if identity.product in PREDECESSORS or database.backend.kind == LOCAL_DB:
        return False
    return not identity.version or identity.version >= SHARED_SINCE
