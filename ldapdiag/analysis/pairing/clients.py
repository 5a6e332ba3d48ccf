"""Clients: the hosts whose snapshots were read, by the addresses they own, and their connections to an endpoint.

Not joined: why a direction's other end cannot be read, and how to collect it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.host import inner_addresses
from ldapdiag.analysis.hosts.next_hops import NextHops
from ldapdiag.analysis.pairing.socket_index import ClientSnapshots, ServerIndex
from ldapdiag.evidence.addresses import is_exact, is_loopback
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.flows import FlowTable, Relay
from ldapdiag.evidence.host_facts import HostDescription
from ldapdiag.evidence.sockets import SS_COMMAND, SocketTable, TcpState
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.instances import Instance
    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection


class Clients:
    """The hosts whose snapshots were read, by the addresses they own."""

    def __init__(self, hosts: tuple[Host, ...], server: Instance, middleboxes: tuple[Middlebox, ...] = ()) -> None:
        self._middleboxes = middleboxes
        self._owners: dict[str, list[ClientSnapshots]] = defaultdict(list)
        self._unseen_ports: dict[tuple[str, int], dict[int, set[str]]] = {}
        self._foreign_ports: dict[tuple[str, int, str], frozenset[int]] = {}
        self._inner_ports: dict[tuple[str, int, str], frozenset[int]] = {}
        self._unseen_counts: dict[tuple[str, int, tuple[int, ...]], int] = {}
        self._established_at: dict[str, ServerIndex] = {}
        self._translators: dict[tuple[str, int, int], tuple[str, ...]] = {}
        self.hops = NextHops(hosts)
        known = [ClientSnapshots(host, server.ports if host.host == server.host else frozenset()) for host in hosts]
        self.all = [client for client in known if client.indexes]
        for client in self.all:
            for address in client.host.addresses:
                self._owners[address].append(client)
        machine = next((client.machine for client in self.all if client.host.host == server.host), "")
        for client in self.all if machine else ():
            if client.machine == machine:
                for address in inner_addresses(client.host):
                    self._owners[address].append(client)

    def owner(self, address: str, server: Host) -> ClientSnapshots | None:
        """Return the only host that owns an address; a loopback address belongs to the server's own host."""
        if is_loopback(address):
            return next(client for client in self.all if client.host is server)
        owners = self._owners.get(address, [])
        return owners[0] if len(owners) == 1 else None

    def owner_count(self, address: str) -> int:
        """Return how many hosts own an address; more than one share a virtual address."""
        return len(self._owners.get(address, []))

    def owner_connects(self, address: str, server_address: str, port: int) -> bool:
        """Return whether an owner of an address has connections to this endpoint; a loopback address always does."""
        owners = self._owners.get(address, [])
        return is_loopback(address) or any(owner.directions_to(server_address, port) for owner in owners)

    def unseen_ports(self, unjoined: UnjoinedDirection) -> Mapping[int, set[str]]:
        """Return, by client port, the hosts of connections to this endpoint that the server does not show at all."""
        endpoint = unjoined.endpoint
        if endpoint not in self._unseen_ports:
            found = self._unseen_ports[endpoint] = defaultdict(set)
            for client in self.all:
                for direction in client.directions_to(*endpoint):
                    established = client.latest.established(direction)
                    for port in unjoined.server_index.missing_ports(direction, established):
                        found[port].add(client.host.host)
        return self._unseen_ports[endpoint]

    def foreign_ports(self, unjoined: UnjoinedDirection, owner: ClientSnapshots) -> frozenset[int]:
        """Return the ports of other hosts' connections to this endpoint that the server does not show as theirs.

        Their address was translated on the path, possibly to the owner's: a container host does that, and keeps the
        port when it can.
        """
        key = (*unjoined.endpoint, owner.host.host)
        if key not in self._foreign_ports:
            unseen, own = self.unseen_ports(unjoined), {owner.host.host}
            ports = chain.from_iterable(map(owner.latest.established, owner.directions_to(*unjoined.endpoint)))
            only_own = {port for port in ports if unseen.get(port) == own}
            self._foreign_ports[key] = frozenset(unseen) - only_own
        return self._foreign_ports[key]

    def unseen_count(self, unjoined: UnjoinedDirection) -> int:
        """Return how many connections to this endpoint belong to hosts of which the server shows none at all.

        Connections that a middlebox translates to another address than that of this direction do not count.
        """
        boxes = self._middleboxes
        elsewhere = tuple(number for number, one in enumerate(boxes) if unjoined.client not in one.translated)
        key = (*unjoined.endpoint, elsewhere)
        if key not in self._unseen_counts:
            self._unseen_counts[key] = sum(
                len(client.latest.established(direction))
                for client in self.all
                if _is_unseen(client, unjoined)
                for direction in client.directions_to(*unjoined.endpoint)
                if not any((direction[2], *unjoined.endpoint) in boxes[one].translated_clients for one in elsewhere)
            )
        return self._unseen_counts[key]

    def possible_translators(self, unjoined: UnjoinedDirection) -> tuple[str, ...]:
        """Return the addresses that have connections to this endpoint which no host in the evidence has.

        An address whose owner lacks about as many as others have unseen may translate for them; one of many ghosts not.
        """
        unseen = self.unseen_count(unjoined)
        key = (*unjoined.endpoint, unseen)
        if key not in self._translators:
            ports_of = unjoined.server_index.established_at(*unjoined.endpoint)
            self._translators[key] = tuple(
                sorted(
                    address
                    for address, ports in ports_of.items()
                    if not self.owner_connects(address, *unjoined.endpoint)
                    or 0 < unseen <= 2 * self.not_owned(address, *unjoined.endpoint, ports) <= 4 * unseen
                )
            )
        return self._translators[key]

    def shared_ports(self, unjoined: UnjoinedDirection, server: Host) -> set[int]:
        """Return the client ports that other hosts with the server's address have established (DSR)."""
        others = [owner for owner in self._owners.get(unjoined.server_address, ()) if owner.host is not server]
        ports: set[int] = set()
        for other in others:
            index = self._established_at.setdefault(other.host.host, ServerIndex(other.latest.snapshot))
            states = index.snapshot.sockets.state
            rows = index.sockets.get(unjoined.direction, {}).items()
            ports.update(port for port, row in rows if states[row] is TcpState.ESTABLISHED)
        return ports

    def not_owned(self, address: str, server_address: str, port: int, client_ports: Collection[int]) -> int:
        """Return how many of an address's connections to this endpoint none of its owners has."""
        direction = (server_address, port, address)
        owners = self._owners.get(address, [])
        own = [index.sockets.get(direction, {}) for owner in owners for index in owner.indexes]
        return 0 if is_loopback(address) else sum(not any(one in ports for ports in own) for one in client_ports)

    def inner_ports(self, unjoined: UnjoinedDirection, owner: ClientSnapshots) -> frozenset[int]:
        """Return the unseen ports of connections of other network namespaces of an owner's machine to this endpoint."""
        machine, key = owner.machine, (*unjoined.endpoint, owner.host.host)
        if not machine:
            return frozenset()
        if key not in self._inner_ports:
            siblings = {one.host.host for one in self.all if one is not owner and one.machine == machine}
            unseen = self.unseen_ports(unjoined).items() if siblings else ()
            self._inner_ports[key] = frozenset(port for port, hosts in unseen if hosts & siblings)
        return self._inner_ports[key]


