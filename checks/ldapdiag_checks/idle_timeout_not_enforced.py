"""idle-timeout-not-enforced: connections that stay open although they are idle for longer than the idle timeout.

Remedies for a server that leaves connections open beyond its idle timeout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.idle.beyond_limit import (
    IdleLimit,
    LoggedBeyond,
    OpenBeyond,
    limit_of,
    logged_beyond,
    open_beyond,
)
from ldapdiag.analysis.idle.keepalive import configured_idle_timeout
from ldapdiag.analysis.load.responsiveness import Responsiveness
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.check import MainNumber, check
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.idle.enforcement import IdleEnforcement
from ldapdiag.servers.product import Product
from ldapdiag.wording import are, bound, counted

MANY = 10
SHOWN = 5


@check(group="connections", number=MainNumber("open", "connections that are open for longer"))
def judge(
    server: Instance, host: Host, traffic: Traffic | None = None, responsiveness: Responsiveness | None = None
) -> Iterator[Verdict]:
    """Connections that stay open although they are idle for longer than the idle timeout.

    ## What it looks at
    The configured idle timeout, and how late this version closes at most (slapd: 1.5 times the timeout and 2 s; 389-ds
    from 3.0.1: a second; where no source says: 1.5 times and 10 s). Against it: the activity times of cn=monitor
    (slapd); elsewhere the ages of the server's sockets, less as many of each client as cn=monitor lists with an
    operation in progress, or of an exempt account; and the idle times in the access log, if its idle closes show that
    this timeout was in force. A connection with an operation in progress (a persistent search) is not idle.

    - certain: by activity times.
    - likely: by socket ages and cn=monitor.
    - possible: the same, where accounts may have limits of their own and none was read; or by the access log alone
      (slapd only): the timeout may have been another one when it was written.

    ## Severity
    - medium: 10 or more open connections are idle beyond it; or one, and the version ignores the setting.
    - low: fewer; or only the access log has such idle times.

    ## Why it matters
    The timeout is trusted to free descriptors of dead connections. Where it does not, they accumulate unseen.

    ## What to do
    By the reason: 389-ds before the fix of issue #6004 looks for idle connections only while others are active; 389-ds
    and OpenDJ keep the limit that a connection was opened or bound with; OpenDJ 4 ignores the global limit; accounts
    may have a limit of their own (nsIdleTimeout, ds-rlim-idle-time-limit). Keepalive closes dead connections anyway.

    ## When it is harmless
    Connections of Directory Manager, which most products exempt, and of accounts with a longer limit: those that the
    configuration names are not counted.
    """
    seconds, source = configured_idle_timeout(server)
    product = server.product
    if server.not_a_directory is not None:
        yield NotJudged.lacking(server.not_a_directory, subject=server.name)
    elif responsiveness is not None and (doubt := responsiveness.doubt) is not None:
        yield NotJudged.lacking(doubt, subject=server.name)
    elif seconds is None or product is None:
        yield NotJudged.without(Configuration, server.name, f"the idle timeout is unknown: {source}")
    elif seconds == 0:
        yield Clear(subject=server.name, reason=f"no idle timeout is set ({source}), so there is none to enforce")
    else:
        enforcement = server.idle_enforcement
        limit = limit_of(server, seconds, enforcement)
        opened = open_beyond(server, host, limit)
        logged = logged_beyond(traffic, limit) if traffic else None
        yield _verdict(server, product, enforcement, limit, source, opened, logged, traffic)


def severity_of(count: int, *, ignored: bool) -> Severity:
    """Return how bad it is, by the numbers of the manual page."""
    return Severity.MEDIUM if count >= MANY or (count and ignored) else Severity.LOW


def _verdict(  # noqa: PLR0913, PLR0917  what is known of one server
    server: Instance,
    product: Product,
    enforcement: IdleEnforcement,
    limit: IdleLimit,
    source: str,
    opened: OpenBeyond | None,
    logged: LoggedBeyond | None,
    traffic: Traffic | None,
) -> Verdict:
    used = sum(logged.used.values()) if logged else 0
    late = sum(logged.late.values()) if logged else 0
    count = sum(opened.clients.values()) if opened else 0
    if not count and (not (used or late) or enforcement.account_attribute):
        return _without_finding(server, enforcement, limit, opened, logged)
    return Finding(
        subject=server.name,
        severity=severity_of(count, ignored=enforcement.ignored is not None),
        confidence=_confidence(server, enforcement, opened, count),
        title=_title(limit, opened, logged, count),
        detail="\n".join(_sentences(server, enforcement, limit, source, opened, logged)),
        observed={
            "server": server.name,
            "timeout_seconds": limit.seconds,
            "closes_by_seconds": round(limit.closes_by, 3),
            "open": count,
            "open_clients": dict(sorted((opened.clients if opened else {}).items())),
            "exempt": opened.exempt if opened else None,
            "used_later": used,
            "closed_late": late,
            "longest_idle_seconds": round(_longest(opened, logged), 3),
            "reasons": [name for name, _ in _reasons(enforcement)],
        },
        server=server.name,
        hosts=(server.host,),
        remedies=tuple(_remedies(server, product, enforcement, limit)),
        origins=tuple(
            sorted({*server.origins_of(server.configuration, server.monitor), *(traffic.origins if traffic else ())})
        ),
    )


def _without_finding(
    server: Instance,
    enforcement: IdleEnforcement,
    limit: IdleLimit,
    opened: OpenBeyond | None,
    logged: LoggedBeyond | None,
) -> Verdict:
    longer = sum(logged.used.values()) + sum(logged.late.values()) if logged else 0
    if opened is None or longer:
        reason = (
            f"the access log has {counted(longer, 'idle time')} of more than {bound(limit.closes_by)}, which a limit "
            f"of the account ({enforcement.account_attribute}) or a change of the timeout explains as well"
            if longer
            else f"which connections are idle for more than {limit.seconds:,} s is only known with the list of "
            "connections in cn=monitor"
        )
        missing = (Configuration.kind,) if longer else (Monitor.kind, SocketTable.kind)
        how = Configuration.how if longer else f"{Monitor.how}; {SocketTable.how}"
        return NotJudged(subject=server.name, reason=reason, missing=missing, how=how)
    aside = f" but {opened.exempt:,} that {are(opened.exempt)} exempt or in use" if opened.exempt else ""
    reason = (
        f"of {counted(opened.judged, 'connection')}, none{aside} is idle for more than {bound(limit.closes_by)} "
        f"({opened.source}), under an idle timeout of {limit.seconds:,} s"
    )
    return Clear(subject=server.name, reason=reason)


def _confidence(server: Instance, enforcement: IdleEnforcement, opened: OpenBeyond | None, count: int) -> Confidence:
    if opened is None or not count:
        return Confidence.POSSIBLE
    if opened.by_activity:
        return Confidence.CERTAIN
    own_limits = server.configuration is not None and server.configuration.idle_exemptions
    return Confidence.POSSIBLE if enforcement.account_attribute and not own_limits else Confidence.LIKELY


def _longest(opened: OpenBeyond | None, logged: LoggedBeyond | None) -> float:
    return max(opened.longest if opened else 0.0, logged.longest if logged else 0.0)


def _title(limit: IdleLimit, opened: OpenBeyond | None, logged: LoggedBeyond | None, count: int) -> str:
    if opened is not None and count:
        idle = f"{counted(count, 'connection')} {are(count)} idle for up to {opened.longest:,.0f} s"
        return f"{idle}: the idle timeout is {limit.seconds:,} s"
    longest = f"{_longest(opened, logged):,.0f} s"
    return f"Connections were idle for up to {longest} in the access log: the idle timeout is {limit.seconds:,} s"


def _sentences(
    server: Instance,
    enforcement: IdleEnforcement,
    limit: IdleLimit,
    source: str,
    opened: OpenBeyond | None,
    logged: LoggedBeyond | None,
) -> Iterator[str]:
    known = "closes" if enforcement.latest(limit.seconds) is not None else "is expected to close"
    at = f"{limit.closes_by:,.0f} s of idle time"
    yield f"The timeout is from {source}; {server.identity} {known} a connection by {at}."
    if opened is not None and opened.clients:
        yield f"Open now, by {opened.source}: {_listed(opened.clients)}."
    if opened is not None and opened.exempt:
        yield f"Not counted: {counted(opened.exempt, 'connection')} exempt, or with an operation in progress."
    if logged is not None and logged.used:
        yield f"In the access log, used again after a longer idle time: {_listed(logged.used, 'time')}."
    if logged is not None and logged.late:
        yield f"In the access log, closed by the idle timeout, but later: {_listed(logged.late, 'time')}."
    if logged is not None and (logged.used or logged.late):
        yield "If the timeout was changed while the log was written, that explains these."
    reasons = [text for _, text in _reasons(enforcement)]
    yield from reasons or ["No reason of this product is known: see whether another server's configuration was read."]


def _listed(clients: Mapping[str, int], noun: str = "connection") -> str:
    """Return the clients with the most, and how many more there are."""
    ranked = sorted(clients.items(), key=lambda one: (-one[1], one[0]))
    shown = ", ".join(f"{client} {counted(count, noun)}" for client, count in ranked[:SHOWN])
    return shown if len(ranked) <= SHOWN else f"{shown}, and {counted(len(ranked) - SHOWN, 'more client')}"


def _reasons(enforcement: IdleEnforcement) -> Iterator[tuple[str, str]]:
    """Yield the reasons that the product gives, each with its name in the report's JSON."""
    if enforcement.ignored is not None:
        yield "ignored", f"The reason: {enforcement.ignored}."
        return
    if enforcement.needs_activity is not False:
        certain = "looks" if enforcement.needs_activity else "may look"
        yield "needs-activity", f"This version {certain} for idle connections only while another connection is active."
    if enforcement.reaches_open_connections is not True:
        certain = "keep" if enforcement.reaches_open_connections is False else "may keep"
        yield (
            "keeps-old-limit",
            f"Open connections {certain} the limit that they were opened with, if it was changed since.",
        )
    if enforcement.account_attribute:
        yield "account-limit", f"An account may have a limit of its own ({enforcement.account_attribute})."


