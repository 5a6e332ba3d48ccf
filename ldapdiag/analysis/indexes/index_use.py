"""Index use: how the server found the candidates of searches, by its notes in the log and by simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.simulated_server import NOTING_FAMILIES
from ldapdiag.analysis.log.searches import LATER_PAGE
from ldapdiag.evidence.family import Family
from ldapdiag.servers.candidates import IndexUse

if TYPE_CHECKING:
    from ldapdiag.analysis.log.searches import SearchGroup
    from ldapdiag.servers.candidates import Forecast

FULLY_UNINDEXED = {Family.DS389: "A", Family.DSEE: "U", Family.OPENDJ: "unindexed", Family.PING: "unindexed"}
"""The note of a fully unindexed search."""

OVERNOTING_FAMILIES = frozenset({Family.OPENDJ})
"""Products that also note searches as unindexed which they answer otherwise (isMemberOf, from the group's entry)."""


def index_use_of(
    search: SearchGroup, family: Family | None, forecast: Forecast | None, *, noted: int, slow: bool
) -> IndexUse:
    """Return how searches found their candidates: by the server's note, else by the simulation.

    A slow search that returns little has examined nearly every entry, even if an index answers a part of its filter: a
    list of all persons is no better than a scan.
    """
    index_use = forecast.index_use if forecast else IndexUse.DEPENDS
    if family is not None and family in NOTING_FAMILIES:
        index_use = _by_note(search, family, forecast, noted=noted, slow=slow)
    return IndexUse.UNINDEXED if slow and index_use in {IndexUse.PARTIALLY, IndexUse.DEPENDS} else index_use


def _by_note(search: SearchGroup, family: Family, forecast: Forecast | None, *, noted: int, slow: bool) -> IndexUse:
    """Return the meaning of the note, or of its absence."""
    simulated = forecast.index_use if forecast else None
    if not noted:
        may_lack_note = simulated is IndexUse.UNINDEXED and forecast is not None and "" in forecast.notes
        if may_lack_note and slow:
            return IndexUse.UNINDEXED
        return IndexUse.INDEXED if search.answered else IndexUse.DEPENDS
    fully = any(FULLY_UNINDEXED[family] in notes.split(",") for notes in search.notes if notes != LATER_PAGE)
    if not fully:
        # Without a scan limit, 389-ds notes a full scan as U.
        return IndexUse.UNINDEXED if simulated is IndexUse.UNINDEXED else IndexUse.PARTIALLY
    overnoted = family in OVERNOTING_FAMILIES and simulated is IndexUse.INDEXED and not slow
    return IndexUse.PARTIALLY if overnoted else IndexUse.UNINDEXED
