"""Scan: count the records of one chunk of a log. Dialects call it, one record at a time."""

# ruff: noqa: PLR1730  max() and min() are calls, and these lines run for every record

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.filters import shape
from ldapdiag.evidence.log.bases import BASE_SCOPE, base_class
from ldapdiag.evidence.log.clients import address
from ldapdiag.evidence.log.connection import ANONYMOUS, Connection, FirstRequest, IdleTime, OperationResult
from ldapdiag.evidence.log.connection_scan import ConnectionScan
from ldapdiag.evidence.log.counting import (
    add_sorting,
    count_abandoned,
    count_clear_bind,
    count_kept_result,
    count_result,
    count_unanswered,
    count_without_request,
    name_mechanism,
)
from ldapdiag.evidence.log.idle_counting import count_idle_time
from ldapdiag.evidence.log.line_scan import NEVER, Hints
from ldapdiag.evidence.log.operation_kinds import ABANDON, BIND, EXTENDED, NAMED, SEARCH, SORTED, UNBIND
from ldapdiag.evidence.log.runs import LATE, Run
from ldapdiag.evidence.log.segment import SAMPLE_BYTES, Segment
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.tables import CAPS, LONGEST, Caps, shortened
from ldapdiag.evidence.log.write_times import WRITES

if TYPE_CHECKING:
    from ldapdiag.evidence.log.operation_row import TargetKey
    from ldapdiag.evidence.log.selection import Selection
    from ldapdiag.evidence.log.shape_row import ShapeRow
    from ldapdiag.evidence.log.sorting import Sorting

SIMPLE = b"simple"
"""The mechanism of a simple BIND (RFC 4511, 4.2); others are SASL's, as GSSAPI."""
PLAIN = b"PLAIN"
"""The mechanism of SASL that sends the password as it is (RFC 4616)."""
SASL = b"SASL"
"""One that the log does not name, or only later."""

MOST_BASES = 20_000
"""Cached rows, by shape, base and scope."""


