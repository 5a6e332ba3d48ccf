"""uneven-load: a server with much more than its share of the connections or operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from ldapdiag.analysis.fleet.balance import UNEVEN, Balance, LoadShare
from ldapdiag.analysis.fleet.replica_groups import ReplicaGroup
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.finding import NO_COMMAND, Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.wording import counted, duration, number, percent

FEW = 3
ENOUGH = 100
"""Connections that the even share must have, so that it is not chance."""
POOLED = 0.1
"""The part of a server's connections, of clients that use other servers too, from which on it belongs to a pool."""
OWN_CLIENTS = 5
"""A server with more clients, none of which uses another server, has a role of its own: a site, for example."""


@check(group="fleet", number=MainNumber("times_even", "times its even share", "value"))
def judge(
    groups: tuple[ReplicaGroup, ...],
    *,
    medium_times: Annotated[float, Threshold("times", "the even share or more, of clients of a pool, is medium")] = 4.0,
    low_times: Annotated[float, Threshold("times", "the even share or more is low")] = UNEVEN,
) -> Iterator[Verdict]:
    """A server with much more than its share of the connections or operations.

    ## What it looks at
    The access logs of servers of one product with the same data, in the time that all these logs have in common: the
    connections opened, the results and the time of operations, against an even share for each server that has load.
    Two servers are a first one and its standby more often than a pool, so that at least three must have load. They
    are a pool only if clients use several of them. A server with more than 5 clients, none of which uses
    another, has a role or a site of its own; it is not judged. Nor is one whose log covers another time, or whose clock
    is in doubt; a clock that is certainly wrong is shifted.

    - likely: most of its connections are of clients that use other servers, too: the distribution is uneven.
    - possible: they are of few clients that use no other server: they may be configured with this one on purpose.

    ## Severity
    - medium: by default 4 times the even share, by clients that use other servers, too.
    - low: by default twice the even share.
    - info: a server with hardly an operation (under 2 % of an even share) beside two or more that share the load.

    ## Why it matters
    This server reaches its limits of descriptors and threads while the others are idle, and its failure moves most of
    the load at once.

    ## What to do
    Read who has the connections. Long-lived connections stay where they were opened: after a server was down, close
    some of them (an idle timeout, a longest life in the pool of the application). Look up the weights of the balancer,
    and the order of servers in the configuration of clients.

    ## When it is harmless
    Servers of different size with weights; a standby, a hidden supplier or a server for backups without load.
    """
    if not groups:
        yield NotJudged.without(
            AccessLog,
            None,
            "no two servers of one product with the same data have access logs in the evidence",
            how=ReplicaGroup.how,
        )
    for group in groups:
        balance = group.comparison.balance
        apart = [] if group.fleet.common is None else [one for one in group.fleet.replicas if one.not_compared]
        yield from (NotJudged(subject=one.name, reason=one.not_compared) for one in apart)
        if reason := _not_comparable(group, balance):
            yield NotJudged.without(AccessLog, group.suffix, reason, how=ReplicaGroup.how)
        elif balance is not None:
            yield from _judged(group, balance, medium_times, low_times)


def _not_comparable(group: ReplicaGroup, balance: Balance | None) -> str:
    """Return why the loads of servers cannot be compared; empty if they can."""
    if len(group.fleet.replicas) < 2:
        return "fewer than two servers with these data have an access log"
    if balance is None:
        if group.fleet.common is None:
            return "the access logs have too little time in common"
        return "the access logs contain fewer than 100 connections"
    if len(balance.working) < 3:
        return "fewer than three servers have load: a first one and its standby may be intended"
    opened = sum(one.replica.workload.segment.opened for one in balance.shares)
    if opened * balance.even < ENOUGH:
        return f"{counted(opened, 'connection')} to {counted(len(balance.working), 'server')}: shares may be chance"
    if sum(one.spread >= POOLED for one in balance.working) < 2:
        return "no clients use several of these servers: each may have a role of its own"
    return ""


