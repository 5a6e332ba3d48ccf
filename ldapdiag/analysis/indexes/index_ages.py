"""Index ages: since when each index of a database answers searches, and the searches of a log that are older.

    log 08:00 to 08:10    (title=?) noted as unindexed    title eq added at 08:16    the log shows nothing of the index

A record is judged by the configuration of its time. Where an index that would answer a search was added, changed or
built after the log began, the search proves neither that the index is not used nor that its lists are too long.

    (title=?) noted 20 times of 40, 1 entry each    title eq without a time stamp    it is probably younger than the log

An index of unknown age may be younger where it answered others of the same kind, unless a result shows a long list.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.build_states import BuildState, changed, database_added, is_as_old_as, shown
from ldapdiag.analysis.indexes.limit_classes import has_pages, show_more
from ldapdiag.analysis.indexes.search_coverage import Obstacle
from ldapdiag.analysis.indexes.simulated_database import ConfiguredDatabase
from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.servers.indexes.candidates import Cause, IndexUse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from ldapdiag.analysis.indexes.build_history import BuildHistory
    from ldapdiag.analysis.indexes.search_coverage import SearchCoverage
    from ldapdiag.analysis.indexes.simulated_database import SimulatedDatabase
    from ldapdiag.analysis.log.workload import Workload
    from ldapdiag.evidence.filter_tree import Assertion
    from ldapdiag.evidence.indexes import Backend, IndexDefinition

OBJECT_CLASS = "objectclass"
UNDATED = frozenset({BuildState.UNKNOWN, BuildState.RIGHT})
LISTED = frozenset({Cause.NONE, Cause.LIMIT_PERHAPS})
"""What an assertion with an index has: its list may be read."""
FEW_RETURNED = 100
"""Entries of the largest result of searches that show no long list."""
PROBABLY_YOUNGER = (
    "the index was probably added after these searches; the configuration has no time stamps of the indexes"
)
PERHAPS_YOUNGER = (
    "the index may have been added after these searches: the configuration has no time stamps of the indexes; or more "
    "entries match some of their values, or parts of the filter, than the server keeps in an ID list"
)


def as_built(backend: Backend, builds: BuildHistory | None) -> Backend:
    """Return a database whose indexes that are not built and not used are marked so."""
    if builds is None:
        return backend
    unused = {
        history.definition.attribute
        for history in builds.indexes
        if history.backend.name == backend.name and history.state is BuildState.UNUSED
    }
    definitions = (replace(one, built=False) if one.attribute in unused else one for one in backend.definitions)
    return replace(backend, definitions=tuple(definitions))


def younger_indexes(backend: Backend, workload: Workload, builds: BuildHistory | None) -> Mapping[str, datetime]:
    """Return the attributes, in lower case, whose indexes are younger than the beginning of a log; and since when.

    The indexes of a database that was itself added after that came with it. slapd has the time of the last change of
    the database alone: one within the log is rather of something else, or before all of these searches.
    """
    began, ended = workload.began, workload.ended
    if began is None or ended is None:
        return {}
    modified = backend.modified if backend.modified is not None and backend.modified >= ended else None
    database = database_added(backend)
    is_new = database is not None and database >= began
    times = {
        one.attribute.lower(): _latest(modified, _answers_since(one, backend, builds, database_is_new=is_new))
        for one in backend.definitions
    }
    return {name: time for name, time in times.items() if time is not None and time >= began}


def undated_indexes(backend: Backend, workload: Workload, builds: BuildHistory | None) -> Mapping[str, datetime]:
    """Return the attributes, in lower case, whose indexes may be as young as the end of a log; and that end.

    Neither a time stamp nor a build shows since when they answer searches.
    """
    if workload.ended is None:
        return {}
    histories = [
        (one, builds.of(backend, one.attribute) if builds is not None else None) for one in backend.definitions
    ]
    return {
        one.attribute.lower(): workload.ended
        for one, history in histories
        if changed(one) is None and (history is None or (history.state in UNDATED and history.built is None))
    }


def _latest(*times: datetime | None) -> datetime | None:
    return max(filter(None, times), default=None)


def _answers_since(
    definition: IndexDefinition, backend: Backend, builds: BuildHistory | None, *, database_is_new: bool
) -> datetime | None:
    """Return when an index was added, changed or built, or its build began, whichever was last; None: unknown."""
    at = changed(definition)
    history = builds.of(backend, definition.attribute) if builds is not None else None
    came_with_it = database_is_new and at is not None and is_as_old_as(backend, at)
    return _latest(None if came_with_it else at, history.built if history is not None else None)


def indexed_since(search: SearchCoverage, databases: Sequence[SimulatedDatabase]) -> Obstacle | None:
    """Return that an index which would answer a search is younger than the log; None if none is known to be."""
    found = [_younger(search, database) for database in databases if isinstance(database, ConfiguredDatabase)]
    return max(filter(None, found), key=lambda obstacle: (obstacle.since is not None, obstacle.since), default=None)


def _younger(search: SearchCoverage, database: ConfiguredDatabase) -> Obstacle | None:
    if (found := _answered_by(search, database, database.younger)) is None:
        return None
    reason = f"an index of it was added, changed or built at {shown(found.since)}, after the log began"
    return found.obstacle(reason)


def perhaps_indexed_since(
    search: SearchCoverage, databases: Sequence[SimulatedDatabase], uses: Collection[IndexUse]
) -> Obstacle | None:
    """Return that an index of unknown age may be younger than some searches of a kind; None: it answered none or all.

    `uses`: the use of the present indexes, as simulated. Where that depends on a number of entries, the noted searches
    may also have asked for values with long lists: a result that shows one is no sign of an age.
    """
    stopped = search.stopped.noted if search.stopped else 0
    if not 0 < search.noted - stopped < search.completed or has_pages(search.group):
        return None
    for database in databases:
        if not isinstance(database, ConfiguredDatabase):
            continue
        found = _answered_by(search, database, database.undated)
        certain = found is not None and found.use is IndexUse.INDEXED
        if found is not None and found.use in uses and (certain or _returned_few(search, database)):
            return replace(found.obstacle(PROBABLY_YOUNGER if certain else PERHAPS_YOUNGER), inferred=True)
    return None


def _returned_few(search: SearchCoverage, database: ConfiguredDatabase) -> bool:
    """Return whether no result shows a list that is too long."""
    most = search.most_entries
    return most <= min(FEW_RETURNED, database.longest_list) and not show_more(search.stops, most)


class _Answer(NamedTuple):
    """The part of a filter whose index answers a search since a time."""

    use: IndexUse
    since: datetime
    assertion: Assertion

    def obstacle(self, reason: str) -> Obstacle:
        """Return that the searches before that time show nothing of the index."""
        name, text = self.assertion.name, self.assertion.text
        return Obstacle(cause=Cause.YOUNGER, attribute=name, text=text, reason=reason, since=self.since)


def _answered_by(search: SearchCoverage, database: ConfiguredDatabase, ages: Mapping[str, datetime]) -> _Answer | None:
    """Return the youngest index, of those with these ages, that the present server would use for a search."""
    if search.filter is None or not ages:
        return None
    forecast = database.forecast(search.filter, search.group.base, search.group.scope)
    if forecast.index_use is IndexUse.UNINDEXED:
        return None
    listed = [leaf.assertion for leaf in forecast.leaves if leaf.cause in LISTED]
    found = [_Answer(forecast.index_use, at, one) for one in listed for at in _ages(database, one.attribute, ages)]
    return max(found, key=lambda each: (each.since, each.assertion.attribute != OBJECT_CLASS), default=None)


def _ages(database: ConfiguredDatabase, attribute: str, ages: Mapping[str, datetime]) -> Iterator[datetime]:
    """Yield since when the index of an attribute, or of the nearest supertype that has one, answers searches."""
    simulated = database.database
    names = (attribute, *(supertype.oid for supertype in simulated.schema.lineage(attribute)))
    definition = next(filter(None, map(simulated.definition, names)), None)
    if definition is not None and (at := ages.get(definition.attribute.lower())) is not None:
        yield at
