"""Workload: the contents of an access log, ranked: searches, clients, accounts, close reasons, failed binds.

BusiestWorkers: how busy the worker threads were, where the results of a log report it (389-ds).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.failed_binds import FailedBinds, accepted_binds, failed_binds, unlisted_failures
from ldapdiag.analysis.log.operations import Failure, OperationGroup, failures, operation_groups
from ldapdiag.analysis.log.quantiles import KindTimes, kind_times
from ldapdiag.analysis.log.searches import SearchGroup, UnindexedNotice, filter_totals, search_groups, unindexed_notices
from ldapdiag.analysis.log.security import Security, security_of
from ldapdiag.analysis.log.silences import Silence, silences_of
from ldapdiag.analysis.log.spellings import SpellingCounts, display_name, folded_dn, ranked, ranked_by_text, text
from ldapdiag.analysis.log.time_axis import TimeAxis, time_axis
from ldapdiag.evidence.log.client_row import ClientRow
from ldapdiag.evidence.log.durations import Durations
from ldapdiag.evidence.log.idle_times import IdleRow, IdleTimes
from ldapdiag.evidence.log.operation_kinds import NAMES, SEARCH
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.evidence.log.stamps import when
from ldapdiag.evidence.log.tables import RESTART
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.servers.close_codes import close_reason
from ldapdiag.servers.close_reasons import CloseReason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.evidence.family import Family


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTotals:
    """The searches of one client or one account. Times in nanoseconds."""

    name: str
    count: int = 0
    """Results."""
    etime: int = 0
    noted: int = 0
    """Results with a note."""
    connections: int | None = 0
    """Of a client: those it opened; of an account: those whose last bind was as this account.

    None: the table of connections is full, and counts them with all others.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientActivity:
    """The connections of a client."""

    address: str
    opened: int
    operations: int
    closes: Mapping[str, int]
    """By the server's close code, the most frequent first."""
    without_operations: Mapping[str, int]
    """The closes of connections without any operation, by code."""
    idle_times: IdleTimes
    """Idle times (LDAP) that a request ended."""
    idle_before_close: Mapping[str, IdleTimes]
    """Idle times (LDAP) that a close ended, by its code."""
    used: tuple[int, int] | None
    """From the first opening to the last use of its connections; None: no end of any is counted."""


class ClientUse(NamedTuple):
    """The connections of a client, and its first and last use in nanoseconds since 1970.

    The first is after the last where no end of a connection is counted.
    """

    address: str
    opened: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseCount:
    """The connections that ended for one reason."""

    code: str
    """The server's own."""
    meaning: CloseReason
    count: int
    clients: Mapping[str, int]
    """The most frequent first."""


