"""Scan: count the records of a log. Dialects call it, one record at a time."""

# ruff: noqa: PLR1730  max() and min() are calls, and these lines run for every record

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.filters import shape
from ldapdiag.evidence.log.bases import BASE_SCOPE, base_class
from ldapdiag.evidence.log.clients import address
from ldapdiag.evidence.log.connection import ANONYMOUS, PLAIN, SIMPLE, Connection, OperationResult, Pending
from ldapdiag.evidence.log.connection_scan import ConnectionScan
from ldapdiag.evidence.log.counting import (
    add_sorting,
    count_abandoned,
    count_clear_bind,
    count_clear_binds,
    count_early_results,
    count_kept_result,
    count_result,
    count_unanswered,
    count_without_request,
    name_mechanism,
)
from ldapdiag.evidence.log.idle_counting import count_idle_time
from ldapdiag.evidence.log.line_scan import NEVER, Hints
from ldapdiag.evidence.log.operation_kinds import ABANDON, BIND, EXTENDED, SEARCH, UNBIND
from ldapdiag.evidence.log.pruning import prune
from ldapdiag.evidence.log.segment import SAMPLE_BYTES, Segment
from ldapdiag.evidence.log.selected_operations import count_selected
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND
from ldapdiag.evidence.log.tables import CAPS, LONGEST, Caps, shortened
from ldapdiag.evidence.log.write_times import WRITES

if TYPE_CHECKING:
    from ldapdiag.evidence.log.connection import Account
    from ldapdiag.evidence.log.operation_row import TargetKey
    from ldapdiag.evidence.log.reported_use import Examined
    from ldapdiag.evidence.log.selection import Selection
    from ldapdiag.evidence.log.shape_row import ShapeRow
    from ldapdiag.evidence.log.sorting import Sorting

MOST_BASES = 20_000
"""Cached rows, by shape, base and scope."""

STATEFUL = frozenset({BIND, EXTENDED})
"""Kinds of results that may change the account or the security of a connection."""


