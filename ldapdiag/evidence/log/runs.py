"""Runs of openings, and where a server life ends.

A server numbers its connections upwards, so a log is a sequence of runs of ascending openings; where an opening does
not ascend, the server has restarted (there may be no banner), or two lines were written in the wrong order. Which of
the two is decided when everything before is known: two runs are one life unless `restarts` says no.
"""

from __future__ import annotations

from ldapdiag.evidence.log.connection import UNKNOWN, Connection
from ldapdiag.evidence.log.numbers import Numbers

DISORDER = 8
"""So far below the newest connection one may be that was accepted before it and written after it."""

BURST_DISORDER = 1024
"""So far, while connections come in: each of slapd's threads may sit on the line of an opening, of 32 were 37 late."""

MOST_GONE = 1_000
"""Closed connections of which requests are followed that were written later."""

LATE = 1_000_000_000
"""Nanoseconds by which the line of an opening may come after the connection's first request: slapd does that."""


class Run:
    """A stretch of a log in which openings ascend: its connections, and how many were open at once."""

    __slots__ = (
        "certain",
        "connections",
        "delta",
        "first",
        "gone",
        "identity",
        "initial",
        "last",
        "latest",
        "numbers",
        "top",
    )

    def __init__(self, *, certain: bool = False) -> None:
        self.certain = certain
        """The log says that the server started here."""
        self.identity = b""
        """What tells this life of the server from others; empty where the log does not say."""
        self.first: tuple[int, int] | None = None
        """Number and time of the first opening."""
        self.last = -1
        """The highest number opened or mentioned."""
        self.latest: int | None = None
        """When a connection was opened last."""
        self.numbers = Numbers()
        """Those that were opened."""
        self.connections: dict[int, Connection] = {}
        """Those that are open, or wait for a result, or were opened earlier, by number."""
        self.gone: dict[int, Connection] = {}
        """Requests that were written after the close of their connection, by its number: they are nobody's."""
        self.delta = 0
        """Openings less closes."""
        self.top = 0
        """The most that delta has been."""
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

    def is_gone(self, number: int) -> bool:
        """Tell whether a connection was opened in this run and is not there any more."""
        return number in self.numbers and number not in self.connections

    def after_close(self, number: int, time: int) -> Connection:
        """Return nobody's connection, for a request that was written after the close of the one of this number."""
        connection = self.gone.get(number)
        if connection is None:
            if len(self.gone) >= MOST_GONE:
                self.gone.clear()
            connection = self.gone[number] = Connection(time, time, UNKNOWN)
            connection.closed, connection.account = time, UNKNOWN
        return connection

    def holds(self, number: int, time: int) -> bool:
        """Tell whether an opening at this time belongs among those of this run, and only its line is late."""
        if self.first is None or self.latest is None or time - self.latest > LATE:
            return False
        return max(self.first[0], self.last - BURST_DISORDER) < number and number not in self.numbers

    def ascends(self, following: Run) -> bool:
        """Tell whether the openings of the run that follows simply go on.

        What comes before the first opening stays apart from it: should that be a restart, it was another life.
        """
        if self.ends_before(following) or following.first is None:
            return not self.ends_before(following)
        return self.first is not None and following.first[0] > self.last

    def ends_before(self, following: Run) -> bool:
        """Tell whether the log says that the run that follows belongs to another life."""
        return following.certain or bool(self.identity and following.identity and self.identity != following.identity)

    def restarts(self, following: Run) -> bool:
        """Tell whether the server restarted between this run, which is all of its life so far, and the next."""
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

    def count_on(self, following: Run) -> None:
        """Take over what another run counted, as what came next."""
        self.identity = self.identity or following.identity
        self.first = self.first or following.first
        self.last = max(self.last, following.last)
        self.latest = max((time for time in (self.latest, following.latest) if time is not None), default=None)
        self.numbers.take(following.numbers)
        self.top = max(self.top, self.delta + following.top)
        self.delta += following.delta
        self.initial += following.initial

    @property
    def peak(self) -> int:
        """The most connections that were open at once."""
        return self.initial + self.top


def is_late(there: Connection, time: int, *, from_its_beginning: bool = False) -> bool:
    """Tell whether an opening at this time is the late line of a connection that has already asked, or is closed.

    slapd may write the close of a client that goes away at once before its opening. It has asked nothing, or not in
    this piece, unless what is there is known to be all of it (`from_its_beginning`).
    """
    begun = from_its_beginning and there.rested is None if there.asked is None else there.asked.op == 0
    return there.opened is None and begun and time - there.first <= LATE
