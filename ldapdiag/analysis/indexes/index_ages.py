"""Index ages: since when each index of a database answers searches, and the searches of a log that are older.

    log 08:00 to 08:10    (title=?) noted as unindexed    title eq added at 08:16    the log shows nothing of the index

A record is judged by the configuration of its time. Where an index that would answer a search was added, changed or
built after the log began, the search proves neither that the index is not used nor that its lists are too long.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.build_states import BuildState, changed, database_added, is_as_old_as, shown
from ldapdiag.analysis.indexes.search_coverage import Obstacle
from ldapdiag.analysis.indexes.simulated_database import ConfiguredDatabase
from ldapdiag.servers.indexes.candidates import Cause, IndexUse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from ldapdiag.analysis.indexes.build_history import BuildHistory
    from ldapdiag.analysis.indexes.search_coverage import SearchCoverage
    from ldapdiag.analysis.indexes.simulated_database import SimulatedDatabase
    from ldapdiag.analysis.log.workload import Workload
    from ldapdiag.evidence.indexes import Backend, IndexDefinition

OBJECT_CLASS = "objectclass"
LISTED = frozenset({Cause.NONE, Cause.LIMIT_PERHAPS})
"""What an assertion with an index has: its list may be read."""


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
    """Return that an index which would answer a search is younger than the log; None if none is."""
    found = [one for database in databases if (one := _younger(search, database)) is not None]
    return max(found, key=lambda obstacle: (obstacle.since is not None, obstacle.since), default=None)


def _younger(search: SearchCoverage, database: SimulatedDatabase) -> Obstacle | None:
    if search.filter is None or not isinstance(database, ConfiguredDatabase) or not database.younger:
        return None
    forecast = database.forecast(search.filter, search.group.base, search.group.scope)
    if forecast.index_use is IndexUse.UNINDEXED:
        return None
    listed = [leaf.assertion for leaf in forecast.leaves if leaf.cause in LISTED]
    ages = [(at, one) for one in listed for at in _ages(database, one.attribute)]
    if not ages:
        return None
    since, assertion = max(ages, key=lambda pair: (pair[0], pair[1].attribute != OBJECT_CLASS))
    reason = f"an index of it was added, changed or built at {shown(since)}, after the log began"
    return Obstacle(cause=Cause.YOUNGER, attribute=assertion.name, text=assertion.text, reason=reason, since=since)


def _ages(database: ConfiguredDatabase, attribute: str) -> Iterator[datetime]:
    """Yield since when the index of an attribute, or of the nearest supertype that has one, answers searches."""
    simulated = database.database
    names = (attribute, *(supertype.oid for supertype in simulated.schema.lineage(attribute)))
    definition = next(filter(None, map(simulated.definition, names)), None)
    if definition is not None and (at := database.younger.get(definition.attribute.lower())) is not None:
        yield at
