"""IdleProfile: for how long connections of one server are idle before they are used again, by client and account.

LoggedLoad: the connections that a log shows over its time, and how many had been idle for how long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.log.spellings import folded_dn, text
from ldapdiag.analysis.log.time_axis import TimeAxis
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.log.idle_times import TIMEOUTS, IdleTimes
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ldapdiag.evidence.log.idle_times import IdleRow

RULE_OF_THREE = 3.0
"""-ln 0.05: of events at a rate r, none is seen in the time 3/r in one of twenty logs (Hanley, Lippman-Hand 1983)."""
DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleGroup:
    """The idle times (LDAP) of the connections of one client address that were bound as one account, by access log.

    An idle time begins with the result that leaves no operation outstanding, or with the opening of the connection.
    """

    client: str
    account: str
    """`other`: of all that did not fit into the table."""
    used: IdleTimes
    """Those that a request ended: the connection was used again."""
    closed: Mapping[str, IdleTimes]
    """Those that a close ended, by the server's close code; `restart`: by a restart of the server."""
    open: IdleTimes
    """Those still open at the end of the log."""

    def quantile(self, percent: int) -> tuple[int, int | None] | None:
        """Return the edges, in seconds, between which the quantile of `used` lies; see IdleTimes.quantile."""
        return self.used.quantile(percent)

    def belongs_to(self, accounts: Iterable[str]) -> bool:
        """Return whether its account is one of these bind DNs, however they are spelt."""
        return folded_dn(self.account.encode()) in {folded_dn(dn.encode()) for dn in accounts}

    @property
    def unused(self) -> Iterator[IdleTimes]:
        """Those that no request ended."""
        yield self.open
        yield from self.closed.values()


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketAges:
    """A second, weaker source: lower bounds of idle times, in seconds, of connections that are alive now."""

    source: str
    """`socket ages` (ss -i) or `cn=monitor`."""
    client: str
    """The client's address or host; empty: not published."""
    seconds: tuple[float, ...]
    """Ascending. How long each connection had been idle when it was seen; it may be used again later, or never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleProfile:
    """The idle times of the connections of one server. Idle times below one second are not counted."""

    kind: ClassVar[str] = "idle-profile"
    how: ClassVar[str] = AccessLog.how

    server: str
    """The server, by the name of its instance."""
    groups: tuple[IdleGroup, ...] = ()
    """The longest idle time that a request ended first; empty without an access log."""
    load: LoggedLoad | None = None
    """The period that the log covers; None: there is no access log, so nothing shows who used a connection again."""
    ages: tuple[SocketAges, ...] = ()
    missing: tuple[str, ...] = ()
    """What the profile lacks, as clauses: nothing is clear of what they name."""

    @property
    def longest_used(self) -> float:
        """Return the longest idle time, in seconds, that a request ended; 0: none is known."""
        return max((group.used.longest[0] / SECOND for group in self.groups), default=0.0)

    @property
    def silent_seconds(self) -> float:
        """Return the time of the access log's gaps: without a record for longer than any idle time."""
        return 0.0 if self.load is None else self.load.silent_seconds(self.longest_used)

    @property
    def log_seconds(self) -> float | None:
        """Return the time of the access log without its gaps; None without an access log."""
        return None if self.load is None else self.load.seconds - self.silent_seconds

    def most_cuts_per_day(self, timeout: int) -> float | None:
        """Return an upper bound, at 95 %, of the cuts a day at a timeout that no idle time in the log has reached.

        What a log of L seconds does not show once happens at less than 3 / (L - timeout) a second: an idle time is seen
        whole where it began in the first L - timeout seconds (of each stretch, where the log has gaps). None: no
        stretch is longer than the timeout, so the log cannot show such an idle time. It presumes that idle times do
        not depend on each other or on the hour: what happens once a week, only a log of a week shows.
        """
        if self.load is None:
            return None
        shown = sum(max(0.0, seconds - timeout) for seconds in self.load.stretches(self.longest_used))
        return RULE_OF_THREE * DAY / shown if shown else None


def seconds_to_record(timeout: int, cuts_per_day: float = 1.0) -> float:
    """Return how long a log without an idle time of `timeout` must be to exclude, at 95 %, so many cuts a day."""
    return timeout + RULE_OF_THREE * DAY / cuts_per_day


@provides(IdleProfile)
def idle_profile(server: Instance, pairing: Pairing | None = None, traffic: Traffic | None = None) -> IdleProfile:
    """Gather the idle times of a server's connections from its access logs, socket tables and cn=monitor."""
    ages = tuple(sorted((*_socket_ages(pairing), *_monitor_ages(server)), key=lambda one: (one.source, one.client)))
    if traffic is None:
        return IdleProfile(server=server.name, ages=ages, missing=(f"there is no access log of {server.name}",))
    rows = traffic.workload.idle_rows.items()
    groups = [_group(client, account, row) for (client, account), row in rows]
    groups.sort(key=lambda one: (-one.used.longest[0], -one.used.count, one.client, one.account))
    return IdleProfile(
        server=server.name,
        groups=tuple(groups),
        load=logged_load(traffic),
        ages=ages,
        missing=tuple(_missing(traffic)),
    )


