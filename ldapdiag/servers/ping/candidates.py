"""Candidates on PingDirectory: as on OpenDS, from which it derives. Not tested.

From its documentation: an index key has an entry limit, substring keys have their own; an unindexed search is refused
without the privilege unindexed-search. It orders the members of an AND by the sizes of their lists, and has composite
indexes, whose use only its debugsearchindex shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers.opends import candidates
from ldapdiag.servers.opends.index_lookup import SUBSTRING_LENGTH

if TYPE_CHECKING:
    from ldapdiag.evidence.filter_tree import Node
    from ldapdiag.servers.indexes.candidates import Database, Forecast

SUBSTRING_KEY_LENGTH = SUBSTRING_LENGTH


def forecast(filter_: Node, base: str, scope: str, database: Database) -> Forecast:
    """Predict the use of indexes for a search; `scope` is base, one, sub or subordinate."""
    return candidates.forecast(filter_, base, scope, database, shared=False)
