"""ProcessConnections: the connections of one run of a server, and how a log shows that another one has begun.

A server numbers its connections upwards. An opening that does not ascend is either the first after a restart (there
may be no banner) or a line written out of order.
"""

from __future__ import annotations

from ldapdiag.evidence.log.connection import UNKNOWN, Connection
from ldapdiag.evidence.log.connection_numbers import ConnectionNumbers

DISORDER = 8
"""How far below the highest number an opening may be that was accepted earlier and written later."""

BURST_DISORDER = 1024
"""The same within a second of another opening: each thread of slapd may delay its line; 32 threads were 37 late."""

MOST_LATE_REQUESTS = 1_000
"""Closed connections whose late requests are followed."""

LATE = 1_000_000_000
"""Nanoseconds by which an opening may be written after the connection's first request, as slapd does."""


class ProcessConnections:
    """The connections that a server process has numbered, and how many were open at once."""

    __slots__ = ("connections", "delta", "identity", "initial", "last", "late_requests", "latest", "numbers", "top")

    def __init__(self, identity: bytes = b"") -> None:
        self.identity = identity
        """The identity of the server process (startupID); empty where the log has none."""
        self.last = -1
        """The highest number in any record."""
        self.latest: int | None = None
        """The time of the latest opening."""
        self.numbers = ConnectionNumbers()
        """The numbers of the connections opened."""
        self.connections: dict[int, Connection] = {}
        """By number: connections that are open, or await a result."""
        self.late_requests: dict[int, Connection] = {}
        """By number: stand-ins for closed connections of which requests were written later."""
        self.delta = 0
        """Openings less closes."""
        self.top = 0
        """The maximum of delta."""
        self.initial = 0
        """Connections that were open before the log began."""

    def opened(self, number: int, time: int) -> None:
        """Count an opening."""
        self.last = max(self.last, number)
        if self.latest is None or time > self.latest:
            self.latest = time
        self.numbers.add(number)
        self.delta += 1
        self.top = max(self.top, self.delta)

    def after_close(self, number: int, time: int) -> Connection:
        """Return the stand-in that takes requests written after the close of the connection of this number."""
        connection = self.late_requests.get(number)
        if connection is None:
            if len(self.late_requests) >= MOST_LATE_REQUESTS:
                self.late_requests.clear()
            connection = self.late_requests[number] = Connection(time, time, UNKNOWN)
            connection.closed, connection.account = time, UNKNOWN
        return connection

    def ends_before(self, number: int, time: int) -> bool:
        """Return whether an opening is the first of another server process."""
        if number > self.last:
            return False
        there = self.connections.get(number)
        if there is not None:
            return not _is_late(there, time)
        burst = self.latest is not None and time - self.latest <= LATE
        return number in self.numbers or number <= self.last - (BURST_DISORDER if burst else DISORDER)

    @property
    def peak(self) -> int:
        """The most connections that were open at once."""
        return self.initial + self.top


def _is_late(there: Connection, time: int) -> bool:
    """Return whether an opening at this time is the late line of a connection that is there already.

    slapd may write the close of a short connection before its opening. Such a connection has no request.
    """
    begun = there.idle_since is None if there.first_op is None else there.first_op == 0
    return there.opened is None and begun and time - there.first <= LATE