def _remedies(server: Instance, product: Product, enforcement: IdleEnforcement, limit: IdleLimit) -> Iterator[Remedy]:
    if enforcement.ignored is not None:
        yield product.remedies.set_idle_timeout(server.address, limit.seconds, limit.seconds, server.version)
        return
    if enforcement.needs_activity:
        yield keep_server_active(server.name)
    if enforcement.reaches_open_connections is False:
        yield reopen_connections(server.name)


def keep_server_active(server: str) -> Remedy:
    """Advise an upgrade, or a little activity, for a server that looks for idle connections only under activity."""
    return Remedy(
        title="Let a monitoring system query the server each minute, or upgrade it",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=(
            "Upgrade to 389-ds 3.0.1, or a release of your distribution with the fix of issue #6004. Until then any "
            "request of another client makes the server close what is idle: search the root DSE once a minute, on a "
            "connection that stays open."
        ),
        changes="Idle connections are closed a minute after their timeout at the latest.",
        risk="One search of the root DSE a minute.",
        undo="Stop the search.",
        verify="idle-timeout-not-enforced no longer lists the server.",
    )


def reopen_connections(server: str) -> Remedy:
    """Advise that clients reconnect, for a server whose open connections keep the limit they were opened with."""
    return Remedy(
        title="Let clients reconnect after a change of the idle timeout",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=(
            "An open connection keeps the limit that it had when it was opened or last bound. Restart the applications "
            "one after the other, or the server in a maintenance window."
        ),
        changes="New connections have the present limit.",
        risk="Requests fail while an application or the server restarts.",
        undo="None needed.",
        verify="idle-timeout-not-enforced no longer lists the server.",
        needs=Needs.RECONNECT,
    )
