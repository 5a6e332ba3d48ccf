"""slow-writes: additions, modifications, deletions and renames that take long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
from ldapdiag.analysis.indexes.write_causes import write_causes
from ldapdiag.analysis.log.operations import WRITES, OperationGroup
from ldapdiag.analysis.log.searches import SlowestOperation
from ldapdiag.analysis.log.slow_operations import (
    observed_of,
    scattered_time,
    sentences,
    time_of,
    times_in_seconds,
    unlisted_time,
)
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.storage.commit_waits import CommitWaits, disk_cause
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.finding import HOPELESS, NEXT, Clear, Confidence, Finding, NotJudged, Severity, Verdict, severity_of_times
from ldapdiag.wording import are, counted, seconds

LEAST = 5 * SECOND
"""In total; less is no finding."""
MOST = 10
"""Findings."""


@check(
    group="access log",
    number=MainNumber(
        "etime_seconds", "write time", "spent", of="operations", up_to="high", signs=(("worst_seconds", HOPELESS),)
    ),
)
def judge(
    server: Instance,
    traffic: Traffic,
    indexing: ServerIndexes | None = None,
    waits: CommitWaits | None = None,
    *,
    high_seconds: Annotated[float, Threshold("s", "what is high takes so long in all, or longer")] = 60.0,
    medium_seconds: Annotated[float, Threshold("s", "what is medium takes so long in all, or longer")] = 10.0,
    low_seconds: Annotated[float, Threshold("s", "what is low takes so long in all, or longer")] = 5.0,
) -> Iterator[Verdict]:
    """Additions, modifications, deletions and renames that take long.

    ## What it looks at
    The ADD, MODIFY, DELETE and MODRDN operations in the access log, by the DN of their entries without the naming
    values, with the time of each (etime, including the wait for a worker): the average, and what half, nine in ten
    and 99 in 100 of them took, within 4 %.

    A cause is named only where the evidence shows it: waits for a worker thread (the log has them); several writes in
    progress at once, which wait for each other, because 389-ds and slapd apply one at a time; results busy (51); what
    plug-ins and overlays search for without an index, those that are enabled, and substring indexes on attributes that
    slapd logs as modified (index configuration); whether searches were quick in the same log; and the disk, where
    commit-bound-writes finds that writes wait for it.

    ## Severity
    By default:

    - high: half of them took 1 s or more, and all together a minute or more.
    - medium: 1 in 10 took 1 s or more, and all together 10 s or more; or one took 30 s.
    - low: 1 in 100 took 1 s or more, or 10 or more took 100 ms on average; and all together 5 s or more.

    At most 10 are reported; ldapdiag log --format json lists all.
    Ten slow writes (100 ms on average) or more of many kinds that take 5 s together, each kind no finding,
    are not judged.

    ## Why it matters
    While a write is applied, other writes to the database wait, and clients and replication fall behind.

    ## What to do
    Look at the causes named. If none is, ldapdiag storage ssh://SERVER while writes are slow shows whether they wait
    for the disk (commit-bound-writes), as does its --probe. Then look at the plug-ins that work with each change:
    memberOf and referential integrity on large groups. Ask the account's owner whether it can write less, or at a quiet
    hour.

    ## When it is harmless
    Single changes of large groups, and imports at night, when no user waits.
    """
    least = (high_seconds, medium_seconds, low_seconds)
    groups = [target for target in traffic.workload.targets if target.operation in WRITES]
    if not any(one.answered for one in groups):
        reason = "no write has a result in the access log"
        how = "an access log of a busy hour; of slapd, at loglevel stats"
        yield NotJudged.without(AccessLog, server.name, reason, how=how)
        return
    slow = [
        (severity, one, one.slowest)
        for one in groups
        if not one.unidentified
        and one.slowest
        and (severity := severity_of_times(**times_in_seconds(one), least=least)) is not None
    ]
    slow.sort(key=lambda each: (-each[0], -each[1].etime, each[1].operation, each[1].target))
    for severity, group, worst in slow[:MOST]:
        yield _finding(server, traffic, group, severity, worst, indexing, waits)
    reported = {id(group) for _, group, _ in slow}
    others = [one for one in groups if id(one) not in reported]
    nameless = [
        other
        for other in others
        if other.unidentified and severity_of_times(**times_in_seconds(other), least=least) is not None
    ]
    yield from _of_other_writes(server, traffic, others, nameless, len(slow))


def _of_other_writes(
    server: Instance, traffic: Traffic, others: list[OperationGroup], nameless: list[OperationGroup], found: int
) -> Iterator[Verdict]:
    """Yield the verdict on writes without a finding; `found`: kinds with one; `nameless`: slow, of unknown targets."""
    subject = f"other writes of {server.name}" if found else server.name
    if found > MOST:
        reason = f"{counted(found - MOST, 'more kind')} of write {are(found - MOST)} slow and not reported one by one"
        yield NotJudged(subject=subject, reason=reason, how="ldapdiag log --format json")
        return
    if unlisted := unlisted_time(nameless, traffic.segment.targets.omitted, LEAST):
        how = "the log before this one, or the log of a shorter period"
        yield NotJudged.without(AccessLog, subject, unlisted, how=how)
    elif scattered := scattered_time(others, "write"):
        yield NotJudged(subject=subject, reason=scattered, how="ldapdiag log --format json")
    elif any(other.answered for other in others):
        yield Clear(subject=subject, reason=time_of(others, "write"))


def _finding(
    server: Instance,
    traffic: Traffic,
    group: OperationGroup,
    severity: Severity,
    worst: SlowestOperation,
    indexing: ServerIndexes | None,
    waits: CommitWaits | None,
) -> Finding:
    causes = [*write_causes(group, traffic, indexing), *disk_cause(waits)]
    return Finding(
        subject=f"{group.described} at {server.name}",
        severity=severity,
        confidence=Confidence.CERTAIN,
        title=f"{counted(group.answered, group.operation.upper())} of {group.target or 'the root'} took "
        f"{seconds(group.etime / SECOND)}, half of them {seconds(group.p50 / SECOND)} or more, the slowest "
        f"{seconds(worst.etime / SECOND)}{_by(group)}",
        detail="\n".join(
            [*sentences(group, worst), *(cause.sentence for cause in causes), *([] if causes else [UNKNOWN]), WHY]
        ),
        observed=observed_of(server.name, group, worst)
        | {"causes": list(dict.fromkeys(cause.name for cause in causes))},
        server=server.name,
        hosts=(server.host,),
        origins=tuple(
            sorted({*traffic.origins, *(indexing.origins if indexing else ()), *(waits.origins if waits else ())})
        ),
    )


WHY = (
    f"{NEXT}ldapdiag storage ssh://SERVER, while writes are slow, shows whether they wait for the disk; else "
    "look at the causes named, and at plug-ins that work with each change."
)
UNKNOWN = "The evidence does not show why: with the index configuration (cn=config) more causes can be excluded."


def _by(group: OperationGroup) -> str:
    if not group.requesters:
        return ""
    first = group.requesters[0]
    return f": {first.account} from {first.client}"
