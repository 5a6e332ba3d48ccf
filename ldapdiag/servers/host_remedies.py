"""Remedies on a host, whatever directory runs there: its kernel, its sockets, its applications, the boxes between."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.kernel import (
    CONNTRACK_BUCKETS,
    CONNTRACK_COUNT,
    CONNTRACK_ESTABLISHED,
    CONNTRACK_MAX,
    KEEPALIVE_INTERVAL,
    KEEPALIVE_TIME,
    KERNEL_CONNTRACK_ESTABLISHED,
    KERNEL_KEEPALIVE_INTERVAL,
    KERNEL_KEEPALIVE_PROBES,
    KERNEL_KEEPALIVE_TIME,
)
from ldapdiag.servers.shell_text import host_name, sysctl_file, sysctl_undo

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Family

ADDRESS = re.compile(r"[0-9A-Fa-f.:]+")

# Measured on Linux 6.18 (tests/live/servers/test_remedies.py): a timer already armed runs out first.
ARMED_TIMERS = (
    "For the whole host and every program on it. Connections open now wait out the time they were last given, then "
    "take the new one."
)


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands that do something, and those that take it back."""

    text: str
    undo: str


def kernel_keepalive(
    host: str, seconds: int, current: int | None, *, where: Where, family: Family | None = None, advice: str = ""
) -> Remedy:
    """Set the kernel's keepalive time on a host, for all sockets that have keepalives on and no time of their own."""
    interval = min(KERNEL_KEEPALIVE_INTERVAL, seconds)
    settings = {KEEPALIVE_TIME: seconds, KEEPALIVE_INTERVAL: interval}
    former = {KEEPALIVE_TIME: current or KERNEL_KEEPALIVE_TIME, KEEPALIVE_INTERVAL: KERNEL_KEEPALIVE_INTERVAL}
    return Remedy(
        title=f"Probe resting connections after {seconds} s (kernel)",
        target=host,
        where=where,
        kind=RemedyKind.SHELL,
        text=sysctl_file("keepalive", settings),
        changes=(
            f"The kernel asks each peer after {seconds} s of rest, so boxes between keep the connection; a dead one is "
            f"closed {interval * KERNEL_KEEPALIVE_PROBES} s later ({KERNEL_KEEPALIVE_PROBES} probes). "
            f"{ARMED_TIMERS}{advice}"
        ),
        risk=f"One small packet each way per resting connection every {seconds} s, from every program on the host.",
        undo=sysctl_undo("keepalive", former),
        verify=f"sysctl {KEEPALIVE_TIME} {KEEPALIVE_INTERVAL}\nss -tno state established",
        family=family,
        needs=Needs.RECONNECT,
    )


def set_client_keepalive(client_host: str, seconds: int, current: int | None = None) -> Remedy:
    """Set the kernel's keepalive time where the application runs, and say which applications have keepalives on."""
    # libldap: ldap_int_prepare_socket() in os-ip.c; measured with 2.5.13, as is the crash of all its tools by a
    # KEEPALIVE_IDLE, _PROBES or _INTERVAL in ldap.conf or the environment. ldap3 2.9.1: getsockopt gives 0.
    advice = (
        " Acts only where the application switches SO_KEEPALIVE on: libldap (OpenLDAP's C library, python-ldap) always "
        "does, Java only when told to, ldap3 never (set it on connection.socket after open). Do not write KEEPALIVE_* "
        "into ldap.conf without a trial: libldap 2.5.13 crashes on it."
    )
    return kernel_keepalive(client_host, seconds, current, where=Where.CLIENT, advice=advice)


def close_ghosts(server: str, port: int, client: str, client_ports: tuple[int, ...]) -> Remedy | None:
    """Close exactly those sockets of a server that were proven dead; None when the address is not one."""
    if not client_ports or not ADDRESS.fullmatch(client):
        return None
    address = f"[{client}]" if ":" in client else client
    ports = " ".join(map(str, sorted(set(client_ports))))
    chosen = f"( sport = :{port} and dst {address} and dport = :$port )"
    count = len(set(client_ports))
    return Remedy(
        title=f"Close the {count} dead connection{'s' * (count > 1)} from {client} now",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=f'for port in {ports}; do\n  ss -K -Htn state established "{chosen}"\ndone',
        changes="The kernel ends these sockets and the directory frees their descriptors at once. No setting changes.",
        risk=(
            "Run it soon after the look that found them: a port used again by a living connection would be closed too. "
            "Needs root and a kernel with INET_DIAG_DESTROY; without it nothing is closed."
        ),
        undo="None needed: a client that still wants a connection opens a new one.",
        verify=f'for port in {ports}; do\n  ss -Htn state established "{chosen}"\ndone | wc -l    # 0',
    )


