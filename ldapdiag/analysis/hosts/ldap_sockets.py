"""LDAP sockets: which rows of a socket table are LDAP connections, at which end, and whether the table is complete."""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import LDAP_PORTS, endpoint, is_loopback
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.sockets import SS_COMMAND, SocketTable, TcpState
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.instances import Instance
    from ldapdiag.analysis.hosts.snapshots import Snapshot


class End(StrEnum):
    """Which end of a connection a socket is."""

    SERVER = "server"
    CLIENT = "client"


@dataclass(frozen=True, slots=True, order=True)
class Peer:
    """The other end of an LDAP socket."""

    end: End
    """The local end, not the peer's."""
    name: str
    """A client's address, or a server's endpoint."""
    server: str = ""
    """The server at either end, by the name of its instance; empty when it is not in the evidence."""


def endpoints_of(servers: Iterable[Instance], hosts: Iterable[Host]) -> dict[tuple[str, int], str]:
    """Return the servers by the address and port on which each accepts connections."""
    addresses = {host.host: host.addresses for host in hosts}
    return {
        (address, port): server.name
        for server in servers
        for address in sorted(addresses.get(server.host, ()))
        for port in server.ports
        if server.serves(address, port)
    }


def rows_by_peer(
    table: SocketTable,
    states: Collection[TcpState],
    servers: Sequence[Instance],
    known: Mapping[tuple[str, int], str],
) -> Mapping[Peer, Sequence[int]]:
    """Return the rows of a host's table that are LDAP connections in these states, by peer.

    A server socket has a port of one of the host's `servers`; a client socket is connected to a registered port, a
    known endpoint, or a server on the same host.
    """
    ports = {port for server in servers for port in server.ports}
    found: dict[Peer, list[int]] = defaultdict(list)
    for row, (own, port, address, remote) in enumerate(table.keys()):
        if table.state[row] not in states:
            continue
        if port in ports:
            found[Peer(End.SERVER, address, _server_at(own, port, servers))].append(row)
        elif remote in LDAP_PORTS or (address, remote) in known or (remote in ports and is_loopback(address)):
            local = _server_at(address, remote, servers) if is_loopback(address) else ""
            found[Peer(End.CLIENT, endpoint(address, remote), local or known.get((address, remote), ""))].append(row)
    return found


def _server_at(address: str, port: int, servers: Iterable[Instance]) -> str:
    return next((server.name for server in servers if server.serves(address, port)), "")


def why_incomplete(snapshot: Snapshot, host: str) -> Missing | None:
    """Return why a snapshot may lack rows, so that an absence proves nothing; None when it is complete."""
    if TcpState.UNKNOWN in set(snapshot.sockets.state):
        reason = f"the table of {host} has no column of states"
    elif not snapshot.sockets.shows_connections:
        reason = f"the table of {host} lists listening sockets only"
    elif snapshot.headerless:
        reason = f"the table of {host} has no header, so it may be a selection of rows"
    elif snapshot.sockets.is_cut:
        reason = f"the table of {host} ends within a line: it is truncated"
    elif not snapshot.sockets.shows_all_programs:
        reason = f"the table of {host} shows one program's sockets"
    else:
        return None
    return Missing(host=host, reason=reason, lacks=(SocketTable.kind,), how=f"on {host}: {SS_COMMAND}")
