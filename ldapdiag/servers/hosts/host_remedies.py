"""Remedies that do not depend on the directory product: on kernels, sockets, applications and middleboxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.remedy import Remedy, RemedyKind, Where
from ldapdiag.servers.commands.remedy_texts import POOL_MUST_RECONNECT
from ldapdiag.servers.commands.shell_text import host_name, sysctl_file, sysctl_undo
from ldapdiag.servers.hosts.kernel import (
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
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Family


# Measured on Linux 6.18 (tests/live/servers/test_remedies.py): a timer that is already armed runs out first.
ARMED_TIMERS = (
    "This applies to every program on the whole host. On an open connection the timer that is already running expires "
    "first; then the new time applies."
)


@dataclass(frozen=True, slots=True)
class CommandPair:
    """Commands that make a change, and those that undo it."""

    text: str
    undo: str


def kernel_keepalive(
    host: str, seconds: int, current: int | None, *, where: Where, family: Family | None = None, advice: str = ""
) -> Remedy:
    """Set the kernel's keepalive time on a host, for all sockets with SO_KEEPALIVE and no time of their own."""
    interval = min(KERNEL_KEEPALIVE_INTERVAL, seconds)
    settings = {KEEPALIVE_TIME: seconds, KEEPALIVE_INTERVAL: interval}
    former = {KEEPALIVE_TIME: current or KERNEL_KEEPALIVE_TIME, KEEPALIVE_INTERVAL: KERNEL_KEEPALIVE_INTERVAL}
    return Remedy(
        title=f"Send keepalive probes after {seconds:,} s of idle time (kernel)",
        target=host,
        where=where,
        kind=RemedyKind.SHELL,
        text=sysctl_file("keepalive", settings),
        changes=(
            f"The kernel probes each peer after {seconds:,} s of idle time, so firewalls on the path keep their "
            f"state; a dead connection is closed {interval * KERNEL_KEEPALIVE_PROBES} s later "
            f"({KERNEL_KEEPALIVE_PROBES} probes). {ARMED_TIMERS}{advice}"
        ),
        risk=(
            f"One small packet in each direction every {seconds:,} s per idle connection of every program on the host."
        ),
        undo=sysctl_undo("keepalive", former),
        verify=f"sysctl {KEEPALIVE_TIME} {KEEPALIVE_INTERVAL}\nss -tno state established",
        family=family,
    )


def set_client_keepalive(client_host: str, seconds: int, current: int | None = None) -> Remedy:
    """Set the kernel's keepalive time on a client's host; the text names the libraries that enable keepalives."""
    # libldap: ldap_int_prepare_socket() in os-ip.c, measured with 2.5.13. All tools of 2.5.13 crash on a
    # KEEPALIVE_IDLE, _PROBES or _INTERVAL in ldap.conf or the environment. ldap3 2.9.1: getsockopt returns 0.
    advice = (
        " It applies only if the application sets SO_KEEPALIVE: libldap (OpenLDAP's C library, python-ldap) always "
        "does, Java only if configured to, ldap3 never (set it on connection.socket after open). Test KEEPALIVE_* in "
        "ldap.conf before use: libldap 2.5.13 crashes on it."
    )
    return kernel_keepalive(client_host, seconds, current, where=Where.CLIENT, advice=advice)


def replace_connections(client: str, server_address: str, count: int) -> Remedy:
    """Advise to replace the dead connections of a pool."""
    return Remedy(
        title=f"Replace the {counted(count, 'connection')} in the pools on {client}",
        target=client,
        where=Where.CLIENT,
        kind=RemedyKind.ADVICE,
        text=(
            f"Reset the connection pools to {server_address} on {client}, or restart the application. Configure the "
            "pool to test a connection before use, with a response timeout of a few seconds."
        ),
        changes="The application opens new connections, for which the middlebox makes new entries.",
        risk="Requests on the dead connections fail; they would have failed after their timeout.",
        undo="None needed.",
        verify=f"ss -Htno dst {host_name(server_address)} | grep -c 'timer:(on'    # 0",
    )


def find_drop(client: str, server_address: str, port: int) -> Remedy:
    """Advise to find what drops the packets of connections, and to collect what proves it."""
    return Remedy(
        title="Find what drops their packets: read every middlebox on the path",
        target=client,
        where=Where.CLIENT,
        kind=RemedyKind.ADVICE,
        text=(
            f"Show the path as it is now (ip route get {host_name(server_address)} on {client}, and the way back on "
            "the server). On each middlebox, as root: conntrack -L > conntrack.txt; "
            "nft list ruleset > nft-ruleset.txt; sysctl -a | grep nf_conntrack > sysctl.txt. "
            "Add these files to the evidence. tcpdump on both sides of a "
            f"middlebox (tcp port {port}) shows whether it drops the packets."
        ),
        changes="Nothing. With these files, the middlebox that no longer tracks the connections is named.",
        risk="None: it only reads.",
        undo="None needed.",
        verify=f"ss -Htno dst {host_name(server_address)} | grep -c 'timer:(on'    # 0 once they are answered",
    )