def listen_ceiling(wanted: int) -> Commands:
    """Return the commands that raise the kernel's ceiling for backlogs, never lowering it."""
    # listen(2): a backlog above somaxconn is silently cut to it; 4096 since Linux 5.4, 128 before.
    raised = (
        f'if [ "$(sysctl -n net.core.somaxconn)" -lt {wanted} ]; then\n'
        f"{sysctl_file('backlog', {'net.core.somaxconn': wanted})}\n"
        "fi"
    )
    return Commands(
        text=raised, undo="rm -f /etc/sysctl.d/90-ldapdiag-backlog.conf    # the higher ceiling itself harms nobody"
    )


def release_unused(client_host: str, server_address: str) -> Remedy:
    """Ask for a pool that closes what it does not use."""
    return Remedy(
        title=f"release: let the application on {client_host} close what it does not use",
        target=client_host,
        where=Where.CLIENT,
        kind=RemedyKind.ADVICE,
        text=(
            f"Ask the owner of the application on {client_host} for a pool with a maximum size and a maximum idle "
            "time, and for an unbind on every path that leaves the code, errors included."
        ),
        changes="The application holds as many connections as it uses.",
        risk="A pool that is too small makes requests wait.",
        undo="Restore the former size of the pool.",
        verify=f"ss -Htn dst {host_name(server_address)} | wc -l",
    )


def advise_idle_timeout(server: str, seconds: int, product: str = "") -> Remedy:
    """Say which idle timeout to set where nobody knows the product, or its commands."""
    why = f"the commands of {product} are not known here" if product else "the evidence does not name the product"
    return Remedy(
        title=f"Set the server's idle timeout to {seconds} s",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=f"Set the directory's idle timeout to {seconds} s ({why}).",
        changes="Connections that rest longer are closed, dead ones among them.",
        risk="A pool that rests longer must open a new connection.",
        undo="Restore the former value.",
        verify="The number of established connections falls.",
    )


def raise_conntrack(host: str, used: int, limit: int) -> Remedy:
    """Double the connection-tracking table of a Linux box, or more when it is fuller than that."""
    wanted = 2 * max(used, limit)
    settings = {CONNTRACK_MAX: wanted, CONNTRACK_BUCKETS: wanted // 4}
    former = {CONNTRACK_MAX: limit, CONNTRACK_BUCKETS: max(limit // 4, 1)}
    return Remedy(
        title=f"Let the box track {wanted} connections",
        target=host,
        where=Where.BOX,
        kind=RemedyKind.SHELL,
        text=sysctl_file("conntrack", settings),
        changes="A full table drops the first packet of new connections. The buckets keep its look-ups short.",
        risk="Kernel memory, some 300 bytes for each connection. At boot it acts only once the module is loaded.",
        undo=sysctl_undo("conntrack", former),
        verify=f"sysctl {CONNTRACK_COUNT} {CONNTRACK_MAX}",
    )


def raise_box_timeout(box: str, seconds: int, current: int | None = None, *, linux: bool = False) -> Remedy:
    """Let a box remember resting connections longer: commands for a Linux box, advice for any other."""
    changes = f"The box remembers a resting connection for {seconds} s. What it has forgotten does not come back."
    risk = "Its table grows by what it no longer forgets: watch how full it is."
    title = f"Let the box remember resting connections for {seconds} s"
    if not linux:
        return Remedy(
            title=title,
            target=box,
            where=Where.BOX,
            kind=RemedyKind.ADVICE,
            text=(
                f"Ask who runs the box for a TCP idle timeout of {seconds} s on the LDAP ports alone, or to have it "
                "reset both ends when it forgets a connection."
            ),
            changes=changes,
            risk=risk,
            undo="Ask for the former timeout.",
            verify=f"A connection that rests just under {seconds} s still answers.",
        )
    return Remedy(
        title=title,
        target=box,
        where=Where.BOX,
        kind=RemedyKind.SHELL,
        text=sysctl_file("conntrack-timeout", {CONNTRACK_ESTABLISHED: seconds}),
        changes=changes,
        risk=f"{risk} It holds for every TCP connection through the box.",
        undo=sysctl_undo("conntrack-timeout", {CONNTRACK_ESTABLISHED: current or KERNEL_CONNTRACK_ESTABLISHED}),
        verify=f"sysctl {CONNTRACK_ESTABLISHED}",
    )
