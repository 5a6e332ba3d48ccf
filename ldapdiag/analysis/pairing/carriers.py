"""Carriers: the middleboxes that a direction's packets pass through, and what shows it.

A host that forwards packets may forward others' only. It counts for a direction if its flow table has carried it
(client address and server endpoint, translated or not), or if the routes that were read lead through it
(docs/how-it-decides.md, "What a middlebox may prove").

Forwarders: programs at the client's end that pass connections on, seen by the sockets that each process owns.

A connection through `ssh -L`, socat or stunnel ends at the forwarding program: its socket at the client's end shows
that the program runs, and nothing of the application behind it. The other socket of the same process is the
client-side leg. HAProxy and F5 have session tables, which show more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.listeners import is_relay
from ldapdiag.analysis.pairing.flow_tables import CARRIED, FlowEntry, Middlebox
from ldapdiag.evidence.addresses import ANY, ANY_PORT, UNKNOWN_PORT, is_loopback
from ldapdiag.evidence.flows import Relay
from ldapdiag.evidence.sockets import WITHOUT_PEER, Key, TcpState
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.next_hops import NextHops
    from ldapdiag.analysis.pairing.socket_index import ClientSnapshots, DirectionKey
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
    from ldapdiag.evidence.sockets import SocketTable

UNANSWERED = frozenset({"SYN_SENT", "SYN_SENT2"})
"""States of a flow whose first packet passed and was not answered (nf_conntrack_proto_tcp)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carriers:
    """The middleboxes of one direction, by what shows that they carry it."""

    by_table: frozenset[str] = frozenset()
    """Hosts whose flow table has connections that the server shows."""
    by_address: frozenset[str] = frozenset()
    """Hosts whose flow table has other connections between the same address and endpoint, and no table has those that
    the server shows: the tables may have been taken at different times, or the addresses exist twice."""
    proxies: frozenset[str] = frozenset()
    """Proxies whose session table has connections of this direction as legs."""
    by_route: frozenset[str] = frozenset()
    """Hosts that the routes of an end lead through, or whose address replaces the clients'."""
    owner: str | None = None
    """The host that owns the client address that the server sees, if that is no client: a proxy, or unread."""
    empty: frozenset[str] = frozenset()
    """Of those by route, the hosts whose table is empty, without a sign that packets pass through their tracking."""
    may_carry: frozenset[str] = frozenset()
    """Where nothing else shows the path: hosts that forward connections of other clients to the same endpoint."""
    direct: bool = False
    """Both ends are on one host or in one subnet, and no middlebox between them is known."""

    @property
    def all(self) -> frozenset[str]:
        """Return the hosts that forward the packets of the direction, or end its connections."""
        return self.by_table | self.by_address | self.by_route | self.proxies


UNKNOWN = Carriers()
DIRECT = Carriers(direct=True)


def find_carriers(
    direction: DirectionKey,
    ports: Collection[int],
    server: Host,
    ends: Collection[str],
    middleboxes: Sequence[Middlebox],
    hops: NextHops,
) -> Carriers:
    """Find the middleboxes of a direction, of which the server shows these client ports; `ends` are none of them."""
    tracking = [box for box in middleboxes if box.relay is Relay.PROXY or box.host not in {server.host, *ends}]
    found = list(_carrying(direction, frozenset(ports), tracking)) if tracking else []
    owner = hops.owner(direction[2])
    if owner is not None and (owner == server.host or owner in ends):
        owner = None
    by_route = on_route(direction, server, ends, hops)
    if owner is not None and hops.shows_sockets(owner):
        by_route |= {owner}  # it has none of these connections itself: see not_joined
    if not (found or by_route or owner):
        if _is_direct(direction, server, ends, hops):
            return DIRECT
        may_carry = frozenset(box.host for box in tracking if direction[:2] in box.forwards_to)
        return Carriers(may_carry=may_carry) if may_carry else UNKNOWN
    forwarded = [(box.host, is_shown) for box, is_shown in found if box.relay is Relay.NAT]
    by_table = frozenset(host for host, is_shown in forwarded if is_shown)
    return Carriers(
        by_table=by_table,
        by_address=frozenset() if by_table else frozenset(host for host, _ in forwarded),
        proxies=frozenset(box.host for box, _ in found if box.relay is Relay.PROXY),
        by_route=by_route,
        owner=owner,
        empty=frozenset(box.host for box in tracking if box.host in by_route and not (box.tracks or box.flows)),
    )


def _carrying(
    direction: DirectionKey, ports: frozenset[int], middleboxes: Sequence[Middlebox]
) -> Iterator[tuple[Middlebox, bool]]:
    """Yield the middleboxes that carry a direction, and whether they have connections that the server shows.

    Where one translates addresses, those on its client side have the connection under the client's own.
    """
    pending = {direction: ports}
    done: set[DirectionKey] = set()
    while pending:
        wanted, shown = pending.popitem()
        done.add(wanted)
        for middlebox in middleboxes:
            keys = [key for key in middlebox.keys_by_direction.get(wanted, ()) if _is_answered(middlebox, key)]
            if not keys:
                continue
            exact = [key for key in keys if key[3] in shown]
            yield middlebox, bool(exact)
            if middlebox.relay is Relay.NAT:
                for client_side, behind in _before_translation(middlebox, exact or keys).items():
                    if client_side not in done:
                        pending[client_side] = pending.get(client_side, frozenset()) | behind


