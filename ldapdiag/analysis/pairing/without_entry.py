"""Connections without an entry: what both ends show of a connection that a middlebox's flow table does not contain.

The entry may be missing because the connection was opened after the table was taken. So each end is asked for its age:
how long ago anything arrived there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import (
    column_seconds,
    probes_unanswered,
    retransmits,
    seconds_since_received,
    unanswered_seconds,
)
from ldapdiag.analysis.pairing.skew import minimum_age_seconds
from ldapdiag.evidence.sockets import TcpState
from ldapdiag.lazy_dataclass import NamedTuple, dataclass

if TYPE_CHECKING:
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.socket_index import ClientIndex
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
    from ldapdiag.evidence.sockets import Key, SocketTable

CLOCK_SECONDS = 1.0
"""The collection script reports times in whole seconds."""

CLOSED_SECONDS = 10.0
"""Linux keeps the entry of a connection that has ended for longer, whatever ended it (nf_conntrack_tcp_timeout_close;
Documentation/networking/nf_conntrack-sysctl.rst)."""


class Pair(NamedTuple):
    """The sockets of one connection: a row of the server's table, and one of the client's nearest."""

    row: int | None
    """None: which it is is not known, behind a NAT that has no entry for it."""
    client_row: int | None
    """None: the client's end was not read."""


class Trace(Enum):
    """What both ends show of a connection without an entry."""

    USED = auto()
    """Something has arrived since the flow table was taken: it is live."""
    UNANSWERED = auto()
    """It existed then, and segments or keepalive probes of an end are unanswered."""
    QUIET = auto()
    """It existed then, and nothing has arrived since."""
    NEW = auto()
    """It may have been opened since, or used."""
    ENDED = auto()
    """The flow table was taken later, and it may have ended before."""
    UNKNOWN = auto()
    """No table shows ages, or no time is known."""


@dataclass(frozen=True, slots=True)
class MatchedEnds:
    """Both ends of the connections of one direction that are established at both, or at the server alone."""

    unjoined: UnjoinedDirection
    near: ClientIndex | None
    """The client's snapshot nearest to the server's; None: the client's end was not read."""
    indexes: Sequence[ClientIndex]
    """All snapshots of the client."""
    pairs: Sequence[Pair]

    def server_key(self, pair: Pair) -> Key | None:
        """Return the key of a connection as the server writes it; None where that is not known."""
        return None if pair.row is None else self.unjoined.key_of(pair.row)

    def client_key(self, pair: Pair) -> Key:
        """Return the key of a connection as the client's host writes it."""
        if self.near is None or pair.client_row is None:
            address, port, client, client_port = self.unjoined.key_of(pair.row or 0)
            return client, client_port, address, port
        table, row = self.near.table, pair.client_row
        return table.local_address[row], table.local_port[row], table.remote_address[row], table.remote_port[row]

    @property
    def seconds_between_snapshots(self) -> float:
        """Return the time from the client's first snapshot to the nearest one; 0 where it is not known."""
        begun = [taken.end for index in self.indexes if (taken := index.snapshot.taken)]
        near = self.near.snapshot.taken if self.near else None
        return max(0.0, (near.start - min(begun)).total_seconds()) if near and begun else 0.0

    def idle_seconds(self, pair: Pair) -> float | None:
        """Return for how long nothing has arrived at either end, until its snapshot; None: no table shows it."""
        ages = [_age(table, row) for table, row in self._rows(pair)]
        return min((age for age in ages if age is not None), default=None)

    def unused_seconds(self, pair: Pair, box: Middlebox) -> float:
        """Return for how long nothing arrived at both ends after a flow table was taken; 0 where that is not known."""
        if pair.row is None or pair.client_row is None or self.near is None:
            return 0.0
        unused = []
        for snapshot, row in ((self.unjoined.snapshot, pair.row), (self.near.snapshot, pair.client_row)):
            age, own, taken = _age(snapshot.sockets, row), snapshot.taken, box.nearest_time(snapshot.taken)
            if age is None or own is None or taken is None or age <= own.seconds_apart(taken) + CLOCK_SECONDS:
                return 0.0
            unused.append((own.start - taken.end).total_seconds() - CLOCK_SECONDS)
        return max(0.0, *unused)

    def is_unanswered(self, pair: Pair) -> bool:
        """Return whether segments or keepalive probes of either end are unanswered."""
        return any(retransmits(table, row) or probes_unanswered(table, row) for table, row in self._rows(pair))

    def unanswered_seconds(self, pair: Pair) -> float | None:
        """Return for how long packets of either end have been unanswered, at least; None: none is, or one was lost."""
        found = [unanswered_seconds(table, row) for table, row in self._rows(pair)]
        return max((seconds for seconds in found if seconds is not None), default=None)

    def _rows(self, pair: Pair) -> Iterator[tuple[SocketTable, int]]:
        if pair.row is not None:
            yield self.unjoined.table, pair.row
        if self.near is not None and pair.client_row is not None:
            yield self.near.table, pair.client_row


class _End(NamedTuple):
    """One end's snapshot against the time of the flow table, in seconds."""

    table: SocketTable
    apart: float
    """The longest time between both."""
    existed: float
    """A connection that is older existed when the flow table was taken."""
    since: float | None
    """The shortest time since the flow table; None when that was taken later."""
    shift: float
    """From the snapshot to the flow table, at most; negative when the flow table is the earlier one."""

    def age(self, row: int) -> float | None:
        """Return how long ago anything arrived on a socket; None where the table does not show it."""
        return _age(self.table, row)