def _judged(group: ReplicaGroup, balance: Balance, medium: float, low: float) -> Iterator[Verdict]:
    uneven = [one for one in balance.working if one.most >= low * balance.even]
    own = [one for one in uneven if one.spread < POOLED and _clients(one) > OWN_CLIENTS]
    found = [one for one in uneven if one not in own]
    yield from (_finding(one, balance, group, medium) for one in found)
    yield from (_idle(one, balance, group) for one in balance.idle)
    for one in own:
        reason = f"its {number(_clients(one))} clients use no other server: what it is to carry is not in the logs"
        yield NotJudged(subject=one.replica.name, reason=reason)
    if not found and not own:
        shares = [one.most for one in balance.working]
        yield Clear(
            subject=group.suffix,
            reason=f"each of {counted(len(shares), 'server')} with load has {percent(min(shares))} to "
            f"{percent(max(shares))} of it (even: {percent(balance.even)})",
        )


def _clients(one: LoadShare) -> int:
    return sum(client.opened > 0 for client in one.replica.workload.client_uses)


def _finding(one: LoadShare, balance: Balance, group: ReplicaGroup, medium: float) -> Finding:
    name, pooled = one.replica.name, one.spread >= 0.5
    much = one.most >= medium * balance.even and pooled
    clients = [each for each in one.replica.workload.client_uses if each.opened][:FEW]
    who = ", ".join(f"{each.address} ({number(each.opened)})" for each in clients)
    detail = [
        f"Of the time of operations it has {percent(one.etime)}; {counted(len(balance.working), 'server')} have load.",
        f"The clients with the most connections to it: {who}.",
        f"Clients that use other servers, too, opened {percent(one.spread)} of its connections.",
    ]
    if one.replica.clock and one.replica.ahead:
        shift = duration(abs(one.replica.ahead) / SECOND)
        half = " of half of the servers (which are right is not known)" if one.replica.clock.is_half else ""
        ahead = "ahead" if one.replica.ahead > 0 else "behind"
        detail.append(f"Its clock is {shift} {ahead}{half}: its times are shifted.")
    if not pooled:
        detail.append("Clients that use this server alone may be configured so on purpose.")
    detail.append(
        f"{NO_COMMAND}the weights of the balancer, the order of servers at the clients, and for how long a pool keeps "
        "a connection decide; ldapdiag log --by server shows who has them."
    )
    return Finding(
        subject=name,
        key=f"{group.family}|{group.suffix}|{name}",
        severity=Severity.MEDIUM if much else Severity.LOW,
        confidence=Confidence.LIKELY if pooled else Confidence.POSSIBLE,
        title=f"{name} has {percent(one.connections)} of the connections and {percent(one.operations)} of the "
        f"operations of {counted(len(balance.working), 'server')} (even: {percent(balance.even)})",
        detail="\n".join(detail),
        observed=_observed(one, balance),
        server=name,
        hosts=_hosts(one, group),
        origins=group.origins,
    )


def _idle(one: LoadShare, balance: Balance, group: ReplicaGroup) -> Finding:
    name, answered = one.replica.name, sum(one.replica.workload.segment.results.values())
    return Finding(
        subject=name,
        key=f"{group.family}|{group.suffix}|{name}|idle",
        severity=Severity.INFO,
        confidence=Confidence.CERTAIN,
        title=f"{name} has no load: {counted(answered, 'operation')} and {percent(one.connections)} of the "
        f"connections, while {len(balance.working)} servers share the others",
        detail="A standby or a hidden supplier has none by design.",
        observed=_observed(one, balance),
        server=name,
        hosts=_hosts(one, group),
        origins=group.origins,
    )


def _hosts(one: LoadShare, group: ReplicaGroup) -> tuple[str, ...]:
    return tuple(each.host for each in group.servers if each.name == one.replica.name)


def _observed(one: LoadShare, balance: Balance) -> dict[str, object]:
    return {
        "server": one.replica.name,
        "connection_share": round(one.connections, 6),
        "operation_share": round(one.operations, 6),
        "time_share": round(one.etime, 6),
        "even_share": round(balance.even, 6),
        "times_even": round(one.most / balance.even, 3),
        "spread_share": round(one.spread, 6),
        "working_servers": len(balance.working),
    }
