"""A view: one look of a host, indexed to be asked for the connections that another host shows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.sockets import Key, TcpState, Timer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.evidence.monitor import Monitor


Way = tuple[str, int, str]
"""A direction by its two ends: the server's address and port, the client's address."""

Sockets = Mapping[Way, Mapping[int, int]]
"""The row of every socket by its way and the client's port: a million tuples fewer than by whole keys."""


def by_way(ways: Iterable[Way], ports: Iterable[int], served: Collection[int] = ()) -> Sockets:
    """Return rows by way and port, those of ports not `served`; of several rows that are the same, the last."""
    sockets: dict[Way, dict[int, int]] = defaultdict(dict)
    for row, (way, port) in enumerate(zip(ways, ports, strict=True)):
        if port not in served:
            sockets[way][port] = row
    return dict(sockets)


def closed(ways: Iterable[Way], states: Iterable[TcpState]) -> Mapping[Way, int]:
    """Return how many connections of each way are in TIME-WAIT."""
    return Counter(way for way, state in zip(ways, states, strict=True) if state is TcpState.TIME_WAIT)


def unnamed(ways: Iterable[Way], ports: Sequence[int], states: Iterable[TcpState]) -> Mapping[Way, int]:
    """Return how many established connections of each way have a port without a number (a table taken without -n)."""
    if UNKNOWN_PORT not in ports:
        return {}
    rows = zip(ways, ports, states, strict=True)
    return Counter(way for way, port, state in rows if port == UNKNOWN_PORT and state is TcpState.ESTABLISHED)


class ClientIndex:
    """A look at the client's end."""

    def __init__(self, look: Snapshot, served: frozenset[int]) -> None:
        self.look = look
        self.table = look.sockets
        self._served = served

    @cached_property
    def sockets(self) -> Sockets:
        """Return the rows of connections this host has made; what it accepted has a port that it serves."""
        table = self.table
        listening = {
            port for port, state in zip(table.local_port, table.state, strict=True) if state is TcpState.LISTEN
        }
        return by_way(self._ways(), table.local_port, served=self._served | listening | {UNKNOWN_PORT})

    @cached_property
    def unnamed(self) -> Mapping[Way, int]:
        """Return how many established connections have a name for a port that nobody knows the number of."""
        return unnamed(self._ways(), self.table.local_port, self.table.state)

    @cached_property
    def closed(self) -> Mapping[Way, int]:
        """Return the connections in TIME-WAIT."""
        return closed(self._ways(), self.table.state)

    def established(self, way: Way) -> Mapping[int, int]:
        """Return the rows of a way that are established, by port."""
        states = self.table.state
        return {port: row for port, row in self.sockets.get(way, {}).items() if states[row] is TcpState.ESTABLISHED}

    def leads(self, way: Way) -> bool:
        """Tell whether any connection of a way is established."""
        states = self.table.state
        return any(states[row] is TcpState.ESTABLISHED for row in self.sockets.get(way, {}).values())

    def holds(self, key: Key) -> bool:
        """Tell whether this end has the connection established; the key is written as the server does."""
        row = self.sockets.get(key[:3], {}).get(key[3])
        return row is not None and self.table.state[row] is TcpState.ESTABLISHED

    def _ways(self) -> Iterator[Way]:
        table = self.table
        return zip(table.remote_address, table.remote_port, table.local_address, strict=True)

    def retransmits(self, row: int) -> bool:
        """Tell whether a socket has sent something that nobody acknowledges."""
        timer, count = self.table.timer, self.table.retransmits
        return bool(timer and count and timer[row] is Timer.RETRANSMIT and count[row] >= 1)

    def retransmits_its_end(self, row: int) -> bool:
        """Tell whether a socket has sent its FIN and nobody answers: its program has done with it."""
        return self.table.state[row] in CLOSING and self.retransmits(row)


CLOSING = frozenset({TcpState.FIN_WAIT_1, TcpState.LAST_ACK, TcpState.CLOSING})
"""States in which an end has sent its FIN and waits for the ACK."""


class ServerIndex:
    """What the server's latest look shows, to be asked for a connection in whatever state, and what it says itself."""

    def __init__(self, look: Snapshot, monitor: Monitor | None = None) -> None:
        self.look = look
        self.monitor = monitor

    @cached_property
    def sockets(self) -> Sockets:
        """Return the rows, as if this were the server's end of each."""
        return by_way(self._ways(), self.look.sockets.remote_port)

    @cached_property
    def closed(self) -> Mapping[Way, int]:
        """Return the connections in TIME-WAIT."""
        return closed(self._ways(), self.look.sockets.state)

    @cached_property
    def unnamed(self) -> Mapping[Way, int]:
        """Return how many established connections have a name for a port that nobody knows the number of."""
        return unnamed(self._ways(), self.look.sockets.remote_port, self.look.sockets.state)

    def lacks(self, way: Way, ports: Collection[int]) -> list[int]:
        """Return the ports of a way for which there is no row at all."""
        shown = self.sockets.get(way, {})
        return [port for port in ports if port not in shown]

    def _ways(self) -> Iterator[Way]:
        table = self.look.sockets
        return zip(table.local_address, table.local_port, table.remote_address, strict=True)


class ClientSnapshots:
    """A host as the other end: a view of each of its looks. It serves these ports, and those it listens on."""

    def __init__(self, host: Host, served: frozenset[int] = frozenset()) -> None:
        self.host = host
        self.views = tuple(ClientIndex(look, served) for look in host.snapshots if look.sockets.shows_connections)

    @property
    def latest(self) -> ClientIndex:
        """Return the view of its latest look."""
        return self.views[-1]

    def ways_to(self, address: str, port: int) -> list[Way]:
        """Return the ways its established connections take to an endpoint, in the latest look."""
        return [way for way in self.latest.sockets if way[:2] == (address, port) and self.latest.leads(way)]

    def dialled(self) -> set[Way]:
        """Return the ways of its established connections in the latest look."""
        return {way for way in self.latest.sockets if self.latest.leads(way)}
