"""Socket ends: each connection of one client of a server, as the latest tables of both ends show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds
from ldapdiag.analysis.pairing.direction import JoinKey
from ldapdiag.analysis.pairing.socket_index import ClientIndex, ServerIndex
from ldapdiag.evidence.addresses import UNKNOWN_PORT, endpoint
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.pairing.direction import Direction
    from ldapdiag.analysis.pairing.pairing import Pairing

ABSENT, NOT_READ, TRANSLATED, NOT_JUDGED = "absent", "not read", "translated", "not judged"
VERDICTS = {"ghost": "ghosts", "severed": "severed", "stranded": "stranded"}
"""The fields of a direction that name the client ports of what is wrong."""


@dataclass(frozen=True, slots=True)
class SocketEnds:
    """The sockets of one connection."""

    endpoint: str
    """The server's."""
    client_port: int
    at_server: str
    """Its state there, or absent."""
    at_client: str
    """Its state there, or absent; not read; translated: the client's table has another address or port for it; not
    judged: of this client none is established at that endpoint."""
    verdict: str
    """ghost, severed, stranded; empty: none of these is proven."""
    idle_seconds: float | None
    """Since the server, else the client, has last received data; None: no table shows ages."""
    owner: str
    """The client's program; empty: unknown."""


def socket_ends(pairing: Pairing, hosts: Sequence[Host], client: str) -> list[SocketEnds]:
    """Return the connections of a client address, those that have been idle for the longest first."""
    latest = {one.host: one.latest for one in hosts if one.latest is not None}
    server = ServerIndex(latest[pairing.host])
    own = [one for one in pairing.directions if one.client == client]
    there = {name: ClientIndex(latest[name], frozenset()) for one in own for name in one.client_hosts if name in latest}
    found = [ends for one in own for ends in _of_direction(one, server, there)]
    found += _of_others(server, pairing.ports, client, {(one.server_address, one.server_port) for one in own})
    return sorted(found, key=lambda one: -1.0 if one.idle_seconds is None else one.idle_seconds, reverse=True)


def _of_direction(
    direction: Direction, server: ServerIndex, clients: Mapping[str, ClientIndex]
) -> Iterator[SocketEnds]:
    key = direction.server_address, direction.server_port, direction.client
    is_read = direction.missing is None
    is_joined = is_read and direction.join is JoinKey.FOUR_TUPLE and not direction.path.translated_by
    table, rows = server.snapshot.sockets, server.sockets.get(key, {})
    there = {
        port: (clients[name].table, row)
        for name in direction.client_hosts
        if is_joined and name in clients
        for port, row in clients[name].sockets.get(key, {}).items()
    }
    verdicts = {port: name for name, part in VERDICTS.items() for port in getattr(direction, part).ports or ()}
    for port in sorted((rows.keys() | there.keys()) - {UNKNOWN_PORT}):
        row, (other, other_row) = rows.get(port), there.get(port, (table, None))
        absent = ABSENT if is_joined or port in verdicts else TRANSLATED if is_read else NOT_READ
        idle = column_seconds(table.last_received, row)
        yield SocketEnds(
            endpoint=direction.server,
            client_port=port,
            at_server=ABSENT if row is None else table.state[row].name,
            at_client=absent if other_row is None else other.state[other_row].name,
            verdict=verdicts.get(port, ""),
            idle_seconds=column_seconds(other.last_received, other_row) if idle is None else idle,
            owner=other.owner[other_row] if other_row is not None and other.owner else "",
        )


def _of_others(
    server: ServerIndex, ports: Collection[int], client: str, joined: Collection[tuple[str, int]]
) -> Iterator[SocketEnds]:
    """Yield what the server has of a client at endpoints where neither end shows an established connection."""
    table = server.snapshot.sockets
    for (address, port, other), rows in server.sockets.items():
        if other == client and port in ports and (address, port) not in joined:
            for client_port in sorted(rows.keys() - {UNKNOWN_PORT}):
                row = rows[client_port]
                yield SocketEnds(
                    endpoint=endpoint(address, port),
                    client_port=client_port,
                    at_server=table.state[row].name,
                    at_client=NOT_JUDGED,
                    verdict="",
                    idle_seconds=column_seconds(table.last_received, row),
                    owner="",
                )
