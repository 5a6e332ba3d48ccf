"""Remedies for a host that has no local port left for another connection to a server."""

from __future__ import annotations

from ldapdiag.remedy import Remedy, RemedyKind, Where
from ldapdiag.servers.kernel import PORT_RANGE, REUSE_TIME_WAIT, TIMESTAMPS
from ldapdiag.servers.shell_text import sysctl_file, sysctl_undo

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
