"""Proposed indexes: the sets of new indexes that would help a scan, each tried by simulation, or the obstacle."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.index_trial import FEW_ENTRIES, IndexTrial
from ldapdiag.analysis.indexes.obstacles import OVER_LIMIT, Obstacle, find_obstacle
from ldapdiag.analysis.indexes.simulated_database import ConfiguredDatabase
from ldapdiag.analysis.indexes.sufficient_sets import sufficient_sets
from ldapdiag.evidence.filter_tree import And, AssertionKind, assertions
from ldapdiag.servers.candidates import Cause
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.indexes.search_coverage import ProposedIndex, SearchCoverage
    from ldapdiag.analysis.indexes.simulated_database import SimulatedDatabase
    from ldapdiag.evidence.family import Family
    from ldapdiag.servers.candidates import Change, Forecast

MOST_MATCH = "most entries may match, and an index keeps no list of so many"
UNKNOWN_TO_SCHEMA = "no known schema defines it, and no search for it has returned an entry"
NOT_USED = "an index of it is configured and few entries match, but the server did not use it"
MOST_PROPOSED = 64
"""The most sets kept for one scan."""


def propose(scan: SearchCoverage, databases: Sequence[SimulatedDatabase], family: Family | None) -> SearchCoverage:
    """Return a scan with the sets of new indexes that would help, or with the obstacle."""
    if scan.filter is None:
        return scan
    trials = [IndexTrial(scan, scan.filter, database, family) for database in databases]
    helpful = [_helpful_sets(trial, alone=len(trials) == 1) for trial in trials]
    # Every database must be indexed: one set of each.
    combined = dict.fromkeys(first.union(*others) for first, *others in product(*helpful))
    sets = tuple(each for each in combined if each)[:MOST_PROPOSED]
    return replace(
        scan,
        sufficient_sets=sets,
        certain=bool(sets) and all(_is_certain(trial, sets) for trial in trials),
        obstacle=_obstacle(trials[0], helped=bool(sets)),
    )


def has_short_list(forecast: Forecast | None, database: SimulatedDatabase) -> bool:
    """Return whether an equality assertion has an index in which every requested value has a short ID list."""
    if forecast is None or not isinstance(database, ConfiguredDatabase):
        return False
    return any(
        leaf.cause is Cause.NONE
        and leaf.assertion.kind is AssertionKind.EQUALITY
        and (most := database.database.frequencies.of(leaf.assertion).most) is not None
        and most <= FEW_ENTRIES
        for leaf in forecast.leaves
    )


def _helpful_sets(trial: IndexTrial, *, alone: bool) -> tuple[frozenset[ProposedIndex], ...]:
    """Return the sets that would help at one database; an empty set among them: the database lacks no index.

    `alone`: no other database answers the scan, so this one is known to lack an index.
    """
    joined = _joined_by_server(trial.scan)
    sets = sufficient_sets(trial.filter, trial.database.leaf, scanned=alone)
    extended = [changes | joined for changes in sets] or [joined]
    return tuple(
        frozenset((trial.database_name, change) for change in changes)
        for changes in extended
        if (not changes and not alone) or (changes and trial.would_help(changes))
    )


def _joined_by_server(scan: SearchCoverage) -> frozenset[Change]:
    """Return the indexes of the assertions that the server joins to every filter."""
    joined = scan.forecast.added if scan.forecast else ()
    return frozenset(leaf.change for leaf in joined if leaf.change is not None and leaf.cause is not Cause.NONE)


def _is_certain(trial: IndexTrial, sets: tuple[frozenset[ProposedIndex], ...]) -> bool:
    """Return whether one of the sets helps at this database however many entries match."""
    at_database = (frozenset(change for name, change in each if name == trial.database_name) for each in sets)
    return any(trial.certainly_helps(changes) for changes in at_database)


def _obstacle(trial: IndexTrial, *, helped: bool) -> Obstacle | None:
    """Return the obstacle if no new index helps, or an index that is not built even if one does.

    An index that answers some of the searches is built.
    """
    obstacle = find_obstacle(trial.filter, trial.database.leaf)
    if helped and (obstacle is None or obstacle.cause is not Cause.NOT_BUILT):
        return None
    if obstacle is None:
        return _obstacle_of_first(trial)
    group = trial.scan.group
    if obstacle.cause is Cause.NONE and group.unindexed >= group.answered:
        return replace(obstacle, cause=Cause.NOT_BUILT, reason=NOT_USED, inferred=True)
    unknown = (
        not isinstance(trial.database, ConfiguredDatabase)
        and isinstance(trial.filter, And)
        and not _all_unindexable(trial)
    )
    if obstacle.cause is Cause.NONE or unknown:
        return replace(obstacle, cause=Cause.LIMIT_PERHAPS, reason=OVER_LIMIT)
    return obstacle


def _all_unindexable(trial: IndexTrial) -> bool:
    return all(trial.database.leaf(assertion).cause is Cause.UNINDEXABLE for assertion in assertions(trial.filter))


def _obstacle_of_first(trial: IndexTrial) -> Obstacle | None:
    """Return why an index for the first assertion that lacks one would not help."""
    leaves = [trial.database.leaf(assertion) for assertion in assertions(trial.filter)]
    lacking = [leaf for leaf in leaves if leaf.change is not None] or leaves
    if not lacking:
        return None
    leaf = lacking[0]
    cause, reason = Cause.LIMIT_PERHAPS, MOST_MATCH
    if leaf.change is not None and (never := trial.why_never_added(leaf.change)):
        cause, reason = Cause.UNINDEXABLE, never
    elif trial.returns_most:
        returned = trial.scan.group.entries // trial.scan.group.answered
        cause, reason = Cause.LIMIT, f"each search returns {counted(returned, 'entry', 'entries')}"
    elif not trial.database.in_schema(leaf.assertion.attribute):
        cause, reason = Cause.UNKNOWN_ATTRIBUTE, UNKNOWN_TO_SCHEMA
    return Obstacle(cause=cause, attribute=leaf.assertion.name, text=leaf.assertion.text, reason=reason)
