"""Slow operations: how long those of one kind and target took, in sentences and numbers for the checks.

SlowCauses: what a log shows on why operations are slow; nothing is guessed from their time alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from ldapdiag.analysis.log.trends import observed_trend, trend_sentences
from ldapdiag.evidence.log.connection import IN_PROGRESS
from ldapdiag.evidence.log.operation_kinds import BIND
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND, moment
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import counted, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.analysis.log.operations import OperationGroup
    from ldapdiag.analysis.log.searches import SlowestOperation
    from ldapdiag.analysis.log.traffic import Traffic

LONG, SEVERAL, TOGETHER = SECOND // 10, 10, 5 * SECOND
"""The average time, the number and the total time of slow operations of many kinds that matter together."""
MOST = 10
"""Clients and accounts named."""


class Times(TypedDict):
    """How long operations took, in seconds: what decides how bad it is."""

    half: float
    tenth: float
    """What the slowest tenth took at least."""
    hundredth: float
    worst: float
    total: float
    count: int


def times_in_seconds(group: OperationGroup) -> Times:
    """Return how long the operations of a group took."""
    return Times(
        half=group.p50 / SECOND,
        tenth=group.p90 / SECOND,
        hundredth=group.p99 / SECOND,
        worst=group.slowest.etime / SECOND if group.slowest else 0.0,
        total=group.etime / SECOND,
        count=group.answered,
    )


def sentences(group: OperationGroup, worst: SlowestOperation) -> Iterator[str]:
    """Yield how long the operations took, and who sent them."""
    where = f" (conn={worst.connection} op={worst.operation})" if worst.connection is not None else ""
    yield (
        f"On average {seconds(group.mean / SECOND)}, 99th percentile {seconds(group.p99 / SECOND)} (within 4 %); "
        f"the worst {seconds(worst.etime / SECOND)}, at {moment(worst.time, MILLISECOND)}{where}: "
        f"{worst.subject or 'no DN'}."
    )
    for requester in group.requesters[:3]:
        mean = requester.etime / requester.count / SECOND if requester.count else 0
        times = f"{counted(requester.count, 'time')}, {seconds(mean)} on average"
        yield f"{requester.account} from {requester.client}: {times}."
    if missing := group.unanswered + group.abandoned:
        yield f"{missing:,} more have no result: their clients gave up, or the log ended."
    yield from trend_sentences(group.trend, "These operations", "the time of all operations but searches")


def observed_of(server: str, group: OperationGroup, worst: SlowestOperation) -> dict[str, object]:
    """Return the numbers, by the keys of the contract."""
    return {
        "server": server,
        "operation": group.operation,
        "target": group.target,
        "operations": group.answered,
        "etime_seconds": round(group.etime / SECOND, 9),
        "wait_seconds": round(group.wait / SECOND, 9),
        "mean_seconds": round(group.mean / SECOND, 9),
        "spread_seconds": round(group.spread / SECOND, 9),
        "p50_seconds": round(group.p50 / SECOND, 9),
        "p99_seconds": round(group.p99 / SECOND, 9),
        "worst_seconds": round(worst.etime / SECOND, 9),
        "worst_time": moment(worst.time, MILLISECOND),
        "worst_connection": worst.connection,
        "worst_operation": worst.operation,
        "worst_dn": worst.subject,
        "errors": {str(err): count for err, count in group.errors.items()},
        "no_result": group.unanswered + group.abandoned,
        "clients": list(dict.fromkeys(requester.client for requester in group.requesters))[:MOST],
        "accounts": list(dict.fromkeys(requester.account for requester in group.requesters))[:MOST],
        **observed_trend(group.trend),
    }


def time_of(groups: Sequence[OperationGroup], what: str) -> str:
    """Return how long operations took in total, and the slowest of them."""
    count, etime = sum(group.answered for group in groups), sum(group.etime for group in groups)
    worst = max((group.slowest.etime for group in groups if group.slowest), default=0)
    most = f", the slowest {seconds(worst / SECOND)}" if count else ""
    return f"{counted(count, what)} took {seconds(etime / SECOND)} in total{most}"


def unlisted_time(nameless: Sequence[OperationGroup], omitted: int, negligible: int) -> str:
    """Return the time of slow operations whose target is not known, and the bound of a full table; empty: no such."""
    parts = [f"{time_of(nameless, 'operation')}, of unknown or too many different targets"] if nameless else []
    if omitted >= negligible:
        parts.append(f"a target that is not listed took at most {seconds(omitted / SECOND)}")
    return "; ".join(parts)


def scattered_time(groups: Sequence[OperationGroup], what: str) -> str:
    """Return what slow operations of many kinds took together, each kind too little for a finding; empty: little."""
    slow = [group for group in groups if group.answered and group.mean >= LONG]
    if sum(one.answered for one in slow) < SEVERAL or sum(one.etime for one in slow) < TOGETHER:
        return ""
    most = max(slow, key=lambda one: (one.etime, one.described))
    return (
        f"{time_of(slow, what)}, of {counted(len(slow), 'kind')}, each too little for a finding; most {most.described}"
    )


FEWEST = 10
"""Results; the average of fewer proves nothing."""
OFTEN = 10
"""Times as slow as the others."""
NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowCause:
    """Something that makes operations slow, and the evidence of it."""

    name: str
    """As in the contract."""
    sentence: str


def waits_for_workers(group: OperationGroup) -> Iterator[SlowCause]:
    """Yield whether half of the time or more was spent waiting for a worker thread."""
    if group.waited and 2 * group.wait >= group.etime:
        waited = (
            f"{seconds(group.wait / SECOND)} of {seconds(group.etime / SECOND)} was spent waiting for a worker thread"
        )
        yield SlowCause(name="worker", sentence=f"{waited}: see worker-saturation.")


def bind_causes(group: OperationGroup, traffic: Traffic) -> Iterator[SlowCause]:
    """Yield what the log shows on why the BINDs of a mechanism are slow."""
    yield from waits_for_workers(group)
    if steps := group.errors.get(IN_PROGRESS, 0):
        yield SlowCause(
            name="steps",
            sentence=f"{steps:,} of {counted(group.answered, 'result')} are steps of SASL (14), each with its own "
            "time: a BIND takes the sum of its steps.",
        )
    yield from _of_some_accounts(group)
    yield from _of_refused(group, traffic)
    if group.answered >= FEWEST and 2 * group.wait < group.etime and group.p95 <= 2 * group.p50:
        yield SlowCause(
            name="even",
            sentence="Nearly all take the same time, as the hash of a password does (its scheme and rounds decide); an "
            "external service that checks passwords, or a lock, would vary.",
        )


def _of_some_accounts(group: OperationGroup) -> Iterator[SlowCause]:
    """Yield whether a few accounts are much slower than all others: then what they have in common is the cause."""
    times: dict[str, list[int]] = {}
    for requester in group.requesters:
        cell = times.setdefault(requester.account, [0, 0])
        cell[0] += requester.count
        cell[1] += requester.etime
    slow = {account: cell for account, cell in times.items() if cell[1] >= cell[0] * group.mean}
    others = [cell for account, cell in times.items() if account not in slow]
    count, etime = sum(cell[0] for cell in others), sum(cell[1] for cell in others)
    slow_count, slow_etime = sum(cell[0] for cell in slow.values()), sum(cell[1] for cell in slow.values())
    if count < FEWEST or slow_etime * count < OFTEN * etime * slow_count:
        return
    names = ", ".join(list(slow)[:NAMED])
    more = f" and {counted(len(slow) - NAMED, 'more account')}" if len(slow) > NAMED else ""
    yield SlowCause(
        name="accounts",
        sentence=f"Only {names}{more} {'is' if len(slow) == 1 else 'are'} slow, {_mean(slow_count, slow_etime)} on "
        f"average; all others take {_mean(count, etime)}: compare their entries (password scheme, authentication by "
        "another server).",
    )


def _of_refused(group: OperationGroup, traffic: Traffic) -> Iterator[SlowCause]:
    """Yield whether refused BINDs take much longer than accepted ones."""
    accepted, refused = [0, 0], [0, 0]
    for (kind, mechanism, _, _, err), (count, etime, _) in traffic.segment.attribution.items():
        if kind == BIND and mechanism.decode("utf-8", "backslashreplace").lower() == group.target.lower() and err >= 0:
            cell = refused if err not in {0, IN_PROGRESS} else accepted
            cell[0] += count
            cell[1] += etime
    if min(accepted[0], refused[0]) >= FEWEST and refused[1] * accepted[0] >= OFTEN * accepted[1] * refused[0]:
        yield SlowCause(
            name="refused",
            sentence=f"Refused BINDs take {_mean(*refused)} on average, accepted ones {_mean(*accepted)}: see "
            "failed-binds.",
        )


def _mean(count: int, etime: int) -> str:
    return seconds(etime / count / SECOND if count else 0)