def _group(client: str, account: str, row: IdleRow) -> IdleGroup:
    closed: dict[str, IdleTimes] = {}
    for code, idle_times in row.before_close.items():
        closed.setdefault(text(code), IdleTimes()).merge(idle_times)
    return IdleGroup(client=client, account=account, used=row.used, closed=dict(sorted(closed.items())), open=row.open)


def _socket_ages(pairing: Pairing | None) -> Iterator[SocketAges]:
    ages: dict[str, list[float]] = {}
    for direction in pairing.directions if pairing else ():
        ages.setdefault(direction.client, []).extend(direction.idle_times.live)
    for client, seconds in ages.items():
        if seconds:
            yield SocketAges(source="socket ages", client=client, seconds=tuple(sorted(seconds)))


def _monitor_ages(server: Instance) -> Iterator[SocketAges]:
    monitor = server.monitor
    if monitor is None or monitor.taken_at is None:
        return
    ages: dict[str, list[float]] = {}
    for connection in monitor.connections or ():
        if connection.active is not None:
            seconds = (monitor.taken_at - connection.active).total_seconds()
            ages.setdefault(connection.client, []).append(max(0.0, seconds))
    for client, several in ages.items():
        yield SocketAges(source="cn=monitor", client=client, seconds=tuple(sorted(several)))


LIMITS = {
    "idle_times": "the rarest clients and accounts are counted together",
    "clients": "the clients with the least work are counted together",
    "connections": "the log has more connections at once than are followed",
    "pending": "the log has more outstanding requests than are followed",
    "codes": "the log has more close codes than are counted",
}
"""What a cap that was hit means for idle times, by its name."""


def _missing(traffic: Traffic) -> Iterator[str]:
    segment = traffic.segment
    if not traffic.workload.idle_rows:
        yield "the log shows no idle time of a second or longer"
    if segment.open_before:
        yield (
            f"{segment.open_before} connections were open before the log began: how long they had been idle until "
            "their first record is not known"
        )
    if segment.lost:
        yield f"the log reports {segment.lost} lost lines"
    for name in segment.caps_hit:
        if name in LIMITS:
            yield LIMITS[name]


