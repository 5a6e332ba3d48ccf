"""Carriers: the middleboxes that a direction's packets pass through, and what shows it.

A host that forwards packets may forward others' only. It counts for a direction if its flow table has carried it
(client address and server endpoint, translated or not), or if the routes that were read lead through it
(docs/how-it-decides.md, "What a middlebox may prove").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import is_loopback
from ldapdiag.evidence.flows import Relay

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.next_hops import NextHops
    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.socket_index import DirectionKey
    from ldapdiag.evidence.sockets import Key

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
