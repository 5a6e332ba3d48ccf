"""StreamScan: the records of one stream, read in bounded memory. However it is fed in pieces, the answer is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.counting import count_early_results
from ldapdiag.evidence.log.line_scan import NEVER
from ldapdiag.evidence.log.operation_kinds import UNKNOWN
from ldapdiag.evidence.log.pruning import prune
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.segment import Segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.log.connection import Connection
    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.line_scan import Hints


class StreamScan(Scan):
    """Count a stream. It can be pickled, and continued elsewhere."""

    @property
    def last_time(self) -> int | None:
        """The latest time in the log; None before the first."""
        return None if self.first == NEVER else self.last

    def feed(self, dialect: Dialect, data: bytes, hints: Hints) -> None:
        """Read the next whole records, with what the opener of their file knows."""
        if not data:
            return
        self.hints = hints
        dialect.scan(data, self)
        self._drop_connections()
        self._prune()

    def feed_state(self, dialect: Dialect, data: bytes, hints: Hints) -> None:
        """Read records before the period that are written among later ones: only the connections know of them."""
        total, process, rows = self.total, self.process, self._rows
        first, last, delta, top = self.first, self.last, process.delta, process.top
        self.hints = hints
        self.segment, self._rows = _emptied(total), {}
        dialect.scan(data, self)
        total.resolution = max(total.resolution, self.segment.resolution)
        total.writes.last = self.segment.writes.last
        self.segment, self._rows, self.first, self.last = total, rows, first, last
        if self.process is not process:
            delta = top = 0
        self._open_before(delta, top)
        for connection in self._all_connections():
            _forget_requests(connection, [op for op, pending in connection.pending.items() if pending[2] is None])
            connection.is_before_period = False
        self._drop_connections()
        self._prune()

    def reset_counts(self) -> None:
        """Forget all counts, and keep the state of the open connections."""
        self.total = self.segment = _emptied(self.total)
        self.first, self.last, self._rows = NEVER, -NEVER, {}
        self._open_before(0, 0)
        for connection in self._all_connections():
            _forget_requests(connection, list(connection.pending))
            connection.operations = connection.continued = 0
            connection.early = []
            connection.unattributed, connection.clear_binds, connection.idle_times = {}, {}, {}

    def finished(self, *, goes_on: bool = False) -> Segment:
        """Return the counts of a stream that ends here; with `goes_on` it can be fed afterwards."""
        if not goes_on:
            return self.finish()
        import pickle  # noqa: PLC0415  import late

        scan: StreamScan = pickle.loads(pickle.dumps(self))  # noqa: S301  made here
        return scan.finish()

    def _all_connections(self) -> Sequence[Connection]:
        return (*self.connections.values(), *self.process.late_requests.values())

    def _open_before(self, delta: int, top: int) -> None:
        """Set back how many connections were opened; those beyond were open before."""
        process = self.process
        process.initial += process.delta - delta
        process.delta, process.top = delta, top

    # -- bounded memory

    def _prune(self) -> None:
        """Remove the cheapest rows where there are too many, and what still refers to them."""
        if prune(self.total):
            self._rows.clear()

    def _drop_connections(self) -> None:
        """Drop closed connections whose results are overdue and, when there are too many, the longest idle ones."""
        latest, connections = max(self.last, 0), self.connections
        for number, connection in list(connections.items()):
            if connection.opened is not None and connection.is_expired(latest):
                self._end(number, connections.pop(number))
        self._drop_early_results()
        self._drop_oldest_requests()
        most = self.total.caps.connections
        if len(connections) <= most:
            return
        self.total.cut_short.add("connections")
        for number in sorted(connections, key=self._activity)[: len(connections) - most // 2]:
            connection = connections.pop(number)
            self._drop_requests(connection, list(connection.pending))
            self._end(number, connection, at_end=connection.closed is None, at=self.last)

    def _activity(self, number: int) -> tuple[bool, bool, int]:
        connection = self.connections[number]
        return connection.closed is None, bool(connection.pending), connection.idle_since or connection.first

    def _drop_early_results(self) -> None:
        """Count all results that wait for their requests, when there are too many."""
        if sum(len(connection.early) for connection in self.connections.values()) > self.total.caps.pending:
            self.total.cut_short.add("pending")
            for number, connection in self.connections.items():
                count_early_results(self.total, number, connection, now=None)

    def _drop_oldest_requests(self) -> None:
        """Drop the oldest pending requests of the connections that have the most, when there are too many."""
        connections = self._all_connections()
        if sum(len(connection.pending) for connection in connections) <= self.total.caps.pending:
            return
        self.total.cut_short.add("pending")
        each = max(1, self.total.caps.pending // (2 * len(connections)))
        for connection in connections:
            self._drop_requests(connection, list(connection.pending)[:-each])

    def _drop_requests(self, connection: Connection, keys: Iterable[int | tuple[int, int]]) -> None:
        """Drop requests, counted by kind; requests before --since have none."""
        for key in keys:
            kind = connection.pending.pop(key)[1]
            if kind != UNKNOWN:
                self.total.dropped_requests[kind] += 1


def _forget_requests(connection: Connection, keys: Iterable[int | tuple[int, int]]) -> None:
    """Take requests as those of no kind, which do not count."""
    for key in keys:
        connection.pending[key] = (connection.pending[key][0], UNKNOWN, None, b"", None)


def _emptied(segment: Segment) -> Segment:
    """Return a Segment without counts that has what describes the log."""
    fresh = Segment(segment.caps, selection=segment.selection)
    for name in ("zones", "servers", "instances", "resolution"):
        setattr(fresh, name, getattr(segment, name))
    fresh.writes.last = segment.writes.last
    return fresh
