"""proxy-held-connections: server-side connections of a proxy whose client is gone, or does not close.

Remedies for connections that a proxy keeps unused: at the application, at the proxy, and by an idle timeout.

Held sessions in words: what a finding states of the connections that a proxy keeps unused.

Remedies for a program (sshd, socat, stunnel, nginx) that forwards connections, and keeps those of a dead client.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.idle.advice import IdleAdvice
from ldapdiag.analysis.idle.sentences import reason_list
from ldapdiag.analysis.load.responsiveness import Responsiveness
from ldapdiag.analysis.pairing.direction import Direction, ProxyLegs
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.flows import SHOW_SESS_ALL, FlowTable, Relay
from ldapdiag.evidence.sockets import SS_COMMAND
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, alternative
from ldapdiag.servers.client_settings.client_advice import close_at_end_of_file
from ldapdiag.servers.hosts.closing_remedies import close_ghosts
from ldapdiag.servers.hosts.haproxy import limit_half_closed, limit_idle_time, probe_clients
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ldapdiag.analysis.pairing.direction import UnclosedLegs


@check(group="connections", number=MainNumber("connections", "connections without a client"))
def judge(  # noqa: PLR0913  evidence, and settings
    pairing: Pairing,
    flows: tuple[FlowTable, ...],
    servers: tuple[Instance, ...],
    advice: IdleAdvice | None = None,
    responsiveness: Responsiveness | None = None,
    *,
    high_connections: Annotated[int, Threshold("connections", "so many or more are high")] = 100,
    medium_connections: Annotated[int, Threshold("connections", "so many or more are medium; fewer are low")] = 10,
    high_percent: Annotated[
        float, Threshold("%", "a share of the proxy's sessions that is high, from medium_connections on", most=100)
    ] = 50.0,
) -> Iterator[Verdict]:
    """Server-side connections of a proxy whose client is gone, or does not close.

    ## What it looks at
    The proxy's session table (HAProxy: show sess all) shows which client-side leg and which server-side leg belong
    together. Of other forwarding programs (sshd, socat, stunnel, nginx, envoy, kubectl …) the socket table shows it,
    where a process has one client-side socket; of one with several, connections that were used in the last 10 s are
    taken for live, and the others are not judged. A session counts if its server-side leg is established at the
    server, and one of these holds:

    - The client is gone: its host no longer has the client-side leg, and the time between the tables cannot explain
      that.
    - The client does not close: the proxy has closed the client-side leg (FIN-WAIT-2 at the proxy), and the
      application has not (CLOSE-WAIT at the client), for more than 1 s by an age or by two snapshots. While the
      server may not answer (server-unresponsive), this is not judged.

    - certain: the proxy's own socket table lacks the client-side leg, too, or both tables show it half-closed.
    - likely: one of the two tables was not read, or a table covers one network namespace.
    - possible: only their number is known, or a table may be a selection of rows.

    ## Severity
    By default:

    - high: 100 or more, or half of the proxy's sessions with the server when that is 10 or more.
    - medium: 10 or more.
    - low: fewer.

    ## Why it matters
    The server's peer is the proxy, which is alive: neither the server's keepalive nor a comparison with the clients
    finds these connections. Each uses two descriptors at the proxy and one at the server until the proxy's idle
    timeout. Where the client does not close, HAProxy waits for timeout client-fin, and for the whole timeout client
    if that is not set.

    ## What to do
    Close those whose client is certainly gone: ss -K on the server's host, after which the proxy ends the session. No
    setting of the proxy reaches them, since after a reload the old process keeps its connections.

    Then enable keepalive towards the clients on the proxy (HAProxy: option clitcpka), and set an idle timeout above the
    longest idle time of a connection in use (timeout client and timeout server). Then find what drops the packets
    between the clients and the proxy.

    Where an application does not close: let its pool close a connection when it reads the end of the stream, or
    test it before use. At the proxy, timeout client-fin bounds how long the server's connection is kept.

    ## When it is harmless
    A few after a client lost power or network: the proxy's idle timeout closes them.
    """
    spoken = False
    for direction in pairing.directions:
        if direction.proxy_legs is None:
            continue
        spoken = True
        legs, doubt = direction.proxy_legs, responsiveness.doubt if responsiveness else None
        if doubt is not None and legs.unclosed:
            yield NotJudged.lacking(doubt, subject=f"{legs.proxy} {direction.client} -> {direction.server}")
            legs = replace(legs, unclosed=())
        if legs is direction.proxy_legs or legs.orphaned.count:
            severity = severity_of(legs, high_connections, medium_connections, high_percent / 100)
            yield _verdict(direction, legs, pairing.server, advice, severity)
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
    return NotJudged.without(
        FlowTable,
        pairing.server,
        f"{addresses} may be a proxy: no session table of it is in the evidence{aside}",
        how=f"if it is one, on it: {SHOW_SESS_ALL} > show-sess-all.txt",
    )


def _verdict(
    direction: Direction, legs: ProxyLegs, server: str, advice: IdleAdvice | None, severity: Severity
) -> Verdict:
    subject = f"{legs.proxy} {direction.client} -> {direction.server}"
    if legs.held:
        return _finding(direction, legs, server, advice, severity)
    if legs.orphaned.unproven:
        return NotJudged(
            subject=subject,
            reason=f"{sum(legs.orphaned.unproven.values()):,} of {counted(legs.sessions, 'session')} whose "
            f"client may be live or gone: {reason_list(legs.orphaned.unproven)}",
            how=_how(legs),
        )
    return Clear(subject=subject, reason=f"{legs.live:,} of {counted(legs.sessions, 'session')} with a live client")


def _how(legs: ProxyLegs) -> str:
    """Return what to collect; of a forwarding program with many sockets, its own list of sessions."""
    if not legs.program:
        return "take snapshots of the clients, the proxy and the clients again, with ages: ss -tanoi"
    sessions = f"; the sessions of HAProxy: {SHOW_SESS_ALL} > show-sess-all.txt" if legs.program == "haproxy" else ""
    return f"as root on {legs.proxy}, and on the hosts that its clients connect from: {SS_COMMAND}{sessions}"


def _finding(
    direction: Direction, legs: ProxyLegs, server: str, advice: IdleAdvice | None, severity: Severity
) -> Finding:
    observed = {"proxy": legs.proxy, "server": direction.server, "connections": legs.held}
    holders, confidence = {one.host for one in legs.unclosed if one.host}, confidence_of(legs)
    return Finding(
        subject=f"{legs.proxy} {direction.client} -> {direction.server}",
        key=f"{legs.proxy}|{direction.key}",
        severity=severity,
        confidence=confidence,
        title=held_title(legs, server),
        detail="\n".join(_sentences(legs, server)),
        observed=observed | ({"applications": [one.observed for one in legs.unclosed]} if legs.unclosed else {}),
        server=server,
        hosts=tuple(sorted({legs.proxy, server, *legs.clients, *holders})),
        remedies=tuple(held_remedies(direction, legs, server, advice, certain=confidence is Confidence.CERTAIN)),
        origins=legs.origins,
    )


def severity_of(legs: ProxyLegs, high: int, medium: int, share: float) -> Severity:
    """Return how bad it is, by the connections that are high and medium, and the share of the sessions that is high."""
    count = legs.held
    if count >= high or (count >= medium and count >= share * legs.sessions):
        return Severity.HIGH
    return Severity.MEDIUM if count >= medium else Severity.LOW


def confidence_of(legs: ProxyLegs) -> Confidence:
    """Return how sure it is, by the words of the manual page."""
    if legs.orphaned.ports is None or legs.headerless:
        return Confidence.POSSIBLE
    gone = legs.absent_at_proxy or not legs.orphaned.count
    return Confidence.CERTAIN if gone and all(one.at_both for one in legs.unclosed) else Confidence.LIKELY


def _sentences(legs: ProxyLegs, server: str) -> Iterator[str]:
    yield from held_sentences(legs, server)
    if legs.orphaned.unproven:
        yield f"Excluded: {reason_list(legs.orphaned.unproven)}."


def held_remedies(
    direction: Direction, legs: ProxyLegs, server: str, advice: IdleAdvice | None, *, certain: bool
) -> Iterator[Remedy]:
    """Yield what ends these connections: now, where each is `certain`; the settings reach later ones only."""
    if certain and legs.orphaned.ports:
        endpoint = direction.server_address, direction.server_port
        closing = close_ghosts(server, endpoint, direction.client, legs.orphaned.ports)
        if closing is not None:
            yield closing
    for client in sorted({one.host or one.address for one in legs.unclosed}):
        yield close_at_end_of_file(client, server)
    if legs.program and legs.program != "haproxy":
        if legs.orphaned.count:
            yield probe_clients_of(legs.program, legs.proxy, direction.server_port)
        return
    if legs.unclosed:
        yield alternative(limit_half_closed(legs.proxy))
    if legs.orphaned.count:
        yield probe_clients(legs.proxy)
        if advice is not None:
            yield alternative(limit_idle_time(legs.proxy, advice.recommended_seconds))


def held_title(legs: ProxyLegs, server: str) -> str:
    """Return the title of the finding about a proxy's connections to a server."""
    held = f"{legs.name} keeps {legs.held:,} of {legs.sessions:,} connections to {server}"
    if not legs.unclosed:
        return f"{held} whose client is gone"
    unclosed = legs.held - legs.orphaned.count
    holders = legs.unclosed[0].application if len(legs.unclosed) == 1 else f"{len(legs.unclosed)} applications"
    does = "does" if len(legs.unclosed) == 1 else "do"
    if legs.orphaned.count:
        return f"{held}: {unclosed:,} that {holders} {does} not close, {legs.orphaned.count:,} whose client is gone"
    return f"{held} because {holders} {does} not close"


