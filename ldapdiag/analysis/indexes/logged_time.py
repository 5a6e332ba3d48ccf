"""LoggedTime: the times that the errors logs of a server cover, and the gaps between them with their proof.

    two files   10:00 ... 10:20 | 11:00 ... 12:00    a rotated file may be missing: nothing is known of the gap
    one file    10:00 ... 10:20   11:00 ... 12:00    a quiet server: covered, unless the server started in the pause

A pause of a log is a gap where another file begins, where the log itself lacks the end of the server before a start,
where a start or a build task that another source shows is not in the logs, and where an access log shows more restarts
than they have.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from ldapdiag.evidence.server_log_formats.logged_periods import NEW_FILE, PAUSE
from ldapdiag.lazy_dataclass import NamedTuple, dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.evidence.logged_period import LoggedPeriod
    from ldapdiag.evidence.server_log import ServerLog

LONGEST_START = timedelta(minutes=10)
"""From the first line of a start to what another source shows of it: a database may have to be recovered first."""


class Restarts(NamedTuple):
    """The restarts that an access log contains, without their times."""

    begin: datetime
    """The first line, in whole seconds: a start within that second is the one before it."""
    end: datetime
    """Of the access log."""
    number: int


class Unlogged(NamedTuple):
    """What should be in the logs and is not."""

    time: datetime
    what: str
    """A noun with its article."""


class LogGap(NamedTuple):
    """A time of which the logs may lack lines."""

    begin: datetime
    end: datetime
    why: str
    """A clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedTime:
    """The covered times, in order, and the gaps between them."""

    covered: tuple[tuple[datetime, datetime], ...] = ()
    gaps: tuple[LogGap, ...] = ()

    @property
    def first(self) -> datetime | None:
        """Return the time of the first line; None: there is none."""
        return self.covered[0][0] if self.covered else None

    @property
    def last(self) -> datetime | None:
        """Return the time of the last line; None: there is none."""
        return self.covered[-1][1] if self.covered else None

    def covers(self, at: datetime, until: datetime | None) -> bool:
        """Return whether the logs are whole from a time to their end, which is not before the last start."""
        if not self.covered:
            return False
        first, last = self.covered[-1]
        return first <= at <= last and (until is None or until <= last + LONGEST_START)

    def gap_after(self, at: datetime) -> LogGap | None:
        """Return the first gap that ends after a time; None: there is none."""
        return next((gap for gap in self.gaps if gap.end > at), None)


def logged_time(
    logs: Sequence[ServerLog],
    starts: Iterable[datetime] = (),
    restarts: Iterable[Restarts] = (),
    tasks: Iterable[datetime] = (),
) -> LoggedTime:
    """Combine the errors logs of one server; `starts` and build `tasks`: those that other sources show."""
    logged = [time for log in logs for time in log.start_times]
    missing = [
        Unlogged(time, "a start of the server")
        for time in starts
        if not any(abs(time - one) <= LONGEST_START for one in logged)
    ]
    missing += [Unlogged(time, "a task that builds indexes") for time in tasks if not _is_written(logs, time)]
    lacking = [one for one in restarts if sum(one.begin < time <= one.end for time in logged) < one.number]
    runs = [(run, place) for place, log in enumerate(logs) for run in _runs(log.periods, missing, lacking)]
    covered: list[tuple[datetime, datetime]] = []
    gaps: list[LogGap] = []
    last = -1  # the log in which the last covered time ends: another one may show what it lacks
    for run, log in sorted(runs, key=lambda one: one[0][:2]):
        if covered and run.begin <= covered[-1][1] + PAUSE and not (run.why and log == last):
            last = log if run.end > covered[-1][1] else last
            covered[-1] = (covered[-1][0], max(covered[-1][1], run.end))
            continue
        if covered:
            gaps.append(LogGap(covered[-1][1], run.begin, run.why or NEW_FILE))
        covered.append((run.begin, run.end))
        last = log
    return LoggedTime(covered=tuple(covered), gaps=tuple(gaps))


def _is_written(logs: Iterable[ServerLog], time: datetime) -> bool:
    """Return whether a log has a line at a time or within a minute after it."""
    return any(one.begin - PAUSE <= time <= one.end for log in logs for one in log.periods)


def _runs(
    periods: Sequence[LoggedPeriod], missing: Iterable[Unlogged], lacking: Iterable[Restarts]
) -> Iterator[LogGap]:
    """Yield the times of one log without a gap, each with what shows the gap before it."""
    if not periods:
        return
    begin, why = periods[0].begin, ""
    for one, other in pairwise(periods):
        if shown := other.lacks or _missing_between(one, other, missing, lacking):
            yield LogGap(begin, one.end, why)
            begin, why = other.begin, shown
    yield LogGap(begin, periods[-1].end, why)


def _missing_between(
    one: LoggedPeriod, other: LoggedPeriod, missing: Iterable[Unlogged], lacking: Iterable[Restarts]
) -> str:
    """Return what shows that lines between two periods are missing, as a clause; empty: nothing."""
    for time, what in missing:
        if one.begin <= time <= other.end:
            return f"{what} at {time:%Y-%m-%d %H:%M:%S} UTC is not in them"
    if any(restart.begin < other.begin and one.end < restart.end for restart in lacking):
        return "the access log shows a restart that is not in them"
    return ""
