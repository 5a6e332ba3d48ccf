"""Remedies for a HAProxy that keeps connections whose client is gone."""

from __future__ import annotations

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where

PROBE_SECONDS, PROBE_INTERVAL, PROBES = 60, 10, 3


def probe_clients(proxy: str) -> Remedy:
    """Let the proxy probe its clients' connections, so that it notices who is gone."""
    return Remedy(
        title="Let the proxy probe its clients",
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
            f"A client that is gone is noticed after {PROBE_SECONDS + PROBE_INTERVAL * PROBES} s, and its connection "
            "to the server is closed with it. Before HAProxy 2.4 leave the last three lines out: the kernel's 7200 s "
            "hold. Another proxy has the same under TCP keepalive towards clients."
        ),
        risk=(
            f"One small packet each way per resting connection every {PROBE_SECONDS} s. A reload keeps the old process "
            "until its connections end."
        ),
        undo="Remove the lines, and reload.",
        verify="echo 'show sess all' | socat stdio /run/haproxy/admin.sock | grep -c source=",
        needs=Needs.RECONNECT,
    )


def limit_idle_time(proxy: str, seconds: int) -> Remedy:
    """Let the proxy close both legs of a connection that rests for longer."""
    return Remedy(
        title=f"Let the proxy close what rests for {seconds} s",
        target=proxy,
        where=Where.BOX,
        kind=RemedyKind.CONFIG,
        text=(
            "# in the sections of LDAP; and timeout tunnel where it is set, for it goes first\n"
            f"timeout client {seconds}s    # frontend\ntimeout server {seconds}s    # backend"
        ),
        changes=f"A connection that rests for {seconds} s is closed at both ends, held ones with it.",
        risk="A pool that rests for longer must open a new connection; it gets a FIN, and notices.",
        undo="Restore the former values, and reload.",
        verify="echo 'show sess all' | socat stdio /run/haproxy/admin.sock | grep -c source=",
        needs=Needs.RECONNECT,
    )
