"""Pairing: the server's sockets held against those of the hosts that own the other end (DESIGN, section 5)."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis import gateway
from ldapdiag.analysis.boxes import Box, boxes_of
from ldapdiag.analysis.direction import Direction, Ends
from ldapdiag.analysis.held import held_legs
from ldapdiag.analysis.hosts import Host
from ldapdiag.analysis.joining import join
from ldapdiag.analysis.listeners import unfit_because
from ldapdiag.analysis.servers import DirectoryServer
from ldapdiag.analysis.through_box import join_through, machine_of
from ldapdiag.analysis.views import Client, Shown, Way
from ldapdiag.evidence.addresses import is_exact, is_loopback
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.flows import FlowTable, Relay
from ldapdiag.evidence.sockets import TAKE_TABLE, SocketTable, TcpState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from ldapdiag.analysis.looks import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Every direction that ends at one directory server."""

    kind: ClassVar[str] = "pairing"
    how: ClassVar[str] = SocketTable.how

    host: str
    directions: tuple[Direction, ...]


def pair(server: DirectoryServer, hosts: tuple[Host, ...], flows: tuple[FlowTable, ...]) -> Pairing | Missing:
    """Join every direction that ends at this server by the strongest key that works on its path."""
    host = next(one for one in hosts if one.host == server.host)
    unfit = "is not in the evidence" if host.now is None else unfit_because(host.now.sockets, server.ports)
    if unfit or host.now is None:
        reason = f"the table of {server.host}'s sockets {unfit}"
        return Missing(host=server.host, reason=reason, lacks=(SocketTable.kind,), how=SocketTable.how)
    boxes = boxes_of(flows)
    clients = Clients(hosts, server, boxes)
    directions = [_direction(ends, host, clients, boxes) for ends in _directions(server, host.now, clients)]
    return Pairing(host=server.host, directions=tuple(directions))


class Clients:
    """The hosts whose tables were read, by the addresses they own."""

    def __init__(self, hosts: tuple[Host, ...], server: DirectoryServer, boxes: tuple[Box, ...] = ()) -> None:
        self._boxes = boxes
        self._owners: dict[str, list[Client]] = defaultdict(list)
        self._astray: dict[tuple[str, int], dict[int, set[str]]] = {}
        self._unseen: dict[tuple[str, int], dict[Way, int]] = {}
        known = [Client(host, server.ports if host.host == server.host else frozenset()) for host in hosts]
        self.all = [client for client in known if client.views]
        for client in self.all:
            for address in client.host.addresses:
                self._owners[address].append(client)

    def owner(self, address: str, server: Host) -> Client | None:
        """Return the only host that owns an address; loopback never leaves the server's own host."""
        if is_loopback(address):
            return next(client for client in self.all if client.host is server)
        owners = self._owners.get(address, [])
        return owners[0] if len(owners) == 1 else None

    def astray(self, ends: Ends) -> Mapping[int, set[str]]:
        """Return the hosts of connections to this endpoint that the server does not show at all, by client port."""
        endpoint = ends.server_address, ends.server_port
        if endpoint not in self._astray:
            found = self._astray[endpoint] = defaultdict(set)
            for client in self.all:
                for way in client.ways_to(*endpoint):
                    for port in ends.shown.lacks(way, client.latest.established(way)):
                        found[port].add(client.host.host)
        return self._astray[endpoint]

    def shared(self, ends: Ends, server: Host) -> set[int]:
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

    def unseen(self, ends: Ends) -> int:
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

    def inner(self, ends: Ends, owner: Client) -> set[int]:
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


def _directions(server: DirectoryServer, look: Look, clients: Clients) -> Iterator[Ends]:
    """Yield the directions the server sees, and those only a client sees, in order."""
    shown = Shown(look, server.monitor)
    table = look.sockets
    rows: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    ends = zip(table.remote_address, table.local_address, table.local_port, strict=True)
    for row, (state, end) in enumerate(zip(table.state, ends, strict=True)):
        if state is TcpState.ESTABLISHED and end[2] in server.ports:
            rows[end].append(row)
    local = {(address, port) for _, address, port in rows} | {
        (address, port) for address in set(table.local_address) for port in server.ports if not is_loopback(address)
    }
    for client in clients.all:
        for remote, port, address in client.dialled():
            if (remote, port) in local and not is_loopback(remote):
                rows.setdefault((address, remote, port), [])
    for end in sorted(rows):
        yield Ends(*end, rows[end], shown)


