"""Unjoined direction: the server's rows of one direction, before the client's end is looked up."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from ldapdiag.analysis.hosts.snapshots import Snapshot
from ldapdiag.analysis.pairing.socket_index import DirectionKey, ServerIndex
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.sockets import Key, SocketTable
from ldapdiag.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class UnjoinedDirection:
    """One direction before it is joined: the established rows of the server's snapshot that belong to it."""

    client: str
    server_address: str
    server_port: int
    rows: list[int]
    server_index: ServerIndex

    @property
    def snapshot(self) -> Snapshot:
        """Return the server's snapshot that the rows belong to."""
        return self.server_index.snapshot

    @property
    def table(self) -> SocketTable:
        """Return the server's socket table."""
        return self.server_index.snapshot.sockets

    @property
    def endpoint(self) -> tuple[str, int]:
        """Return the server's address and port."""
        return self.server_address, self.server_port

    @property
    def direction(self) -> DirectionKey:
        """Return the endpoints that all these rows have in common."""
        return self.server_address, self.server_port, self.client

    @property
    def monitored(self) -> tuple[Monitor | None, list[datetime | None]]:
        """Return the server's cn=monitor, and when each connection of this client that it lists was opened."""
        return self.server_index.monitor, self.server_index.opened(self.client)

    def key_of(self, row: int) -> Key:
        """Return the key of a row, as the server writes it."""
        return self.server_address, self.server_port, self.client, self.table.remote_port[row]

    def keys(self) -> Iterator[Key]:
        """Yield the key of each row."""
        return map(self.key_of, self.rows)
