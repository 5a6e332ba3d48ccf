"""Causes of slow writes: what the log and the configuration show; nothing is guessed from their time alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.internal_searches import unindexed_internal_searches
from ldapdiag.analysis.log.slow_causes import SlowCause, waits_for_workers
from ldapdiag.analysis.log.spellings import text
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.durations import Durations, quantile
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND
from ldapdiag.wording import counted, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
    from ldapdiag.analysis.log.operations import OperationGroup
    from ldapdiag.analysis.log.traffic import Traffic

ONE_WRITER = (Family.DS389, Family.DSEE, Family.OPENLDAP)
"""Servers that apply one write to a database at a time: 389-ds (ldbm_back_modify.c: the lock of the backend), slapd
(mdb_txn_begin: one write transaction)."""
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
            if traffic.workload.family in ONE_WRITER
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
    by = dict.fromkeys(one.by for one in indexing.configuration.internal_searches if one.frequent)
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