class Scan(ConnectionScan):
    """Count the records of a log. Times and durations in nanoseconds; text as logged, in bytes."""

    def __init__(self, hints: Hints | None = None, caps: Caps = CAPS, selection: Selection | None = None) -> None:
        super().__init__(hints, caps)
        self.total.selection = selection
        self._rows: dict[tuple[bytes, bytes, int], ShapeRow] = {}

    def finish(self) -> Segment:
        """Return the counts of the log, which ends here; what is open then counts as open at the end."""
        segment = self.total
        self._end_of_log()
        if self.first != NEVER:
            segment.first_time, segment.last_time = self.first, self.last
        segment.writes.last = None
        prune(segment, final=True)
        if segment.selection is not None:
            count_selected(segment)
        return segment

    @property
    def _counts(self) -> bool:
        """False while records before the period are read: of them only the state of the connections is kept."""
        return self.segment is self.total

    # -- requests

    def request(self, number: int, op: int, time: int, kind: int, target: bytes = b"") -> None:
        """Count a request that is neither a BIND nor a search; `target`: the DN of its entry, or its OID."""
        text = target[:SAMPLE_BYTES] if kind == EXTENDED else base_class(target, BASE_SCOPE)
        self._count_request(number, op, time, (kind, text), shortened(target))

    def bind(self, number: int, op: int, time: int, dn: bytes, mechanism: bytes = SIMPLE) -> None:
        """Count a BIND request."""
        dn = shortened(dn)
        connection = self._count_request(number, op, time, (BIND, mechanism[:SAMPLE_BYTES]), dn)
        if connection.closed is None:
            connection.bind_dn = dn
        if not connection.secured and (mechanism == PLAIN or (mechanism == SIMPLE and dn)):
            self._count_clear_bind(connection, dn)

    def search(self, number: int, op: int, time: int, base: bytes, scope: int, filter: bytes) -> None:  # noqa: A002  RFC 4511's word
        """Count a search request."""
        self.segment.operations[SEARCH] += 1
        key = (shape(filter), base, scope)
        row = self._rows.get(key)
        if row is None:
            row = self._row(*key)
        row.requests += 1
        kept = filter if len(filter) <= LONGEST else shortened(filter)
        self._keep(number, self._connection_of_request(number, op, time), op, (time, SEARCH, row, kept, None))

    def unbind(self, number: int, op: int, time: int) -> None:  # noqa: ARG002  as every request has it
        """Count an UNBIND.

        It ends no idle time: a server that had closed the connection before would have done no harm.
        """
        self.at(time)
        self.segment.operations[UNBIND] += 1
        connection = self._unless_ended(number, time)
        if connection is not None and connection.closed is None:
            connection.operations += self.segment is self.total

    def abandon(self, number: int, op: int, time: int, target: int | None) -> None:
        """Count an ABANDON; the operation that it ends (`target`) has no result."""
        connection = self._connection_of_request(number, op, time)
        self.segment.operations[ABANDON] += 1
        there = self.connections.get(number, connection)
        pending = None if target is None else there.pending.take(target)
        if pending is not None:
            count_abandoned(self.total, pending)
        if not connection.pending:
            connection.idle_since = time
        self._end_if_done(number, there)

    def sorting(self, number: int, op: int, time: int, line: Sorting) -> None:
        """Keep the SORT or VLV line of a search until its result."""
        self.at(time)
        there = self.connections.get(number) or self._unless_ended(number, time)
        late = self.process.late_requests.get(number)
        if late is not None and op in late.pending and (there is None or there.closed is not None):
            add_sorting(late, op, line)
        elif there is not None and not there.is_expired(time):
            add_sorting(there, op, line)

    def internal(self) -> None:
        """Count an internal operation of the server."""
        self.segment.internal += 1

    # -- results

    def result(  # noqa: C901,PLR0912  this runs for every one
        self, number: int, result: OperationResult, page: int | None = None, *, pages_end: bool = False
    ) -> None:
        """Count a result; `page`: the server's number of a paged search, `pages_end`: this is its last page."""
        op, time, kind, err, etime, wait, optime, _, notes, account, _ = result
        if time > self.last:
            self.last = time
        if time < self.first:
            self.first = time
        if account is not None and len(account) > LONGEST:
            account = shortened(account)
            result = result._replace(account=account)
        segment = self.segment
        segment.count_code(err, time // SECOND)
        if wait is not None:
            segment.waited += wait
            if wait >= segment.longest_wait[0]:
                segment.longest_wait = max(segment.longest_wait, (wait, -time))
        if kind in WRITES and err == 0:
            self._count_write(time, etime, wait, optime)
        connection = self.connections.get(number) or self._unless_ended(number, time)
        if notes and kind == SEARCH:
            kept = self._count_notes(connection, notes, page, ends=pages_end)
            result = result if kept == notes else result._replace(notes=kept)
        if connection is None or connection.closed is not None:
            bound_as = None if connection is None else connection.bound_as
            self._result_after_close(number, connection, result._replace(bound_as=bound_as))
            return
        pending = connection.pending.take(op)
        if pending is None:
            self._result_without_request(number, connection, result._replace(bound_as=connection.bound_as))
        else:
            bound_as = connection.account if connection.bind_dn is None else connection.bind_dn
            if account is not None and pending[1] == BIND:
                bound_as = account
            if segment is self.total:
                count_result(segment, number, connection, pending, result, bound_as)
            else:
                self._answer_before(number, connection, pending, result, bound_as)
            if kind == BIND:
                connection.end_bind(op, err, account, pending[3] if pending[1] == BIND else ANONYMOUS)
            elif kind == EXTENDED:
                connection.end_extended(err, pending[3])
        if not connection.pending:
            connection.idle_since = time

    def authenticated(self, number: int, time: int, account: bytes) -> None:
        """Set the account of a connection that is bound without a BIND: AUTOBIND, a client certificate."""
        self.at(time)
        connection = self._unless_ended(number, time)
        if connection is not None and connection.closed is None:
            connection.account = shortened(account)

    def bind_confirmed(self, number: int, op: int, time: int, account: bytes, mechanism: bytes) -> None:
        """Set the account from slapd's second BIND line, which it writes before the result of a BIND that succeeds."""
        self.at(time)
        connection = self._unless_ended(number, time)
        if connection is None or connection.closed is not None:
            return
        connection.account = connection.confirmed_dn = connection.bind_dn = shortened(account)
        mechanism = mechanism[:SAMPLE_BYTES]
        if mechanism == PLAIN and not connection.secured:
            self._count_clear_bind(connection, shortened(account))
        if mechanism != SIMPLE:
            name_mechanism(self.total, connection, op, mechanism)

    def search_without_connection(
        self,
        result: OperationResult,
        *,
        client: bytes,
        account: bytes,
        base: bytes,
        scope: int,
        filter: bytes,  # noqa: A002  RFC 4511's word
        examined: Examined | None = None,
    ) -> None:
        """Count a search and its result, logged without its connection; `examined`: what the server reports on it."""
        time = result.time
        self.at(time)
        segment = self.segment
        segment.operations[SEARCH] += 1
        segment.count_code(0, time // SECOND)
        row = self._row(shape(filter), base, scope)
        row.requests += 1
        connection = Connection(time, time, address(client[:SAMPLE_BYTES]))
        if result.notes:
            result = result._replace(notes=self._count_notes(None, result.notes, None, ends=False))
        pending = (time, SEARCH, row, shortened(filter), None)
        is_counted = count_result(segment, -1, connection, pending, result, shortened(account))
        if examined is not None and is_counted:
            etime = -1 if result.etime is None else result.etime // MILLISECOND
            segment.visited(etime.bit_length() if etime >= 0 else -1, examined.visited)
            use, visited, pages, from_disk, expected = examined
            counts = [1, result.etime or 0, result.entries, visited, visited, pages, from_disk, expected]
            segment.shape(row.key).examined(use, counts)

    def clear_bind_without_connection(self, time: int, client: bytes, account: bytes) -> None:
        """Count a BIND that sent a password without TLS, logged without its connection and its result."""
        self.at(time)
        self.segment.operations[BIND] += 1
        self.segment.target((BIND, SIMPLE)).requests += 1
        connection = Connection(time, time, address(client[:SAMPLE_BYTES]))
        count_clear_bind(self.segment, connection, shortened(account))
        count_clear_binds(self.segment, connection)

    def endpoint_bound(self, time: int, endpoint: bytes, account: bytes) -> None:
        """Keep as whom a client's endpoint, `address:port`, is bound from now on; without account: it is closed."""
        self.at(time)
        self.segment.bound_at(endpoint[:SAMPLE_BYTES], time, shortened(account))

    def notice(self, time: int, base: bytes, scope: int, filter: bytes, *, internal: bool) -> None:  # noqa: A002  as in search
        """Count an unindexed search from the errors log."""
        self.at(time)
        self.segment.noticed.count(((shape(filter), base_class(base, scope), scope), internal))

    def workers_busy(self, time: int, busy: int, threads: int, queued: int) -> None:
        """Keep how many worker threads were busy, of how many, and how many operations waited in the queue."""
        interval = self.segment.timeline.at(time // SECOND)
        interval.most_busy = max(interval.most_busy, (busy, threads))
        interval.longest_queue = max(interval.longest_queue, queued)

    # -- parts of the above

    def _count_request(self, number: int, op: int, time: int, key: TargetKey, target: bytes) -> Connection:
        """Count a request that is no search, and return its connection."""
        connection = self._connection_of_request(number, op, time)
        kind = key[0]
        self.segment.operations[kind] += 1
        row = self.segment.target(key)
        row.requests += 1
        self._keep(number, connection, op, (time, kind, row, target, None))
        return connection

    def _keep(self, number: int, connection: Connection, op: int, pending: Pending) -> None:
        """Keep a request until its result."""
        if self.segment is not self.total:
            time, kind, _, subject, sorting = pending
            pending = (time, kind, None, subject, sorting)
        connection.pending.add(op, pending)
        if connection.closed is not None and (there := self.connections.get(number)) is not None:
            count_early_results(self.total, number, there, now=pending[0], late=connection)
            self._end_if_done(number, there)

    def _connection_of_request(self, number: int, op: int, time: int) -> Connection:
        """Return the connection of a request, after counting the idle time that the request ends."""
        if time > self.last:
            self.last = time
        if time < self.first:
            self.first = time
        connection = self.connections.get(number) or self._unless_ended(number, time)
        if connection is None or connection.closed is not None:
            connection = self.process.after_close(number, time)
        elif connection.early:
            count_early_results(self.total, number, connection, now=time)
        connection.operations += self.segment is self.total
        if op == connection.previous_op + 1 and connection.closed is None:
            since = connection.opened if connection.last_op < 0 else connection.idle_since
            if since is not None and time - since >= SECOND and not connection.pending:
                count_idle_time(self.total, number, connection, connection.bound_as, since, time)
        if connection.first_op is None:
            connection.first_op = op
        if op > connection.last_op:
            connection.last_op = op
        connection.previous_op = op
        connection.requests += 1
        return connection

    def _count_clear_bind(self, connection: Connection, dn: bytes) -> None:
        if self._counts:
            count_clear_bind(self.total, connection, dn)

    def _row(self, filter_shape: bytes, base: bytes, scope: int) -> ShapeRow:
        """Return the row that counts searches of this shape and base; cache it unless the base is very long."""
        row = self.segment.shape((filter_shape, base_class(base, scope), scope))
        if len(base) <= LONGEST:
            if len(self._rows) >= MOST_BASES:
                self._rows.clear()
            self._rows[filter_shape, base, scope] = row
        return row

    def _count_write(self, time: int, etime: int | None, wait: int | None, optime: int | None) -> None:
        """Count the time of a write, where the log has it."""
        if optime is None:
            if etime is None:
                return
            optime = max(0, etime - (wait or 0))
        if self.segment.selection is None:
            self.segment.writes.add(self.segment.timeline, time, optime)

    def _answer_before(
        self, number: int, connection: Connection, pending: Pending, result: OperationResult, account: Account
    ) -> None:
        """Count the result of a request within the period that is written among records before it."""
        if pending[2] is not None and result.kind not in STATEFUL:
            count_abandoned(self.total, pending)
        elif pending[2] is not None:
            count_result(self.total, number, connection, pending, result, account)

    def _result_after_close(self, number: int, connection: Connection | None, result: OperationResult) -> None:
        """Count a result that is written after the close of its connection."""
        late = self.process.late_requests.get(number)
        if late is not None and result.op in late.pending:
            connection = late
        if connection is None:
            self._result_without_request(number, None, result)
            return
        pending = connection.pending.take(result.op)
        if pending is None or (connection is not late and connection.is_expired(result.time)):
            if pending is not None:
                count_unanswered(self.total, pending)
            self._result_without_request(number, connection, result)
        elif self._counts:
            count_kept_result(self.total, number, connection, pending, result, connection.bound_as)
        else:
            self._answer_before(number, connection, pending, result, connection.bound_as)
        self._end_if_done(number, connection)

    def _result_without_request(self, number: int, connection: Connection | None, result: OperationResult) -> None:
        """Keep a result whose request may be written later; that of a request that was dropped is not counted again."""
        if connection is not None and connection.closed is None and result.kind == BIND:
            connection.end_bind(result.op, result.err, result.account, None)
        dropped = self.total.dropped_requests
        if not self._counts and result.kind not in STATEFUL:
            return
        if result.kind >= 0 and dropped[result.kind]:
            dropped[result.kind] -= 1
        elif connection is None:
            count_without_request(self.total, number, result)
        else:
            count_early_results(self.total, number, connection, now=result.time)
            connection.early.append((result, connection.closed is None))

    def _count_page(self, connection: Connection, page: int, *, ends: bool) -> None:
        """Count a page of a paged search; a later page is no search of its own."""
        goes_on = connection.pages.get(page)
        if goes_on:
            connection.continued += self.segment is self.total
        elif goes_on is None and len(connection.pages) >= self.segment.caps.pages:
            self.total.cut_short.add("pages")
            return
        connection.pages[page] = not ends

    def _count_notes(self, connection: Connection | None, notes: bytes, page: int | None, *, ends: bool) -> bytes:
        """Count the notes of a search, and return the key they are counted under; paged searches have a note, too."""
        notes = self.segment.noted.count(notes)
        if page is not None and connection is not None and connection.closed is None:
            self._count_page(connection, page, ends=ends)
        return notes
