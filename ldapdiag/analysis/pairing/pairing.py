"""Pairing: the server's connections joined with those of the hosts at the other end (docs/how-it-decides.md).

Container host: a client's host that also translates for its containers, whose connections use its own address.

The host's connection tracking shows which of the server's connections are a container's. It proves nothing of the
host's own connections: it keeps entries for minutes after the host has closed them without an answer.

Network namespaces of one machine: whether all were read is known of the machine, and holds for each of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.hosts.ages import column_seconds
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.hosts.listeners import unfit_because
from ldapdiag.analysis.pairing import clients as not_joined
from ldapdiag.analysis.pairing.carriers import find_carriers, find_forwarder, on_both_routes
from ldapdiag.analysis.pairing.clients import Clients
from ldapdiag.analysis.pairing.direction import Direction, HalfOpen, Path
from ldapdiag.analysis.pairing.flow_tables import Middlebox, merge_flow_tables, rows_without_flow_beyond
from ldapdiag.analysis.pairing.half_open import unanswered_ports
from ldapdiag.analysis.pairing.joining import Joined, join
from ldapdiag.analysis.pairing.proxy_legs import match_legs
from ldapdiag.analysis.pairing.severed import TrackingBox, find_severed, severed_behind_nat, with_severed
from ldapdiag.analysis.pairing.socket_index import ServerIndex
from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
from ldapdiag.analysis.pairing.via_translation import join_via_translation, trace_rows
from ldapdiag.analysis.pairing.without_entry import MatchedEnds, Pair
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.addresses import is_loopback
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.flows import FlowTable, Relay
from ldapdiag.evidence.sockets import SocketTable, TcpState
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.analysis.hosts.next_hops import NextHops
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.analysis.pairing.carriers import Carriers
    from ldapdiag.analysis.pairing.socket_index import ClientSnapshots
    from ldapdiag.analysis.pairing.via_translation import TracedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Every direction to one directory server."""

    kind: ClassVar[str] = "pairing"
    how: ClassVar[str] = SocketTable.how

    server: str
    """The server, by the name of its instance."""
    host: str
    ports: frozenset[int] = frozenset()
    """Those of the server."""
    directions: tuple[Direction, ...]
    """Each has a connection that an end shows as established."""


@provides(Pairing)
def pair(server: Instance, hosts: tuple[Host, ...], flows: tuple[FlowTable, ...]) -> Pairing | Missing:
    """Join every direction to this server by the strongest key that fits its path."""
    hosts = with_unread_namespaces(hosts)
    host = next(one for one in hosts if one.host == server.host)
    unfit = "is not in the evidence" if host.latest is None else unfit_because(host.latest.sockets, server.ports)
    if unfit or host.latest is None:
        reason = f"the table of {server.host}'s sockets {unfit}"
        return Missing(host=server.name, reason=reason, lacks=(SocketTable.kind,), how=SocketTable.how)
    middleboxes = tuple(_with_use(flows, hosts, host.latest.number))
    clients = Clients(hosts, server, middleboxes)
    on_path = _PathFinder(host, {one.host: one for one in hosts}, clients, middleboxes, clients.hops)
    directions = [
        on_path.complete(_join_direction(direction, host, clients, middleboxes), direction)
        for direction in _find_directions(server, host, host.latest, clients)
    ]
    return Pairing(server=server.name, host=server.host, ports=server.ports, directions=tuple(directions))


def _with_use(flows: tuple[FlowTable, ...], hosts: tuple[Host, ...], snapshot: int) -> Iterator[Middlebox]:
    """Yield the middleboxes; of an empty table, rules and counters show whether packets pass through it."""
    by_name = {one.host: one for one in hosts}
    for box in merge_flow_tables(flows, snapshot):
        host = by_name.get(box.host)
        used, versions = (host.uses_tracking, host.tracked_versions) if host else (False, frozenset[str]())
        own = host.addresses if host else frozenset[str]()
        forwards_to = {
            key[:2]
            for key, flow in box.flows.items()
            if box.carries(key) and own.isdisjoint((key[0], key[2], flow.client[0]))
        }
        yield replace(
            box,
            tracks=box.tracks or used,
            versions=box.versions | versions,
            forwards_to=frozenset(forwards_to) if box.relay is Relay.NAT else frozenset(),
        )


