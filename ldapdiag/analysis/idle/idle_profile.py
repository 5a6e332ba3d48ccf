"""IdleProfile: for how long connections of one server are idle before they are used again, by client and account."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.idle.parked import LoggedLoad, logged_load
from ldapdiag.analysis.log.spellings import folded_dn, text
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.log.idle_times import IdleTimes
from ldapdiag.evidence.log.stamps import SECOND

if TYPE_CHECKING:
    from ldapdiag.evidence.log.idle_row import IdleRow

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