class Scan(ConnectionScan):
    """Count one chunk of a log. Times and durations in nanoseconds; text as logged, in bytes."""

    def __init__(
        self,
        hints: Hints | None = None,
        caps: Caps = CAPS,
        selection: Selection | None = None,
        before: Run | None = None,
    ) -> None:
        super().__init__(hints, caps, before)
        self.segment.selection = selection
        self._operations = self.segment.operations
        self._rows: dict[tuple[bytes, bytes, int], ShapeRow] = {}

    def finish(self) -> Segment:
        """Return the Segment of the chunk."""
        if self.first != NEVER:
            self.segment.first_time, self.segment.last_time = self.first, self.last
        return self.segment

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
            count_clear_bind(self.segment, connection, (len(connection.unmatched), dn), 1)

    def search(self, number: int, op: int, time: int, base: bytes, scope: int, filter: bytes) -> None:  # noqa: A002  RFC 4511's word
        """Count a search request."""
        self._operations[SEARCH] += 1
        key = (shape(filter), base, scope)
        row = self._rows.get(key)
        if row is None:
            row = self._row(*key)
        row.requests += 1
        kept = filter if len(filter) <= LONGEST else shortened(filter)
        self._connection_of_request(number, op, time).pending.add(op, (time, SEARCH, row, kept, None))

    def unbind(self, number: int, op: int, time: int) -> None:  # noqa: ARG002  as every request has it
        """Count an UNBIND.

        It ends no idle time: a server that had closed the connection before would have done no harm.
        """
        self.at(time)
        self.segment.operations[UNBIND] += 1
        connection = self._unless_ended(number, time)
        if connection is not None and connection.closed is None:
            connection.operations += 1

    def abandon(self, number: int, op: int, time: int, target: int | None) -> None:
        """Count an ABANDON; the operation that it ends (`target`) has no result."""
        connection = self._connection_of_request(number, op, time)
        self.segment.operations[ABANDON] += 1
        there = self.connections.get(number, connection)
        pending = None if target is None else there.pending.take(target)
        if pending is not None:
            count_abandoned(self.segment, pending)
        elif target is not None and there.opened is None:
            there.unmatched.append(OperationResult(target, time, ABANDON, 0))
        if not connection.pending:
            connection.idle_since = time
        self._end_if_complete(number, there)

    def sorting(self, number: int, op: int, time: int, line: Sorting) -> None:
        """Keep the SORT or VLV line of a search until its result."""
        self.at(time)
        there = self.connections.get(number) or self._unless_ended(number, time)
        late = self.run.late_requests.get(number)
        if late is not None and op in late.pending and (there is None or there.closed is not None):
            add_sorting(late, op, line)
        elif there is None or (not there.is_expired(time) and add_sorting(there, op, line)):
            return
        elif there.opened is None or time <= there.opened + LATE:
            there.unmatched.append(OperationResult(op, time, SORTED, 0, sorting=line))

    def internal(self) -> None:
        """Count an internal operation of the server."""
        self.segment.internal += 1

    # -- results

    def result(  # noqa: C901,PLR0912  this runs for every one
        self, number: int, result: OperationResult, page: int | None = None, *, pages_end: bool = False
    ) -> None:
        """Count a result; `page`: the server's number of a paged search, `pages_end`: this is its last page."""
        op, time, kind, err, etime, wait, optime, _, notes, account, _, _ = result
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
            self._result_without_request(connection, result._replace(bound_as=connection.bound_as))
        else:
            bound_as = connection.account if connection.bind_dn is None else connection.bind_dn
            if account is not None and pending[1] == BIND:
                bound_as = account
            count_result(segment, number, connection, pending, result, bound_as)
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
            count_clear_bind(self.segment, connection, (len(connection.unmatched), shortened(account)), 1)
        if mechanism == SIMPLE or name_mechanism(self.segment, connection, op, mechanism):
            return
        if connection.opened is None or time <= connection.opened + LATE:
            connection.unmatched.append(OperationResult(op, time, NAMED, 0, account=mechanism))

    def search_without_connection(
        self,
        result: OperationResult,
        *,
        client: bytes,
        account: bytes,
        base: bytes,
        scope: int,
        filter: bytes,  # noqa: A002  RFC 4511's word
    ) -> None:
        """Count a search and its result, logged without its connection."""
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
        count_result(segment, -1, connection, pending, result, shortened(account))

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
        self._operations[kind] += 1
        row = self.segment.target(key)
        row.requests += 1
        connection.pending.add(op, (time, kind, row, target, None))
        return connection

    def _connection_of_request(self, number: int, op: int, time: int) -> Connection:
        """Return the connection of a request, after counting the idle time that the request ends."""
        if time > self.last:
            self.last = time
        if time < self.first:
            self.first = time
        connection = self.connections.get(number) or self._unless_ended(number, time)
        if connection is None or connection.closed is not None:
            connection = self.run.after_close(number, time)
        connection.operations += 1
        if op == connection.previous_op + 1 and connection.closed is None:
            since = connection.opened if connection.last_op < 0 else connection.idle_since
            if since is not None and time - since >= SECOND and not connection.pending:
                idle_time = IdleTime(len(connection.unmatched), connection.bound_as, since, time)
                count_idle_time(self.segment, number, connection, idle_time)
        if connection.first_request is None:
            epoch, account = len(connection.unmatched), connection.bound_as
            connection.first_request = FirstRequest(op, time, epoch, connection.idle_since, account)
        if op > connection.last_op:
            connection.last_op = op
        connection.previous_op = op
        connection.requests += 1
        return connection

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

    def _result_after_close(self, number: int, connection: Connection | None, result: OperationResult) -> None:
        """Count a result that is written after the close of its connection."""
        late = self.run.late_requests.get(number)
        if late is not None and result.op in late.pending:
            connection = late
        if connection is None:
            count_without_request(self.segment, number, result)
            return
        pending = connection.pending.take(result.op)
        if pending is None or (connection is not late and connection.is_expired(result.time)):
            if pending is not None:
                count_unanswered(self.segment, pending)
            self._result_without_request(connection, result)
        else:
            count_kept_result(self.segment, number, connection, pending, result, connection.bound_as)
        self._end_if_complete(number, connection)

    def _result_without_request(self, connection: Connection, result: OperationResult) -> None:
        """Keep a result whose request may be in an earlier chunk, or be written later."""
        connection.unmatched.append(result)
        if result.kind == BIND and connection.closed is None:
            connection.end_bind(result.op, result.err, result.account, None)

    def _count_page(self, connection: Connection, page: int, *, ends: bool) -> None:
        """Count a page of a paged search; a later page is no search of its own."""
        goes_on = connection.pages.get(page)
        if goes_on:
            connection.continued += 1
        elif goes_on is None and len(connection.pages) >= self.segment.caps.pages:
            self.segment.cut_short.add("pages")
            return
        elif goes_on is None and connection.opened is None:
            connection.uncertain_pages.add(page)
        connection.pages[page] = not ends

    def _count_notes(self, connection: Connection | None, notes: bytes, page: int | None, *, ends: bool) -> bytes:
        """Count the notes of a search, and return the key they are counted under; paged searches have a note, too."""
        notes = self.segment.noted.count(notes)
        if page is not None and connection is not None and connection.closed is None:
            self._count_page(connection, page, ends=ends)
        return notes