def _is_unseen(client: ClientSnapshots, unjoined: UnjoinedDirection) -> bool:
    """Return whether a host has connections to this endpoint, and the server shows none of them."""
    directions = client.directions_to(*unjoined.endpoint)
    established = {direction: client.latest.established(direction) for direction in directions}
    return bool(established) and all(
        len(unjoined.server_index.missing_ports(direction, ports)) == len(ports)
        for direction, ports in established.items()
    )


TAKE_AGAIN = f"take it again: {SS_COMMAND} (or netstat -anW)"
NAMES = 3
"""Addresses that a reason names."""


def hides_clients(unjoined: UnjoinedDirection, owner: ClientSnapshots, clients: Clients) -> bool:
    """Return whether the table of a peer address's owner does not show the clients of this direction."""
    return _shows_one_program(unjoined, owner) or _translates(unjoined, owner, clients)


def _shows_one_program(unjoined: UnjoinedDirection, owner: ClientSnapshots) -> bool:
    """Return whether server and client share a host, of which only one program's sockets are shown (lsof -p)."""
    return owner.latest.snapshot is unjoined.snapshot and not unjoined.table.shows_all_programs


def _translates(unjoined: UnjoinedDirection, owner: ClientSnapshots, clients: Clients) -> bool:
    """Return whether the owner of a peer address appears to translate for other hosts.

    Other hosts have connections of which the server shows none, and the owner has no connection of its own, or lacks no
    more than they have.
    """
    if owner.latest.table.ports_truncated or unjoined.table.ports_truncated:
        return False  # what appears to be unseen may be there with a truncated port
    if not (unseen := clients.unseen_count(unjoined)):
        return False
    if not owner.directions_to(*unjoined.endpoint):
        return True
    ports = unjoined.table.remote_port
    unexplained = {ports[row] for row in unjoined.rows} - clients.foreign_ports(unjoined, owner)
    return 0 < clients.not_owned(unjoined.client, *unjoined.endpoint, unexplained) <= unseen


