"""ConnectionScan: the opening and closing of connections, and the restarts of the server."""

from __future__ import annotations

from ldapdiag.evidence.log.clients import address
from ldapdiag.evidence.log.connection import Connection, IdleAtClose
from ldapdiag.evidence.log.counting import end_connection
from ldapdiag.evidence.log.joining import apply_late_opening
from ldapdiag.evidence.log.line_scan import Hints, LineScan
from ldapdiag.evidence.log.runs import Run, is_late
from ldapdiag.evidence.log.segment import SAMPLE_BYTES
from ldapdiag.evidence.log.tables import CAPS, Caps


class ConnectionScan(LineScan):
    """Follow the connections of one chunk of a log. Times in nanoseconds; text as logged, in bytes."""

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
        late = number <= self.run.last and self.run.admits_late_opening(number, time)
        if there is not None and is_late(there, time, from_its_beginning=late):
            self.run.opened(number, time)
            apply_late_opening(segment, there, time, client)
            segment.client(client).opened += 1
            self._end_if_complete(number, there)
            return
        ascends = number > self.run.last and (self.run.first is not None or not self.connections)
        if not ascends and (there is not None or not late):
            self._next_run(explicit_start=False)
        self.run.opened(number, time)
        connection = self.connections[number] = Connection(time, time, client)
        connection.row = row = segment.client(client)
        row.opened += 1

    def proxied_client(self, number: int, time: int, client: bytes) -> None:
        """Replace the client of a connection by the one that a PROXY header names."""
        self.at(time)
        client = address(client[:SAMPLE_BYTES])
        connection = self._unless_ended(number, time)
        if connection is None or connection.closed is not None:
            return
        if connection.row is not None:
            connection.row.opened -= 1
        connection.client = client
        connection.row = row = self.segment.client(client)
        row.opened += connection.opened is not None

    def closed(self, number: int, time: int, code: bytes) -> None:
        """Count a closed connection by its close code, as the server writes it."""
        self.at(time)
        code = self.segment.closed.count(code[:SAMPLE_BYTES])
        self.run.delta -= 1
        connection = self._unless_ended(number, time)
        if connection is None or connection.closed is not None:
            return
        connection.closed = time
        connection.code = code
        connection.idle_at_close = IdleAtClose(connection.idle_since, len(connection.unmatched), not connection.pending)
        self._end_if_complete(number, connection)

    def server_started(self, time: int | None, version: bytes = b"") -> None:
        """Begin a run after a start of the server that the log reports."""
        if time is not None:
            self.at(time)
        self._next_run(explicit_start=True)
        if version:
            self.header(b"", version)

    def startup(self, identity: bytes) -> None:
        """Begin a run when the startupID changes: it identifies the server process that wrote the record."""
        if self.run.identity not in {b"", identity}:
            self._next_run(explicit_start=True)
        self.run.identity = identity

    def _next_run(self, *, explicit_start: bool) -> None:
        identity = b"" if explicit_start else self.run.identity
        self.run = Run(explicit_start=explicit_start)
        self.run.identity = identity
        self.connections = self.run.connections
        self.segment.runs.append(self.run)

    def _connection(self, number: int, time: int) -> Connection:
        """Return a connection; one that is new here was opened before this chunk."""
        connection = self.connections.get(number)
        if connection is None:
            connection = self.connections[number] = Connection(time)
            self.run.last = max(self.run.last, number)
        return connection

    def _end_if_complete(self, number: int, connection: Connection) -> None:
        """Count the end of a connection of which no record can follow."""
        if connection.complete and self.connections.get(number) is connection:
            end_connection(self.segment, number, connection)
            del self.connections[number]

    def _unless_ended(self, number: int, time: int) -> Connection | None:
        """Return a connection; None for one that was opened in this run and has ended."""
        there = self.connections.get(number)
        return self._connection(number, time) if there is None and number not in self.run.numbers else there
