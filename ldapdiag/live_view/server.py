"""One directory server in a live view: what its sources said, joined with the last diagnosis, as rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.load.forecast import LEAST_GAIN, InUse, LimitForecast, forecast
from ldapdiag.analysis.load.readings import Reading
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.live_view.judged import WRONG, judged
from ldapdiag.live_view.rates import MINUTE, CountSeries, NumberSeries
from ldapdiag.live_view.searches import LogModel
from ldapdiag.live_view.source import State, TimedSource
from ldapdiag.report.series import of_readings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from ldapdiag.evidence.monitor import MonitoredConnection
    from ldapdiag.live_view.judged import BothEnds, LastDiagnosis
    from ldapdiag.live_view.searches import SearchRow
    from ldapdiag.live_view.socket_look import SocketLook
    from ldapdiag.sources.live.ldap.watch import Look
    from ldapdiag.sources.logs.log_watch import LogLook

SOURCE, TABLES = "cn=monitor", "the socket tables"
MOST_READINGS = 2_000
"""Of a forecast; twice as many are thinned."""
FORECAST_SECONDS = 30.0
RESTARTED = "the server was restarted: rates begin anew"
RECENT_SECONDS = 10.0
"""Over which operations are counted."""
COUNTED_LATE = -1.0
"""Operations a second that the requests of the view may exceed what the server has counted; else it began anew."""
NOT_LISTED = "not published"
NO_LOOK: State[Any] = State()


@dataclass(frozen=True, slots=True)
class LiveRow:
    """A client or an account. None: unknown, which is not zero."""

    name: str
    connections: int
    per_second: float | None
    """Over the last minute."""
    since_start: float | None
    has_grown: bool
    others: tuple[str, ...]
    """The accounts of a client, the clients of an account, the one with the most connections first."""
    ends: BothEnds | None = None

    @property
    def key(self) -> str:
        """Return its name, which no other row has."""
        return self.name

    @property
    def wrong(self) -> int:
        """Return how many connections are known to be wrong."""
        return self.ends.wrong if self.ends else 0


def utc_now() -> datetime:
    """Return the time of a live view."""
    return datetime.now(UTC)


class ServerModel:
    """What is known of one server. Read and updated by the thread of the screen alone."""

    def __init__(
        self,
        label: str,
        counters: TimedSource[Look],
        listing: TimedSource[Look],
        log: TimedSource[LogLook],
        endpoint: Callable[[], tuple[str, int] | None],
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.label = label
        self.counters = counters
        self.listing = listing
        self.log = log
        self.logged = LogModel()
        self.judged: LastDiagnosis | None = None
        """The last diagnosis, with both ends by client as the latest tables show them."""
        self.looked: SocketLook | None = None
        """Those tables; None: they are the diagnosis' own."""
        self.names: frozenset[str] = frozenset()
        """Of this server in them."""
        self.diagnosed: Mapping[str, BothEnds] = {}
        """Both ends as the diagnosis itself showed them."""
        self.forecast: TimedSource[LimitForecast | None] = TimedSource(
            "forecast", self.foresee, lambda: FORECAST_SECONDS, share=1.0
        )
        self.connections, self.operations = NumberSeries(), NumberSeries()
        self.by_client, self.by_account = CountSeries(), CountSeries()
        self.readings: list[Reading] = []
        self.ghosts: list[Reading] = []
        """Those that the diagnoses, and the tables read between them, have shown."""
        self.now = now
        self._endpoint = endpoint
        self._seen: dict[str, float] = {}
        self._found: dict[str, object] = {}
        self._log: LogLook | None = None
        self._accounts: dict[str, Counter[str]] = {}
        self._clients: dict[str, Counter[str]] = {}
        self._errors: dict[str, str] = {}
        self._begun: tuple[datetime | None, int | None] = (None, None)
        self.restarted_at = float("-inf")
        self.started_at: datetime | None = None
        self.has_restarted = False
        """Since the view began."""
        self.was_filling = False
        """A forecast had an end, since the server began."""
        self.version = 0
        """Of the rows: it grows with each list, each diagnosis and each addition to the log."""

    @property
    def listed(self) -> tuple[MonitoredConnection, ...] | None:
        """Return the connections of the last list; None: there is none, or this account may not see it."""
        look = self.listing.state.value
        return look.monitor.connections if look else None

    @property
    def _is_cut(self) -> bool:
        look = self.listing.state.value
        return look is not None and look.is_cut

    @property
    def changes(self) -> list[str]:
        """Return what the latest tables show to be wrong, or no longer, unlike the diagnosis."""
        if self.judged is None or self.looked is None:
            return []
        sums = {what: [_total(each, what) for each in (self.diagnosed, self.judged.clients)] for what in WRONG}
        return [
            f"{what} not judged" if now is None else f"{now:,} {what}"
            for what, (then, now) in sums.items()
            if now != then
        ]

    @property
    def current(self) -> int | None:
        """Return the present number of connections."""
        look = self.counters.state.value
        return look.monitor.current_connections if look else None

    def update(
        self,
        diagnosis: State[Mapping[str, Any]],
        sockets: State[SocketLook] = NO_LOOK,
        *,
        is_only: bool = True,
    ) -> list[str]:
        """Take what is new, and return what is worth an event. `is_only`: no other server is watched."""
        events = [*self._new_errors()]
        states = (self.counters.state, self._take_counters), (self.listing.state, self._take_list)
        # In the order of the answers: a counter that is less than in an earlier one shows a restart.
        for state, take in sorted(states, key=lambda one: one[0].at):
            if state.value is not None and state.at > self._seen.get(take.__name__, -1.0):
                self._seen[take.__name__] = state.at
                events += take(state.value, state.at)
        if (look := self.log.state.value) is not None and look is not self._log:
            self._log = look
            self.version += 1
            self.logged.take(look)
        # What began before a restart may have read the connections that are gone; the later one counts.
        ways: tuple[tuple[str, State[Any], Callable[[Any], list[str]]], ...] = (
            (
                "diagnosis",
                diagnosis,
                lambda found: self.take_diagnosis(judged(found, self._endpoint(), is_only=is_only)),
            ),
            ("sockets", sockets, lambda found: self._take_sockets(found, is_only=is_only)),
        )
        for name, of, take_it in sorted(ways, key=lambda one: one[1].at):
            if of.value is not None and of.value is not self._found.get(name) and of.asked >= self.restarted_at:
                self._found[name] = of.value
                events += take_it(of.value)
        return events

    def take_diagnosis(self, found: LastDiagnosis | None) -> list[str]:
        """Take a later diagnosis, and return its new findings as events; None: there is none of this time."""
        self.version += 1
        before, self.judged = self.judged, found
        self.looked, self.diagnosed = None, found.clients if found else {}
        self._add_ghosts()
        known = before.findings.keys() if before else ()
        return (
            [f"new finding: {title}" for one, title in found.findings.items() if one not in known]
            if found and before
            else []
        )

    def _take_sockets(self, look: SocketLook, *, is_only: bool) -> list[str]:
        """Take both ends from later tables; what else the diagnosis said stays."""
        if self.judged is None:
            return []
        clients, self.names, why = look.clients(self._endpoint(), is_only=is_only)
        self.version += 1
        before = self.judged.clients
        self.judged, self.looked = replace(self.judged, clients=clients, not_matched=why), look
        self._add_ghosts()
        return [
            f"{name}: {count} {what}"
            for name, ends in clients.items()
            for what in WRONG
            if (count := getattr(ends, what)) and count > (getattr(before.get(name), what, None) or 0)
        ]

    def _add_ghosts(self) -> None:
        ghosts = (
            [ends.ghosts for ends in self.judged.clients.values() if ends.ghosts is not None] if self.judged else []
        )
        if ghosts:
            _add(self.ghosts, Reading(self.now(), sum(ghosts), TABLES))

    def foresee(self) -> LimitForecast | None:
        """Return when the descriptors run out: asked in a thread of its own, as it takes a while."""
        readings, found, restarted_at = tuple(self.readings), self.judged, self.restarted_at
        if found is None or found.used is None or found.limit is None:
            return None
        foreseen = forecast(readings, found.limit, InUse(count=found.used, at=found.taken_at))
        if restarted_at != self.restarted_at:  # meanwhile
            return None
        self.was_filling = self.was_filling or foreseen.median is not None
        return foreseen

    @property
    def is_falling(self) -> bool:
        """Return whether there are fewer connections than a minute ago, by more than what counts as growth."""
        change = self.connections.per_second()
        return change is not None and change * MINUTE <= -LEAST_GAIN

    def clients(self) -> list[LiveRow]:
        """Return the clients, those with something wrong first, then those with the most connections."""
        ends = self.judged.clients if self.judged else {}
        counts: Mapping[str, int] = self.by_client.now
        if (self.listed is None and not counts) or self._is_cut:  # of a list that is cut, a count is a lower bound
            counts = {name: max(one.server_count, counts.get(name, 0)) for name, one in ends.items()} | {
                name: count for name, count in counts.items() if name not in ends
            }
        names = dict.fromkeys((*self.by_client.names(), *counts, *(name for name in ends if ends[name].wrong)))
        return _ordered(self._row(name, counts, self.by_client, self._accounts, ends.get(name)) for name in names)

    def accounts(self) -> list[LiveRow]:
        """Return the accounts, the one with the most connections first."""
        counts = self.by_account.now
        return _ordered(
            self._row(name, counts, self.by_account, self._clients, None) for name in self.by_account.names()
        )

    def searches(self) -> tuple[SearchRow, ...]:
        """Return the searches of the last minute, the costliest first."""
        return self.logged.minute.rows if self.logged.minute else ()

    @property
    def is_log_old(self) -> bool:
        """Return whether the log no longer shows what happens."""
        return self.log.is_old or self.logged.is_silent

    def minutes(self) -> Iterator[dict[str, Any]]:
        """Yield connections and ghosts since the view began, as rows of the series of a report."""
        yield from of_readings(self.label, self.readings)
        yield from of_readings(self.label, self.ghosts, "ghosts")

    def operations_per_second(self) -> float | None:
        """Return the operations of the last seconds, without those of the view itself."""
        rate = self.operations.per_second(RECENT_SECONDS)
        return None if rate is None or rate < COUNTED_LATE else max(0.0, rate)

    def _row(
        self,
        name: str,
        counts: Mapping[str, int],
        series: CountSeries,
        others: Mapping[str, Counter[str]],
        ends: BothEnds | None,
    ) -> LiveRow:
        return LiveRow(
            name=name,
            connections=counts.get(name, 0),
            per_second=series.per_second(name),
            since_start=series.since_start(name),
            has_grown=series.has_grown(name),
            others=tuple(one for one, _ in others.get(name, Counter()).most_common()),
            ends=ends,
        )

    def _take_counters(self, look: Look, at: float) -> list[str]:
        events = self._restarted(look, at)
        monitor = look.monitor
        if monitor.current_connections is not None:
            self.connections.add(at, monitor.current_connections)
            _add(self.readings, Reading(self.now(), monitor.current_connections, SOURCE))
        if monitor.operations is not None:
            self.operations.add(at, monitor.operations - look.requests)
        return events

    def _take_list(self, look: Look, at: float) -> list[str]:
        events = self._restarted(look, at)
        self.version += 1
        listed = look.monitor.connections
        if listed is None:
            self._forget_list()
            return events
        self._accounts, self._clients = _grouped(listed)
        if look.is_cut:  # an arbitrary part: differences between two such lists mean nothing
            self.by_client, self.by_account = CountSeries(), CountSeries()
        self.by_client.add(at, {name: accounts.total() for name, accounts in self._accounts.items()})
        self.by_account.add(at, {name: clients.total() for name, clients in self._clients.items()})
        return events

    def _forget_list(self) -> None:
        self.by_client, self.by_account = CountSeries(), CountSeries()
        self._accounts, self._clients = {}, {}

    def _restarted(self, look: Look, at: float) -> list[str]:
        """Begin the rates anew where the server has: by its time of start, or a counter that fell."""
        (start, total), monitor = self._begun, look.monitor
        new_start = monitor.started_at and start and abs((monitor.started_at - start).total_seconds()) > 1
        fell = total is not None and monitor.total_connections is not None and monitor.total_connections < total
        self._begun = (
            monitor.started_at or start,
            total if monitor.total_connections is None else monitor.total_connections,
        )
        self.started_at = self._begun[0]
        if not (new_start or fell):
            return []
        if not monitor.started_at:
            self._begun = None, monitor.total_connections
            self.started_at = None
        self.connections, self.operations = NumberSeries(), NumberSeries()
        self._forget_list()
        self.readings.clear()
        self.ghosts.clear()
        # What was read before it is of connections that are gone.
        self.judged, self.looked, self.has_restarted, self.restarted_at = None, None, True, at
        self.forecast.state, self.was_filling = State(), False
        self.version += 1
        if self.listing.state.at < self.counters.state.at:
            self.listing.state = State(doublings=self.listing.state.doublings)
            self.listing.wake.set()
        return [RESTARTED]

    def _new_errors(self) -> list[str]:
        events = []
        sources: list[TimedSource[Any]] = [self.counters, self.listing, *([self.log] if self._log else [])]
        for source in sources:
            before, now = self._errors.get(source.name, ""), source.state.error
            self._errors[source.name] = now
            if now and now != before:
                events.append(f"{source.name}: {now}")
            elif before and not now:
                events.append(f"{source.name}: answers again")
        return events


def _total(clients: Mapping[str, BothEnds], what: str) -> int | None:
    """Return the sum over all clients that are judged; None: none is."""
    known = [count for ends in clients.values() if (count := getattr(ends, what)) is not None]
    return sum(known) if known else None


def _add(readings: list[Reading], reading: Reading) -> None:
    readings.append(reading)
    if len(readings) > 2 * MOST_READINGS:
        readings[:] = readings[::2]


def _grouped(listed: Iterable[MonitoredConnection]) -> tuple[dict[str, Counter[str]], dict[str, Counter[str]]]:
    """Return the accounts of each client, and the clients of each account."""
    accounts: dict[str, Counter[str]] = {}
    clients: dict[str, Counter[str]] = {}
    for one in listed:
        client, account = one.client or NOT_LISTED, one.account or "anonymous"
        accounts.setdefault(client, Counter())[account] += 1
        clients.setdefault(account, Counter())[client] += 1
    return accounts, clients


def _ordered(rows: Iterable[LiveRow]) -> list[LiveRow]:
    return sorted(rows, key=lambda row: (-row.wrong, -row.connections, row.name))
