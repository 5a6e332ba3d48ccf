"""Pairing: the server's sockets held against those of the hosts that own the other end (DESIGN, section 5)."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.hosts.listeners import unfit_because
from ldapdiag.analysis.pairing import container_host
from ldapdiag.analysis.pairing.clients import Clients
from ldapdiag.analysis.pairing.direction import Direction, UnjoinedDirection
from ldapdiag.analysis.pairing.flow_tables import Box, boxes_of
from ldapdiag.analysis.pairing.joining import join
from ldapdiag.analysis.pairing.proxy_legs import held_legs
from ldapdiag.analysis.pairing.socket_index import ClientSnapshots, ServerIndex
from ldapdiag.analysis.pairing.via_translation import join_through
from ldapdiag.evidence.addresses import is_exact, is_loopback
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.flows import FlowTable, Relay
from ldapdiag.evidence.sockets import SS_COMMAND, SocketTable, TcpState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.hosts.snapshots import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Every direction that ends at one directory server."""

    kind: ClassVar[str] = "pairing"
    how: ClassVar[str] = SocketTable.how

    host: str
    directions: tuple[Direction, ...]


def pair(server: Instance, hosts: tuple[Host, ...], flows: tuple[FlowTable, ...]) -> Pairing | Missing:
    """Join every direction that ends at this server by the strongest key that works on its path."""
    host = next(one for one in hosts if one.host == server.host)
    unfit = "is not in the evidence" if host.latest is None else unfit_because(host.latest.sockets, server.ports)
    if unfit or host.latest is None:
        reason = f"the table of {server.host}'s sockets {unfit}"
        return Missing(host=server.host, reason=reason, lacks=(SocketTable.kind,), how=SocketTable.how)
    boxes = boxes_of(flows)
    clients = Clients(hosts, server, boxes)
    directions = [_direction(ends, host, clients, boxes) for ends in _directions(server, host.latest, clients)]
    return Pairing(host=server.host, directions=tuple(directions))


def _directions(server: Instance, look: Snapshot, clients: Clients) -> Iterator[UnjoinedDirection]:
    """Yield the directions the server sees, and those only a client sees, in order."""
    shown = ServerIndex(look, server.monitor)
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
        yield UnjoinedDirection(*end, rows[end], shown)


def _direction(ends: UnjoinedDirection, server: Host, clients: Clients, boxes: tuple[Box, ...]) -> Direction:
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
    if translator is not None and client is not None and container_host.is_end_too(ends, translator, client):
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
    ends: UnjoinedDirection, server: Host, client: ClientSnapshots, clients: Clients, boxes: tuple[Box, ...], box: Box
) -> Direction:
    """Join the connections of a host that translates for its containers: its own by its table, theirs by its flows."""
    own, inner = container_host.taken_apart(ends, box, client, clients.all)
    followed = inner.hosts | {client.host.host}
    stray = frozenset(port for port, hosts in clients.astray(ends).items() if not hosts <= followed)
    joined = join(own, server, client, boxes, stray, clients.shared(own, server))
    return container_host.together(joined, inner, box)


def _dials(client: ClientSnapshots, ends: UnjoinedDirection) -> bool:
    """Tell whether a host has connections of its own to this endpoint, as a proxy has."""
    return bool(client.ways_to(ends.server_address, ends.server_port))


def strays(ends: UnjoinedDirection, owner: ClientSnapshots, clients: Clients) -> frozenset[int]:
    """Return the ports of other hosts' connections to this endpoint that the server does not show as theirs.

    Their address was translated on the way, to the owner's perhaps: a container's host does that, and keeps the port
    when it can.
    """
    return frozenset(port for port, hosts in clients.astray(ends).items() if hosts != {owner.host.host})


def _translated(ends: UnjoinedDirection, clients: Clients, boxes: tuple[Box, ...]) -> Missing | None:
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


def _dialling(ends: UnjoinedDirection) -> tuple[str, str, int]:
    return ends.client, ends.server_address, ends.server_port


def _shows_one_program(ends: UnjoinedDirection, owner: ClientSnapshots) -> bool:
    """Tell whether server and client share a host, of which only one program's sockets are shown (lsof -p)."""
    return owner.latest.look is ends.look and not ends.look.sockets.shows_all_programs


def _forwards(ends: UnjoinedDirection, owner: ClientSnapshots, clients: Clients) -> bool:
    """Tell whether the owner of a peer address seems to stand in for others.

    Other hosts have connections of which the server shows none, and it has none of its own, or lacks no more than they
    have.
    """
    if owner.latest.table.ports_truncated or ends.look.sockets.ports_truncated:
        return False  # what seems unseen may stand there with its port cut
    if not (unseen := clients.unseen(ends)):
        return False
    if not owner.ways_to(ends.server_address, ends.server_port):
        return True
    own_ports = ends.look.sockets.remote_port
    unexplained = {own_ports[row] for row in ends.rows} - strays(ends, owner, clients)
    return 0 < clients.disowned(ends.client, ends.server_address, ends.server_port, unexplained) <= unseen


def _served(box: Box) -> str:
    """Return what the sessions of a proxy tell without their ports towards the server: how many, and of whom."""
    clients = Counter(flow.client[0] for flow in box.unjoined)
    named = ", ".join(f"{address} ({count})" for address, count in clients.most_common(3))
    return (
        f"is a proxy with {len(box.unjoined)} sessions, of {named}{', …' if len(clients) > 3 else ''}; which of them "
        "lead here its table does not tell, so only counts can be compared: show sess all tells"
    )


def _unread(
    ends: UnjoinedDirection, owner: ClientSnapshots | None, clients: Clients, boxes: tuple[Box, ...]
) -> Missing:
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
        return Missing(reason=reason, lacks=(SocketTable.kind,), how=f"there: {SS_COMMAND}")
    if not (is_exact(ends.client) and is_exact(ends.server_address)):
        reason = f"the table cut this address, or shows a name instead{aside}: only ports could be joined"
        return Missing(reason=reason, lacks=(SocketTable.kind,), how=f"take it again: {SS_COMMAND} (or netstat -anW)")
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
        how=f"on {ends.client}: {SS_COMMAND} (if it is a box that translates addresses: conntrack -L)",
    )