class EntryTracer:
    """Traces the connections that one middlebox has no entry for; `carried` are those that it has."""

    def __init__(self, box: Middlebox, matched: MatchedEnds, carried: Sequence[Pair]) -> None:
        self._matched = matched
        server = _end(matched.unjoined.snapshot, box, [pair.row for pair in carried if pair.row is not None])
        at_client = [pair.client_row for pair in carried if pair.client_row is not None]
        client = _end(matched.near.snapshot, box, at_client) if matched.near else None
        self._ends = (server, client)
        self._earlier = _earlier_indexes(matched, box)
        self.is_timed = server is not None or client is not None
        timed = [end for end in self._ends if end is not None]
        self._is_near = all(end.since is None and end.apart < CLOSED_SECONDS for end in timed)
        self.is_late = any(end.since is None and end.apart >= CLOSED_SECONDS for end in timed)
        """The flow table was taken so much later that what ended meanwhile has no entry."""

    def trace(self, pair: Pair) -> Trace:
        """Return what both ends show of a connection."""
        ages = list(self._ages(pair))
        later = [(end, age) for end, age in ages if end.since is not None]
        if any(age < (end.since or 0.0) - CLOCK_SECONDS for end, age in later):
            return Trace.USED
        if any(age <= end.apart + CLOCK_SECONDS for end, age in later):
            return Trace.NEW
        existed = any(age > end.existed + CLOCK_SECONDS for end, age in ages)
        if self._matched.is_unanswered(pair) and (existed or self._is_near or self.existed_before(pair)):
            return Trace.UNANSWERED
        if existed:
            return Trace.QUIET
        return Trace.ENDED if ages else Trace.UNKNOWN

    def is_younger(self, entries: Mapping[Pair, float]) -> bool:
        """Return whether the flow table was taken later than its host's clock says; `entries`: seconds idle in it.

        Sockets of a connection that nothing has used since are idle for longer than its entry by the time between
        both tables, whatever the clocks say. Two or more that were idle show that time.
        """
        for place, end in enumerate(self._ends):
            rows = ((pair[place], idle) for pair, idle in entries.items() if idle > CLOCK_SECONDS)
            ages = ((end.age(row), idle) for row, idle in rows if row is not None) if end and end.since else ()
            between = sorted(age - idle for age, idle in ages if age is not None)
            alike = [seconds for seconds in between if seconds >= between[-1] - 2 * CLOCK_SECONDS]
            if len(alike) > 1 and end and -CLOCK_SECONDS < between[-1] < (end.since or 0.0) - 2 * CLOCK_SECONDS:
                return True
        return False

    def existed_before(self, pair: Pair) -> bool:
        """Return whether a snapshot of the client before the flow table shows the same socket."""
        address, port, dialled, dialled_port = self._matched.client_key(pair)
        near, earlier = self._matched.near, self._earlier
        cookie = _cookie(near, pair.client_row) if earlier and near and pair.client_row is not None else None
        for index in earlier:
            row = index.sockets.get((dialled, dialled_port, address), {}).get(port)
            if row is not None and index.table.state[row] is TcpState.ESTABLISHED and _cookie(index, row) == cookie:
                return True
        return False

    def idle_seconds(self, pair: Pair) -> float | None:
        """Return for how long a connection had been idle when the flow table was taken, at most; None if unknown."""
        return min((end.shift + age for end, age in self._ages(pair)), default=None)

    def _ages(self, pair: Pair) -> Iterator[tuple[_End, float]]:
        for end, row in zip(self._ends, pair, strict=True):
            if end is not None and row is not None and (age := end.age(row)) is not None:
                yield end, age


def _end(snapshot: Snapshot, box: Middlebox, carried: Sequence[int]) -> _End | None:
    """Return a snapshot against the flow table nearest to it; None where a time is unknown."""
    taken, own = box.nearest_time(snapshot.taken), snapshot.taken
    if taken is None or own is None:
        return None
    apart = own.seconds_apart(taken)
    idle_seconds = seconds_since_received(snapshot.sockets, carried)
    return _End(
        table=snapshot.sockets,
        apart=apart,
        existed=max(apart, minimum_age_seconds(own, taken, idle_seconds)),
        since=None if own.end < taken.start else max(0.0, (own.start - taken.end).total_seconds()),
        shift=(taken.end - own.start).total_seconds(),
    )


def _earlier_indexes(matched: MatchedEnds, box: Middlebox) -> Sequence[ClientIndex]:
    """Return the snapshots of the client before a flow table that was taken before one of both ends' snapshots."""
    if matched.near is None:
        return ()
    ends = [taken.start for snapshot in (matched.unjoined.snapshot, matched.near.snapshot) if (taken := snapshot.taken)]
    between = [span.start for span in box.times if span is not None and ends and span.end <= max(ends)]
    return [
        index
        for index in matched.indexes
        if between and index.snapshot.taken is not None and index.snapshot.taken.end <= max(between)
    ]


def _age(table: SocketTable, row: int) -> float | None:
    ages = (column_seconds(column, row) for column in (table.last_received, table.last_acknowledged))
    return min((age for age in ages if age is not None), default=None)


def _cookie(index: ClientIndex, row: int) -> int | None:
    return None if index.table.cookie is None else index.table.cookie[row]
