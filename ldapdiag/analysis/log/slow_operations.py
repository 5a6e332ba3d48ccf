"""Slow operations: how long those of one kind and target took, in sentences and numbers for the checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from ldapdiag.analysis.log.trends import observed_trend, trend_sentences
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND, moment
from ldapdiag.wording import counted, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.analysis.log.operations import OperationGroup
    from ldapdiag.analysis.log.searches import SlowestOperation

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
    for one in group.requesters[:3]:
        mean = one.etime / one.count / SECOND if one.count else 0
        yield f"{one.account} from {one.client}: {counted(one.count, 'time')}, {seconds(mean)} on average."
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
        "p50_seconds": round(group.p50 / SECOND, 9),
        "p99_seconds": round(group.p99 / SECOND, 9),
        "worst_seconds": round(worst.etime / SECOND, 9),
        "worst_time": moment(worst.time, MILLISECOND),
        "worst_connection": worst.connection,
        "worst_operation": worst.operation,
        "worst_dn": worst.subject,
        "errors": {str(err): count for err, count in group.errors.items()},
        "no_result": group.unanswered + group.abandoned,
        "clients": list(dict.fromkeys(one.client for one in group.requesters))[:MOST],
        "accounts": list(dict.fromkeys(one.account for one in group.requesters))[:MOST],
        **observed_trend(group.trend),
    }


def time_of(groups: Sequence[OperationGroup], what: str) -> str:
    """Return how long operations took in total, and the slowest of them."""
    count, etime = sum(one.answered for one in groups), sum(one.etime for one in groups)
    worst = max((one.slowest.etime for one in groups if one.slowest), default=0)
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
    slow = [one for one in groups if one.answered and one.mean >= LONG]
    if sum(one.answered for one in slow) < SEVERAL or sum(one.etime for one in slow) < TOGETHER:
        return ""
    most = max(slow, key=lambda one: (one.etime, one.described))
    return (
        f"{time_of(slow, what)}, of {counted(len(slow), 'kind')}, each too little for a finding; most {most.described}"
    )