def held_sentences(legs: ProxyLegs, server: str) -> Iterator[str]:
    """Yield the sentences about sessions that an application does not close, and about those whose client is gone."""
    yield from _unclosed_sentences(legs)
    if legs.orphaned.count:
        yield from _absence_sentences(legs, server)


def _unclosed_sentences(legs: ProxyLegs) -> Iterator[str]:
    for one in legs.unclosed:
        count = counted(len(one.ports), "connection")
        yield f"{one.application} has not closed {count} that {legs.proxy} has closed{_seen(one, legs.proxy)}."
        yield f"{legs.proxy}'s ports towards the server: {', '.join(map(str, one.ports))}."
    if legs.unclosed:
        yield "HAProxy keeps the server-side connection until the client closes, or for timeout client-fin."


def _seen(legs: UnclosedLegs, proxy: str) -> str:
    at_client, at_proxy = f"CLOSE-WAIT at {legs.host}", f"FIN-WAIT-2 at {proxy}"
    if legs.at_both:
        return f" ({at_client}, {at_proxy})"
    return f" ({at_client if legs.host else at_proxy}; the other end's table does not show it)"


def _absence_sentences(legs: ProxyLegs, server: str) -> Iterator[str]:
    clients = " and ".join(legs.clients)
    lack = "lacks" if len(legs.clients) == 1 else "lack"
    legs_of = f"{server} has the server-side legs, {legs.name} has the sessions"
    yield f"{legs_of}, and {clients} {lack} the client-side legs."
    if legs.program:
        yield f"{legs.program} forwards connections of other programs: those of a client that is gone stay open."
    if legs.orphaned.ports is not None:
        yield f"{legs.proxy}'s ports towards {server}: {', '.join(map(str, legs.orphaned.ports))}."
    if legs.absent_at_proxy:
        yield f"The socket table of {legs.proxy} itself lacks the client-side legs."
    else:
        yield f"Not certain: the sockets of a container or zone on {clients} are not in its table."
    if legs.orphaned.reasons:
        yield f"Not churn: {'; '.join(legs.orphaned.reasons)}."


