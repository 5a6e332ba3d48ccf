"""Causes of slow writes: what the log and the configuration show; nothing is guessed from their time alone.

Internal searches: those of plug-ins and overlays that no index of a database answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.server_indexes import is_server_suffix, is_within
from ldapdiag.analysis.log.slow_operations import SlowCause, waits_for_workers
from ldapdiag.analysis.log.spellings import text
from ldapdiag.evidence.filter_tree import parse
from ldapdiag.evidence.indexes import Backend
from ldapdiag.evidence.ldif import comparable
from ldapdiag.evidence.log.durations import Durations, quantile
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.indexes.candidates import Cause, Change, Database, UnknownFrequencies
from ldapdiag.servers.products import product_of
from ldapdiag.servers.traits import traits_of
from ldapdiag.wording import counted, seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
    from ldapdiag.analysis.log.operations import OperationGroup
    from ldapdiag.analysis.log.traffic import Traffic
    from ldapdiag.evidence.indexes.internal_search import InternalSearch
    from ldapdiag.servers.indexes.candidates import Candidates

BUSY = 51
"""The result code (RFC 4511, appendix A) with which 389-ds gives up on a lock of the database."""
SUBSTRINGS = frozenset({"sub", "subinitial", "subany", "subfinal", "substring"})
AT_ONCE = 2
"""Writes in progress at once, on average."""
QUICK = 100 * MILLISECOND
FEWEST_SEARCHES = 100
NAMED = 5
"""Attributes and plug-ins in one sentence."""


def write_causes(group: OperationGroup, traffic: Traffic, indexing: ServerIndexes | None) -> Iterator[SlowCause]:
    """Yield what the evidence shows on why the writes of a group are slow."""
    yield from waits_for_workers(group)
    at_once = writes_at_once(group)
    if at_once >= AT_ONCE:
        why = (
            "the server applies one to a database at a time, so they waited for each other"
            if traits_of(traffic.workload.family).has_one_writer
            else "they may have waited for each other"
        )
        yield SlowCause(name="other-writes", sentence=f"On average {at_once:.1f} were in progress at once: {why}.")
    if busy := group.errors.get(BUSY, 0):
        yield SlowCause(name="locks", sentence=f"{busy:,} ended as busy (51): the server gave up on a lock.")
    if indexing is not None:
        yield from _of_configuration(traffic, indexing)
    yield from _of_searches(group, traffic)


def writes_at_once(group: OperationGroup) -> float:
    """Return how many of the writes were in progress at once on average, without their waits for a thread."""
    worst = group.slowest.etime if group.slowest else 0
    span = group.last - group.first + worst
    return (group.etime - group.wait) / span if span > 0 else 0.0


def _of_configuration(traffic: Traffic, indexing: ServerIndexes) -> Iterator[SlowCause]:
    lacking = list(unindexed_internal_searches(indexing))
    for one in lacking[:NAMED]:
        what = f"{' and '.join(one.by)}: searches for {one.attribute} in {one.backend.name} without an index"
        yield SlowCause(name="internal-searches", sentence=f"{what}, each of which reads all of it.")
    by = dict.fromkeys(search.by for search in indexing.configuration.internal_searches if search.frequent)
    if by:
        names = ", ".join(list(by)[:NAMED])
        yield SlowCause(name="plug-ins", sentence=f"Enabled, and at work with each change they concern: {names}.")
    modified = {text(attribute).lower(): count for attribute, count in traffic.segment.modified.items()}
    costly = {
        definition.attribute: modified[definition.attribute.lower()]
        for backend in indexing.configuration.backends
        for definition in backend.definitions
        if definition.types & SUBSTRINGS and definition.attribute.lower() in modified
    }
    if costly:
        names = ", ".join(f"{name} ({count:,})" for name, count in sorted(costly.items(), key=_most)[:NAMED])
        yield SlowCause(name="indexes", sentence=f"Modified attributes with a substring index: {names}.")


def _most(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _of_searches(group: OperationGroup, traffic: Traffic) -> Iterator[SlowCause]:
    """Yield whether searches were quick in the same log: then only what writes need is slow."""
    etimes = Durations()
    worst = total = 0
    for row in traffic.segment.shapes.values():
        etimes.merge(row.etimes)
        worst, total = max(worst, row.worst[0]), total + row.etime
    count = sum(etimes.values())
    p95 = quantile(etimes, 95, worst, total)
    if count >= FEWEST_SEARCHES and p95 <= QUICK and group.p50 >= 10 * p95:
        searches = f"95 % of {counted(count, 'search')} in the same log took {seconds(p95 / SECOND)} or less"
        only = "what only writes need is slow: locks, indexes, plug-ins, or the synchronisation of the disk"
        yield SlowCause(name="not-searches", sentence=f"{searches}, so {only}.")


LACKING = frozenset({Cause.NO_INDEX, Cause.TYPE_MISSING})


@dataclass(frozen=True, slots=True, kw_only=True)
class UnindexedInternalSearch:
    """The searches for one attribute that examine every entry of a database."""

    backend: Backend
    attribute: str
    by: tuple[str, ...]
    """The plug-ins or overlays."""
    changes: tuple[Change, ...]
    """The indexes that answer them."""


def unindexed_internal_searches(indexing: ServerIndexes) -> Iterator[UnindexedInternalSearch]:
    """Yield what plug-ins and overlays search for in ordinary operation without an index, by database and attribute."""
    product = product_of(indexing.configuration.identity.family)
    if product is None or product.candidates is None:
        return
    for backend in indexing.configuration.backends:
        database = Database(
            configuration=indexing.configuration,
            backend=backend,
            schema=indexing.schema,
            frequencies=UnknownFrequencies(),
            statuses=indexing.statuses,
        )
        yield from _unindexed(database, product.candidates, indexing.configuration.internal_searches)


def _unindexed(
    database: Database, candidates: Candidates, searches: Iterable[InternalSearch]
) -> Iterator[UnindexedInternalSearch]:
    """Yield the searches without an index in one database, together by attribute."""
    backend = database.backend
    lacking: dict[str, tuple[dict[str, None], dict[Change, None]]] = {}
    for search in searches:
        needed = _needed(search, database, candidates) if search.frequent and _is_below(search, backend) else ()
        for change in needed:
            by, changes = lacking.setdefault(change.attribute, ({}, {}))
            by[search.by], changes[change] = None, None
    for attribute, (by, changes) in lacking.items():
        yield UnindexedInternalSearch(backend=backend, attribute=attribute, by=tuple(by), changes=tuple(changes))


def _needed(search: InternalSearch, database: Database, candidates: Candidates) -> Iterator[Change]:
    """Yield the indexes that a search lacks; a range of numbers also needs the rule that orders them (389-ds)."""
    tree = parse(("(&({0}>=1)({0}<=2))" if search.ordered else "({0}=1)").format(search.attribute))
    if tree is None:
        return
    definition = database.definition(search.attribute)
    if search.ordered and definition is not None and not definition.rules:
        others = tuple(one for one in database.backend.definitions if one is not definition)
        database = replace(database, backend=replace(database.backend, definitions=others))
    for leaf in candidates.forecast(tree, database.backend.suffixes[0], "sub", database).leaves:
        change = leaf.change if leaf.cause in LACKING else None
        if change and not (definition and change.type in definition.types and not change.rule):
            yield change


def _is_below(search: InternalSearch, backend: Backend) -> bool:
    """Return whether a search reads a database; without bases, each but the server's own."""
    suffixes = [comparable(suffix) for suffix in backend.suffixes]
    if not search.bases:
        return any(not is_server_suffix(suffix) for suffix in suffixes)
    bases = [comparable(base) for base in search.bases]
    return any(is_within(base, suffix) or is_within(suffix, base) for base in bases for suffix in suffixes)
