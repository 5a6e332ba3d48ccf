"""Scans: which new indexes would end one, each tried in the simulation, or what stands in the way."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.costs import is_membership, why_expensive
from ldapdiag.analysis.indexes.obstacles import OVER_LIMIT, Obstacle, find_obstacle
from ldapdiag.analysis.indexes.simulated_database import ConfiguredDatabase
from ldapdiag.analysis.indexes.sufficient_sets import sufficient_sets
from ldapdiag.evidence.filter_tree import And, AssertionKind, assertions
from ldapdiag.evidence.ldif import SECRETS
from ldapdiag.servers.candidates import Cause, Change, Outlook
from ldapdiag.servers.index_types import SUBSTRING_KINDS
from ldapdiag.servers.products import product_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.indexes.search_coverage import ProposedIndex, SearchCoverage
    from ldapdiag.analysis.indexes.simulated_database import SimulatedDatabase
    from ldapdiag.evidence.family import Family
    from ldapdiag.servers.candidates import Forecast

PRESENCE = frozenset({"pres", "presence"})
MOST_HAVE_IT = "most entries may have it, and then no index lists them"
UNKNOWN_TO_SCHEMA = "no schema at hand has it, and no search has found anything"
NOT_USED = "an index of it is configured, few entries have the value, and it was not used"
OF_THE_SERVER = "the server keeps what it needs of this itself"
FEW = 100
"""Entries: of a list so short all are looked at in no time."""
UNLIMITED_LIST = 10_000
"""Entries returned by one search, of which no index makes a short list, where no limit and no total is known."""
MOST_ALTERNATIVES = 64


def propose(row: SearchCoverage, answering: Sequence[SimulatedDatabase], family: Family | None) -> SearchCoverage:
    """Return a scan with the indexes that would help, or with what stands in their way."""
    if row.filter is None:
        return row
    several = [_helpful(row, one, family, alone=len(answering) == 1) for one in answering]
    chosen = dict.fromkeys(first.union(*others) for first, *others in product(*several))
    told = tuple(one for one in chosen if one)[:MOST_ALTERNATIVES]
    sure = bool(told) and all(_is_sure(row, one, told) for one in answering)
    return replace(
        row, sufficient_sets=told, certain=sure, obstacle=_hindrance(row, answering[0], family, helped=bool(told))
    )


def has_short_list(forecast: Forecast | None, simulation: SimulatedDatabase) -> bool:
    """Tell whether an equality part of a filter has an index, and few entries for any value that was asked for."""
    if forecast is None or not isinstance(simulation, ConfiguredDatabase):
        return False
    return any(
        leaf.cause is Cause.NONE
        and leaf.assertion.kind is AssertionKind.EQUALITY
        and (most := simulation.database.frequencies.of(leaf.assertion).most) is not None
        and most <= FEW
        for leaf in forecast.leaves
    )


def _helpful(
    row: SearchCoverage, simulation: SimulatedDatabase, family: Family | None, *, alone: bool
) -> tuple[frozenset[ProposedIndex], ...]:
    """Return the sets of indexes that would help at one database; an empty one: nothing is lacking there."""
    if row.filter is None:
        return ()
    joined = _joined(row)
    offered = [one | joined for one in sufficient_sets(row.filter, simulation.leaf, scanned=alone)] or [joined]
    name = simulation.database.backend.name if isinstance(simulation, ConfiguredDatabase) else ""
    return tuple(
        frozenset((name, change) for change in one)
        for one in offered
        if (not one and not alone) or (one and _would_help(one, row, simulation, family))
    )


def _joined(row: SearchCoverage) -> frozenset[Change]:
    """Return the indexes of what the server joins to every filter."""
    joined = row.forecast.added if row.forecast else ()
    return frozenset(leaf.change for leaf in joined if leaf.change is not None and leaf.cause is not Cause.NONE)


def _would_help(
    changes: frozenset[Change], row: SearchCoverage, simulation: SimulatedDatabase, family: Family | None
) -> bool:
    """Tell whether indexes would help: not those of what nearly all may have, nor of what perhaps there is not."""
    if _returns_most(row, simulation) or any(_why_not(change, simulation, family) for change in changes):
        return False
    if not row.group.entries and not all(simulation.in_schema(change.attribute) for change in changes):
        return False
    outlook = _with(changes, row, simulation)
    unsure_of_most = outlook is Outlook.DEPENDS and any(change.type in PRESENCE for change in changes)
    return outlook is not Outlook.UNINDEXED and not (unsure_of_most and isinstance(simulation, ConfiguredDatabase))


def _with(changes: frozenset[Change], row: SearchCoverage, simulation: SimulatedDatabase) -> Outlook:
    if row.filter is None:
        return Outlook.DEPENDS
    return simulation.with_added(row.filter, row.group.base, row.group.scope, changes)


def _is_sure(row: SearchCoverage, simulation: SimulatedDatabase, told: tuple[frozenset[ProposedIndex], ...]) -> bool:
    """Tell whether one of these sets helps whatever is not known."""
    name = simulation.database.backend.name if isinstance(simulation, ConfiguredDatabase) else ""
    its = (frozenset(change for where, change in one if where == name) for one in told)
    return any(not one or _with(one, row, simulation) in {Outlook.INDEXED, Outlook.PARTIALLY} for one in its)


def _why_not(change: Change, simulation: SimulatedDatabase, family: Family | None) -> str:
    """Return why an index is never to be added, or nothing."""
    name = change.attribute.lower()
    product = product_of(family) if family else None
    if name == "objectclass":
        return "" if change.type in {"eq", "equality"} else OF_THE_SERVER
    if name in SECRETS or (product is not None and name in product.never_dropped):
        return OF_THE_SERVER
    if not isinstance(simulation, ConfiguredDatabase):
        return ""
    definition = simulation.database.definition(change.attribute)
    if definition is not None and definition.system:
        return OF_THE_SERVER
    schema = simulation.database.schema
    if change.type in SUBSTRING_KINDS and is_membership(change.attribute, schema):
        return why_expensive(family, change.attribute, change.type, schema)
    return ""


def _returns_most(row: SearchCoverage, simulation: SimulatedDatabase) -> bool:
    """Tell whether searches return so many entries that no list of them would be kept, or none be shorter than all."""
    search = row.group
    if not isinstance(simulation, ConfiguredDatabase) or not search.answered:
        return False
    each, database = search.entries // search.answered, simulation.database
    limit = database.configuration.scan_limit or database.backend.entry_limit or 0
    if limit > 0 and each > limit:
        return True
    total = database.frequencies.below(search.base, search.scope).most
    return each > (UNLIMITED_LIST if total is None else max(FEW, total // 4))


def _hindrance(
    row: SearchCoverage, simulation: SimulatedDatabase, family: Family | None, *, helped: bool
) -> Obstacle | None:
    """Return what stands in the way where no index would help, or what must be built even where one would.

    An index that answers some of the searches is built.
    """
    if row.filter is None:
        return None
    told = find_obstacle(row.filter, simulation.leaf)
    if helped and (told is None or told.cause is not Cause.NOT_BUILT):
        return None
    if told is None:
        return _of_the_first(row, simulation, family)
    if told.cause is Cause.NONE and row.group.unindexed >= row.group.answered:
        return replace(told, cause=Cause.NOT_BUILT, reason=NOT_USED, inferred=True)
    open_ = (
        not isinstance(simulation, ConfiguredDatabase)
        and isinstance(row.filter, And)
        and not _all_unindexable(row, simulation)
    )
    return replace(told, cause=Cause.LIMIT_PERHAPS, reason=OVER_LIMIT) if told.cause is Cause.NONE or open_ else told


def _all_unindexable(row: SearchCoverage, simulation: SimulatedDatabase) -> bool:
    leaves = assertions(row.filter) if row.filter else ()
    return all(simulation.leaf(one).cause is Cause.UNINDEXABLE for one in leaves)


def _of_the_first(row: SearchCoverage, simulation: SimulatedDatabase, family: Family | None) -> Obstacle | None:
    """Return why an index of the first part that lacks one would not help."""
    leaves = [simulation.leaf(one) for one in assertions(row.filter)] if row.filter else []
    lacking = [leaf for leaf in leaves if leaf.change is not None] or leaves
    if not lacking:
        return None
    leaf = lacking[0]
    cause, why = Cause.LIMIT_PERHAPS, MOST_HAVE_IT
    if leaf.change is not None and (never := _why_not(leaf.change, simulation, family)):
        cause, why = Cause.UNINDEXABLE, never
    elif _returns_most(row, simulation):
        cause, why = Cause.LIMIT, f"each search returns {row.group.entries // row.group.answered} entries"
    elif not simulation.in_schema(leaf.assertion.attribute):
        cause, why = Cause.UNKNOWN_ATTRIBUTE, UNKNOWN_TO_SCHEMA
    return Obstacle(cause=cause, attribute=leaf.assertion.name, text=leaf.assertion.text, reason=why)