def why_unseen(
    unjoined: UnjoinedDirection, server: Host, clients: Clients, middleboxes: tuple[Middlebox, ...]
) -> Missing | None:
    """Return why a client that the server does not show at all may be connected; None if it is not.

    Its address may be translated, or the address that it dials may be another server's.
    """
    if unjoined.server_address not in server.addresses | unjoined.server_index.addresses:
        return Missing(
            reason=f"no evidence shows whether {unjoined.server_address} is an address of {server.host}: its table "
            "contains no connection",
            lacks=(HostDescription.kind,),
            how=HostDescription.how,
        )
    owner = clients.owner(unjoined.client, server)
    listed = unjoined.server_index.inexact.ports(unjoined.server_port)
    if owner is not None and not listed.isdisjoint(owner.latest.established(unjoined.direction)):
        return Missing(
            reason=f"the server's table has ports of {unjoined.client} with a name or a truncated address",
            lacks=(SocketTable.kind,),
            how=TAKE_AGAIN,
        )
    for middlebox in middleboxes:
        if (unjoined.client, *unjoined.endpoint) in middlebox.translated_clients:
            first, more = sorted(middlebox.translated)[:NAMES], len(middlebox.translated) - NAMES
            translated = f"{', '.join(first)} and {more:,} more" if more > 0 else ", ".join(first)
            return Missing(reason=f"{middlebox.host} translates its address: see the connections from {translated}")
    peers = clients.possible_translators(unjoined)
    if not peers:
        return None
    return Missing(
        reason=f"the server shows no connection from {unjoined.client}, but some from {', '.join(peers[:NAMES])} "
        "that no host in the evidence has: its address may be translated",
        lacks=(FlowTable.kind,),
        how=FlowTable.how,
    )


def why_unread(
    unjoined: UnjoinedDirection,
    owner: ClientSnapshots | None,
    clients: Clients,
    middleboxes: tuple[Middlebox, ...],
) -> Missing:
    """Return why the client's end cannot be read, and how to collect it."""
    client, carried = unjoined.client, _carried_by(unjoined, middleboxes)
    if owner is not None and _shows_one_program(unjoined, owner):
        reason = f"the only table of {owner.host.host} shows one program's sockets, not those of its clients there"
        return Missing(reason=reason, lacks=(SocketTable.kind,), how=f"there: {SS_COMMAND}")
    if not (is_exact(client) and is_exact(unjoined.server_address)):
        reason = f"the table truncates this address or shows a name for it{carried}: only ports could be joined"
        return Missing(reason=reason, lacks=(SocketTable.kind,), how=TAKE_AGAIN)
    if owner is not None:
        reason = f"{client} appears to translate the addresses of other hosts{carried}"
        return Missing(reason=reason, lacks=(FlowTable.kind,), how=f"on {client}, as root: conntrack -L")
    if clients.owner_count(client) > 1:
        reason = f"{client} is an address of several hosts, so it does not identify one{carried}"
    else:
        reason = f"no socket table of {client}, which has {counted(len(unjoined.rows), 'connection')}{carried}"
    return Missing(
        reason=reason,
        lacks=(SocketTable.kind,),
        how=f"on {client}: {SS_COMMAND} (if it translates addresses: conntrack -L)",
    )


def _carried_by(unjoined: UnjoinedDirection, middleboxes: tuple[Middlebox, ...]) -> str:
    """Return, in brackets, what middleboxes show of the connections of a direction."""
    carried = [
        f"{middlebox.host} carries {count} of these {len(unjoined.rows)}"
        for middlebox in middleboxes
        if (count := sum(map(middlebox.carries, unjoined.keys())))
    ]
    proxies = (middlebox for middlebox in middleboxes if middlebox.relay is Relay.PROXY and middlebox.unjoined)
    carried += [f"{middlebox.host} {_sessions(middlebox)}" for middlebox in proxies]
    return f" ({'; '.join(carried)})" if carried else ""


def _sessions(middlebox: Middlebox) -> str:
    """Return, of a proxy whose table lacks the ports towards the server, how many sessions it has, and from whom."""
    clients = Counter(flow.client[0] for flow in middlebox.unjoined)
    named = ", ".join(f"{address} ({count})" for address, count in clients.most_common(3))
    more = ", …" if len(clients) > 3 else ""
    return (
        f"is a proxy with {counted(len(middlebox.unjoined), 'session')}, from {named}{more}; its table does not show "
        "which of them lead here (show sess all does), so only counts can be compared"
    )
