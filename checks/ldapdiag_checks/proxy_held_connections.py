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
        yield _verdict(direction, direction.proxy_legs, pairing.host, advice)
    if not spoken:
        yield _without_sessions(pairing, flows, servers)


def _without_sessions(
    pairing: Pairing, flows: tuple[FlowTable, ...], servers: tuple[Instance, ...]
) -> NotJudged | Clear:
    """Clear a server whose clients are known hosts; a proxy's host would be a client here that serves LDAP."""
    others = {server.host for server in servers} - {pairing.host}
    held = [direction for direction in pairing.directions if direction.server_count]
    doubtful = [one for one in held if one.missing is not None or others.intersection(one.client_hosts)]
    if not doubtful:
        return Clear(subject=pairing.host, reason="no proxy is between it and the hosts of its clients")
    with_server_leg = {table.origin.host for table in flows if any(table.server)}
    short = [table for table in flows if table.relay is Relay.PROXY and table.origin.host not in with_server_leg]
    aside = "".join(f"; {table.origin.path} contains the client-side legs only ({len(table)})" for table in short)
    addresses = ", ".join(sorted({one.client for one in doubtful})[:3])
    return NotJudged(
        subject=pairing.host,
        reason=f"{addresses} may be a proxy: no session table of it is in the evidence{aside}",
        missing=(FlowTable.kind,),
        how=f"if it is one, on it: {SHOW_SESS_ALL} > show-sess-all.txt",
    )


def _verdict(direction: Direction, held: ProxyLegs, server: str, advice: IdleAdvice | None) -> Verdict:
    subject = f"{held.proxy} {direction.client} -> {direction.server}"
    if held.orphaned.count:
        return _finding(direction, held, server, advice)
    if held.orphaned.unproven:
        return NotJudged(
            subject=subject,
            reason=f"{sum(held.orphaned.unproven.values())} of {held.sessions} sessions have no proven live client, "
            f"none of them is proven dead: {reason_list(held.orphaned.unproven)}",
            how="take snapshots of the clients, the proxy and the clients again, with ages: ss -tanoi",
        )
    return Clear(subject=subject, reason=f"{held.live} of {held.sessions} sessions have a live client")


def _finding(direction: Direction, held: ProxyLegs, server: str, advice: IdleAdvice | None) -> Finding:
    count = held.orphaned.count
    return Finding(
        subject=f"{held.proxy} {direction.client} -> {direction.server}",
        key=f"{held.proxy}|{direction.key}",
        severity=severity_of(held),
        confidence=confidence_of(held),
        title=f"{held.proxy} keeps {count} of {held.sessions} connections to {server} whose client is gone",
        detail="\n".join(_sentences(held, server)),
        observed={"proxy": held.proxy, "server": direction.server, "connections": count},
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
    count = held.orphaned.count
    if count >= MANY or (count >= SOME and count >= HALF * held.sessions):
        return Severity.HIGH
    return Severity.MEDIUM if count >= SOME else Severity.LOW


def confidence_of(held: ProxyLegs) -> Confidence:
    """Return how sure it is, by the words of the manual page."""
    if held.orphaned.ports is None or held.headerless:
        return Confidence.POSSIBLE
    return Confidence.CERTAIN if held.absent_at_proxy else Confidence.LIKELY


def _sentences(held: ProxyLegs, server: str) -> Iterator[str]:
    clients = " and ".join(held.clients)
    yield f"{server} has the server-side legs, {held.proxy} has the sessions, and {clients} lacks the client-side legs."
    if held.orphaned.ports is not None:
        yield f"{held.proxy}'s ports towards {server}: {', '.join(map(str, held.orphaned.ports))}."
    if held.absent_at_proxy:
        yield f"The socket table of {held.proxy} itself lacks the client-side legs."
    else:
        yield f"Not certain: the sockets of a container or zone on {clients} are not in its table."
    if held.orphaned.reasons:
        yield f"Not churn: {'; '.join(held.orphaned.reasons)}."
    if held.orphaned.unproven:
        yield f"Excluded: {reason_list(held.orphaned.unproven)}."
