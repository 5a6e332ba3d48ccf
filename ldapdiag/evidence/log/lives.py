"""Lives of a server, and the connections of each as they open and close."""

from __future__ import annotations

from ldapdiag.evidence.log.clients import address
from ldapdiag.evidence.log.connection import Connection, Tail
from ldapdiag.evidence.log.counting import end
from ldapdiag.evidence.log.joining import introduce
from ldapdiag.evidence.log.runs import Run, is_late
from ldapdiag.evidence.log.segment import SAMPLE_BYTES
from ldapdiag.evidence.log.tables import CAPS, Caps
from ldapdiag.evidence.log.tally import Hints, Tally


class Lives(Tally):
    """Follows the connections of one piece of a log. Times in nanoseconds; text as logged, in bytes."""

    def __init__(self, hints: Hints | None = None, caps: Caps = CAPS) -> None:
        super().__init__(hints, caps)
        self.run = self.segment.runs[0]
        self.connections = self.run.connections

    def opened(self, number: int, time: int, client: bytes, server: bytes = b"") -> None:
        """Count an accepted connection; `client` without its port."""
        self.at(time)
        client = address(client[:SAMPLE_BYTES])
        segment = self.segment
        segment.opened += 1
        if server:
            segment.servers.count(server[:SAMPLE_BYTES])
        there = self.connections.get(number)
        late = number <= self.run.last and self.run.holds(number, time)
        if there is not None and is_late(there, time, from_its_beginning=late):
            self.run.opened(number, time)
            introduce(segment, there, time, client)
            segment.client(client).opened += 1
            self._end_if_complete(number, there)
            return
        ascends = number > self.run.last and (self.run.first is not None or not self.connections)
        if not ascends and (there is not None or not late):
            self._next_run(certain=False)
        self.run.opened(number, time)
        connection = self.connections[number] = Connection(time, time, client)
        connection.row = row = segment.client(client)
        row.opened += 1

    def client_is(self, number: int, time: int, client: bytes) -> None:
        """Take the client that a PROXY header names for the one of the connection."""
        self.at(time)
        client = address(client[:SAMPLE_BYTES])
        connection = self._unless_gone(number, time)
        if connection is None or connection.closed is not None:
            return
        if connection.row is not None:
            connection.row.opened -= 1
        connection.client = client
        connection.row = row = self.segment.client(client)
        row.opened += connection.opened is not None

    def closed(self, number: int, time: int, code: bytes) -> None:
        """Count a closed connection, and the server's word for why."""
        self.at(time)
        code = self.segment.closed.count(code[:SAMPLE_BYTES])
        self.run.delta -= 1
        connection = self._unless_gone(number, time)
        if connection is None or connection.closed is not None:
            return
        connection.closed = time
        connection.code = code
        connection.tail = Tail(connection.rested, len(connection.held), not connection.pending)
        self._end_if_complete(number, connection)

    def banner(self, time: int | None, version: bytes = b"") -> None:
        """Begin a new server life: the log says that the server started here."""
        if time is not None:
            self.at(time)
        self._next_run(certain=True)
        if version:
            self.named(b"", version)

    def life(self, identity: bytes) -> None:
        """Hear which life of the server wrote this: a startupID."""
        if self.run.identity not in {b"", identity}:
            self._next_run(certain=True)
        self.run.identity = identity

    def _next_run(self, *, certain: bool) -> None:
        identity = b"" if certain else self.run.identity
        self.run = Run(certain=certain)
        self.run.identity = identity
        self.connections = self.run.connections
        self.segment.runs.append(self.run)

    def _connection(self, number: int, time: int) -> Connection:
        """Return a connection; one not seen yet was opened before this piece."""
        connection = self.connections.get(number)
        if connection is None:
            connection = self.connections[number] = Connection(time)
            self.run.last = max(self.run.last, number)
        return connection

    def _end_if_complete(self, number: int, connection: Connection) -> None:
        """Count the end of a connection of which nothing more can come."""
        if connection.complete and self.connections.get(number) is connection:
            end(self.segment, number, connection)
            del self.connections[number]

    def _unless_gone(self, number: int, time: int) -> Connection | None:
        """Return a connection; None of one that was opened in this run and is closed."""
        there = self.connections.get(number)
        return self._connection(number, time) if there is None and number not in self.run.numbers else there
