"""ConnectionScan: the opening and closing of connections, and the restarts of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.clients import address
from ldapdiag.evidence.log.connection import ANONYMOUS, Connection, IdleAtClose
from ldapdiag.evidence.log.counting import apply_late_opening, change_client, end_connection
from ldapdiag.evidence.log.line_scan import NEVER, Hints, LineScan
from ldapdiag.evidence.log.segment import SAMPLE_BYTES
from ldapdiag.evidence.log.server_process import ProcessConnections
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.tables import CAPS, RESTART, Caps, shortened

if TYPE_CHECKING:
    from ldapdiag.evidence.log.segment import Segment


class ConnectionScan(LineScan):
    """Follow the connections of a log. Times in nanoseconds; text as logged, in bytes."""

    def __init__(self, hints: Hints | None = None, caps: Caps = CAPS) -> None:
        super().__init__(hints, caps)
        self.process = ProcessConnections()
        """The server process that writes now."""
        self.connections = self.process.connections

    def opened(self, number: int, time: int, client: bytes, server: bytes = b"", *, secured: bool = False) -> None:
        """Count an accepted connection; `client` without its port; `secured`: by TLS from the beginning."""
        self.at(time)
        segment = self.segment
        segment.timeline.at(time // SECOND).opened += 1
        client = address(client[:SAMPLE_BYTES])
        segment.opened += 1
        if server:
            segment.servers.count(server[:SAMPLE_BYTES])
        if self.process.ends_before(number, time):
            self._next_process(time, self.process.identity)
        process = self.process
        process.opened(number, time)
        segment.client(client).opened += 1
        there = self.connections.get(number)
        if there is not None:  # its opening is written late
            process.initial -= 1
            apply_late_opening(self.total, there, time, client)
            there.secured |= secured
            self._end_if_done(number, there)
            return
        connection = self.connections[number] = Connection(time, time, client)
        connection.account = ANONYMOUS
        connection.secured = secured
        connection.is_before_period = segment is not self.total

    def proxied_client(self, number: int, time: int, client: bytes) -> None:
        """Replace the client of a connection by the one that a PROXY header names."""
        self.at(time)
        client = address(client[:SAMPLE_BYTES])
        connection = self._unless_ended(number, time)
        if connection is None or connection.closed is not None:
            return
        change_client(self.total, connection, client)

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
        self.process.delta -= 1
        connection = self._unless_ended(number, time)
        if connection is None or connection.closed is not None:
            return
        connection.closed = time
        connection.code = code
        connection.idle_at_close = IdleAtClose(connection.idle_since, not connection.pending)
        self._end_if_done(number, connection)

    def tls(self, number: int, time: int, protocol: bytes, cipher: bytes = b"") -> None:
        """Count a connection that is secured by TLS from now on."""
        self.at(time)
        self.segment.ciphers.count((protocol[:SAMPLE_BYTES], cipher[:SAMPLE_BYTES]))
        connection = self._unless_ended(number, time)
        if connection is not None:
            connection.secured = True

    def closed_without_connection(self, time: int, client: bytes, code: bytes) -> None:
        """Count a connection of a client that was closed, in a log that has no openings."""
        self.at(time)
        self.segment.timeline.at(time // SECOND).closed += 1
        code = self.segment.closed.count(code[:SAMPLE_BYTES])
        codes = self.segment.client(address(client[:SAMPLE_BYTES])).codes
        codes[code] = codes.get(code, 0) + 1

    def refused(self, time: int, client: bytes, reason: bytes) -> None:
        """Count a connection that the server accepted and closed at once; `reason` as logged."""
        self.at(time)
        self.segment.refused.count((address(client[:SAMPLE_BYTES]), reason[:SAMPLE_BYTES]))

    def server_started(self, time: int | None, version: bytes = b"") -> None:
        """Begin a server process after a start that the log reports."""
        if time is not None:
            self.at(time)
        self._next_process(self.process.latest if time is None else time)
        if version:
            self.header(b"", version)

    def startup(self, identity: bytes) -> None:
        """Begin a server process when the startupID changes: it identifies the one that wrote the record."""
        if self.process.identity not in {b"", identity}:
            self._next_process(self.process.latest)
        self.process.identity = identity

    def _next_process(self, at: int | None, identity: bytes = b"") -> None:
        """End the connections of the server process, which a restart ended then, and begin another one."""
        for number, connection in self.connections.items():
            if connection.closed is None:
                connection.code = RESTART
                self.total.ended_by_restart += 1
                if at is not None:
                    self.total.timeline.at(at // SECOND).closed += 1
            self._end(number, connection, at=at)
        self._begin_process(identity)

    def _end_of_log(self) -> None:
        """End the last server process, whose open connections stay open."""
        until = None if self.first == NEVER else self.last
        for number, connection in self.connections.items():
            self._end(number, connection, at_end=connection.closed is None, at=until)
        self._begin_process()

    def _begin_process(self, identity: bytes = b"") -> None:
        """Count the server process that has ended, and begin another one."""
        segment, process = self.total, self.process
        segment.peak = max(segment.peak, process.peak)
        segment.server_processes += process.last >= 0
        segment.open_before += process.initial
        self.process = ProcessConnections(identity)
        self.connections = self.process.connections

    def _connection(self, number: int, time: int) -> Connection:
        """Return a connection; one that is new here was opened before the log began, or its opening comes late."""
        connection = self.connections.get(number)
        if connection is None:
            connection = self.connections[number] = Connection(time)
            self.process.initial += 1
            self.process.last = max(self.process.last, number)
        return connection

    def _end_if_done(self, number: int, connection: Connection) -> None:
        """Count the end of a connection of which no record is expected."""
        if connection.done and self.connections.get(number) is connection:
            self._end(number, connection)
            del self.connections[number]

    def _end(self, number: int, connection: Connection, *, at_end: bool = False, at: int | None = None) -> None:
        """Count the end of a connection; one that was opened among records before the period counts with them."""
        segment: Segment = self.segment if connection.is_before_period else self.total
        end_connection(segment, number, connection, at_end=at_end, at=at)

    def _unless_ended(self, number: int, time: int) -> Connection | None:
        """Return a connection; None for one that was opened by this server process and has ended."""
        there = self.connections.get(number)
        return self._connection(number, time) if there is None and number not in self.process.numbers else there