def _is_answered(middlebox: Middlebox, key: Key) -> bool:
    return middlebox.flows[key].state not in UNANSWERED


def _before_translation(middlebox: Middlebox, keys: Sequence[Key]) -> dict[DirectionKey, frozenset[int]]:
    """Return the directions and client ports of these flows as their clients' hosts have them."""
    found: dict[DirectionKey, set[int]] = {}
    for key in keys:
        address, port, destination, destination_port = middlebox.flows[key].client
        found.setdefault((destination, destination_port, address), set()).add(port)
    return {direction: frozenset(ports) for direction, ports in found.items()}


def on_route(direction: DirectionKey, server: Host, ends: Collection[str], hops: NextHops) -> frozenset[str]:
    """Return the hosts that the routes of either end lead through; without their routes, the one that joins both."""
    address, _, client = direction
    ways = [hops.way(server.host, client), *(hops.way(end, address) for end in ends)]
    found = {host for way in ways for host in way.through}
    if not any(way.known for way in ways) and (between := hops.joining(address, client)):
        found.add(between)
    return frozenset(found - {server.host, *ends})


def on_both_routes(direction: DirectionKey, server: Host, client: Host, hops: NextHops) -> frozenset[str]:
    """Return the hosts that packets pass through in either way: the connection tracking of each sees all of them."""
    address, _, peer = direction
    ways = hops.way(server.host, peer), hops.way(client.host, address)
    return frozenset(ways[0].through).intersection(ways[1].through) - {server.host, client.host}


def _is_direct(direction: DirectionKey, server: Host, ends: Collection[str], hops: NextHops) -> bool:
    """Return whether nothing can be between both ends: they are on one host, or attached to one network."""
    address, _, client = direction
    if is_loopback(client) or client in server.addresses or server.host in ends:
        return True
    return hops.way(server.host, client).attached or any(hops.way(end, address).attached for end in ends)


SEVERAL_LEGS: Key = (ANY, UNKNOWN_PORT, ANY, UNKNOWN_PORT)
FEWER_LEGS: Key = (ANY, ANY_PORT, ANY, UNKNOWN_PORT)
"""The process has fewer established client-side sockets than connections to the server, or none."""
GONE = WITHOUT_PEER | {TcpState.TIME_WAIT, TcpState.CLOSED}


def find_forwarder(unjoined: UnjoinedDirection, client: ClientSnapshots) -> Middlebox | None:
    """Return the sessions of a forwarding program that has connections of this direction; None without one.

    A process with one client-side socket passes all its connections to the server on from there (sshd, a child of
    socat). Which socket belongs to which is not known of a process that has several.
    """
    table, rows = client.latest.table, client.latest.established(unjoined.direction)
    owners = table.owner
    forwarded = {port: row for port, row in rows.items() if owners and is_relay(owners[row])}
    if owners is None or not forwarded:
        return None
    legs = _client_side_legs(table, set(rows.values()))
    pids = {port: table.pid[row] if table.pid else None for port, row in forwarded.items()}
    counts = Counter(pids.values())
    leg_of = {pid: _leg(table, legs.get(pid, ()) if pid else (), counts[pid]) for pid in counts}
    flows = {(*unjoined.direction, port): FlowEntry(leg_of[pid], CARRIED) for port, pid in pids.items()}
    return Middlebox(
        host=client.host.host,
        program=min(owners[row] for row in forwarded.values()),
        relay=Relay.PROXY,
        whole=False,
        tracks=True,
        flows=flows,
        keys_by_direction={unjoined.direction: tuple(flows)},
        client_keys=frozenset(),
        translated_clients=frozenset(),
        translated=frozenset(),
        unjoined=(),
        times=(client.latest.snapshot.taken,),
        longest_left={},
        origins=client.latest.snapshot.origins,
    )


def _client_side_legs(table: SocketTable, to_server: set[int]) -> Mapping[int, Sequence[int]]:
    """Return the other connected sockets of each process; those that it has accepted, if any."""
    listening = {port for port, state in zip(table.local_port, table.state, strict=True) if state is TcpState.LISTEN}
    accepted: dict[int, list[int]] = defaultdict(list)
    opened: dict[int, list[int]] = defaultdict(list)
    for row, pid in enumerate(table.pid or ()):
        if pid and row not in to_server and table.state[row] not in GONE:
            (accepted if table.local_port[row] in listening else opened)[pid].append(row)
    return opened | accepted


def _leg(table: SocketTable, legs: Sequence[int], forwarded: int) -> Key:
    """Return the client's end of the only client-side leg of a process, as the client's host writes it."""
    if len(legs) != 1:
        established = sum(table.state[row] is TcpState.ESTABLISHED for row in legs)
        return SEVERAL_LEGS if established >= forwarded else FEWER_LEGS
    (leg,) = legs
    return table.remote_address[leg], table.remote_port[leg], table.local_address[leg], table.local_port[leg]
