"""idle-timeout-too-low: clients whose connections the server closes for idleness although they use such connections."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.idle.bounds import IdleBounds
from ldapdiag.analysis.idle.drain_choice import SHORTEST
from ldapdiag.analysis.load.responsiveness import Responsiveness
from ldapdiag.analysis.log.close_reasons import IdleCuts, idle_cuts
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.check import MainNumber, check
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.servers.client_settings.client_advice import retire_before_server
from ldapdiag.wording import counted, percent

MANY, SOME, FEW = 100, 10, 5
HALF, TENTH = 0.5, 0.1
NEARLY_ALL = 0.9
MOST = 20
"""Findings for single clients; the rest is a count."""


@check(
    group="connections",
    number=MainNumber("cut", "closes by the idle timeout", "logged", up_to="medium", signs=(("used_late", MANY),)),
)
def judge(
    server: Instance, traffic: Traffic, bounds: IdleBounds | None = None, responsiveness: Responsiveness | None = None
) -> Iterator[Verdict]:
    """Clients whose connections the idle timeout closes although they would use them again.

    ## What it looks at
    Of each client in the access log: how many connections the idle timeout closed (389-ds: T1; slapd: idletimeout),
    after which idle time, and how often the client used a connection again that had been idle for 80 % of that time or
    more. A client that does so often would have used those that were closed. The log does not show the next opening
    beside the close it follows, so a client of which nearly every connection ends by the timeout is judged by numbers.

    - likely: of the connections that were idle for 80 % of the timeout, one in ten or more was used before it.
    - possible: the timeout is below 60 s, closed 9 of 10 of the client's connections, and the client opened 10 or more
      after others had ended (more than the server ever had at once). It replaces them, or leaves each unused, or they
      were dead; the log does not show which.

    ## Severity
    - medium: 100 or more were closed, and as many others were used again in the last fifth of the timeout.
    - low: 10 or more were closed.

    ## Why it matters
    The client finds out when it sends: an error in the application, or a reconnect with a BIND and a TLS handshake.
    Many clients retry only once, or not at all.

    ## What to do
    Let the pool of the client retire connections before the server does, and test them before use; or raise the idle
    timeout, as idle-timeout recommends.

    ## When it is harmless
    Where the application reconnects by itself, and the few that it needs cost nothing. Where a firewall on the
    client's path drops idle connections before the timeout, what it closes is dead: such clients are not listed.
    """
    if responsiveness is not None and (doubt := responsiveness.doubt) is not None:
        yield NotJudged.lacking(doubt, subject=server.name)
        return
    every = list(idle_cuts(traffic, streams=sum(len(log.streams) for log in server.access_logs)))
    live = [cuts for cuts in every if not _is_dropped(cuts, bounds)]
    found = [(cuts, severity) for cuts in live if (severity := severity_of(cuts)) is not None]
    found.sort(key=lambda one: (-one[1], -one[0].cut, one[0].client))
    for number, (cuts, severity) in enumerate(found[:MOST]):
        yield _finding(server, traffic, cuts, severity, 0 if number else len(found) - MOST)
    if not found:
        yield _without_finding(server, traffic, every, live)


def severity_of(cuts: IdleCuts) -> Severity | None:
    """Return how bad it is, by the numbers of the manual page; None where nothing shows that they were needed."""
    if cuts.cut < SOME or not (is_used_late(cuts) or is_replaced(cuts)):
        return None
    return Severity.MEDIUM if cuts.cut >= MANY and cuts.used_share >= HALF else Severity.LOW


def is_used_late(cuts: IdleCuts) -> bool:
    """Return whether the client often uses connections that were idle for nearly as long as the timeout."""
    return cuts.used_late >= FEW and cuts.used_share >= TENTH


def _is_dropped(cuts: IdleCuts, bounds: IdleBounds | None) -> bool:
    """Return whether a middlebox on the client's own path had dropped what the idle timeout closed."""
    drop = bounds.dropped_by(cuts.client) if bounds else None
    return drop is not None and cuts.shortest >= drop and not is_used_late(cuts)


def is_replaced(cuts: IdleCuts) -> bool:
    """Return whether a short timeout ends nearly all connections of a client, and it opens others after that."""
    return cuts.shortest < SHORTEST and is_alternating(cuts)


def is_alternating(cuts: IdleCuts) -> bool:
    """Return whether the timeout ends nearly all connections of a client, and it opens others after that."""
    return cuts.cut >= NEARLY_ALL * cuts.closes and cuts.reopened >= SOME


