"""Clients: the hosts at the other end, by the addresses they own, and what the server shows of their connections."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.host import inner_addresses
from ldapdiag.analysis.pairing.socket_index import ClientSnapshots
from ldapdiag.analysis.pairing.via_translation import machine_of
from ldapdiag.evidence.addresses import is_loopback
from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.instances import Instance
    from ldapdiag.analysis.pairing.direction import UnjoinedDirection
    from ldapdiag.analysis.pairing.flow_tables import Box
    from ldapdiag.analysis.pairing.socket_index import Way


class Clients:
    """The hosts whose tables were read, by the addresses they own."""

    def __init__(self, hosts: tuple[Host, ...], server: Instance, boxes: tuple[Box, ...] = ()) -> None:
        self._boxes = boxes
        self._owners: dict[str, list[ClientSnapshots]] = defaultdict(list)
        self._astray: dict[tuple[str, int], dict[int, set[str]]] = {}
        self._unseen: dict[tuple[str, int], dict[Way, int]] = {}
        known = [ClientSnapshots(host, server.ports if host.host == server.host else frozenset()) for host in hosts]
        self.all = [client for client in known if client.views]
        for client in self.all:
            for address in client.host.addresses:
                self._owners[address].append(client)
        machine = next((machine_of(client) for client in self.all if client.host.host == server.host), "")
        for client in self.all if machine else ():
            if machine_of(client) == machine:
                for address in inner_addresses(client.host):
                    self._owners[address].append(client)

    def owner(self, address: str, server: Host) -> ClientSnapshots | None:
        """Return the only host that owns an address; loopback never leaves the server's own host."""
        if is_loopback(address):
            return next(client for client in self.all if client.host is server)
        owners = self._owners.get(address, [])
        return owners[0] if len(owners) == 1 else None

    def astray(self, ends: UnjoinedDirection) -> Mapping[int, set[str]]:
        """Return the hosts of connections to this endpoint that the server does not show at all, by client port."""
        endpoint = ends.server_address, ends.server_port
        if endpoint not in self._astray:
            found = self._astray[endpoint] = defaultdict(set)
            for client in self.all:
                for way in client.ways_to(*endpoint):
                    for port in ends.shown.lacks(way, client.latest.established(way)):
                        found[port].add(client.host.host)
        return self._astray[endpoint]

    def shared(self, ends: UnjoinedDirection, server: Host) -> set[int]:
        """Return the client ports of a direction that other hosts with the server's address have established (DSR)."""
        others = [owner for owner in self._owners.get(ends.server_address, ()) if owner.host is not server]
        return {
            key[3]
            for other in others
            for key, state in zip(other.latest.table.keys(), other.latest.table.state, strict=True)
            if key[:3] == ends.way and state is TcpState.ESTABLISHED
        }

    def speak_for(self, address: str, server_address: str, port: int) -> bool:
        """Tell whether an address has an owner with connections of its own to this endpoint; loopback always has."""
        owners = self._owners.get(address, [])
        return is_loopback(address) or any(owner.ways_to(server_address, port) for owner in owners)

    def disowned(self, address: str, server_address: str, port: int, ports: Collection[int]) -> int:
        """Return how many of an address's connections to this endpoint its owners do not have themselves."""
        way = (server_address, port, address)
        own = [view.sockets.get(way, {}) for owner in self._owners.get(address, []) for view in owner.views]
        return 0 if is_loopback(address) else sum(not any(one in view for view in own) for one in ports)

    def unseen(self, ends: UnjoinedDirection) -> int:
        """Return how many connections to this endpoint hosts have of which the server shows none at all.

        Not those of which a box tells that it gives them another address than that of this direction.
        """
        endpoint = ends.server_address, ends.server_port
        if endpoint not in self._unseen:
            self._unseen[endpoint] = {
                way: len(client.latest.established(way))
                for client in self.all
                if _is_unseen(client, ends)
                for way in client.ways_to(*endpoint)
            }
        elsewhere = [box for box in self._boxes if ends.client not in box.translated]
        return sum(
            count
            for way, count in self._unseen[endpoint].items()
            if not any((way[2], *endpoint) in box.hidden for box in elsewhere)
        )

    def inner(self, ends: UnjoinedDirection, owner: ClientSnapshots) -> set[int]:
        """Return the ports of connections that other network namespaces of an owner's machine have to this endpoint.

        Only of those that the server does not show as theirs.
        """
        machine = machine_of(owner)
        siblings = {one.host.host for one in self.all if one is not owner and machine_of(one) == machine}
        if not (machine and siblings):
            return set()
        return {port for port, hosts in self.astray(ends).items() if hosts & siblings}

    def owners(self, address: str) -> int:
        """Return how many hosts own an address; more than one is a virtual address."""
        return len(self._owners.get(address, []))


def _is_unseen(client: ClientSnapshots, ends: UnjoinedDirection) -> bool:
    """Tell whether a host has connections to this endpoint, and the server shows none of them."""
    ways = client.ways_to(ends.server_address, ends.server_port)
    held = {way: client.latest.established(way) for way in ways}
    return bool(held) and all(len(ends.shown.lacks(way, ports)) == len(ports) for way, ports in held.items())