def _direction(ends: Ends, server: Host, clients: Clients, boxes: tuple[Box, ...]) -> Direction:
    """Join one direction: through the box that translates its address, or with the host that owns it."""
    if not ends.rows and (missing := _translated(ends, clients, boxes)):
        return Direction(
            client=ends.client,
            server_address=ends.server_address,
            server_port=ends.server_port,
            origins=ends.look.origins,
            missing=missing,
        )
    translator = next((box for box in boxes if ends.client in box.translated), None)
    client = clients.owner(ends.client, server)
    proxy = translator if translator is not None and translator.relay is Relay.PROXY else None
    if translator is not None and client is not None and gateway.is_end_too(ends, translator, client):
        return _of_gateway(ends, server, client, clients, boxes, translator)
    if translator is not None and not (proxy and client and _dials(client, ends)):
        joined = join_through(ends, translator, clients.all, client)
        return replace(joined, held=held_legs(ends, server, proxy, clients.all, None)) if proxy else joined
    if client is not None and not _shows_one_program(ends, client) and not _forwards(ends, client, clients):
        stray, shared = strays(ends, client, clients), clients.shared(ends, server)
        joined = join(ends, server, client, boxes, stray, shared, clients.inner(ends, client))
        return replace(joined, held=held_legs(ends, server, proxy, clients.all, client)) if proxy else joined
    return Direction(
        client=ends.client,
        server_address=ends.server_address,
        server_port=ends.server_port,
        server_count=len(ends.rows),
        boxes=tuple(box.host for box in boxes if any(map(box.carries, ends.keys()))),
        origins=ends.look.origins,
        missing=_unread(ends, client, clients, boxes),
    )


def _of_gateway(
    ends: Ends, server: Host, client: Client, clients: Clients, boxes: tuple[Box, ...], box: Box
) -> Direction:
    """Join the connections of a host that translates for its containers: its own by its table, theirs by its flows."""
    own, inner = gateway.taken_apart(ends, box, clients.all)
    followed = inner.hosts | {client.host.host}
    stray = frozenset(port for port, hosts in clients.astray(ends).items() if not hosts <= followed)
    joined = join(own, server, client, boxes, stray, clients.shared(own, server))
    return gateway.together(joined, inner, box)


def _dials(client: Client, ends: Ends) -> bool:
    """Tell whether a host has connections of its own to this endpoint, as a proxy has."""
    return bool(client.ways_to(ends.server_address, ends.server_port))


def strays(ends: Ends, owner: Client, clients: Clients) -> frozenset[int]:
    """Return the ports of other hosts' connections to this endpoint that the server does not show as theirs.

    Their address was translated on the way, to the owner's perhaps: a container's host does that, and keeps the port
    when it can.
    """
    return frozenset(port for port, hosts in clients.astray(ends).items() if hosts != {owner.host.host})


def _translated(ends: Ends, clients: Clients, boxes: tuple[Box, ...]) -> Missing | None:
    """Return why a client that the server does not show at all may still be there, behind another address."""
    for box in boxes:
        if _dialling(ends) in box.hidden:
            reason = f"{box.host} translates its address: see the connections from {', '.join(sorted(box.translated))}"
            return Missing(reason=reason)
    table = ends.look.sockets
    endpoint = ends.server_address, ends.server_port
    seen: dict[str, list[int]] = defaultdict(list)
    for key, state in zip(table.keys(), table.state, strict=True):
        if state is TcpState.ESTABLISHED and key[:2] == endpoint:
            seen[key[2]].append(key[3])
    dialled = clients.unseen(ends)
    # An address whose owner lacks about as many as others have unseen may stand in for them; one of many ghosts not.
    peers = {
        address
        for address, ports in seen.items()
        if not clients.speak_for(address, *endpoint)
        or 0 < dialled <= 2 * clients.disowned(address, *endpoint, ports) <= 4 * dialled
    }
    if not peers:
        return None
    return Missing(
        reason=f"the server shows no connection from {ends.client}, but some from {', '.join(sorted(peers)[:3])}, "
        "which are no connections of a host that was read: its address may be translated",
        lacks=(FlowTable.kind,),
        how=FlowTable.how,
    )


