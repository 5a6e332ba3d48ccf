"""ephemeral-port-exhaustion: source addresses with hardly a port left for another connection to one server.

Remedies for a host that has no local port left for another connection to a server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.hosts.ldap_sockets import End, why_incomplete
from ldapdiag.analysis.hosts.listeners import is_relay
from ldapdiag.analysis.load.port_use import WINDOWS, PortUse, uses_at_clients, uses_at_servers, uses_behind_nat
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Remedy, RemedyKind, Where, alternative
from ldapdiag.servers.client_settings.client_advice import pool_connections
from ldapdiag.servers.commands.shell_text import sysctl_file, sysctl_undo
from ldapdiag.servers.hosts.kernel import PORT_RANGE, REUSE_TIME_WAIT, TIMESTAMPS
from ldapdiag.wording import counted, percent

FEWEST = 3977
"""Ports of the smallest default range of any system: 1024 to 5000, of older BSD and Windows."""
NETSH = "on {host}: netsh int ipv4 show dynamicport tcp shows the range, to be compared by hand"
SYSCTL = "on {host}: sysctl -a | grep -E 'ip_local|tcp_tw_reuse|portrange' > sysctl.txt"
NO_COUNTER = (
    "When no port is left, connect() fails with EADDRNOTAVAIL (Cannot assign requested address). No counter of the "
    "kernel shows that: look for it in the application's log."
)


@check(group="connections", number=MainNumber("used", "ports in use"))
def judge(
    hosts: tuple[Host, ...],
    servers: tuple[Instance, ...],
    flows: tuple[FlowTable, ...],
    *,
    critical_percent: Annotated[
        float, Threshold("%", "so much or more of the ports used is critical", most=100)
    ] = 95.0,
    high_percent: Annotated[float, Threshold("%", "so much or more is high; less is clear", most=100)] = 80.0,
) -> Iterator[Verdict]:
    """Clients, proxies and NATs with hardly a port left for another connection to one server.

    ## What it looks at
    How many ports each source address uses for LDAP connections to one address and port of a server, against those
    that it may use. At a client or proxy: its socket table, all states, and ip_local_port_range without
    ip_local_reserved_ports. Ports in TIME-WAIT count, except where tcp_tw_reuse frees them (1, with tcp_timestamps; 2,
    the default, on loopback). At a source NAT: the translated ports in its flow table, of 1024 to 65535. At the server:
    an address whose own host or NAT was not read. Of a Windows client (its netstat, or Get-NetTCPConnection): 49152 to
    65535, its default.

    - certain: by the host's own ip_local_port_range.
    - likely: by the default range of Linux; or at a NAT, or at the server with 51,610 connections or more.
    - possible: at the server, if the address is a single host with the default range of Linux.

    ## Severity
    By default:

    - critical: 95 % or more of the ports are used.
    - high: 80 % or more.

    ## Why it matters
    Without a free port, connect() fails with EADDRNOTAVAIL at once, and at a NAT the first packet is dropped: the
    application reports that the server cannot be reached, although it is well. No counter of the kernel shows it.
    TIME-WAIT lasts 60 s on Linux, so a client that opens connections for single operations (connection-churn) fails
    from 470 a second on, with the default range.

    ## What to do
    In this order: a connection pool in the application; a wider ip_local_port_range; more source addresses, at a NAT
    too; tcp_tw_reuse = 1 where time stamps pass the path. Never tcp_tw_recycle: it breaks clients behind NAT.

    ## When it is harmless
    A load test. Applications that bind a local address before they connect share the ports of all destinations, and
    may fail sooner than this check shows; a rule of a NAT may also allow fewer ports.
    """
    critical, high = critical_percent / 100, high_percent / 100
    at_clients = list(uses_at_clients(hosts, servers))
    behind_nat = list(uses_behind_nat(flows, hosts, servers))
    known = {address for host in hosts for address in host.addresses} | {use.source for use in behind_nat}
    at_servers = [use for use in uses_at_servers(hosts, servers, known) if use.share >= high]
    judged = sorted((*at_clients, *behind_nat, *at_servers), key=lambda use: (-use.share, use.host, use.source))
    found = [use for use in judged if use.share >= high and not _is_doubtful(use, hosts)]
    for use in found:
        yield _finding(use, Severity.CRITICAL if use.share >= critical else Severity.HIGH)
    yield from _others([use for use in judged if use not in found], {use.host for use in found}, hosts, high)
    if not judged:
        reason = "no socket table of a client and no flow table of a NAT is in the evidence"
        yield NotJudged(subject=None, reason=reason, missing=(SocketTable.kind, FlowTable.kind), how=SocketTable.how)


def _is_doubtful(use: PortUse, hosts: tuple[Host, ...]) -> bool:
    """Return whether the default range is not that of this host: it is of another system, or has ports outside."""
    if use.ports.is_known or use.end != End.CLIENT:
        return False
    if use.ports is WINDOWS:
        return bool(use.outside)
    host = next(one for one in hosts if one.host == use.host)
    system = host.description.system if host.description else ""
    return bool(use.outside) or (bool(system) and not system.startswith("Linux")) or not _is_linux(host)


def _is_linux(host: Host) -> bool:
    """Return whether a table of the host is one that only Linux prints."""
    return host.latest is not None and not {"ss", "proc", "inet_diag"}.isdisjoint(host.latest.tools)


def _others(uses: list[PortUse], found: set[str], hosts: tuple[Host, ...], high: float) -> Iterator[Verdict]:
    """Yield one verdict for each host without a finding, by the address with the most used ports."""
    by_name = {host.host: host for host in hosts}
    most_of = {use.host: use for use in sorted(uses, key=lambda use: (use.used, use.source, use.server))}
    for name in sorted(most_of.keys() - found):
        most, host = most_of[name], by_name.get(name)
        latest = host.latest if host else None
        used = f"{most.source} uses {counted(most.used, 'port')} towards {most.server}"
        if most.end == End.CLIENT and host and latest is not None:
            if (missing := why_incomplete(latest, name)) is not None:
                yield NotJudged.lacking(missing, subject=name)
                continue
            if latest.sockets.shows_time_wait is not True and not most.reused:
                reason = "the table of the client may not show its ports in TIME-WAIT"
                yield NotJudged.without(SocketTable, name, reason)
                continue
            if most.used >= high * FEWEST and _is_doubtful(most, hosts):
                reason = f"{used}, and its range of local ports is not known"
                how = (NETSH if most.ports is WINDOWS else SYSCTL).format(host=name)
                yield NotJudged.without(KernelSettings, name, reason, how=how)
                continue
        yield Clear(subject=name, reason=f"{used}, of {most.ports.count:,} ({most.ports.source})")


def _finding(use: PortUse, severity: Severity) -> Finding:
    rate, possible = use.opened_per_second, use.possible_per_second
    ports = counted(use.ports.count, "port")
    used = f"has used up its {ports}" if use.share >= 1 else f"uses {use.used:,} of {ports} ({percent(use.share)})"
    waiting = f", {use.time_wait:,} of them in TIME-WAIT" if use.time_wait else ""
    return Finding(
        subject=f"{use.host}: {use.source} -> {use.server}",
        key=f"{use.host}|{use.source}|{use.server}",
        severity=severity,
        confidence=_confidence(use),
        title=(f"{use.source} {used} towards {use.server}{waiting}"),
        detail="\n".join(_sentences(use)),
        observed={
            "host": use.host,
            "end": use.end,
            "source": use.source,
            "server": use.server,
            "used": use.used,
            "time_wait": use.time_wait,
            "ports": use.ports.count,
            "range": use.ports.text,
            "range_known": use.ports.is_known,
            "closed_per_second": None if rate is None else round(rate, 3),
            "possible_per_second": None if possible is None else round(possible, 3),
        },
        server=use.name or None,
        hosts=(use.host,),
        remedies=tuple(_remedies(use)),
        origins=use.origins,
    )


def _confidence(use: PortUse) -> Confidence:
    if use.ports.is_known:
        return Confidence.CERTAIN
    as_one_host = use.end == End.SERVER and use.ports.first > 1024
    return Confidence.POSSIBLE if as_one_host else Confidence.LIKELY


def _sentences(use: PortUse) -> Iterator[str]:
    place = {End.CLIENT: f"the socket table of {use.host}", "nat": f"the flow table of {use.host}"}
    yield f"Counted in {place.get(use.end, f'the table of the server {use.host}')}, of ports {use.ports.text}"
    yield f"({use.ports.source}): one source address has each port once for the same address and port of a server."
    if use.time_wait and use.opened_per_second is not None and use.possible_per_second is not None:
        yield (
            f"It closed {use.opened_per_second:,.1f} connections a second in the last minute (TIME-WAIT lasts 60 s); "
            f"beside those that are open, the ports suffice for {use.possible_per_second:,.1f} a second."
        )
    elif use.end == End.CLIENT and not use.time_wait:
        yield "They are open, not in TIME-WAIT: the application keeps them, or does not close them."
    if use.end == End.SERVER:
        yield f"Neither the table of {use.source} nor that of a NAT was read: its ports in TIME-WAIT are not counted."
    if use.outside:
        yield f"Not counted: {counted(use.outside, 'connection')} from ports outside the range."
    yield NO_COUNTER


def _remedies(use: PortUse) -> Iterator[Remedy]:
    server = use.name or use.server
    if not is_relay(use.owner or ""):
        yield pool_connections(use.source, server)
    if use.end != End.CLIENT:
        yield add_source_addresses(use.source if use.end == End.SERVER else use.host, use.server, where=Where.BOX)
        return
    more = add_source_addresses(use.host, use.server, where=Where.CLIENT)
    if use.ports.is_known and (wider := widen_port_range(use.host, use.ports.first, use.ports.last)) is not None:
        yield wider
        more = alternative(more)
    yield more
    if use.time_wait >= use.used / 2 and use.ports.is_known:
        yield alternative(reuse_time_wait(use.host, use.ports.reuse))


LOWEST, HIGHEST = 16384, 65535
"""A wider range that leaves the ports of most services alone."""


def widen_port_range(host: str, first: int, last: int) -> Remedy | None:
    """Let the kernel choose local ports from a wider range; None where the range is as wide already."""
    low, high = min(first, LOWEST), max(last, HIGHEST)
    if (low, high) == (first, last):
        return None
    return Remedy(
        title=f"Choose local ports from {low} to {high}",
        target=host,
        where=Where.CLIENT,
        kind=RemedyKind.SHELL,
        text=sysctl_file("ports", {PORT_RANGE: f"{low} {high}"}),
        changes=(
            f"{host} may have {high - low + 1:,} connections to each address and port, instead of "
            f"{last - first + 1:,}. It applies to the next connection; open ones stay."
        ),
        risk=(
            f"A service that listens on a port from {low} to {high} and starts later may find it in use: see ss -tln, "
            "and name its port in net.ipv4.ip_local_reserved_ports. A firewall may allow the former range only."
        ),
        undo=sysctl_undo("ports", {PORT_RANGE: f"{first} {last}"}),
        verify=f"sysctl {PORT_RANGE}",
    )


def reuse_time_wait(host: str, current: int) -> Remedy:
    """Let the kernel choose ports in TIME-WAIT again."""
    return Remedy(
        title="Use local ports in TIME-WAIT again after a second",
        target=host,
        where=Where.CLIENT,
        kind=RemedyKind.SHELL,
        text=sysctl_file("reuse", {REUSE_TIME_WAIT: 1}),
        changes=(
            "For a new outgoing connection the kernel may choose a port whose last connection to the same server has "
            f"been in TIME-WAIT for a second. It needs TCP time stamps at both ends ({TIMESTAMPS} = 1, the default)."
        ),
        risk=(
            "It applies to every outgoing connection of the host. Middleboxes that remove time stamps make it useless; "
            "one that still has the old connection in its table may drop the new one. Do not use tcp_tw_recycle "
            "instead, which older kernels have: it breaks clients behind NAT."
        ),
        undo=sysctl_undo("reuse", {REUSE_TIME_WAIT: current}),
        verify=f"sysctl {REUSE_TIME_WAIT} {TIMESTAMPS}",
    )


def add_source_addresses(host: str, server: str, *, where: Where) -> Remedy:
    """Advise more source addresses, each of which has all ports again."""
    at_box = where is Where.BOX
    pool = (
        "Translate to several addresses (nftables: snat to 192.0.2.1-192.0.2.4; F5: a SNAT pool), or let clients reach "
        f"{server} without translation."
        if at_box
        else f"Spread the connections to {server} over several local addresses or hosts (HAProxy: a source for each "
        "server line), or over several addresses of the server."
    )
    return Remedy(
        title="Use more source addresses",
        target=host,
        where=where,
        kind=RemedyKind.ADVICE,
        text=pool,
        changes="Each further address has as many ports again.",
        risk="Firewalls and access rules of the server must allow the further addresses.",
        undo="Remove the further addresses.",
        verify="ephemeral-port-exhaustion no longer lists it.",
    )