def _without_finding(server: Instance, traffic: Traffic, every: list[IdleCuts], live: list[IdleCuts]) -> Verdict:
    segment = traffic.segment
    total = sum(cuts.cut for cuts in every)
    if not segment.closed:
        reason = "no connection was closed in the access log"
        return NotJudged.without(AccessLog, server.name, reason, how="an access log of a busy hour")
    if segment.clients.full and segment.clients.omitted >= SOME:
        reason = f"more clients than are counted separately: one not listed had at most {segment.clients.omitted:,}"
        reason += " connections"
        return NotJudged.without(AccessLog, server.name, reason, how="the log of a shorter period")
    if not total:
        return Clear(subject=server.name, reason="the idle timeout closed no connection in the access log")
    closed = f"the idle timeout closed {counted(total, 'connection')} in {traffic.seconds:,.0f} s"
    doubtful = [cuts for cuts in live if cuts.cut >= SOME and is_alternating(cuts)]
    if doubtful:
        most = max(doubtful, key=lambda cuts: (cuts.cut, cuts.client))
        reason = f"{closed}, nearly all of those of {most.client}, which opened others: the log does not show whether "
        reason += "it replaced them or left them unused"
        how = f"on {most.client}: the log of the application, for errors after {most.shortest} s without a request"
        return NotJudged(subject=server.name, reason=reason, missing=("application-log",), how=how)
    dropped = sum(cuts.cut for cuts in every) - sum(cuts.cut for cuts in live)
    after = f", {dropped:,} of them after a firewall had dropped their state" if dropped else ""
    first = max(live, key=lambda cuts: (cuts.cut, cuts.client), default=None)
    if first is None or first.cut < SOME:
        few = "" if first is None else ", of no other client 10 or more" if dropped else ", of no client 10 or more"
        return Clear(subject=server.name, reason=f"{closed}{after}{few}")
    late = (
        f"{first.client} used {first.used_late:,} again in the last fifth of the timeout, beside {first.cut:,} closed"
    )
    return Clear(subject=server.name, reason=f"{closed}{after}; {late}")


def _finding(server: Instance, traffic: Traffic, cuts: IdleCuts, severity: Severity, more: int) -> Finding:
    late = is_used_late(cuts)
    per_hour = cuts.cut * 3600 / traffic.seconds if traffic.seconds >= 1 else None
    return Finding(
        subject=f"{cuts.client} -> {server.name}",
        severity=severity,
        confidence=Confidence.LIKELY if late else Confidence.POSSIBLE,
        title=_title(cuts, late=late),
        detail="\n".join(_sentences(cuts, per_hour, more, late=late)),
        observed={
            "server": server.name,
            "client": cuts.client,
            "cut": cuts.cut,
            "closes": cuts.closes,
            "opened": cuts.opened,
            "reopened": cuts.reopened,
            "cut_per_hour": None if per_hour is None else round(per_hour, 3),
            "shortest_idle_seconds": cuts.shortest,
            "used_late": cuts.used_late,
        },
        server=server.name,
        hosts=(server.host,),
        remedies=(retire_before_server(cuts.client, server.name, cuts.shortest),),
        origins=traffic.origins,
    )


def _title(cuts: IdleCuts, *, late: bool) -> str:
    closed = (
        f"The idle timeout closed {counted(cuts.cut, 'connection')} of {cuts.client} after {cuts.shortest} s or more"
    )
    if late:
        return f"{closed}; others it used again just in time"
    return f"{closed}, and it opened {counted(cuts.reopened, 'connection')} or more after that"


def _sentences(cuts: IdleCuts, per_hour: float | None, more: int, *, late: bool) -> Iterator[str]:
    rate = "" if per_hour is None else f", {per_hour:,.1f} an hour"
    yield f"By the access log: {cuts.cut:,} of {counted(cuts.closes, 'close')} are of the idle timeout{rate}."
    if late:
        yield (
            f"Of the connections that were idle for 80 % of that time, {cuts.used_late:,} were used again before it "
            f"({percent(cuts.used_share)}): the timeout is within the pace at which {cuts.client} uses its connections."
        )
    else:
        yield f"Either {cuts.client} replaces what the server closes, or it leaves each connection unused, or a"
        yield "firewall had dropped them before: the log does not show which. If it replaces them, its requests fail"
        yield "first, or wait for a new connection and its BIND."
    yield "Behind a NAT or a proxy, this is the middlebox's address."
    if more > 0:
        yield f"{counted(more, 'more client')} {'is' if more == 1 else 'are'} alike: see ldapdiag log --by client."