@dataclass(frozen=True)
class Workload:
    """A finished Segment, ranked for people and checks; the Segment is never changed, and every order is stable."""

    segment: Segment
    family: Family | None = None
    """The family whose close codes these are; None for the combined logs of several products."""

    @property
    def began(self) -> datetime | None:
        """The time of the first record; an index that was added later may have answered none of the searches."""
        return None if self.period is None else when(self.period[0])

    @property
    def ended(self) -> datetime | None:
        """The time of the last record; an index that was added later has answered none of the searches."""
        return None if self.period is None else when(self.period[1])

    @cached_property
    def period(self) -> tuple[int, int] | None:
        """The times of the first and the last record, without those that are left out of the time axis.

        In nanoseconds since 1970; where records are left out, as exact as the axis. None for a log without records.
        """
        first, last, axis = self.segment.first_time, self.segment.last_time, self.time_axis
        if first is None or last is None:
            return None
        return (axis.begin, axis.end) if axis is not None and axis.left_out else (first, last)

    @cached_property
    def searches(self) -> tuple[SearchGroup, ...]:
        """Searches by filter shape, base and scope; the most expensive first."""
        return search_groups(self.segment, self._accounts, self.time_axis)

    @cached_property
    def plain_searches(self) -> tuple[SearchGroup, ...]:
        """The same without requesters and trends, for many servers side by side."""
        return search_groups(self.segment, None, None)

    @cached_property
    def filter_totals(self) -> tuple[SearchGroup, ...]:
        """Searches by filter shape alone, where a shape has several bases; the most expensive first."""
        return filter_totals(self.segment, self._accounts, self.time_axis)

    @cached_property
    def time_axis(self) -> TimeAxis | None:
        """What happened in each interval; None for a log without records."""
        return time_axis(self.segment)

    @cached_property
    def silences(self) -> tuple[Silence, ...]:
        """The longest times without an answer that are unlikely; the longest first."""
        return () if self.time_axis is None else silences_of(self.segment.timeline, self.time_axis)

    @cached_property
    def kinds(self) -> tuple[KindTimes, ...]:
        """The times of each kind of operation that has a result."""
        return kind_times(self.segment)

    @cached_property
    def targets(self) -> tuple[OperationGroup, ...]:
        """All other operations by kind and target; the most expensive first."""
        return operation_groups(self.segment, self._accounts, self.time_axis)

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """Results that are errors, by operation, filter or target, client and account; the most frequent first."""
        return failures(self.segment, self._accounts)

    @cached_property
    def _accounts(self) -> SpellingCounts:
        """The spellings of all accounts in the log."""
        return account_spellings(self.segment)

    def _account(self, dn: bytes) -> str:
        return display_name(self._accounts.respelled(dn))

    @cached_property
    def search_etime(self) -> int:
        """The time of all searches, in nanoseconds."""
        return sum(search.etime for search in self.searches)

    @property
    def logical_searches(self) -> int:
        """The number of searches; a paged one counts once."""
        return self.segment.operations[SEARCH] - self.segment.continued

    @cached_property
    def unindexed(self) -> int:
        """The number of searches noted as fully or partly unindexed; a paged one counts once."""
        return sum(search.unindexed for search in self.searches)

    @cached_property
    def operations(self) -> dict[str, int]:
        """Requests by operation."""
        return dict(zip(NAMES, self.segment.operations, strict=True))

    @cached_property
    def notes(self) -> dict[str, int]:
        """Search results by their notes."""
        return ranked_by_text(self.segment.noted.items())

    @cached_property
    def clients(self) -> tuple[ClientActivity, ...]:
        """Clients, by connections opened."""
        rows: dict[str, ClientRow] = {}
        for address, row in self.segment.clients.items():
            rows.setdefault(display_name(address), ClientRow()).merge(row, self.segment.closed)
        idle: dict[str, IdleRow] = {}
        for (client, _), idle_row in self.idle_rows.items():
            idle.setdefault(client, IdleRow()).merge(idle_row, self.segment.closed)
        clients = (_client(address, row, idle.get(address, IdleRow())) for address, row in rows.items())
        return tuple(sorted(clients, key=lambda client: (-client.opened, -client.operations, client.address)))

    @cached_property
    def client_uses(self) -> tuple[ClientUse, ...]:
        """Clients, by connections opened, with their first and last use alone, for many servers side by side."""
        uses: dict[str, tuple[int, int, int]] = {}
        for logged, row in self.segment.clients.items():
            address, use = display_name(logged), (row.opened, row.first, row.last)
            if other := uses.get(address):
                use = (use[0] + other[0], min(use[1], other[1]), max(use[2], other[2]))
            uses[address] = use
        ordered = sorted(uses.items(), key=lambda use: (-use[1][0], use[0]))
        return tuple(ClientUse(address, *use) for address, use in ordered)

    @cached_property
    def idle_rows(self) -> Mapping[tuple[str, str], IdleRow]:
        """The idle times (LDAP) of connections by client and account; the longest that a request ended first."""
        rows: dict[tuple[str, str], IdleRow] = {}
        for (client, account), row in self.segment.idle_times.items():
            of = display_name(client), self._account(account)
            rows.setdefault(of, IdleRow()).merge(row, self.segment.closed)
        return dict(sorted(rows.items(), key=lambda one: (-one[1].used.longest[0], -one[1].used.count, one[0])))

    @cached_property
    def by_account(self) -> dict[str, int]:
        """Connections by the account of their last bind."""
        return ranked_by_text(self.segment.accounts.items(), self._account)

    @cached_property
    def client_totals(self) -> tuple[SearchTotals, ...]:
        """The searches of each client, by their time."""
        counts = ((display_name(client), each) for client, _, each in self._searches())
        connections = {client.address: client.opened for client in self.clients}
        return _search_totals(counts, connections, None if self.segment.clients.full else 0)

    @cached_property
    def account_totals(self) -> tuple[SearchTotals, ...]:
        """The searches of each account, by their time."""
        counts = ((self._account(account), each) for _, account, each in self._searches())
        return _search_totals(counts, self.by_account, None if self.segment.accounts.full else 0)

    def _searches(self) -> Iterator[tuple[bytes, bytes, list[int]]]:
        """Yield client, account and counts of searches."""
        for (kind, _, client, account, _), counts in self.segment.attribution.items():
            if kind == SEARCH:
                yield client, account, counts

    @cached_property
    def waits(self) -> Durations:
        """The waits of all operations for a worker thread."""
        waits = Durations()
        for row in (*self.segment.shapes.values(), *self.segment.targets.values()):
            waits.merge(row.waits)
        return waits

    @cached_property
    def closes(self) -> tuple[CloseCount, ...]:
        """Closed connections by close code, the most frequent first."""
        clients: dict[str, dict[str, int]] = {}
        for client in self.clients:
            for code, count in client.closes.items():
                clients.setdefault(code, {})[client.address] = count
        return tuple(
            CloseCount(
                code=code,
                meaning=close_reason(self.family, code),
                count=count,
                clients=ranked(clients.get(code, {})),
            )
            for code, count in ranked_by_text(self._close_counts()).items()
        )

    def _close_counts(self) -> tuple[tuple[bytes, int], ...]:
        """Return the closed connections by code; those that a restart ended have a code of their own."""
        restart = ((RESTART, self.segment.ended_by_restart),) if self.segment.ended_by_restart else ()
        return (*self.segment.closed.items(), *restart)

    @cached_property
    def failed_binds(self) -> tuple[FailedBinds, ...]:
        """Failed BINDs by DN, client and result code, the most frequent first."""
        return failed_binds(self.segment, self._account)

    @cached_property
    def accepted_binds(self) -> frozenset[tuple[str, str]]:
        """DNs and clients of BINDs that succeeded."""
        return accepted_binds(self.segment, self._account)

    @cached_property
    def security(self) -> Security:
        """How connections were secured, and which were refused."""
        return security_of(self.segment)

    @property
    def unlisted_failed_binds(self) -> int:
        """The number of failed BINDs that are not listed by their account, because the table was full."""
        return unlisted_failures(self.segment, self.failed_binds)

    @cached_property
    def lacking_indexes(self) -> tuple[tuple[str, str, int], ...]:
        """Messages of slapd (loglevel filter) about lacking indexes: attribute, index type, count."""
        counts = self.segment.not_indexed.items()
        lacking = ((text(attribute), text(type_), count) for (attribute, type_), count in counts)
        return tuple(sorted(lacking, key=lambda message: (-message[2], message)))

    @cached_property
    def unindexed_notices(self) -> tuple[UnindexedNotice, ...]:
        """Unindexed searches in the errors log of 389-ds, the most frequent first."""
        return unindexed_notices(self.segment)

    @cached_property
    def versions(self) -> tuple[str, ...]:
        """The server's versions, by log headers and start messages."""
        return tuple(sorted({text(version) for _, version in self.segment.instances if version}))


