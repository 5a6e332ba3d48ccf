"""BuildHistory: whether each index of a server was built since it was added or changed, and whether it is used.

389-ds does not use an index before it is built: searches examine every entry and are right. After the
next start an index without entries answers "none". What shows it: the times of the index entry (a build changes none),
the builds and starts in the errors log, and the answers of the index itself (`--probe-answers`), which prevail.

Searches for ranges of numbers that 389-ds answers by an index sorted as text: they silently miss entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.hosts.instances import Instance, facts_of
from ldapdiag.analysis.indexes.build_states import (
    INCOMPLETE,
    NOT_USED_YET,
    OF_THE_DATABASE,
    BuildState,
    ErrorsLogs,
    Starts,
    by_times,
    changed,
    errors_logs,
    is_as_old_as,
    shown,
    starts_of,
)
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import RANGES, assertions, parse_shape
from ldapdiag.evidence.index_answers import IndexAnswers
from ldapdiag.evidence.indexes import Backend, IndexDefinition
from ldapdiag.evidence.indexes.index_tasks import TASKS, IndexTask
from ldapdiag.evidence.ldif import comparable
from ldapdiag.evidence.log.operation_kinds import ADD, NAMES
from ldapdiag.evidence.log.stamps import when
from ldapdiag.evidence.origin import Span
from ldapdiag.evidence.processes import ProcessTable
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.ldbm.collations import sorts_as_text
from ldapdiag.servers.traits import traits_of
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from ldapdiag.analysis.log.searches import SearchGroup
    from ldapdiag.evidence.index_answers import ProbedIndex

BUILDING = (
    "the server builds indexes of this database now: a restart would leave them incomplete, and a write to cn=config "
    "would stop all searches until the end"
)
RANGE_FILTERS = (">=@)", "<=@)")
ADD_ENTRY, BUILD_TASKS = NAMES[ADD], f",{TASKS}"
BY_LDAP = "LDAP searches for "
"""How the answers of a live server are named."""
ENOUGH_SAMPLES = 3
"""Entries that an index must find to outweigh what its history suggests."""


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
    """When the last build of it ended, or began where its end is not known; None: no build is known."""
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
        own = (index for index in self.indexes if index.backend.name == backend.name)
        return next((one for one in own if one.definition.attribute.lower() == attribute.lower()), None)


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
    starts = starts_of(server, facts_of(processes, server.host), _starts_that_added(indexes))
    logs = errors_logs(server, starts, _build_tasks(traffic))
    probes = facts_of(answers, server.name)
    probed = {
        (index.backend.lower(), index.attribute.lower()): (index, probe.origin.taken)
        for probe in sorted(probes, key=lambda probe: probe.origin.order)
        for index in probe.indexes
    }
    family = indexes.configuration.identity.family
    own_tasks = facts_of(tasks, server.name)
    histories = [
        _history(backend, definition, family, logs, starts, probed)
        for backend in indexes.configuration.backends
        for definition in backend.definitions
        if definition.types and not definition.system
    ]
    histories += _absent(indexes)
    as_text = any(misses_numbers(history.definition, indexes) for history in histories)
    ranges = searched_ranges(traffic) if traffic is not None and as_text else {}
    return BuildHistory(
        server=server.name,
        host=server.host,
        indexes=tuple(_in_order(_with_task(history, own_tasks, starts), indexes, ranges) for history in histories),
        origins=tuple(sorted({*indexes.origins, *server.origins_of(*server.logs, *probes)})),
    )


def _starts_that_added(indexes: ServerIndexes) -> Iterator[datetime]:
    """Yield the times of starts that added default indexes to a database which was there before."""
    if not traits_of(indexes.configuration.identity.family).logs_index_builds:
        return
    for backend in indexes.configuration.backends:
        for one in backend.definitions:
            if one.created and one.creator == OF_THE_DATABASE and not is_as_old_as(backend, one.created):
                yield one.created


def _build_tasks(traffic: Traffic | None) -> Iterator[datetime]:
    """Yield when an access log has the first and the last task that builds indexes (389-ds), if it accepted all."""
    for group in traffic.workload.targets if traffic is not None else ():
        if group.operation == ADD_ENTRY and group.target.lower().endswith(BUILD_TASKS) and not group.errors:
            yield from {when(group.first), when(group.last)}


def _history(
    backend: Backend,
    definition: IndexDefinition,
    family: Family,
    logs: ErrorsLogs,
    starts: Starts,
    probed: Mapping[tuple[str, str], tuple[ProbedIndex, Span | None]],
) -> IndexHistory:
    if traits_of(family).logs_index_builds:
        state, why = by_times(backend, definition, logs, starts)
    elif traits_of(family).waits_for_builds:
        state, why = BuildState.BUILT, f"{family.product} uses an index only when it is built"
    else:
        state, why = BuildState.UNKNOWN, f"{family.product} records nowhere whether an index was built"
    at, build = changed(definition), logs.build_of(backend.name, definition.attribute)
    answer, taken = probed.get((backend.name.lower(), definition.attribute.lower()), (None, None))
    since = max(filter(None, (at, build.started if build else None)), default=None)
    if answer is not None and taken is not None and since is not None and taken.end < since:
        answer = None  # it was built or changed after the probe
    unused = state in NOT_USED_YET or (at is not None and not starts.since(at))
    if answer is not None and (answer.missing or state is BuildState.BUILT or not unused):
        state, why = _by_answer(answer, state, why)
    elif answer is not None and state is BuildState.UNKNOWN:
        why = f"{why}; a probe finds all entries, as it does where the server uses the index only after its next start"
    logged = at is not None and logs.covers(at, starts.last)
    return IndexHistory(
        backend=backend,
        definition=definition,
        state=state,
        why=why,
        logged=logged,
        built=(build.finished or build.started) if build else None,
        answer=answer,
    )


def _absent(indexes: ServerIndexes) -> Iterator[IndexHistory]:
    """Yield the default indexes of 389-ds that a database has no entry for.

    A start adds such an index again and uses it as it is; dse.ldif has its entry only after the next change of
    cn=config. A live server that does not list it has not added it yet.
    """
    configuration = indexes.configuration
    if not traits_of(configuration.identity.family).logs_index_builds or not configuration.whole:
        return
    why = "it is in cn=default indexes and has no entry of its own, so each start of the server adds it again"
    state = BuildState.UNUSED if configuration.origin.asked.startswith(BY_LDAP) else BuildState.ABSENT
    for backend in configuration.backends:
        for template in configuration.templates:
            known = backend.definition(indexes.schema.names(template.attribute)) is not None
            if backend.definitions and template.types and not template.system and not known:
                index = replace(template, created=None, modified=None)
                yield IndexHistory(backend=backend, definition=index, state=state, why=why, logged=False)


def _with_task(history: IndexHistory, tasks: Iterable[IndexTask], starts: Starts) -> IndexHistory:
    """Return a history with what the server shows of its builds; a probe has shown more.

    A dse.ldif keeps a task that a start of the server has ended.
    """
    backend, name = history.backend, history.definition.attribute.lower()
    suffixes = {comparable(suffix) for suffix in backend.suffixes}
    for task in tasks:
        if task.suffix in suffixes and history.state is BuildState.UNKNOWN:
            return replace(history, why=BUILDING)
        if (task.backend, history.answer) != (backend.name.lower(), None) or name not in task.attributes:
            continue
        if task.exit_code is None and task.created is not None and starts.since(task.created):
            continue
        if task.exit_code is None:
            return _with_running(history, task)
        late = history.changed is None or (task.created is not None and task.created >= history.changed)
        if task.exit_code == 0 and late:
            return replace(history, state=BuildState.BUILT, why="a task built it", built=task.created)
    return history


def _with_running(history: IndexHistory, task: IndexTask) -> IndexHistory:
    """Return a history with a task without its end; a file shows only that it ran when the file was written."""
    built, began = history.built, task.created
    if history.state is BuildState.BUILT and built is not None and began is not None and built >= began:
        return history
    if task.origin.asked.startswith(BY_LDAP):
        return replace(history, state=BuildState.BUILDING, why="it is being built", built=began)
    at = f" at {shown(began)}" if began is not None else ""
    why = f"a task began to build it{at}, and its end is not in the evidence"
    return replace(history, state=BuildState.UNKNOWN, why=why, built=began)


def _in_order(history: IndexHistory, indexes: ServerIndexes, ranges: SearchedRanges) -> IndexHistory:
    """Return a history with what the order of the keys does to ranges of numbers."""
    answer, definition = history.answer, history.definition
    if not misses_numbers(definition, indexes):
        return history
    wrong = answer.filters if answer is not None else ()
    if history.state is BuildState.WRONG and wrong and all(one.endswith(RANGE_FILTERS) for one in wrong):
        return replace(history, state=BuildState.TEXT_ORDER)
    count = count_ranges(history.backend, definition, indexes, ranges)
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


OBJECT_CLASS = "objectclass"


def misses_numbers(definition: IndexDefinition, indexes: ServerIndexes) -> bool:
    """Return whether ranges of an attribute are read from an index sorted as text."""
    as_text = traits_of(indexes.configuration.identity.family).sorts_as_text
    return as_text and "eq" in definition.types and sorts_as_text(definition.attribute, definition, indexes.schema)


SearchedRanges = Mapping[frozenset[str], list["SearchGroup"]]
"""Searches for ranges alone, by the names of their attributes in lower case."""


def count_ranges(backend: Backend, definition: IndexDefinition, indexes: ServerIndexes, ranges: SearchedRanges) -> int:
    """Return the number of searches that an index answered by such a range: they have no note.

    A search with a note examined every entry, and is right; one with another part may have been answered by that.
    """
    names = indexes.schema.names(definition.attribute)
    own = (group for attributes, groups in ranges.items() if attributes <= names for group in groups)
    return sum(group.answered - group.unindexed for group in own if backend in indexes.backends(group.base))


def searched_ranges(traffic: Traffic) -> SearchedRanges:
    """Return the searches whose filters consist of ranges, and perhaps of object classes."""
    ranges: dict[frozenset[str], list[SearchGroup]] = {}
    for group in traffic.workload.searches:
        tree = None if group.unidentified or group.scope == "base" else parse_shape(group.shape)
        parts = [one for one in assertions(tree) if one.attribute != OBJECT_CLASS] if tree else []
        if parts and all(part.kind in RANGES for part in parts):
            ranges.setdefault(frozenset(part.attribute for part in parts), []).append(group)
    return ranges