NONE = (0, 0, 0)
SHOWS = 60.0
"""Seconds of the log that a request shows at least, however short the idle times are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedTimeout:
    """The connections that reached one idle timeout, by interval of the time axis."""

    before: int
    """Before the axis begins: those that reached it, less those used again or closed."""
    reached: tuple[int, ...]
    """Connections whose idle time reached the timeout."""
    used: tuple[int, ...]
    """Connections used again after that: their clients connect anew."""
    closed: tuple[int, ...]
    """Connections closed after that, or ended by a restart of the server."""

    def away(self, late: int) -> Iterator[int]:
        """Yield how many connections the timeout has at least closed at the beginning of each interval.

        `late`: intervals from the timeout until the server closes a connection, rounded up.
        """
        reached = (*(0,) * late, self.before, *self.reached)
        ended = (0, *(used + closed for used, closed in zip(self.used, self.closed, strict=True)))
        return accumulate(came - went for came, went in zip(reached, ended, strict=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedLoad:
    """The connections of an access log over its time."""

    seconds: float
    """From its first record to its last."""
    resolution: float
    """Seconds: how coarse its stamps are."""
    origins: tuple[str, ...]
    peak: int
    """The most connections at once."""
    connection_seconds: float
    """The time that its connections were open, at the resolution of the time axis."""
    quiet_seconds: float
    """No time without any record of the server was longer, at the resolution of the time axis."""
    silences: tuple[tuple[float, float], ...]
    """When the log has no record, in seconds since its first one: runs of whole intervals of the time axis."""
    step: int
    """Seconds of an interval of the time axis."""
    open: tuple[int, ...]
    """Open connections at the beginning of each interval."""
    begins: float
    """Seconds from the beginning of the first interval to the first record."""
    opened: tuple[int, ...]
    """Connections opened in each interval."""
    answered: tuple[int, ...]
    """Requests answered in each interval."""
    reached: Mapping[int, ReachedTimeout]
    """By timeout in seconds (evidence.log.idle_times.TIMEOUTS)."""

    def stretches(self, longest_idle: float) -> tuple[float, ...]:
        """Return the lengths, in seconds, of the parts of its time that it is sure to show, at least.

        A silence that is longer than any idle time may be a part of the log that is not in the evidence (files that
        were rotated away, logging that was off), or a server without work: it does not show what is used again.
        An interval beside it may have its only record at its far end.
        """
        gaps = [(begin - self.step, end + self.step) for begin, end in self.silences if end - begin > longest_idle]
        gaps = sorted([*gaps, *self._sparse(longest_idle)])
        begins, ends = accumulate((0.0, *(end for _, end in gaps)), max), [*(begin for begin, _ in gaps), self.seconds]
        whole = (max(0.0, end - begin) for begin, end in zip(begins, ends, strict=True))
        return (*whole, *self._sparse(longest_idle).values())

    def silent_seconds(self, longest_idle: float) -> float:
        """Return the time of the silences that are longer than any idle time, those within intervals included."""
        silent = sum(end - begin for begin, end in self.silences if end - begin > longest_idle)
        sparse = self._sparse(longest_idle).items()
        return silent + sum(end - begin - shown for (begin, end), shown in sparse)

    def _sparse(self, longest_idle: float) -> dict[tuple[float, float], float]:
        """Return the intervals that must have such a silence, and the seconds that each shows.

        A request shows the time since the one before it, if that is not longer than any idle time.
        """
        shows = max(SHOWS, longest_idle)
        intervals = ((self._interval(place), answered * shows) for place, answered in enumerate(self.answered))
        return {(begin, end): shown for (begin, end), shown in intervals if 0 < shown < end - begin}

    def _interval(self, place: int) -> tuple[float, float]:
        """Return when an interval begins and ends, in seconds since the first record, within the log's time."""
        begin = place * self.step - self.begins
        return max(0.0, begin), min(self.seconds, begin + self.step)

    def peak_under(self, timeout: int, late_seconds: float = 0.0, exempt: int = 0) -> int | None:
        """Return an upper bound of the most connections at once under a timeout; None: the log is not counted for it.

        Each interval is taken as if all that opened or came back in it did so first. The server closes a connection
        at most `late_seconds` after the timeout. `exempt`: idle times beyond it of connections it does not apply to.
        """
        reached = self.reached.get(timeout)
        if reached is None:
            return None
        away = reached.away(ceil(late_seconds / self.step))
        intervals = zip(self.open, away, self.opened, reached.used, strict=False)
        most = max((before - max(0, gone) + opened + back for before, gone, opened, back in intervals), default=0)
        return min(self.peak, max(0, most + exempt))


def logged_load(traffic: Traffic) -> LoggedLoad | None:
    """Return the connections of a server's access logs over their time; None for logs without records."""
    segment, axis = traffic.segment, traffic.workload.time_axis
    if axis is None:
        return None
    first = axis.open[0] - axis.intervals[0].opened + axis.intervals[0].closed
    opened = (max(0, first), *axis.open[:-1])
    middle = sum((before + after) / 2 for before, after in zip(opened, axis.open, strict=True)) * axis.step
    covered = len(axis.intervals) * axis.step
    return LoggedLoad(
        seconds=traffic.seconds,
        resolution=segment.resolution / SECOND,
        origins=traffic.origins,
        peak=segment.peak,
        connection_seconds=middle * traffic.seconds / covered,
        quiet_seconds=_longest_quiet(axis),
        silences=tuple(_silences(axis, traffic.seconds)),
        step=axis.step,
        open=opened,
        begins=(axis.begin - axis.at(0)) / SECOND,
        opened=tuple(interval.opened for interval in axis.intervals),
        answered=tuple(interval.answered for interval in axis.intervals),
        reached={timeout: _reached(traffic, axis, timeout) for timeout in TIMEOUTS},
    )


def _silences(axis: TimeAxis, seconds: float) -> Iterator[tuple[float, float]]:
    """Yield the runs of intervals without a record, in seconds since the first record."""
    for run in axis.silences:
        since, until = ((axis.at(place) - axis.begin) / SECOND for place in (run.start, run.stop))
        yield max(0.0, since), min(seconds, until)


def _longest_quiet(axis: TimeAxis) -> float:
    """Return an upper bound: the longest run of intervals without a record, and those beside it."""
    return (max(map(len, axis.silences), default=0) + 2) * axis.step


def _reached(traffic: Traffic, axis: TimeAxis, timeout: int) -> ReachedTimeout:
    timeline = traffic.segment.timeline
    begin = axis.first * axis.step // timeline.step
    earlier = [one.idle.get(timeout, NONE) for number, one in timeline.intervals.items() if number < begin]
    cells = [interval.idle.get(timeout, NONE) for interval in axis.intervals]
    reached, used, closed = zip(*cells, strict=True)
    before = sum(came - back - gone for came, back, gone in earlier)
    return ReachedTimeout(before=before, reached=reached, used=used, closed=closed)