def _dialling(ends: Ends) -> tuple[str, str, int]:
    return ends.client, ends.server_address, ends.server_port


def _shows_one_program(ends: Ends, owner: Client) -> bool:
    """Tell whether server and client share a host, of which only one program's sockets are shown (lsof -p)."""
    return owner.latest.look is ends.look and not ends.look.sockets.shows_all_programs


def _forwards(ends: Ends, owner: Client, clients: Clients) -> bool:
    """Tell whether the owner of a peer address seems to stand in for others.

    Other hosts have connections of which the server shows none, and it has none of its own, or lacks no more than they
    have.
    """
    if owner.latest.table.cuts_ports or ends.look.sockets.cuts_ports:
        return False  # what seems unseen may stand there with its port cut
    if not (unseen := clients.unseen(ends)):
        return False
    if not owner.ways_to(ends.server_address, ends.server_port):
        return True
    own_ports = ends.look.sockets.remote_port
    unexplained = {own_ports[row] for row in ends.rows} - strays(ends, owner, clients)
    return 0 < clients.disowned(ends.client, ends.server_address, ends.server_port, unexplained) <= unseen


def _is_unseen(client: Client, ends: Ends) -> bool:
    """Tell whether a host has connections to this endpoint, and the server shows none of them."""
    ways = client.ways_to(ends.server_address, ends.server_port)
    held = {way: client.latest.established(way) for way in ways}
    return bool(held) and all(len(ends.shown.lacks(way, ports)) == len(ports) for way, ports in held.items())


def _served(box: Box) -> str:
    """Return what the sessions of a proxy tell without their ports towards the server: how many, and of whom."""
    clients = Counter(flow.client[0] for flow in box.unjoined)
    named = ", ".join(f"{address} ({count})" for address, count in clients.most_common(3))
    return (
        f"is a proxy with {len(box.unjoined)} sessions, of {named}{', …' if len(clients) > 3 else ''}; which of them "
        "lead here its table does not tell, so only counts can be compared: show sess all tells"
    )


def _unread(ends: Ends, owner: Client | None, clients: Clients, boxes: tuple[Box, ...]) -> Missing:
    """Return why the client's end cannot be read, and how to get it."""
    carried = [
        f"{box.host} carries {known} of these {len(ends.rows)}"
        for box in boxes
        if (known := sum(map(box.carries, ends.keys())))
    ]
    carried += [f"{box.host} {_served(box)}" for box in boxes if box.relay is Relay.PROXY and box.unjoined]
    aside = f" ({'; '.join(carried)})" if carried else ""
    if owner is not None and _shows_one_program(ends, owner):
        reason = f"the only table of {owner.host.host} shows one program's sockets, not those of its clients there"
        return Missing(reason=reason, lacks=(SocketTable.kind,), how=f"there: {TAKE_TABLE}")
    if not (is_exact(ends.client) and is_exact(ends.server_address)):
        reason = f"the table cut this address, or shows a name instead{aside}: only ports could be joined"
        return Missing(reason=reason, lacks=(SocketTable.kind,), how=f"take it again: {TAKE_TABLE} (or netstat -anW)")
    if owner is not None:
        reason = f"{ends.client} seems to stand in for other hosts (address translation){aside}"
        return Missing(reason=reason, lacks=(FlowTable.kind,), how=f"on {ends.client}, as root: conntrack -L")
    if clients.owners(ends.client) > 1:
        reason = f"{ends.client} is an address of several hosts, so it tells nobody's end{aside}"
    else:
        reason = f"no socket table of {ends.client}{aside}"
    return Missing(
        reason=reason,
        lacks=(SocketTable.kind,),
        how=f"on {ends.client}: {TAKE_TABLE} (if it is a box that translates addresses: conntrack -L)",
    )
