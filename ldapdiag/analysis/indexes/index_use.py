"""Outlooks: how searches found their candidates: what the server's note means, and what the simulation adds to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.simulated_server import NOTING_FAMILIES
from ldapdiag.analysis.log.searches import LATER_PAGE
from ldapdiag.evidence.family import Family
from ldapdiag.servers.candidates import Outlook

if TYPE_CHECKING:
    from ldapdiag.analysis.log.searches import SearchGroup
    from ldapdiag.servers.candidates import Forecast

FULLY = {Family.DS389: "A", Family.DSEE: "U", Family.OPENDJ: "unindexed", Family.PING: "unindexed"}

MISTAKEN = frozenset({Family.OPENDJ})
"""Products that note some searches as unindexed which they answer otherwise (isMemberOf, from the group's entry)."""


def index_use_of(
    search: SearchGroup, family: Family | None, forecast: Forecast | None, *, noted: int, slow: bool
) -> Outlook:
    """Return how searches found their candidates: by the server's note, else by the simulation.

    What is only partly answered by indexes, returns little and takes long has looked at nearly everything: a list of
    all persons is as good as none.
    """
    told = forecast.outlook if forecast else Outlook.DEPENDS
    if family is not None and family in NOTING_FAMILIES:
        told = _by_the_note(search, family, forecast, noted=noted, slow=slow)
    return Outlook.UNINDEXED if slow and told in {Outlook.PARTIALLY, Outlook.DEPENDS} else told


def _by_the_note(search: SearchGroup, family: Family, forecast: Forecast | None, *, noted: int, slow: bool) -> Outlook:
    """Return what a note means, or that there is none."""
    foreseen = forecast.outlook if forecast else None
    if not noted:
        silent = foreseen is Outlook.UNINDEXED and forecast is not None and "" in forecast.notes
        return Outlook.UNINDEXED if silent and slow else Outlook.INDEXED if search.answered else Outlook.DEPENDS
    told = _noted(search, family)
    if told is Outlook.PARTIALLY and foreseen is Outlook.UNINDEXED:
        return Outlook.UNINDEXED  # without a scan limit, 389-ds says U of a full scan
    mistaken = family in MISTAKEN and foreseen is Outlook.INDEXED and told is Outlook.UNINDEXED and not slow
    return Outlook.PARTIALLY if mistaken else told


def _noted(search: SearchGroup, family: Family) -> Outlook:
    """Return what the server's notes say."""
    fully = any(FULLY[family] in notes.split(",") for notes in search.notes if notes != LATER_PAGE)
    return Outlook.UNINDEXED if fully else Outlook.PARTIALLY
