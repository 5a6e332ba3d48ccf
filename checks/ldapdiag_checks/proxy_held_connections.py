"""proxy-held-connections: connections to the server that a proxy keeps for clients that are gone."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.idle.advice import IdleAdvice
from ldapdiag.analysis.idle.wording import reason_list
from ldapdiag.analysis.pairing.direction import Direction, ProxyLegs
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.check import check
from ldapdiag.evidence.flows import SHOW_SESS_ALL, FlowTable, Relay
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.servers.haproxy import limit_idle_time, probe_clients

MANY, SOME = 100, 10
HALF = 0.5


@check
def judge(
    pairing: Pairing,
    flows: tuple[FlowTable, ...],
    servers: tuple[Instance, ...],
    advice: IdleAdvice | None = None,
) -> Iterator[Verdict]:
    """Connections a proxy keeps to the server although their client is gone.

    ## What it looks at
    The proxy's session table (HAProxy: show sess all) says which leg to a client and which leg to the server belong
    together. A session counts as held when its leg to the server is established there, the client's host no longer has
    the other leg, and the time between the tables cannot explain that. `certain`: the proxy's own socket table lacks
    the client's leg, too. `likely`: the client's table lacks it, but a table shows one network namespace. `possible`:
    their number is known, not which they are, or a table may be a selection.

    high: 100 or more, or half of the proxy's sessions with the server when that is 10 or more. medium: 10 or more.
    low: fewer.

    ## Why it matters
    The server sees a living peer, the proxy, so neither its keepalive nor a look at its clients finds anything. Each
    one costs a descriptor at the proxy twice and at the server once, until the proxy's own idle timeout.

    ## What to do
    Let the proxy probe its clients (HAProxy: option clitcpka), and give it an idle timeout above the longest rest of
    living connections (timeout client and timeout server). Other proxies call them TCP keepalive and idle timeout.
    Then look for what drops the clients' packets on their way to the proxy.

    ## When it is harmless
    A few after a client lost its power or its network: they go with the proxy's idle timeout.
    """
    spoken = False
    for direction in pairing.directions:
        if direction.held is None:
            continue
        spoken = True
        yield _verdict(direction, direction.held, pairing.host, advice)
    if not spoken:
        yield _without_sessions(pairing, flows, servers)


def _without_sessions(
    pairing: Pairing, flows: tuple[FlowTable, ...], servers: tuple[Instance, ...]
) -> NotJudged | Clear:
    """Clear a server whose clients speak for themselves; a proxy's host would be a client here that serves LDAP."""
    others = {server.host for server in servers} - {pairing.host}
    held = [direction for direction in pairing.directions if direction.server_count]
    doubtful = [one for one in held if one.missing is not None or others.intersection(one.client_hosts)]
    if not doubtful:
        return Clear(subject=pairing.host, reason="no proxy stands between it and the hosts of its clients")
    told = {table.origin.host for table in flows if any(table.server)}
    short = [table for table in flows if table.relay is Relay.PROXY and table.origin.host not in told]
    aside = "".join(f"; {table.origin.path} tells the clients' legs alone ({len(table)})" for table in short)
    addresses = ", ".join(sorted({one.client for one in doubtful})[:3])
    return NotJudged(
        subject=pairing.host,
        reason=f"whether a proxy is behind {addresses} is not known, its sessions are not in the evidence{aside}",
        missing=(FlowTable.kind,),
        how=f"if it is one, there: {SHOW_SESS_ALL} > show-sess-all.txt",
    )


def _verdict(direction: Direction, held: ProxyLegs, server: str, advice: IdleAdvice | None) -> Verdict:
    subject = f"{held.proxy} {direction.client} -> {direction.server}"
    if held.count:
        return _finding(direction, held, server, advice)
    if held.unproven:
        return NotJudged(
            subject=subject,
            reason=f"{sum(held.unproven.values())} of {held.sessions} sessions have no client that is known to live, "
            f"none of them is proven held: {reason_list(held.unproven)}",
            how="look at the clients, the proxy and the clients again, with ages: ss -tanoi",
        )
    return Clear(subject=subject, reason=f"{held.living} of {held.sessions} sessions have their client")


def _finding(direction: Direction, held: ProxyLegs, server: str, advice: IdleAdvice | None) -> Finding:
    return Finding(
        subject=f"{held.proxy} {direction.client} -> {direction.server}",
        key=f"{held.proxy}|{direction.key}",
        severity=severity_of(held),
        confidence=confidence_of(held),
        title=f"{held.proxy} keeps {held.count} of {held.sessions} connections to {server} for clients that are gone",
        detail="\n".join(_sentences(held, server)),
        observed={"proxy": held.proxy, "server": direction.server, "connections": held.count},
        server=server,
        hosts=tuple(sorted({held.proxy, server, *held.clients})),
        remedies=(
            probe_clients(held.proxy),
            *([limit_idle_time(held.proxy, advice.recommended_seconds)] if advice is not None else []),
        ),
        origins=held.origins,
    )


def severity_of(held: ProxyLegs) -> Severity:
    """Return how bad it is, by the numbers of the manual page."""
    if held.count >= MANY or (held.count >= SOME and held.count >= HALF * held.sessions):
        return Severity.HIGH
    return Severity.MEDIUM if held.count >= SOME else Severity.LOW


def confidence_of(held: ProxyLegs) -> Confidence:
    """Return how sure it is, by the words of the manual page."""
    if held.ports is None or held.selected:
        return Confidence.POSSIBLE
    return Confidence.CERTAIN if held.at_proxy else Confidence.LIKELY


def _sentences(held: ProxyLegs, server: str) -> Iterator[str]:
    clients = " and ".join(held.clients)
    yield f"{server} has their legs established, {held.proxy} carries them, and {clients} lacks the other ends."
    if held.ports is not None:
        yield f"{held.proxy}'s ports towards {server}: {', '.join(map(str, held.ports))}."
    if held.at_proxy:
        yield f"The socket table of {held.proxy} itself lacks the clients' legs."
    else:
        yield f"Not certain: a container or zone on {clients} would not be in its table."
    if held.because:
        yield f"Not churn: {'; '.join(held.because)}."
    if held.unproven:
        yield f"Not counted: {reason_list(held.unproven)}."
