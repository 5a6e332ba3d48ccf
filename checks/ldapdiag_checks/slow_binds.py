"""slow-binds: BINDs that take long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.log.operations import OperationGroup
from ldapdiag.analysis.log.searches import SlowestOperation
from ldapdiag.analysis.log.slow_operations import (
    bind_causes,
    observed_of,
    sentences,
    time_of,
    times_in_seconds,
    unlisted_time,
)
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.finding import (
    HOPELESS,
    NO_COMMAND,
    Clear,
    Confidence,
    Finding,
    NotJudged,
    Severity,
    Verdict,
    severity_of_times,
)
from ldapdiag.wording import counted, seconds

LEAST = 5 * SECOND
"""In total; less is no finding."""


WHY = (
    f"{NO_COMMAND}fewer BINDs (connection-churn, failed-binds), fewer rounds of the password hash, or a faster server "
    "where this one asks another make them shorter."
)


@check(
    group="access log",
    number=MainNumber(
        "etime_seconds", "BIND time", "spent", of="operations", up_to="high", signs=(("worst_seconds", HOPELESS),)
    ),
)
def judge(
    server: Instance,
    traffic: Traffic,
    *,
    high_seconds: Annotated[float, Threshold("s", "what is high takes so long in all, or longer")] = 60.0,
    medium_seconds: Annotated[float, Threshold("s", "what is medium takes so long in all, or longer")] = 10.0,
    low_seconds: Annotated[float, Threshold("s", "what is low takes so long in all, or longer")] = 5.0,
) -> Iterator[Verdict]:
    """BINDs that take long.

    ## What it looks at
    The BINDs in the access log by mechanism (simple, or that of SASL), refused ones included, with the time of each
    (etime, including the wait for a worker): the average, and what half, nine in ten and 99 in 100 of them took,
    within 4 %. The accounts are those with the most time.

    A cause is named only where the log shows it: waits for a worker thread; the steps of SASL, which are results of
    their own; accounts that take 10 times as long as all others; refused BINDs that do; and times that are nearly all
    the same, as those of a password hash are.

    ## Severity
    By default:

    - high: half of them took 1 s or more, and all together a minute or more.
    - medium: 1 in 10 took 1 s or more, and all together 10 s or more; or one took 30 s.
    - low: 1 in 100 took 1 s or more, or 10 or more took 100 ms on average; and all together 5 s or more.

    ## Why it matters
    Each log-in waits for it, and each new connection of a pool. A BIND that hashes a password occupies a worker and a
    processor for all that time.

    ## What to do
    Fewer BINDs first: see connection-churn and failed-binds. Where the hash is the cost, fewer rounds, or a pool that
    keeps its connections bound. Where the server asks another one (pass-through authentication, PAM, saslauthd,
    Kerberos), measure that one. 389-ds hashes again at the next BIND after a change of passwordStorageScheme.

    ## When it is harmless
    Slow hashes are intended: they slow down who guesses passwords. 100 ms for a person who logs in is no harm.
    """
    least = (high_seconds, medium_seconds, low_seconds)
    groups = [target for target in traffic.workload.targets if target.operation == "bind"]
    if not any(one.answered for one in groups):
        reason = "no BIND has a result in the access log"
        how = "an access log of a busy hour; of slapd, at loglevel stats"
        yield NotJudged.without(AccessLog, server.name, reason, how=how)
        return
    found = 0
    for group in groups:
        severity = severity_of_times(**times_in_seconds(group), least=least)
        if severity is not None and group.slowest and not group.unidentified:
            found += 1
            yield _finding(server, traffic, group, severity, group.slowest)
    others = [
        one for one in groups if one.unidentified or severity_of_times(**times_in_seconds(one), least=least) is None
    ]
    subject = f"other BINDs of {server.name}" if found else server.name
    nameless = [other for other in others if severity_of_times(**times_in_seconds(other), least=least) is not None]
    if unlisted := unlisted_time(nameless, traffic.segment.targets.omitted, LEAST):
        how = "the log before this one, or the log of a shorter period"
        yield NotJudged.without(AccessLog, subject, unlisted, how=how)
    elif any(other.answered for other in others):
        yield Clear(subject=subject, reason=time_of(others, "BIND"))


def _finding(
    server: Instance, traffic: Traffic, group: OperationGroup, severity: Severity, worst: SlowestOperation
) -> Finding:
    causes = list(bind_causes(group, traffic))
    return Finding(
        subject=f"{group.described} at {server.name}",
        severity=severity,
        confidence=Confidence.CERTAIN,
        title=f"{counted(group.answered, 'BIND')} ({group.target}) took {seconds(group.etime / SECOND)}, half of them "
        f"{seconds(group.p50 / SECOND)} or more, the slowest {seconds(worst.etime / SECOND)}",
        detail="\n".join([*sentences(group, worst), *(cause.sentence for cause in causes), WHY]),
        observed=observed_of(server.name, group, worst) | {"causes": [cause.name for cause in causes]},
        server=server.name,
        hosts=(server.host,),
        origins=traffic.origins,
    )
