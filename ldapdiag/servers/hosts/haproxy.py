"""Remedies for an HAProxy that keeps connections to the server whose client-side leg is dead."""

from __future__ import annotations

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.commands.remedy_texts import POOL_MUST_RECONNECT

PROBE_SECONDS, PROBE_INTERVAL, PROBES = 60, 10, 3
FIN_SECONDS = 30


def probe_clients(proxy: str) -> Remedy:
    """Make the proxy send keepalive probes to its clients."""
    return Remedy(
        title="Send keepalive probes from the proxy to its clients",
        target=proxy,
        where=Where.BOX,
        kind=RemedyKind.CONFIG,
        # HAProxy configuration manual: option clitcpka; clitcpka-idle, -intvl and -cnt since 2.4, on Linux.
        text=(
            "# in the frontend (or listen) section of LDAP\n"
            "option clitcpka\n"
            f"clitcpka-idle {PROBE_SECONDS}s\nclitcpka-intvl {PROBE_INTERVAL}s\nclitcpka-cnt {PROBES}"
        ),
        changes=(
            f"The proxy detects a dead client after {PROBE_SECONDS + PROBE_INTERVAL * PROBES} s and closes the "
            "server-side leg too. Before HAProxy 2.4 omit the last three lines: the kernel's 7,200 s apply. Other "
            "proxies have this setting as TCP keepalive towards clients."
        ),
        risk=(
            f"One small packet in each direction every {PROBE_SECONDS} s per idle connection. After a reload the old "
            "process runs until its connections are closed."
        ),
        undo="Remove the lines and reload.",
        verify="echo 'show sess all' | socat stdio /run/haproxy/admin.sock | grep -c source=",
        needs=Needs.RECONNECT,
    )


def limit_idle_time(proxy: str, seconds: int) -> Remedy:
    """Make the proxy close both legs of a connection after an idle time."""
    return Remedy(
        title=f"Set the idle timeout of the proxy to {seconds:,} s",
        target=proxy,
        where=Where.BOX,
        kind=RemedyKind.CONFIG,
        text=(
            "# in the LDAP sections; change timeout tunnel too where it is set, because it takes precedence\n"
            f"timeout client {seconds}s    # frontend\ntimeout server {seconds}s    # backend"
        ),
        changes=f"A connection that is idle for {seconds:,} s is closed at both ends, also if its client is dead.",
        risk=f"{POOL_MUST_RECONNECT} It receives a FIN.",
        undo="Restore the former values and reload.",
        verify="echo 'show sess all' | socat stdio /run/haproxy/admin.sock | grep -c source=",
        needs=Needs.RECONNECT,
    )


def limit_half_closed(proxy: str) -> Remedy:
    """Make the proxy close a session soon after one end has closed, whether or not the other end does."""
    return Remedy(
        title=f"Close half-closed connections on the proxy after {FIN_SECONDS} s",
        target=proxy,
        where=Where.BOX,
        kind=RemedyKind.CONFIG,
        # HAProxy configuration manual 4.2: timeout client-fin, timeout server-fin, since 1.5.
        text=(
            "# in the defaults of LDAP, or in its frontend (client-fin) and backend (server-fin)\n"
            f"timeout client-fin {FIN_SECONDS}s\ntimeout server-fin {FIN_SECONDS}s"
        ),
        changes=(
            f"{FIN_SECONDS} s after it has closed towards the client, it closes the server-side connection, too, "
            "also if the application has not closed its own. Older sessions keep the former limit."
        ),
        risk="A client that ends its sending early and still reads a long answer has this time for it.",
        undo="Remove the lines and reload.",
        verify="ss -tan state fin-wait-2 | grep -c :389",
        needs=Needs.RECONNECT,
    )
