"""python-ldap and ldap3, the LDAP libraries of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers.client_settings.values import (
    ANSWER_TIMEOUT,
    CONNECT_TIMEOUT,
    KEEPALIVE_PROBES,
    ClientSoftware,
    ClientValues,
    client_remedy,
)

if TYPE_CHECKING:
    from ldapdiag.remedy import Remedy

PROGRAMS = frozenset(
    {"python", "python2", "python3", *(f"python3.{minor}" for minor in range(6, 16)), "gunicorn", "uwsgi", "celery"}
)
UNDO = "Remove the lines."
SERVER_TIMEOUT_REMAINS = "Keepalive does not prolong the server's idle timeout, so the code must reconnect as well."


def set_python_ldap(values: ClientValues) -> Remedy:
    """Probe, and repeat an operation on a new connection where the old one was closed."""
    return client_remedy(
        values,
        "python-ldap",
        text="\n".join(
            [
                "connection = ldap.ldapobject.ReconnectLDAPObject(uri, retry_max=3, retry_delay=1.0)",
                f"connection.set_option(ldap.OPT_NETWORK_TIMEOUT, {CONNECT_TIMEOUT})",
                f"connection.set_option(ldap.OPT_TIMEOUT, {ANSWER_TIMEOUT})",
                f"connection.set_option(ldap.OPT_X_KEEPALIVE_IDLE, {values.probe_seconds})",
                f"connection.set_option(ldap.OPT_X_KEEPALIVE_PROBES, {KEEPALIVE_PROBES})",
                f"connection.set_option(ldap.OPT_X_KEEPALIVE_INTERVAL, {values.probe_interval})",
            ]
        ),
        changes=f"The connection is probed after {values.probe_seconds:,} s of idle time. ReconnectLDAPObject opens a "
        "new one and repeats the operation when the old one was closed. Set the options before the first operation.",
        risk=f"{SERVER_TIMEOUT_REMAINS} A write whose answer was lost is repeated.",
        undo=UNDO,
    )


def set_ldap3(values: ClientValues) -> Remedy:
    """Probe from the socket, for which ldap3 has no option, and reconnect before an idle connection is used."""
    return client_remedy(
        values,
        "ldap3",
        text="\n".join(
            [
                f"server = ldap3.Server(uri, connect_timeout={CONNECT_TIMEOUT})",
                f"connection = ldap3.Connection(server, user, password, receive_timeout={ANSWER_TIMEOUT})",
                "",
                "def bind_again():",
                "    connection.unbind()",
                "    connection.bind()    # opens a new connection",
                "    one = connection.socket",
                "    one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)",
                f"    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, {values.probe_seconds})",
                f"    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, {values.probe_interval})",
                f"    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, {KEEPALIVE_PROBES})",
                "",
                f"if time.monotonic() - last_used > {values.longest_idle}:    # before each operation",
                "    bind_again()",
            ]
        ),
        changes=f"A connection that was idle for {values.longest_idle:,} s is replaced before it is used, and probed "
        f"after {values.probe_seconds:,} s. ldap3 never sets SO_KEEPALIVE and has no option for it (2.9.1); "
        "receive_timeout must be an integer.",
        risk=f"{SERVER_TIMEOUT_REMAINS} Do not use pool_keepalive of the strategy REUSABLE: it breaks the pool (ldap3 "
        "issues 418 and 939).",
        undo=UNDO,
    )


PYTHON_LDAP = ClientSoftware(
    name="python-ldap",
    programs=PROGRAMS,
    setting="OPT_X_KEEPALIVE_IDLE, ReconnectLDAPObject",
    source="measured with python-ldap 3.4.3",
    remedy=set_python_ldap,
)
LDAP3 = ClientSoftware(
    name="ldap3",
    programs=PROGRAMS,
    setting="SO_KEEPALIVE on connection.socket",
    source="measured with ldap3 2.9.1",
    remedy=set_ldap3,
)
