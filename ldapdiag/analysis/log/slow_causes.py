"""SlowCauses: what a log shows on why operations are slow; nothing is guessed from their time alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.connection import IN_PROGRESS
from ldapdiag.evidence.log.operation_kinds import BIND
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.wording import counted, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.log.operations import OperationGroup
    from ldapdiag.analysis.log.traffic import Traffic

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
    for one in group.requesters:
        cell = times.setdefault(one.account, [0, 0])
        cell[0] += one.count
        cell[1] += one.etime
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
