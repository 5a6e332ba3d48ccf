"""BuildState: whether one index was built; for 389-ds from the times of its entry, the builds and the starts.

When a server started, and which builds of indexes its errors logs contain.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.logged_time import LoggedTime, Restarts, logged_time
from ldapdiag.evidence.log.stamps import when
from ldapdiag.evidence.server_log import EVERY_ATTRIBUTE
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ldapdiag.analysis.hosts.instances import Instance
    from ldapdiag.evidence.access_log import AccessLog
    from ldapdiag.evidence.indexes import Backend, IndexDefinition
    from ldapdiag.evidence.processes import ProcessTable
    from ldapdiag.evidence.server_log import IndexBuild

OF_THE_DATABASE = "cn=ldbm database,cn=plugins,cn=config"
"""The creator of the default indexes that 389-ds adds to a database by itself."""
AT_ONCE, SOON = timedelta(seconds=10), timedelta(minutes=2)
"""Indexes added so soon after their database are as empty as it was: 389-ds updates them with each entry. After the
first time only if an errors log reaches back that far: else an import may have filled the database before."""
SAME_CHANGE = timedelta(seconds=5)


class BuildState(StrEnum):
    """What is known of one index."""

    BUILT = "built"
    RIGHT = "right"
    """It found every entry of a probe."""
    UNUSED = "unused"
    """Not built since it was added, and not used before the server starts again."""
    PENDING = "pending"
    """Changed and not built since; what was added to it is not used before the server starts again."""
    BUILDING = "building"
    """Its build has not ended yet, and searches do not use it before that."""
    WRONG = "wrong"
    """It did not find an entry that has the value."""
    NEVER_BUILT = "never-built"
    """Added, never built, and used since the server started."""
    RECREATED = "recreated"
    """A default index that a start of the server has added again, empty."""
    ABSENT = "absent"
    """A default index without an entry: each start of the server adds it again, empty if it was not there before."""
    INTERRUPTED = "interrupted"
    CHANGED = "changed"
    """Its entry was changed after the last build; which attribute of the entry is not known."""
    TEXT_ORDER = "text-order"
    """It sorts numbers as text, and searches for ranges use it (389-ds)."""
    UNKNOWN = "unknown"


INCOMPLETE = frozenset(
    {
        BuildState.WRONG,
        BuildState.NEVER_BUILT,
        BuildState.RECREATED,
        BuildState.ABSENT,
        BuildState.INTERRUPTED,
        BuildState.CHANGED,
    }
)
DOUBTFUL = INCOMPLETE | {BuildState.TEXT_ORDER}
NOT_USED_YET = frozenset({BuildState.UNUSED, BuildState.BUILDING})

NO_TIME = "its entry has no time stamp"


def changed(definition: IndexDefinition) -> datetime | None:
    """Return when an index was added or last changed; None: unknown."""
    return max(filter(None, (definition.created, definition.modified)), default=None)


def by_times(backend: Backend, definition: IndexDefinition, logs: ErrorsLogs, starts: Starts) -> tuple[BuildState, str]:
    """Return the state of an index of 389-ds and what shows it: its times, the builds and the starts."""
    build = logs.build_of(backend.name, definition.attribute)
    if build is not None and build.finished is None:
        began = f"a build that began at {shown(build.started)}"
        if build in logs.cut:
            return BuildState.UNKNOWN, f"{began} was running at the end of its file, and no later file shows its end"
        if not logs.covers(build.started, starts.last):
            return BuildState.UNKNOWN, f"the end of {began} is not logged; {logs.why_unknown(build.started)}"
        if used := starts.since(build.started) or ("the server started then" if build.restarted else ""):
            return BuildState.INTERRUPTED, f"{began} did not finish, and {used}"
        return (BuildState.UNUSED, f"{began} failed") if build.failed else (BuildState.BUILDING, f"{began} is running")
    at = changed(definition)
    if at is None:
        return BuildState.UNKNOWN, NO_TIME
    if build is not None and build.started >= at:
        return BuildState.BUILT, f"built at {shown(build.started)}"
    if build is None and is_as_old_as(backend, at, _soon(backend, logs)):
        return BuildState.BUILT, "as old as its database"
    return _unbuilt(backend, definition, at, logs, starts)


def _unbuilt(
    backend: Backend, definition: IndexDefinition, at: datetime, logs: ErrorsLogs, starts: Starts
) -> tuple[BuildState, str]:
    """Return the state of an index of which no build since its last change is known."""
    known, used = logs.covers(at, starts.last), starts.since(at)
    added = definition.created is not None and not _was_built(definition, backend, logs)
    if added and definition.creator == OF_THE_DATABASE:
        since = " and not built since" if known else f"; {logs.why_unknown(at)}"
        return BuildState.RECREATED, f"a start of the server added it at {shown(at)}{since}"
    happened = f"{'added' if added else 'changed'} at {shown(at)}"
    at_once = bool(definition.rules) and not added
    if not known:
        right = ", and no start of the server since, so that searches are right" if starts.complete and not used else ""
        return BuildState.UNKNOWN, f"{happened}{right}; {logs.why_unknown(at)}"
    if not (used or at_once):
        state = BuildState.UNUSED if added else BuildState.PENDING
        return state, f"{happened} and not built since, and no start of the server since"
    since = f"{happened} and not built since" + (f"; {used}" if used else "")
    return (BuildState.NEVER_BUILT if added else BuildState.CHANGED), since


def _was_built(definition: IndexDefinition, backend: Backend, logs: ErrorsLogs) -> bool:
    """Return whether an index had been built, or its database was empty, before its entry was changed."""
    created, modified = definition.created, definition.modified
    if created is None or modified is None or modified <= created + SAME_CHANGE:
        return False
    build = logs.build_of(backend.name, definition.attribute)
    return is_as_old_as(backend, created, _soon(backend, logs)) or (build is not None and build.started >= created)


def _soon(backend: Backend, logs: ErrorsLogs) -> timedelta:
    began = database_added(backend)
    return SOON if began is not None and logs.time.first is not None and logs.time.first <= began else AT_ONCE


def is_as_old_as(backend: Backend, at: datetime, soon: timedelta = SOON) -> bool:
    """Return whether a time is that of the addition of a database, which was empty then."""
    began = database_added(backend)
    return began is not None and at <= began + soon


def database_added(backend: Backend) -> datetime | None:
    """Return when a database was added; without its own time it is as old as its oldest index.

    An index without a time may be older than the others.
    """
    times = [definition.created for definition in backend.definitions]
    return backend.created or (None if None in times else min(filter(None, times), default=None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """The known starts of a server, in order."""

    times: tuple[datetime, ...]
    restarts: tuple[Restarts, ...] = ()
    """Those in access logs, which do not contain their times."""
    complete: bool = False
    """The monitor or the process shows the last start."""

    @property
    def last(self) -> datetime | None:
        """Return the latest known one; None: none is known."""
        return max((*self.times[-1:], *(one.begin for one in self.restarts)), default=None)

    def since(self, at: datetime) -> str:
        """Return a clause about the first start after a time; empty: none is known."""
        if found := next((time for time in self.times if time > at), None):
            return f"the server has started since ({shown(found)})"
        later = any(one.begin >= at for one in self.restarts)
        return "the server has started since (its access log contains a restart)" if later else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorsLogs:
    """The builds in the errors logs of a server, and the time that the logs cover."""

    builds: Mapping[tuple[str, str], IndexBuild]
    """The last of each index, by backend and attribute in lower case."""
    time: LoggedTime
    cut: frozenset[IndexBuild] = frozenset()
    """Those that were running at the end of a file after which there is another: its end may be in that one."""

    def build_of(self, backend: str, attribute: str) -> IndexBuild | None:
        """Return the last build of an index: its own, or a later import of the whole database."""
        own = self.builds.get((backend.lower(), attribute.lower()))
        whole = self.builds.get((backend.lower(), EVERY_ATTRIBUTE))
        return max(filter(None, (own, whole)), key=lambda one: one.started, default=None)

    def covers(self, at: datetime, until: datetime | None) -> bool:
        """Return whether a build between a time and the end of the evidence would be in the logs."""
        return self.time.covers(at, until)

    def why_unknown(self, at: datetime) -> str:
        """Return why they do not show whether an index was built since a time, as a clause."""
        if (gap := self.time.gap_after(at)) is None:
            return "no errors log from then to the last start shows whether it was built"
        return (
            f"the errors logs have no line from {shown(gap.begin)} to {shown(gap.end)}, and {gap.why}, "
            "so a build may be missing there"
        )


def errors_logs(server: Instance, starts: Starts, tasks: Iterable[datetime] = ()) -> ErrorsLogs:
    """Combine the errors logs of a server; `tasks`: when it was asked to build indexes."""
    builds: dict[tuple[str, str], IndexBuild] = {}
    for build in sorted((one for log in server.logs for one in log.index_builds), key=lambda one: one.started):
        builds[build.backend, build.attribute] = build
    time = logged_time(server.logs, starts.times, starts.restarts, tasks)
    cut = {
        build
        for log in server.logs
        if log.periods and log.periods[-1].end != time.last
        for build in log.index_builds
        if build.finished is None and not (build.failed or build.restarted)
    }
    return ErrorsLogs(builds=builds, time=time, cut=frozenset(cut))


def starts_of(server: Instance, processes: Iterable[ProcessTable], added: Iterable[datetime] = ()) -> Starts:
    """Return when a server started, by its errors logs, its monitor, its process, and restarts in its access logs.

    `added`: when starts have added default indexes.
    """
    logged = {time for log in server.logs for time in log.start_times}
    present = {server.monitor.started_at} if server.monitor is not None and server.monitor.started_at else set()
    for table in processes:
        known = (table.process(pid) for pid in server.pids)
        present |= {one.started for one in known if one is not None and one.started is not None and table.zoned}
    restarts = tuple(filter(None, map(_restarts, server.access_logs)))
    return Starts(times=tuple(sorted({*logged, *present, *added})), restarts=restarts, complete=bool(present))


def _restarts(log: AccessLog) -> Restarts | None:
    """Return the restarts in an access log; None if it has none that are certain."""
    counted = [stream.server_processes for stream in log.streams if not stream.unreliable]
    processes = counted if log.streams else [log.segment.server_processes]
    count = sum(max(0, one - 1) for one in processes)
    first, last = log.segment.first_time, log.segment.last_time
    return Restarts(when(first), when(last), count) if count and first is not None and last is not None else None


def shown(at: datetime) -> str:
    """Return a time as reports print it."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