def find_lost_state(box: str) -> Remedy:
    """Advise to find out why a middlebox lost its table, and to make the loss visible."""
    return Remedy(
        title="Find out why the middlebox lost its flow table",
        target=box,
        where=Where.BOX,
        kind=RemedyKind.ADVICE,
        text=(
            f"Look on {box} for a restart of the firewall, a failover without synchronised state (conntrackd), a "
            "flush (conntrack -F) or a full table (dmesg: table full, dropping packet). Answer packets without an "
            "entry by a reset instead of dropping them."
        ),
        changes="Clients receive an error at once instead of a timeout when the table is lost again.",
        risk="A reset also reveals the firewall to a scan.",
        undo="Restore the former rule.",
        verify="conntrack -L -p tcp --dport 389 | wc -l    # about the number of connections at the server",
    )


def listen_ceiling(wanted: int) -> CommandPair:
    """Return the commands that raise the kernel's limit for listen backlogs if it is lower."""
    # listen(2): a backlog above somaxconn is silently truncated; 4096 since Linux 5.4, 128 before.
    raised = (
        f'if [ "$(sysctl -n net.core.somaxconn)" -lt {wanted} ]; then\n'
        f"{sysctl_file('backlog', {'net.core.somaxconn': wanted})}\n"
        "fi"
    )
    return CommandPair(text=raised, undo="rm -f /etc/sysctl.d/90-ldapdiag-backlog.conf")


def release_unused(client_host: str, server_address: str) -> Remedy:
    """Advise a connection pool with a maximum size and idle time."""
    return Remedy(
        title=f"release: close unused connections in the application on {client_host}",
        target=client_host,
        where=Where.CLIENT,
        kind=RemedyKind.ADVICE,
        text=(
            f"Ask the owner of the application on {client_host} to use a pool with a maximum size and a maximum idle "
            "time, and to unbind on every code path, errors included."
        ),
        changes="The application keeps only the connections that it uses.",
        risk="Requests wait if the pool is too small.",
        undo="Restore the former size of the pool.",
        verify=f"ss -Htn dst {host_name(server_address)} | wc -l",
    )


def advise_idle_timeout(server: str, seconds: int, product: str = "", kind: str = "directory server") -> Remedy:
    """Advise an idle timeout where the product or its commands are not known."""
    why = f"no commands for {product} are known" if product else "the evidence does not name the product"
    return Remedy(
        title=f"Set the server's idle timeout to {seconds:,} s",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=f"Set the idle timeout of the {kind} to {seconds:,} s ({why}).",
        changes="Connections that are idle for longer are closed, dead ones included.",
        risk=POOL_MUST_RECONNECT,
        undo="Restore the former value.",
        verify="The number of established connections drops.",
    )


def raise_conntrack(host: str, used: int, limit: int) -> Remedy:
    """Set the connection-tracking table of a Linux host to twice its size, or twice its use if that is higher."""
    wanted = 2 * max(used, limit)
    settings = {CONNTRACK_MAX: wanted, CONNTRACK_BUCKETS: wanted // 4}
    former = {CONNTRACK_MAX: limit, CONNTRACK_BUCKETS: max(limit // 4, 1)}
    return Remedy(
        title=f"Raise the connection-tracking limit to {wanted:,}",
        target=host,
        where=Where.BOX,
        kind=RemedyKind.SHELL,
        text=sysctl_file("conntrack", settings),
        changes="A full table drops the first packet of a new connection. More buckets keep lookups fast.",
        risk="About 300 bytes of kernel memory per connection. At boot it applies only once nf_conntrack is loaded.",
        undo=sysctl_undo("conntrack", former),
        verify=f"sysctl {CONNTRACK_COUNT} {CONNTRACK_MAX}",
    )


def raise_box_timeout(box: str, seconds: int, current: int | None = None, *, linux: bool = False) -> Remedy:
    """Raise the idle timeout of a middlebox: commands for a Linux firewall, advice for any other."""
    kind = "firewall" if linux else "middlebox"
    changes = (
        f"The {kind} keeps its state for an idle connection for {seconds:,} s. Connections whose state it has already "
        "dropped stay dead."
    )
    risk = "Its table grows by the connections that it keeps longer: monitor how full it is."
    title = f"Raise the {kind}'s timeout for idle connections to {seconds:,} s"
    if not linux:
        return Remedy(
            title=title,
            target=box,
            where=Where.BOX,
            kind=RemedyKind.ADVICE,
            text=(
                f"Ask the administrator of the middlebox to set a TCP idle timeout of {seconds:,} s for the LDAP ports "
                "only, or to make it send a reset to both ends when it drops its state of a connection."
            ),
            changes=changes,
            risk=risk,
            undo="Ask for the former timeout.",
            verify=f"A connection that was idle for just under {seconds:,} s still answers.",
        )
    return Remedy(
        title=title,
        target=box,
        where=Where.BOX,
        kind=RemedyKind.SHELL,
        text=sysctl_file("conntrack-timeout", {CONNTRACK_ESTABLISHED: seconds}),
        changes=changes,
        risk=f"{risk} It applies to every TCP connection through the firewall.",
        undo=sysctl_undo("conntrack-timeout", {CONNTRACK_ESTABLISHED: current or KERNEL_CONNTRACK_ESTABLISHED}),
        verify=f"sysctl {CONNTRACK_ESTABLISHED}",
    )
