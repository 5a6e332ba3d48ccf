"""Candidates on PingDirectory, as on OpenDS, from which it was made; not tried.

Its documentation: an index key has an entry limit, substring keys one of their own; searches without an index are
refused without the privilege unindexed-search. It reorders an AND by what it knows of the lists, and has composite
indexes, whose use only its own debugsearchindex tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers import opends_candidates

if TYPE_CHECKING:
    from ldapdiag.evidence.filter_tree import Node
    from ldapdiag.servers.candidates import Database, Forecast


def forecast(filter_: Node, base: str, scope: str, database: Database) -> Forecast:
    """Return what becomes of a search; `scope` is base, one, sub or subordinate."""
    return opends_candidates.forecast(filter_, base, scope, database, shared=False)
