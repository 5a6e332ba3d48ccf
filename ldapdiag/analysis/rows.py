"""Rows: which rows of a table are LDAP connections, at which end, and what the absence of a row proves."""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import LDAP_PORTS, endpoint, is_loopback
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.sockets import SocketTable, TcpState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from ldapdiag.analysis.hosts import Host
    from ldapdiag.analysis.looks import Look
    from ldapdiag.analysis.servers import DirectoryServer


class End(StrEnum):
    """Which end of a connection a socket is."""

    SERVER = "server"
    CLIENT = "client"


def endpoints_of(servers: Iterable[DirectoryServer], hosts: Iterable[Host]) -> dict[tuple[str, int], str]:
    """Return the name of the server that answers on an address and port, for every one that is known."""
    addresses = {host.host: host.addresses for host in hosts}
    return {
        (address, port): server.host
        for server in servers
        for address in sorted(addresses.get(server.host, ()))
        for port in server.ports
    }


def ldap_rows(
    table: SocketTable,
    states: Collection[TcpState],
    own_ports: Collection[int],
    others: Collection[tuple[str, int]] = (),
) -> Mapping[tuple[End, str], list[int]]:
    """Return the rows in these states that are LDAP connections, by end and peer: a client's address, a server's endpoint.

    A remote endpoint is a server's when its port is a registered one, when it is one of the `others`, or when it is
    on this host.
    """
    found: dict[tuple[End, str], list[int]] = defaultdict(list)
    for row, (_, port, address, remote) in enumerate(table.keys()):
        if table.state[row] not in states:
            continue
        if port in own_ports:
            found[End.SERVER, address].append(row)
        elif remote in LDAP_PORTS or (address, remote) in others or (is_loopback(address) and remote in own_ports):
            found[End.CLIENT, endpoint(address, remote)].append(row)
    return found


def hidden(look: Look | None, host: str) -> Missing | None:
    """Return why a look may lack rows, so that the absence of one proves nothing; None when it shows all."""
    states = set(look.sockets.state) if look else set()
    if look is None:
        reason = f"no table of {host}'s sockets"
    elif TcpState.UNKNOWN in states:
        reason = f"the table of {host} has no column of states"
    elif states == {TcpState.LISTEN}:
        reason = f"the table of {host} lists listening sockets only"
    elif look.selected:
        reason = f"the table of {host} has no header, so it may be a selection of rows"
    elif not look.sockets.shows_all_programs:
        reason = f"the table of {host} shows one program's sockets"
    else:
        return None
    return Missing(host=host, reason=reason, lacks=(SocketTable.kind,), how=f"on {host}: ss -tanop > sockets.txt")
