"""proxy-held-connections: server-side connections of a proxy whose client-side connection is gone."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.idle.advice import IdleAdvice
from ldapdiag.analysis.idle.sentences import reason_list
from ldapdiag.analysis.pairing.direction import Direction, ProxyLegs
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.check import check
from ldapdiag.evidence.flows import SHOW_SESS_ALL, FlowTable, Relay
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.servers.haproxy import limit_idle_time, probe_clients
from ldapdiag.wording import counted

MANY, SOME = 100, 10
HALF = 0.5


@check
def judge(
    pairing: Pairing,
    flows: tuple[FlowTable, ...],
    servers: tuple[Instance, ...],
    advice: IdleAdvice | None = None,
) -> Iterator[Verdict]:
    """Server-side connections of a proxy whose client-side connection is gone.

    ## What it looks at
    The proxy's session table (HAProxy: show sess all) shows which client-side leg and which server-side leg belong
    together. A session counts if its server-side leg is established at the server, the client host no longer has
    the client-side leg, and the time between the tables cannot explain that.

    - certain: the proxy's own socket table lacks the client-side leg, too.
    - likely: the client's table lacks it, but a table covers one network namespace.
    - possible: only their number is known, or a table may be a selection of rows.

    ## Severity
    - high: 100 or more, or half of the proxy's sessions with the server when that is 10 or more.
    - medium: 10 or more.
    - low: fewer.

    ## Why it matters
    The server's peer is the proxy, which is alive: neither the server's keepalive nor a comparison with the clients
    finds these connections. Each uses two descriptors at the proxy and one at the server until the proxy's idle
    timeout.

    ## What to do
    Enable keepalive towards the clients on the proxy (HAProxy: option clitcpka), and set an idle timeout above the
    longest idle time of a live connection (timeout client and timeout server). Then find what drops the packets
    between the clients and the proxy.

    ## When it is harmless
    A few after a client lost power or network: the proxy's idle timeout closes them.
    """
    spoken = False
    for direction in pairing.directions:
        if direction.proxy_legs is None:
            continue
        spoken = True
        yield _verdict(direction, direction.proxy_legs, pairing.server, advice)
    if not spoken:
        yield _without_sessions(pairing, flows, servers)


def _without_sessions(
    pairing: Pairing, flows: tuple[FlowTable, ...], servers: tuple[Instance, ...]
) -> NotJudged | Clear:
    """Clear a server whose clients are known hosts; a proxy's host would be a client here that serves LDAP."""
    others = {server.host for server in servers} - {pairing.host}
    occupied = [direction for direction in pairing.directions if direction.server_count]
    doubtful = [one for one in occupied if one.missing is not None or others.intersection(one.client_hosts)]
    if not doubtful:
        return Clear(subject=pairing.server, reason="no proxy is between it and the hosts of its clients")
    with_server_leg = {table.origin.host for table in flows if any(table.server)}
    short = [table for table in flows if table.relay is Relay.PROXY and table.origin.host not in with_server_leg]
    aside = "".join(f"; {table.origin.path} contains the client-side legs only ({len(table)})" for table in short)
    addresses = ", ".join(sorted({one.client for one in doubtful})[:3])
    return NotJudged(
        subject=pairing.server,
        reason=f"{addresses} may be a proxy: no session table of it is in the evidence{aside}",
        missing=(FlowTable.kind,),
        how=f"if it is one, on it: {SHOW_SESS_ALL} > show-sess-all.txt",
    )


def _verdict(direction: Direction, legs: ProxyLegs, server: str, advice: IdleAdvice | None) -> Verdict:
    subject = f"{legs.proxy} {direction.client} -> {direction.server}"
    if legs.orphaned.count:
        return _finding(direction, legs, server, advice)
    if legs.orphaned.unproven:
        return NotJudged(
            subject=subject,
            reason=f"{sum(legs.orphaned.unproven.values()):,} of {counted(legs.sessions, 'session')} with a client "
            f"that is proven neither live nor gone: {reason_list(legs.orphaned.unproven)}",
            how="take snapshots of the clients, the proxy and the clients again, with ages: ss -tanoi",
        )
    return Clear(subject=subject, reason=f"{legs.live:,} of {counted(legs.sessions, 'session')} with a live client")


def _finding(direction: Direction, legs: ProxyLegs, server: str, advice: IdleAdvice | None) -> Finding:
    count = legs.orphaned.count
    return Finding(
        subject=f"{legs.proxy} {direction.client} -> {direction.server}",
        key=f"{legs.proxy}|{direction.key}",
        severity=severity_of(legs),
        confidence=confidence_of(legs),
        title=f"{legs.proxy} keeps {count:,} of {legs.sessions:,} connections to {server} whose client is gone",
        detail="\n".join(_sentences(legs, server)),
        observed={"proxy": legs.proxy, "server": direction.server, "connections": count},
        server=server,
        hosts=tuple(sorted({legs.proxy, server, *legs.clients})),
        remedies=(
            probe_clients(legs.proxy),
            *([limit_idle_time(legs.proxy, advice.recommended_seconds)] if advice is not None else []),
        ),
        origins=legs.origins,
    )


def severity_of(legs: ProxyLegs) -> Severity:
    """Return how bad it is, by the numbers of the manual page."""
    count = legs.orphaned.count
    if count >= MANY or (count >= SOME and count >= HALF * legs.sessions):
        return Severity.HIGH
    return Severity.MEDIUM if count >= SOME else Severity.LOW


def confidence_of(legs: ProxyLegs) -> Confidence:
    """Return how sure it is, by the words of the manual page."""
    if legs.orphaned.ports is None or legs.headerless:
        return Confidence.POSSIBLE
    return Confidence.CERTAIN if legs.absent_at_proxy else Confidence.LIKELY


def _sentences(legs: ProxyLegs, server: str) -> Iterator[str]:
    clients = " and ".join(legs.clients)
    yield f"{server} has the server-side legs, {legs.proxy} has the sessions, and {clients} lacks the client-side legs."
    if legs.orphaned.ports is not None:
        yield f"{legs.proxy}'s ports towards {server}: {', '.join(map(str, legs.orphaned.ports))}."
    if legs.absent_at_proxy:
        yield f"The socket table of {legs.proxy} itself lacks the client-side legs."
    else:
        yield f"Not certain: the sockets of a container or zone on {clients} are not in its table."
    if legs.orphaned.reasons:
        yield f"Not churn: {'; '.join(legs.orphaned.reasons)}."
    if legs.orphaned.unproven:
        yield f"Excluded: {reason_list(legs.orphaned.unproven)}."