@dataclass(frozen=True, slots=True)
class _PathFinder:
    """Finds the middleboxes on the path of each direction, and what they have severed."""

    server: Host
    hosts: Mapping[str, Host]
    clients: Clients
    middleboxes: tuple[Middlebox, ...]
    hops: NextHops
    paths: dict[Path, Path] = field(default_factory=dict)
    """Equal ones are one object in memory: most directions take one of few paths."""

    def complete(self, joined: Joined, unjoined: UnjoinedDirection) -> Direction:
        """Return a direction with its middleboxes; a host that translates for its containers is one."""
        direction = joined.direction
        ends = set(direction.client_hosts) - set(direction.path.middleboxes)
        ports = unjoined.server_index.sockets.get(unjoined.direction, {})
        carriers = find_carriers(unjoined.direction, ports, self.server, ends, self.middleboxes, self.hops)
        path = replace(direction.path, carriers=carriers)
        direction = replace(direction, path=self.paths.setdefault(path, path))
        if joined.matched is not None and joined.matched.pairs:
            beside = [
                TrackingBox(box, self.hosts.get(box.host), carries_path=False)
                for box in self.middleboxes
                if box.host in carriers.may_carry
            ]
            return with_severed(direction, joined.matched, list(self._tracking(carriers, unjoined)), beside)
        if direction.missing is None:
            return direction
        return self._unread(direction, unjoined) if unjoined.rows else self._behind_nat(direction, unjoined)

    def _unread(self, direction: Direction, unjoined: UnjoinedDirection) -> Direction:
        """Return a direction whose client was not read, with what a middlebox on its path has no entry for."""
        pairs = tuple(Pair(row, None) for row in unjoined.rows)
        boxes = [one for one in self._tracking(direction.path.carriers, unjoined) if not one.translates]
        severed = find_severed(MatchedEnds(unjoined, None, (), pairs), boxes)
        if not (severed.middlebox or severed.unanswered_ports):
            return direction
        possible = tuple(port for port in direction.ghosts.possible_ports if port not in set(severed.ports))
        origins = {path for box in boxes if box.box.host == severed.middlebox for path in box.box.origins}
        return replace(
            direction,
            severed=severed,
            ghosts=replace(direction.ghosts, possible_ports=possible),
            origins=tuple(sorted(origins.union(direction.origins))),
        )

    def _behind_nat(self, direction: Direction, unjoined: UnjoinedDirection) -> Direction:
        """Return a direction that only the client shows, with the connections that a NAT on its path has severed."""
        client = self.clients.owner(unjoined.client, self.server)
        if client is None:
            return direction
        ends = {client.host.host, self.server.host}
        boxes = (one for one in self._tracking(direction.path.carriers, unjoined) if one.box.host not in ends)
        severed = severed_behind_nat(unjoined, client, list(boxes))
        connected = len(client.latest.established(unjoined.direction))
        return replace(direction, severed=severed, client_hosts=(client.host.host,), client_count=connected)

    def _tracking(self, carriers: Carriers, unjoined: UnjoinedDirection) -> Iterator[TrackingBox]:
        """Yield the middleboxes on a path that track packets; a proxy's host is an end of its own connections."""
        on_path = carriers.all - carriers.proxies
        client = self.clients.owner(unjoined.client, self.server)
        both = on_both_routes(unjoined.direction, self.server, client.host, self.hops) if client else frozenset()
        for box in self.middleboxes:
            translates = (unjoined.client, *unjoined.endpoint) in box.translated_clients
            if box.relay is Relay.NAT and (translates or box.host in on_path):
                carries = translates or box.host in carriers.by_table | carriers.by_address
                yield TrackingBox(
                    box,
                    self.hosts.get(box.host),
                    carries,
                    is_on_route=box.host in carriers.by_route,
                    is_on_both_routes=box.host in both,
                    translates=translates,
                )