def account_spellings(segment: Segment) -> SpellingCounts:
    """Return the spellings of all accounts in a log."""
    spellings = SpellingCounts(folded_dn)
    for account, count in segment.accounts.items():
        spellings.add(account, count)
    for (_, _, _, account, _), counts in segment.attribution.items():
        spellings.add(account, counts[0])
    for (_, account), row in segment.idle_times.items():
        spellings.add(account, row.count)
    return spellings


def _client(address: str, row: ClientRow, idle: IdleRow) -> ClientActivity:
    before_close: dict[str, IdleTimes] = {}
    for code, idle_times in idle.before_close.items():
        before_close.setdefault(text(code), IdleTimes()).merge(idle_times)
    return ClientActivity(
        address=address,
        opened=row.opened,
        operations=row.operations,
        closes=ranked_by_text(row.codes.items()),
        without_operations=ranked_by_text(row.silent.items()),
        idle_times=idle.used,
        idle_before_close=dict(sorted(before_close.items())),
        used=(row.first, row.last) if row.first <= row.last else None,
    )


def _search_totals(
    counts: Iterable[tuple[str, list[int]]], connections: Mapping[str, int], unlisted: int | None
) -> tuple[SearchTotals, ...]:
    """Add up (count, etime, noted) by name; names without searches have their connections only.

    `unlisted`: the connections of a name that is not among them.
    """
    sums: dict[str, list[int]] = {name: [0, 0, 0] for name in connections}
    for name, addends in counts:
        total = sums.setdefault(name, [0, 0, 0])
        for column, addend in enumerate(addends):
            total[column] += addend
    rows = (
        SearchTotals(name=name, count=count, etime=etime, noted=noted, connections=connections.get(name, unlisted))
        for name, (count, etime, noted) in sums.items()
    )
    return tuple(sorted(rows, key=lambda row: (-row.etime, -row.count, -(row.connections or 0), row.name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class BusiestWorkers:
    """The worst of the worker threads in any interval of the log (wbusy, wqdepth)."""

    busy: int
    threads: int
    busy_since: int
    """The beginning of the interval, in seconds since 1970."""
    queued: int
    """The most operations that waited for a thread."""
    queued_since: int
    busy_meanwhile: int
    """The most busy threads in the interval with the longest queue."""
    intervals: int
    """Intervals with a result that reports them."""
    seconds: int
    """The length of an interval."""


def busiest_workers(segment: Segment) -> BusiestWorkers | None:
    """Return the worst of the worker threads; None where the log does not report them."""
    step = segment.timeline.step
    reported = {number: one for number, one in segment.timeline.intervals.items() if one.most_busy[1]}
    if not reported:
        return None
    busiest = max(reported, key=lambda number: (reported[number].most_busy, -number))
    longest = max(reported, key=lambda number: (reported[number].longest_queue, -number))
    busy, threads = reported[busiest].most_busy
    return BusiestWorkers(
        busy=busy,
        threads=threads,
        busy_since=busiest * step,
        queued=reported[longest].longest_queue,
        queued_since=longest * step,
        busy_meanwhile=reported[longest].most_busy[0],
        intervals=len(reported),
        seconds=step,
    )
