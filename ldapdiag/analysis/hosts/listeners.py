"""Listeners: which sockets are an LDAP server's end, by listening ports, programs and registered ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import LDAP_PORTS, UNKNOWN_PORT
from ldapdiag.evidence.sockets import SocketTable, TcpState

if TYPE_CHECKING:
    from collections.abc import Collection

DIRECTORY_PROGRAMS = ("ns-slapd", "slapd", "lt-slapd", "dsamain.exe")
"""Program names of directory servers, as ss, netstat and lsof print them; dsamain is AD LDS.

A domain controller's lsass.exe is not among them: it listens on 389 and 3268, which are registered ports, and on
88, 464 and 49664 for Kerberos and RPC, the last on every Windows client, too.
"""


def listener_ports(table: SocketTable, known: Collection[int]) -> frozenset[int]:
    """Return the ports of this table's LDAP listeners; `known` adds ports to the registered ones."""
    ports = set()
    for row, state in enumerate(table.state):
        if state is TcpState.LISTEN:
            owner = table.owner[row] if table.owner is not None else ""
            if table.local_port[row] in LDAP_PORTS or table.local_port[row] in known or owner in DIRECTORY_PROGRAMS:
                ports.add(table.local_port[row])
    return frozenset(ports)


def served_ports(table: SocketTable, known: Collection[int]) -> frozenset[int]:
    """Return the local ports of this table on which an LDAP server accepts connections.

    Without any LISTEN row (a table taken without -a) a registered port with peers on other ports counts, too: a
    client's own port is never a registered one.
    """
    if listening := listener_ports(table, known):
        return listening
    if TcpState.LISTEN in set(table.state):
        return frozenset()
    registered = LDAP_PORTS.union(known)
    pairs = set(zip(table.local_port, (port in registered for port in table.remote_port), strict=True))
    return frozenset(port for port, to_ldap in pairs if port in registered and not to_ldap)


def unfit_because(table: SocketTable, ports: Collection[int]) -> str | None:
    """Return why a table does not show which connections a server has on these ports; None when it does."""
    if not table.shows_connections:
        return "lists listening sockets only"
    ends = set(zip(table.local_port, table.state, strict=True))
    states = {state for port, state in ends if port in ports}
    if TcpState.UNKNOWN in states and TcpState.ESTABLISHED not in states:
        return (
            "shows no states, or unrecognised ones (ss for one state only, BSD's netstat with -T, -x or -R, "
            "lsof -F without T)"
        )
    if table.ports_truncated and (UNKNOWN_PORT, TcpState.ESTABLISHED) in ends:
        return "truncates local ports (netstat -A), so that any connection may be LDAP"
    return None