def _find_directions(server: Instance, host: Host, snapshot: Snapshot, clients: Clients) -> Iterator[UnjoinedDirection]:
    """Yield the directions that the server shows, and those that only a client shows, in order.

    Of a server that has lost all its connections the table shows listeners only: its addresses are the host's. Where
    none is known, it may have any address that no other host has, and such directions are not judged.
    """
    index = ServerIndex(snapshot, server.monitor)
    table = snapshot.sockets
    own = {address for address in host.addresses.union(table.local_address) if not is_loopback(address)}
    rows: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    directions = zip(table.remote_address, table.local_address, table.local_port, strict=True)
    for row, (state, direction) in enumerate(zip(table.state, directions, strict=True)):
        if state is TcpState.ESTABLISHED and server.serves(direction[1], direction[2]):
            rows[direction].append(row)
    for client in clients.all:
        if host.addresses and own.isdisjoint(client.latest.remote_addresses):
            continue
        for address, port, client_address in client.established_directions():
            may_be_own = address in own or not (host.addresses or is_loopback(address) or clients.owner_count(address))
            if may_be_own and server.serves(address, port):
                rows.setdefault((client_address, address, port), [])
    for direction in sorted(rows):
        yield UnjoinedDirection(*direction, rows[direction], index)


def _join_direction(
    unjoined: UnjoinedDirection, server: Host, clients: Clients, middleboxes: tuple[Middlebox, ...]
) -> Joined:
    """Join one direction: via the middlebox that translates its address, or with the host that owns it."""
    if not unjoined.rows and (missing := not_joined.why_unseen(unjoined, server, clients, middleboxes)):
        return Joined(_not_judged(unjoined, missing))
    translator = next((middlebox for middlebox in middleboxes if unjoined.client in middlebox.translated), None)
    client = clients.owner(unjoined.client, server)
    proxy = translator if translator is not None and translator.relay is Relay.PROXY else None
    if translator and client and is_container_host(unjoined, translator, client):
        return Joined(_join_container_host(unjoined, server, client, clients, middleboxes, translator))
    connects = client is not None and bool(client.directions_to(*unjoined.endpoint))
    if translator is not None and not (proxy and connects):
        joined = Joined(join_via_translation(unjoined, translator, clients.all, client, middleboxes))
        legs_of = None
    elif client is not None and not not_joined.hides_clients(unjoined, client, clients):
        foreign, shared = clients.foreign_ports(unjoined, client), clients.shared_ports(unjoined, server)
        inner = clients.inner_ports(unjoined, client)
        between = on_both_routes(unjoined.direction, server, client.host, clients.hops)
        placed = [
            replace(middlebox, on_route=True) if middlebox.host in between else middlebox for middlebox in middleboxes
        ]
        joined = join(unjoined, server, client, placed, foreign, shared, inner)
        legs_of = client
    else:
        carrying = tuple(middlebox.host for middlebox in middleboxes if any(map(middlebox.carries, unjoined.keys())))
        missing = not_joined.why_unread(unjoined, client, clients, middleboxes)
        return Joined(_not_judged(unjoined, missing, Path(middleboxes=carrying)))
    if proxy is None and legs_of is not None:
        proxy = find_forwarder(unjoined, legs_of)
    if proxy is None:
        return joined
    legs = match_legs(unjoined, server, proxy, clients.all, legs_of)
    return joined._replace(direction=replace(joined.direction, proxy_legs=legs))


def _not_judged(unjoined: UnjoinedDirection, missing: Missing, path: Path | None = None) -> Direction:
    return Direction(
        client=unjoined.client,
        server_address=unjoined.server_address,
        server_port=unjoined.server_port,
        server_count=len(unjoined.rows),
        ghosts=HalfOpen(possible_ports=unanswered_ports(unjoined)),
        path=path or Path(),
        missing=missing,
        origins=unjoined.snapshot.origins,
    )


def _join_container_host(
    unjoined: UnjoinedDirection,
    server: Host,
    client: ClientSnapshots,
    clients: Clients,
    middleboxes: tuple[Middlebox, ...],
    tracker: Middlebox,
) -> Direction:
    """Join the connections of a host that translates for containers: its own by its table, the others by its flows."""
    own, inner = split_rows(unjoined, tracker, client, clients.all, middleboxes)
    traced = inner.hosts | {client.host.host}
    foreign = frozenset(port for port, hosts in clients.unseen_ports(unjoined).items() if not hosts <= traced)
    joined = join(own, server, client, middleboxes, foreign, clients.shared_ports(own, server))
    return add_translated(joined.direction, inner, tracker)


