"""BuildHistory: whether each index of a server was built since it was added or changed, and whether it is used.

389-ds does not use an index before it is built: searches examine every entry and are right. After the
next start an index without entries answers "none". What shows it: the times of the index entry (a build changes none),
the builds and starts in the errors log, and the answers of the index itself (`--probe-answers`), which prevail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.hosts.instances import Instance, facts_of
from ldapdiag.analysis.indexes.range_searches import count_ranges, misses_numbers
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
from ldapdiag.analysis.indexes.server_starts import ErrorsLogs, Starts, errors_logs, shown, starts_of
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.index_answers import IndexAnswers
from ldapdiag.evidence.indexes import Backend, IndexDefinition
from ldapdiag.evidence.indexes.index_tasks import IndexTask
from ldapdiag.evidence.ldif import comparable
from ldapdiag.evidence.origin import Span
from ldapdiag.evidence.processes import ProcessTable
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from ldapdiag.evidence.index_answers import ProbedIndex

BUILDING = (
    "the server builds indexes of this database now: a restart would leave them in part, and a write to cn=config "
    "would stop all searches until the end"
)
OF_THE_DATABASE = "cn=ldbm database,cn=plugins,cn=config"
"""The creator of the default indexes that 389-ds adds to a database by itself."""
AT_ONCE = timedelta(minutes=2)
"""Indexes added within this time of their database are as empty as it was: 389-ds updates them with each entry."""
SAME_CHANGE = timedelta(seconds=5)
USED_WHEN_BUILT = frozenset({Family.OPENDJ, Family.PING})
RANGE_FILTERS = (">=@)", "<=@)")
ENOUGH_SAMPLES = 3
"""Entries that an index must find to outweigh what its history suggests."""


class BuildState(StrEnum):
    """What is known of one index."""

    BUILT = "built"
    RIGHT = "right"
    """It found every entry of a probe."""
    UNUSED = "unused"
    """Not built since it was added, and not used before the server starts again."""
    WRONG = "wrong"
    """It did not find an entry that has the value."""
    NEVER_BUILT = "never-built"
    """Added, never built, and used since the server started."""
    RECREATED = "recreated"
    """A default index that a start of the server has added again, empty."""
    INTERRUPTED = "interrupted"
    CHANGED = "changed"
    """Its entry was changed after the last build; which attribute of the entry is not known."""
    TEXT_ORDER = "text-order"
    """It sorts numbers as text, and searches for ranges use it (389-ds)."""
    UNKNOWN = "unknown"


INCOMPLETE = frozenset(
    {BuildState.WRONG, BuildState.NEVER_BUILT, BuildState.RECREATED, BuildState.INTERRUPTED, BuildState.CHANGED}
)
DOUBTFUL = INCOMPLETE | {BuildState.TEXT_ORDER}


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexHistory:
    """One index: its state, and what shows it."""

    backend: Backend
    definition: IndexDefinition
    state: BuildState
    why: str
    """A clause with the times."""
    logged: bool = True
    """False: no errors log shows whether it was built since."""
    built: datetime | None = None
    """When the last build of it began, as far as is known."""
    answer: ProbedIndex | None = None
    """The probe of its searches; None: there was none."""

    @property
    def changed(self) -> datetime | None:
        """Return when the entry was added or last changed; None: unknown."""
        return changed(self.definition)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildHistory:
    """All indexes of one server, but for those that the server itself needs."""

    kind: ClassVar[str] = "build-history"
    probe: ClassVar[str] = (
        "ldapdiag indexes ldap://HOST --probe-answers -D DN -W, which compares answers of the indexes with the entries"
    )
    how: ClassVar[str] = f"389-ds: /var/log/dirsrv/slapd-INSTANCE/errors* beside dse.ldif; any product: {probe}"

    server: str
    """The server, by the name of its instance."""
    host: str
    indexes: tuple[IndexHistory, ...]
    origins: tuple[str, ...] = ()

    def of(self, backend: Backend, attribute: str) -> IndexHistory | None:
        """Return the history of the index of an attribute, as the configuration spells it."""
        own = (one for one in self.indexes if one.backend.name == backend.name)
        return next((one for one in own if one.definition.attribute.lower() == attribute.lower()), None)


def changed(definition: IndexDefinition) -> datetime | None:
    """Return when an index was added or last changed; None: unknown."""
    return max(filter(None, (definition.created, definition.modified)), default=None)


@provides(BuildHistory)
def trace_builds(
    indexes: ServerIndexes,
    server: Instance,
    processes: tuple[ProcessTable, ...],
    answers: tuple[IndexAnswers, ...],
    tasks: tuple[IndexTask, ...],
    traffic: Traffic | None,
) -> BuildHistory:
    """Find out for each index of a server whether it was built."""
    logs, starts = errors_logs(server), starts_of(server, facts_of(processes, server.host))
    probes = facts_of(answers, server.name)
    probed = {
        (one.backend.lower(), one.attribute.lower()): (one, probe.origin.taken)
        for probe in sorted(probes, key=lambda probe: probe.origin.order)
        for one in probe.indexes
    }
    family = indexes.configuration.identity.family
    own_tasks = facts_of(tasks, server.name)
    histories = (
        _history(backend, definition, family, logs, starts, probed)
        for backend in indexes.configuration.backends
        for definition in backend.definitions
        if definition.types and not definition.system
    )
    return BuildHistory(
        server=server.name,
        host=server.host,
        indexes=tuple(_in_order(_with_task(one, own_tasks), indexes, traffic) for one in histories),
        origins=tuple(sorted({*indexes.origins, *server.origins_of(*server.logs, *probes)})),
    )


def _history(
    backend: Backend,
    definition: IndexDefinition,
    family: Family,
    logs: ErrorsLogs,
    starts: Starts,
    probed: Mapping[tuple[str, str], tuple[ProbedIndex, Span | None]],
) -> IndexHistory:
    if family is Family.DS389:
        state, why = _by_times(backend, definition, logs, starts)
    elif family in USED_WHEN_BUILT:
        state, why = BuildState.BUILT, f"{family.product} uses an index only when it is built"
    else:
        state, why = BuildState.UNKNOWN, f"{family.product} records nowhere whether an index was built"
    at, build = changed(definition), logs.build_of(backend.name, definition.attribute)
    answer, taken = probed.get((backend.name.lower(), definition.attribute.lower()), (None, None))
    since = max(filter(None, (at, build.started if build else None)), default=None)
    if answer is not None and taken is not None and since is not None and taken.end < since:
        answer = None  # it was built or changed after the probe
    if answer is not None:
        state, why = _by_answer(answer, state, why)
    logged = at is not None and logs.covers(at, starts.last)
    return IndexHistory(
        backend=backend,
        definition=definition,
        state=state,
        why=why,
        logged=logged,
        built=build.started if build else None,
        answer=answer,
    )


def _with_task(history: IndexHistory, tasks: Iterable[IndexTask]) -> IndexHistory:
    """Return a history with what the server shows of its builds; a probe has shown more."""
    backend, name = history.backend, history.definition.attribute.lower()
    suffixes = {comparable(suffix) for suffix in backend.suffixes}
    for task in tasks:
        if task.suffix in suffixes and history.state is BuildState.UNKNOWN:
            return replace(history, why=BUILDING)
        if (task.backend, history.answer) != (backend.name.lower(), None) or name not in task.attributes:
            continue
        if task.exit_code is None:
            return replace(history, state=BuildState.UNUSED, why="it is being built")
        late = history.changed is None or (task.created is not None and task.created >= history.changed)
        if task.exit_code == 0 and late:
            return replace(history, state=BuildState.BUILT, why="a task built it", built=task.created)
    return history


def _in_order(history: IndexHistory, indexes: ServerIndexes, traffic: Traffic | None) -> IndexHistory:
    """Return a history with what the order of the keys does to ranges of numbers."""
    answer, definition = history.answer, history.definition
    if not misses_numbers(definition, indexes):
        return history
    wrong = answer.filters if answer is not None else ()
    if history.state is BuildState.WRONG and wrong and all(one.endswith(RANGE_FILTERS) for one in wrong):
        return replace(history, state=BuildState.TEXT_ORDER)
    count = count_ranges(history.backend, definition, indexes, traffic)
    if not count or history.state in INCOMPLETE:
        return history
    why = f"its keys are sorted as text, and {counted(count, 'search', 'searches')} for a range used it"
    return replace(history, state=BuildState.TEXT_ORDER, why=why)


def _by_answer(answer: ProbedIndex, state: BuildState, why: str) -> tuple[BuildState, str]:
    """Return what a probe shows: one wrong answer proves, several right ones outweigh the history."""
    if answer.missing:
        by = f" ({', '.join(answer.filters)})" if answer.filters else ""
        return BuildState.WRONG, f"{answer.missing} of {answer.samples} entries are not found by their own value{by}"
    outweighs = answer.samples >= ENOUGH_SAMPLES or (state is BuildState.UNKNOWN and answer.samples > 0)
    return (BuildState.RIGHT, f"it finds all {answer.samples} entries of a probe") if outweighs else (state, why)


def _by_times(
    backend: Backend, definition: IndexDefinition, logs: ErrorsLogs, starts: Starts
) -> tuple[BuildState, str]:
    """Return what the times of an index entry, the builds and the starts show (389-ds)."""
    build = logs.build_of(backend.name, definition.attribute)
    if build is not None and build.finished is None:
        began = f"a build that began at {shown(build.started)}"
        if used := starts.since(build.started) or ("the server started then" if build.restarted else ""):
            return BuildState.INTERRUPTED, f"{began} did not finish, and {used}"
        return BuildState.UNUSED, f"{began} {'failed' if build.failed else 'has not finished'}"
    at = changed(definition)
    if at is None:
        return BuildState.UNKNOWN, "its entry has no time stamp"
    if build is not None and build.started >= at:
        return BuildState.BUILT, f"built at {shown(build.started)}"
    if build is None and _is_of(backend, at):
        return BuildState.BUILT, "as old as its database"
    return _unbuilt(backend, definition, at, logs, starts)


def _unbuilt(
    backend: Backend, definition: IndexDefinition, at: datetime, logs: ErrorsLogs, starts: Starts
) -> tuple[BuildState, str]:
    """Return the state of an index of which no build since its last change is known."""
    known, used = logs.covers(at, starts.last), starts.since(at)
    added = definition.created is not None and not _was_built(definition, backend, logs)
    if added and definition.creator == OF_THE_DATABASE:
        since = " and not built since" if known else "; no errors log from then on shows whether it was built"
        return BuildState.RECREATED, f"a start of the server added it at {shown(at)}{since}"
    happened = f"{'added' if added else 'changed'} at {shown(at)}"
    at_once = bool(definition.rules) and not added
    if not (used or at_once) and (known or starts.complete):
        return BuildState.UNUSED, f"{happened}, and no start of the server since"
    if not known:
        return (
            BuildState.UNKNOWN,
            f"{happened}; no errors log from then to the last start shows whether it was built",
        )
    since = f"{happened} and not built since" + (f"; {used}" if used else "")
    return (BuildState.NEVER_BUILT if added else BuildState.CHANGED), since


def _was_built(definition: IndexDefinition, backend: Backend, logs: ErrorsLogs) -> bool:
    """Return whether an index had been built, or its database was empty, before its entry was changed."""
    created, modified = definition.created, definition.modified
    if created is None or modified is None or modified <= created + SAME_CHANGE:
        return False
    build = logs.build_of(backend.name, definition.attribute)
    return _is_of(backend, created) or (build is not None and build.started >= created)


def _is_of(backend: Backend, at: datetime) -> bool:
    """Return whether a time is that of the addition of a database, which was empty then."""
    oldest = min(filter(None, (one.created for one in backend.definitions)), default=None)
    began = backend.created or oldest
    return began is not None and at <= began + AT_ONCE
