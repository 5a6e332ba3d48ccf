"""A view: one look of a host, indexed to be asked for the connections that another host shows."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from ldapdiag.evidence.sockets import Key, TcpState, Timer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ldapdiag.analysis.hosts import Host
    from ldapdiag.analysis.looks import Look


class View:
    """A look at the client's end."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.table = look.sockets

    @cached_property
    def rows(self) -> Mapping[Key, int]:
        """Return the row of every socket by its key as the other end writes it."""
        return dict(zip(self.table.peer_keys(), range(len(self.table)), strict=True))

    @cached_property
    def established(self) -> Mapping[tuple[str, int], Sequence[Key]]:
        """Return the established connections by the endpoint dialled, each key as that end writes it."""
        by_endpoint: dict[tuple[str, int], list[Key]] = defaultdict(list)
        states = self.table.state
        for key, row in self.rows.items():
            if states[row] is TcpState.ESTABLISHED:
                by_endpoint[key[:2]].append(key)
        return by_endpoint

    def holds(self, key: Key) -> bool:
        """Tell whether this end has the connection established."""
        row = self.rows.get(key)
        return row is not None and self.table.state[row] is TcpState.ESTABLISHED

    def retransmits(self, row: int) -> bool:
        """Tell whether a socket has sent something that nobody acknowledges."""
        timer, count = self.table.timer, self.table.retransmits
        return bool(timer and count and timer[row] is Timer.RETRANSMIT and count[row] >= 1)


class Shown:
    """What the server's latest look shows, to be asked for a connection in whatever state."""

    def __init__(self, look: Look) -> None:
        self.look = look

    @cached_property
    def keys(self) -> frozenset[Key]:
        """Return every row's key as the server writes it."""
        return frozenset(self.look.sockets.keys())


class Client:
    """A host as the other end: a view of each of its looks."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.views = tuple(View(look) for look in host.looks if look.sockets.shows_connections)

    @property
    def latest(self) -> View:
        """Return the view of its latest look."""
        return self.views[-1]

    def established_to(self, address: str, port: int) -> Sequence[Key]:
        """Return its established connections to an endpoint, in the latest look, as that end writes them."""
        return self.latest.established.get((address, port), ())

    def dialled(self) -> set[tuple[str, str, int]]:
        """Return (own address, address dialled, port) of its established connections in the latest look."""
        return {(key[2], *end) for end, keys in self.latest.established.items() for key in keys}
