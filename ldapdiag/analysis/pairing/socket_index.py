"""Socket index: the rows of one snapshot, indexed by the connections that another host's snapshot shows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import retransmits
from ldapdiag.evidence.addresses import UNKNOWN_PORT, is_exact
from ldapdiag.evidence.sockets import Key, TcpState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import datetime

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.evidence.monitor import Monitor
    from ldapdiag.evidence.sockets import SocketTable

DirectionKey = tuple[str, int, str]
"""A direction by its endpoints: server address, server port, client address."""

Sockets = Mapping[DirectionKey, Mapping[int, int]]
"""The row of each socket by direction and client port: a million tuples fewer than by whole keys."""

CLOSING_STATES = frozenset({TcpState.FIN_WAIT_1, TcpState.LAST_ACK, TcpState.CLOSING})
"""States in which an end has sent its FIN and waits for the ACK (RFC 9293, section 3.3.2)."""


def index_rows(directions: Iterable[DirectionKey], ports: Iterable[int], served: Collection[int] = ()) -> Sockets:
    """Return rows by direction and client port, without ports in `served`; of duplicate keys the last row."""
    sockets: dict[DirectionKey, dict[int, int]] = defaultdict(dict)
    for row, (direction, port) in enumerate(zip(directions, ports, strict=True)):
        if port not in served:
            sockets[direction][port] = row
    return dict(sockets)


def count_time_wait(directions: Iterable[DirectionKey], states: Iterable[TcpState]) -> Mapping[DirectionKey, int]:
    """Return the number of connections in TIME-WAIT by direction."""
    return Counter(key for key, state in zip(directions, states, strict=True) if state is TcpState.TIME_WAIT)


def count_unnumbered(
    directions: Iterable[DirectionKey], ports: Sequence[int], states: Iterable[TcpState]
) -> Mapping[DirectionKey, int]:
    """Return the number of established connections whose port has no number (a table taken without -n)."""
    if UNKNOWN_PORT not in ports:
        return {}
    rows = zip(directions, ports, states, strict=True)
    return Counter(key for key, port, state in rows if port == UNKNOWN_PORT and state is TcpState.ESTABLISHED)


class Inexact:
    """The client ports of sockets with a name, or a truncated address, for either end; sorted out once."""

    def __init__(self, sockets: Sockets) -> None:
        self._ports: dict[int, set[int]] = defaultdict(set)
        for (server, number, client), ports in sockets.items():
            if not (is_exact(server) and is_exact(client)):
                self._ports[number].update(ports)

    def ports(self, server_port: int) -> set[int]:
        """Return those at a port of the server, or at one without a number."""
        return self._ports.get(server_port, set()) | self._ports.get(UNKNOWN_PORT, set())


def retransmits_fin(table: SocketTable, row: int) -> bool:
    """Return whether a socket retransmits its FIN: its program has closed it, and the other end does not answer."""
    return table.state[row] in CLOSING_STATES and retransmits(table, row)


class ClientIndex:
    """A snapshot of the client's end."""

    def __init__(self, snapshot: Snapshot, served: frozenset[int]) -> None:
        self.snapshot = snapshot
        self.table = snapshot.sockets
        self._served = served

    @cached_property
    def sockets(self) -> Sockets:
        """Return the rows of connections that this host has opened; those it accepted have a port that it serves."""
        table = self.table
        listening = {
            port for port, state in zip(table.local_port, table.state, strict=True) if state is TcpState.LISTEN
        }
        return index_rows(self._directions(), table.local_port, served=self._served | listening | {UNKNOWN_PORT})

    @cached_property
    def inexact(self) -> Inexact:
        """Return the ports of sockets with a name or a truncated address."""
        return Inexact(self.sockets)

    @cached_property
    def unnumbered(self) -> Mapping[DirectionKey, int]:
        """Return the number of established connections whose port is a name without a known number."""
        return count_unnumbered(self._directions(), self.table.local_port, self.table.state)

    @cached_property
    def time_wait(self) -> Mapping[DirectionKey, int]:
        """Return the number of connections in TIME-WAIT."""
        return count_time_wait(self._directions(), self.table.state)

    @cached_property
    def states(self) -> frozenset[TcpState]:
        """Return all states in the table."""
        return frozenset(self.table.state)

    @cached_property
    def remote_addresses(self) -> frozenset[str]:
        """Return all addresses at the other end; where a server's are not among them, no index is made for it."""
        return frozenset(self.table.remote_address)

    @cached_property
    def processes(self) -> frozenset[int]:
        """Return the processes that own sockets."""
        return frozenset(filter(None, self.table.pid or ()))

    @cached_property
    def established_count(self) -> int:
        """Return the number of established connections that this host has opened."""
        states = self.table.state
        rows = (row for ports in self.sockets.values() for row in ports.values())
        return sum(states[row] is TcpState.ESTABLISHED for row in rows)

    @cached_property
    def directions_by_endpoint(self) -> Mapping[tuple[str, int], tuple[DirectionKey, ...]]:
        """Return the directions of all established connections, by the server's address and port."""
        found: dict[tuple[str, int], list[DirectionKey]] = defaultdict(list)
        for direction in self.sockets:
            if self.has_established(direction):
                found[direction[:2]].append(direction)
        return {endpoint: tuple(directions) for endpoint, directions in found.items()}

    @cached_property
    def directions_by_address(self) -> Mapping[str, tuple[DirectionKey, ...]]:
        """Return the directions of its sockets, by its own address."""
        found: dict[str, list[DirectionKey]] = defaultdict(list)
        for direction in self.sockets:
            found[direction[2]].append(direction)
        return {address: tuple(directions) for address, directions in found.items()}

    def established(self, direction: DirectionKey) -> Mapping[int, int]:
        """Return the established rows of a direction, by client port."""
        states = self.table.state
        rows = self.sockets.get(direction, {})
        return {port: row for port, row in rows.items() if states[row] is TcpState.ESTABLISHED}

    def has_established(self, direction: DirectionKey) -> bool:
        """Return whether any connection of a direction is established."""
        states = self.table.state
        return any(states[row] is TcpState.ESTABLISHED for row in self.sockets.get(direction, {}).values())

    def has_connection(self, key: Key) -> bool:
        """Return whether this end has the connection established; the key is written as the server does."""
        row = self.sockets.get(key[:3], {}).get(key[3])
        return row is not None and self.table.state[row] is TcpState.ESTABLISHED

    def retransmits_fin(self, row: int) -> bool:
        """Return whether a socket retransmits its FIN: its program has closed it."""
        return retransmits_fin(self.table, row)

    def _directions(self) -> Iterator[DirectionKey]:
        table = self.table
        return zip(table.remote_address, table.remote_port, table.local_address, strict=True)