def is_container_host(unjoined: UnjoinedDirection, middlebox: Middlebox, client: ClientSnapshots) -> bool:
    """Return whether the middlebox is the client's own host, and some of these connections are its own."""
    if middlebox.host != client.host.host or middlebox.relay is not Relay.NAT:
        return False
    keys = middlebox.keys_by_direction.get(unjoined.direction, ())
    own_flows = any(middlebox.flows[key].client[0] == unjoined.client for key in keys)
    return own_flows or any(unjoined.direction in index.sockets for index in client.indexes)


def split_rows(
    unjoined: UnjoinedDirection,
    middlebox: Middlebox,
    client: ClientSnapshots,
    clients: Sequence[ClientSnapshots],
    middleboxes: Sequence[Middlebox] = (),
) -> tuple[UnjoinedDirection, TracedRows]:
    """Return the connections that are the host's own, and the traced ones that it translates.

    Those that no known container has and a middlebox on the path has lost are dead, and judged as the host's own.
    Its own may have a translated port, too. Connections opened after its flows were listed may be either.
    """
    flows = {row: middlebox.flows.get(unjoined.key_of(row)) for row in unjoined.rows}
    inner = {row for row, flow in flows.items() if flow is not None and flow.client[:2] != unjoined.key_of(row)[2:]}
    matched = trace_rows(replace(unjoined, rows=sorted(inner)), middlebox, clients, None).matched
    inner -= rows_without_flow_beyond(middlebox, middleboxes, unjoined, inner.difference(matched)).rows
    own = [row for row in unjoined.rows if row not in inner]
    newer = {row for row in own if flows[row] is None and _may_be_newer(middlebox, unjoined, client, row)}
    inner_rows = [row for row in unjoined.rows if row in inner]
    traced = trace_rows(replace(unjoined, rows=inner_rows), middlebox, clients, None)
    if newer:
        reason = f"opened after the flows of {middlebox.host} were listed: the host's own, or a container's"
        traced = replace(traced, unproven=Counter(traced.unproven) + Counter({reason: len(newer)}))
    return replace(unjoined, rows=[row for row in own if row not in newer]), traced


def _has_socket(client: ClientSnapshots, unjoined: UnjoinedDirection, row: int) -> bool:
    port = unjoined.table.remote_port[row]
    return any(port in index.sockets.get(unjoined.direction, {}) for index in client.indexes)


def _may_be_newer(middlebox: Middlebox, unjoined: UnjoinedDirection, client: ClientSnapshots, row: int) -> bool:
    """Return whether a connection without a socket on the host may have been opened after its flows were listed."""
    snapshot = unjoined.snapshot
    if _has_socket(client, unjoined, row):
        return False
    taken = middlebox.nearest_time(snapshot.taken)
    age = column_seconds(snapshot.sockets.last_received, row)
    if taken is None or snapshot.taken is None:
        return False
    return age is None or age <= snapshot.taken.seconds_apart(taken)


def add_translated(own: Direction, inner: TracedRows, middlebox: Middlebox) -> Direction:
    """Return the direction of the host's own connections with those that it translates added."""
    unproven = Counter(own.ghosts.unproven) + Counter(inner.unproven)
    return replace(
        own,
        server_count=own.server_count + inner.count,
        client_count=None if own.client_count is None else own.client_count + len(inner.matched),
        matched=own.matched + len(inner.matched),
        closing=own.closing + inner.closing,
        ghosts=replace(own.ghosts, unproven=dict(sorted(unproven.items()))),
        origins=tuple(sorted({*own.origins, *middlebox.origins})),
    )


def with_unread_namespaces(hosts: tuple[Host, ...]) -> tuple[Host, ...]:
    """Return the hosts; a namespace has the number of unread ones of its machine, where that was read as well."""
    of_machine = {
        host.description.machine: host.description.namespaces_unread
        for host in hosts
        if host.description and host.description.machine and host.description.namespaces_unread is not None
    }
    return tuple(_with_unread(host, of_machine) for host in hosts)


def _with_unread(host: Host, of_machine: dict[str, int]) -> Host:
    description = host.description
    if description is None or description.namespaces_unread is not None or description.machine not in of_machine:
        return host
    unread = of_machine[description.machine]
    return replace(host, description=replace(description, namespaces_unread=unread))