SSHD = "# sshd_config\nClientAliveInterval 60\nClientAliveCountMax 3"
PROBES: Mapping[str, str] = {
    "sshd": SSHD,
    "sshd-session": SSHD,
    "ssh": "# ssh_config\nServerAliveInterval 60\nServerAliveCountMax 3",
    "socat": "# options of the address that accepts connections\nkeepalive,keepidle=60,keepintvl=10,keepcnt=3",
    "stunnel": "socket = a:SO_KEEPALIVE=1\nsocket = l:TCP_KEEPIDLE=60\nsocket = l:TCP_KEEPINTVL=10",
    "nginx": "# in the server section of the stream\nlisten 389 so_keepalive=60s:10s:3;",
}
"""Settings by program (sshd_config(5), ssh_config(5), socat(1), stunnel(8), ngx_stream_core_module)."""


def probe_clients_of(program: str, host: str, port: int) -> Remedy:
    """Make a forwarding program notice that its client is gone."""
    text = PROBES.get(program)
    return Remedy(
        title=f"Let {program} send keepalive probes to its clients",
        target=host,
        where=Where.BOX,
        kind=RemedyKind.CONFIG if text else RemedyKind.ADVICE,
        text=text or f"Enable TCP keepalive of {program} towards its clients, after 60 s of idle time.",
        changes=f"{program} closes the connections of a client that is gone within a few minutes. This applies to "
        "connections made from now on: to close these now, end the process that owns them (as root: ss -tnp).",
        risk="One small packet in each direction every 60 s per connection.",
        undo="Remove the lines and reload.",
        verify=f"ss -tnp state established dport = :{port}",
        needs=Needs.RECONNECT,
    )
