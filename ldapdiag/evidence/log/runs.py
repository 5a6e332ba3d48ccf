"""Runs of connection openings, and the restarts of the server between them.

A server numbers its connections upwards, so a log is a sequence of runs of ascending openings. An opening that does not
ascend is either the first after a restart (there may be no banner) or a line written out of order. The decision needs
everything before it: two runs belong to one server process unless `restarts` returns True.
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


class Run:
    """A part of a log in which openings ascend: its connections, and how many were open at once."""

    __slots__ = (
        "began",
        "connections",
        "delta",
        "explicit_start",
        "first",
        "identity",
        "initial",
        "last",
        "late_requests",
        "latest",
        "numbers",
        "top",
    )

    def __init__(self, *, explicit_start: bool = False) -> None:
        self.explicit_start = explicit_start
        """The log reports a start of the server here."""
        self.began: int | None = None
        """When the server started, as far as the log reports it."""
        self.identity = b""
        """The identity of the server process (startupID); empty where the log has none."""
        self.first: tuple[int, int] | None = None
        """Number and time of the first opening."""
        self.last = -1
        """The highest number in any record."""
        self.latest: int | None = None
        """The time of the latest opening."""
        self.numbers = ConnectionNumbers()
        """The numbers of the connections opened."""
        self.connections: dict[int, Connection] = {}
        """By number: connections that are open, await a result, or were opened earlier."""
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
        if self.first is None:
            self.first = (number, time)
        self.last = max(self.last, number)
        if self.latest is None or time > self.latest:
            self.latest = time
        self.numbers.add(number)
        self.delta += 1
        self.top = max(self.top, self.delta)

    def is_closed(self, number: int) -> bool:
        """Return whether a connection was opened in this run and has ended."""
        return number in self.numbers and number not in self.connections

    def after_close(self, number: int, time: int) -> Connection:
        """Return the stand-in that takes requests written after the close of the connection of this number."""
        connection = self.late_requests.get(number)
        if connection is None:
            if len(self.late_requests) >= MOST_LATE_REQUESTS:
                self.late_requests.clear()
            connection = self.late_requests[number] = Connection(time, time, UNKNOWN)
            connection.closed, connection.account = time, UNKNOWN
        return connection

    def admits_late_opening(self, number: int, time: int) -> bool:
        """Return whether an opening at this time may belong to this run, with only its line written late."""
        if self.first is None or self.latest is None or time - self.latest > LATE:
            return False
        return max(self.first[0], self.last - BURST_DISORDER) < number and number not in self.numbers

    def ascends(self, following: Run) -> bool:
        """Return whether the openings of the following run simply continue this one.

        Records before the first opening stay a run of their own: after a restart they belong to another server process.
        """
        if self.ends_before(following) or following.first is None:
            return not self.ends_before(following)
        return self.first is not None and following.first[0] > self.last

    def ends_before(self, following: Run) -> bool:
        """Return whether the log reports that another server process wrote the following run."""
        changed = bool(self.identity and following.identity and self.identity != following.identity)
        return following.explicit_start or changed

    def restarts(self, following: Run) -> bool:
        """Return whether the server restarted between this run, the whole of its process so far, and the next."""
        if self.ends_before(following):
            return True
        if following.first is None:
            return False
        number, time = following.first
        if number > self.last:
            return False
        there = self.connections.get(number)
        if there is not None:
            return not is_late(there, time, from_its_beginning=True)
        burst = self.latest is not None and time - self.latest <= LATE
        return number in self.numbers or number <= self.last - (BURST_DISORDER if burst else DISORDER)

    def restarted_at(self, following: Run) -> int | None:
        """Return when the server restarted between this run and the next, wherever the log is cut.

        It is the time that the log reports, else that of the next opening, else that of the last one before.
        """
        if self.ends_before(following):
            return self.latest if following.began is None else following.began
        return following.first[1] if following.first is not None else self.latest

    def count_on(self, following: Run) -> None:
        """Add the counts of the run that follows."""
        self.identity = self.identity or following.identity
        self.first = self.first or following.first
        self.last = max(self.last, following.last)
        self.latest = max((time for time in (self.latest, following.latest) if time is not None), default=None)
        self.numbers.update(following.numbers)
        self.top = max(self.top, self.delta + following.top)
        self.delta += following.delta
        self.initial += following.initial

    @property
    def peak(self) -> int:
        """The most connections that were open at once."""
        return self.initial + self.top


def is_late(there: Connection, time: int, *, from_its_beginning: bool = False) -> bool:
    """Return whether an opening at this time is the late line of a connection that is there already.

    slapd may write the close of a short connection before its opening. Such a connection has no request, or none in
    this chunk, unless all its records are here (`from_its_beginning`).
    """
    if there.first_request is None:
        begun = from_its_beginning and there.idle_since is None
    else:
        begun = there.first_request.op == 0
    return there.opened is None and begun and time - there.first <= LATE
