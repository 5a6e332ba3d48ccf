"""ConnectionScan: the opening and closing of connections, and the restarts of the server."""

from __future__ import annotations

from ldapdiag.evidence.log.clients import address
from ldapdiag.evidence.log.connection import Connection, IdleAtClose
from ldapdiag.evidence.log.counting import end_connection
from ldapdiag.evidence.log.joining import apply_late_opening, change_client
from ldapdiag.evidence.log.line_scan import Hints, LineScan
from ldapdiag.evidence.log.runs import Run, is_late
from ldapdiag.evidence.log.segment import SAMPLE_BYTES
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.tables import CAPS, Caps, shortened


class ConnectionScan(LineScan):
    """Follow the connections of one chunk of a log. Times in nanoseconds; text as logged, in bytes."""

    def __init__(self, hints: Hints | None = None, caps: Caps = CAPS, before: Run | None = None) -> None:
        """`before`: the connections that the chunks before this one left, for a scan with a selection."""
        super().__init__(hints, caps)
        self._before: dict[int, Connection] | None = None if before is None else dict(before.connections)
        """By number: the connections of earlier chunks and runs, for a scan with a selection."""
        self.run = self.segment.runs[0]
        self.connections = self.run.connections

    def opened(self, number: int, time: int, client: bytes, server: bytes = b"", *, secured: bool = False) -> None:
        """Count an accepted connection; `client` without its port; `secured`: by TLS from the beginning."""
        self.at(time)
        self.segment.timeline.at(time // SECOND).opened += 1
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
            there.secured |= secured
            self._end_if_complete(number, there)
            return
        ascends = number > self.run.last and (self.run.first is not None or not self.connections)
        if not ascends and (there is not None or not late):
            self._next_run(explicit_start=False)
        self.run.opened(number, time)
        connection = self.connections[number] = Connection(time, time, client)
        connection.secured = secured
        connection.row = row = segment.client(client)
        row.opened += 1

    def proxied_client(self, number: int, time: int, client: bytes) -> None:
        """Replace the client of a connection by the one that a PROXY header names."""
        self.at(time)
        client = address(client[:SAMPLE_BYTES])
        connection = self._unless_ended(number, time)
        if connection is None or connection.closed is not None:
            return
        change_client(self.segment, connection, client)

    def identified(self, number: int, time: int, client: bytes = b"", account: bytes | None = None) -> None:
        """Keep the client and the account that a line of a connection names.

        They count if the log has no opening, no PROXY header and no BIND that shows them (rotated away).
        """
        connection = self._unless_ended(number, time)
        if connection is not None and connection.opened is None and connection.closed is None:
            named = address(client[:SAMPLE_BYTES]) if client else None
            connection.name(named, None if account is None else shortened(account))

    def closed(self, number: int, time: int, code: bytes) -> None:
        """Count a closed connection by its close code, as the server writes it."""
        self.at(time)
        self.segment.timeline.at(time // SECOND).closed += 1
        code = self.segment.closed.count(code[:SAMPLE_BYTES])
        self.run.delta -= 1
        connection = self._unless_ended(number, time)
        if connection is None or connection.closed is not None:
            return
        connection.closed = time
        connection.code = code
        connection.idle_at_close = IdleAtClose(connection.idle_since, len(connection.unmatched), not connection.pending)
        self._end_if_complete(number, connection)

    def tls(self, number: int, time: int, protocol: bytes, cipher: bytes = b"") -> None:
        """Count a connection that is secured by TLS from now on."""
        self.at(time)
        self.segment.ciphers.count((protocol[:SAMPLE_BYTES], cipher[:SAMPLE_BYTES]))
        connection = self._unless_ended(number, time)
        if connection is not None:
            connection.secured = True

    def refused(self, time: int, client: bytes, reason: bytes) -> None:
        """Count a connection that the server accepted and closed at once; `reason` as logged."""
        self.at(time)
        self.segment.refused.count((address(client[:SAMPLE_BYTES]), reason[:SAMPLE_BYTES]))

    def server_started(self, time: int | None, version: bytes = b"") -> None:
        """Begin a run after a start of the server that the log reports."""
        if time is not None:
            self.at(time)
        self._next_run(explicit_start=True)
        self.run.began = time
        if version:
            self.header(b"", version)

    def startup(self, identity: bytes) -> None:
        """Begin a run when the startupID changes: it identifies the server process that wrote the record."""
        if self.run.identity not in {b"", identity}:
            self._next_run(explicit_start=True)
        self.run.identity = identity

    def _next_run(self, *, explicit_start: bool) -> None:
        if self._before is not None and explicit_start:
            self._before.clear()
        elif self._before is not None:
            self._before.update(self.connections)
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
            if self._before is not None:
                connection.before = self._before.get(number)
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