class ServerIndex:
    """The server's latest snapshot, with rows in every state, and its cn=monitor."""

    def __init__(self, snapshot: Snapshot, monitor: Monitor | None = None) -> None:
        self.snapshot = snapshot
        self.monitor = monitor
        self._earlier: dict[int, ServerIndex] = {}

    @cached_property
    def sockets(self) -> Sockets:
        """Return the rows, as if this were the server's end of each."""
        return index_rows(self._directions(), self.snapshot.sockets.remote_port)

    @cached_property
    def time_wait(self) -> Mapping[DirectionKey, int]:
        """Return the number of connections in TIME-WAIT."""
        return count_time_wait(self._directions(), self.snapshot.sockets.state)

    @cached_property
    def unnumbered(self) -> Mapping[DirectionKey, int]:
        """Return the number of established connections whose port is a name without a known number."""
        return count_unnumbered(self._directions(), self.snapshot.sockets.remote_port, self.snapshot.sockets.state)

    @cached_property
    def inexact(self) -> Inexact:
        """Return the ports of sockets with a name or a truncated address."""
        return Inexact(self.sockets)

    @cached_property
    def addresses(self) -> frozenset[str]:
        """Return all local addresses in the table."""
        return frozenset(self.snapshot.sockets.local_address)

    @cached_property
    def _established(self) -> Mapping[tuple[str, int], Mapping[str, list[int]]]:
        table = self.snapshot.sockets
        found: dict[tuple[str, int], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for (address, port, client, client_port), state in zip(table.keys(), table.state, strict=True):
            if state is TcpState.ESTABLISHED:
                found[address, port][client].append(client_port)
        return found

    @cached_property
    def _opened(self) -> Mapping[str, list[datetime | None]]:
        found: dict[str, list[datetime | None]] = defaultdict(list)
        for connection in (self.monitor.connections if self.monitor else None) or ():
            found[connection.client].append(connection.opened)
        return found

    def established_at(self, address: str, port: int) -> Mapping[str, list[int]]:
        """Return the client ports of all established connections to an endpoint, by client address."""
        return self._established.get((address, port), {})

    def opened(self, client: str) -> list[datetime | None]:
        """Return when each connection of a client that cn=monitor lists was opened; None where that is unknown."""
        return self._opened.get(client, [])

    def earlier(self, snapshot: Snapshot) -> ServerIndex:
        """Return the index of another snapshot of this server, made once."""
        return self._earlier.setdefault(id(snapshot), ServerIndex(snapshot))

    def missing_ports(self, direction: DirectionKey, ports: Collection[int]) -> list[int]:
        """Return those of a direction's client ports for which there is no row in any state."""
        rows = self.sockets.get(direction, {})
        return [port for port in ports if port not in rows]

    def closing_ports(self, direction: DirectionKey, ports: Collection[int]) -> dict[int, bool | None]:
        """Return those of a direction's client ports on which the server has sent its FIN without an answer yet.

        The value is whether it retransmits the FIN; None where the table does not show that.
        """
        table, rows = self.snapshot.sockets, self.sockets.get(direction, {})
        closing = {port: row for port in ports if (row := rows.get(port)) is not None}
        return {
            port: retransmits_fin(table, row) if table.timer and table.timer[row] else None
            for port, row in closing.items()
            if table.state[row] in CLOSING_STATES
        }

    def _directions(self) -> Iterator[DirectionKey]:
        table = self.snapshot.sockets
        return zip(table.local_address, table.local_port, table.remote_address, strict=True)


class ClientSnapshots:
    """A host as a client: an index of each of its snapshots. It serves the ports `served`, and those it listens on."""

    def __init__(self, host: Host, served: frozenset[int] = frozenset()) -> None:
        self.host = host
        self.indexes = tuple(
            ClientIndex(snapshot, served) for snapshot in host.snapshots if snapshot.sockets.shows_connections
        )

    @property
    def machine(self) -> str:
        """Return the machine this host runs on; empty where that is unknown."""
        return self.host.description.machine if self.host.description else ""

    @property
    def latest(self) -> ClientIndex:
        """Return the index of the latest snapshot."""
        return self.indexes[-1]

    def directions_to(self, address: str, port: int) -> tuple[DirectionKey, ...]:
        """Return the directions of its established connections to an endpoint, in the latest snapshot."""
        if address not in self.latest.remote_addresses:
            return ()
        return self.latest.directions_by_endpoint.get((address, port), ())

    def established_directions(self) -> Iterator[DirectionKey]:
        """Yield the directions of all its established connections in the latest snapshot."""
        return chain.from_iterable(self.latest.directions_by_endpoint.values())
