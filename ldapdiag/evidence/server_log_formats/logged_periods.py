"""LoggedPeriods: the periods in which an errors log of 389-ds was written, followed line by line.

    [22/Nov/2026:10:00:02 +0000] - INFO - main - slapd stopped.
                                                                    a server that is stopped logs nothing
    [22/Nov/2026:10:40:00 +0000] - INFO - main - 389-Directory/2.3.1 B2025.016.1616 starting up

A pause is whole where nothing was to be logged. Lines are missing where another file begins (each begins with the
version), and where a start follows no end of the server: it logs its shutdown, and after a crash that it recovers
(`Detected Disorderly Shutdown`). A database of LMDB does not: after its crash lines may be missing, and within a minute
of the last line a crash is likelier.
"""

from __future__ import annotations

from dataclasses import field, replace
from datetime import datetime, timedelta

from ldapdiag.evidence.logged_period import LoggedPeriod
from ldapdiag.lazy_dataclass import NamedTuple, dataclass

PAUSE = timedelta(minutes=1)
"""Lines of one period are no farther apart."""
MOST = 10_000
"""Periods; of more, those that are closer together are taken as one."""
NEW_FILE = "another file begins then"
NO_END = "the log has a start of the server then, but not its end before"


class Unexplained(NamedTuple):
    """A start after no end of the server."""

    period: int
    """The one that contains it."""
    before: datetime
    """The line before it."""
    time: datetime


@dataclass(slots=True)
class LoggedPeriods:
    """The periods so far."""

    periods: list[LoggedPeriod] = field(default_factory=list)
    pause: timedelta = PAUSE
    lacks: str = ""
    """Of the next period."""
    has_ended: bool = True
    """The server has stopped, or the log begins here."""
    before: datetime | None = None
    """The last line before the present second."""
    unexplained: Unexplained | None = None
    """The last start, if it follows no end."""
    logs_recovery: bool = False
    """Its database is Berkeley DB, which logs that it recovers."""

    def line(self, time: datetime) -> None:
        """Follow a line."""
        last = self.periods[-1] if self.periods else None
        self.before = last.end if last is not None else None
        if last is not None and time <= last.end + self.pause and not self.lacks:
            self.periods[-1] = replace(last, end=max(last.end, time))
            return
        near = last is not None and last.end <= time <= last.end + self.pause
        self.periods.append(LoggedPeriod(begin=time, end=time, lacks="" if near or last is None else self.lacks))
        self.lacks = ""
        if len(self.periods) > MOST:
            self._join()

    def file(self) -> None:
        """Follow the first line of a file."""
        self.lacks = NEW_FILE if self.periods else ""

    def stop(self) -> None:
        """Follow a line about the end of the server."""
        self.has_ended = True

    def start(self, time: datetime) -> None:
        """Follow a start of the server, whose line is in the last period."""
        self.close()
        if not self.has_ended and self.before is not None:
            self.unexplained = Unexplained(len(self.periods) - 1, self.before, time)
        self.has_ended = False

    def recover(self) -> None:
        """Follow the line that explains a start after a crash."""
        self.unexplained = None

    def close(self) -> None:
        """Mark the period with a start that nothing has explained; at the next start, and at the end of the log."""
        if (start := self.unexplained) is None:
            return
        self.unexplained = None
        one = self.periods[start.period]
        if self.logs_recovery and start.before >= one.begin:
            parts = replace(one, end=start.before), LoggedPeriod(begin=start.time, end=one.end, lacks=NO_END)
            self.periods[start.period : start.period + 1] = parts
        elif start.period and start.time - one.begin <= PAUSE:
            self.periods[start.period] = replace(one, lacks=one.lacks or NO_END)

    def _join(self) -> None:
        """Take periods that are closer together as one, until they are half as many."""
        self.close()
        while len(self.periods) > MOST // 2:
            self.pause *= 2
            joined = self.periods[:1]
            for one in self.periods[1:]:
                if not one.lacks and one.begin - joined[-1].end <= self.pause:
                    joined[-1] = replace(joined[-1], end=max(joined[-1].end, one.end))
                else:
                    joined.append(one)
            if self.pause > timedelta(days=3650):
                joined = [joined[0], *joined[-(MOST // 2) :]]
            self.periods = joined
