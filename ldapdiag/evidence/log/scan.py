"""Scan: what the records of one piece of a log say, added up as they come. Dialects call it, a record at a time."""

# ruff: noqa: PLR1730  max() and min() are calls, and these lines run for every record

from __future__ import annotations

from ldapdiag.evidence.filters import shape
from ldapdiag.evidence.log.bases import base_class
from ldapdiag.evidence.log.clients import address
from ldapdiag.evidence.log.connection import ANONYMOUS, Answer, Asked, Connection
from ldapdiag.evidence.log.counting import IN_PROGRESS, answer, answer_held, rests_of, unrequested
from ldapdiag.evidence.log.kinds import ABANDON, BIND, SEARCH, UNBIND
from ldapdiag.evidence.log.lives import Lives
from ldapdiag.evidence.log.runs import LATE
from ldapdiag.evidence.log.segment import SAMPLE_BYTES, Segment
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.tables import CAPS, LONGEST, Caps, ShapeRow, shortened
from ldapdiag.evidence.log.tally import NEVER, Hints

MOST_BASES = 20_000
"""Shapes and bases whose row is remembered."""


class Scan(Lives):
    """Adds up one piece of a log. Times and durations in nanoseconds; text as logged, in bytes."""

    def __init__(self, hints: Hints | None = None, caps: Caps = CAPS) -> None:
        super().__init__(hints, caps)
        self._operations = self.segment.operations
        self._rows: dict[tuple[bytes, bytes, int], ShapeRow] = {}

    def finish(self) -> Segment:
        """Return what it all adds up to."""
        if self.first != NEVER:
            self.segment.first_time, self.segment.last_time = self.first, self.last
        return self.segment

    # -- requests

    def request(self, number: int, op: int, time: int, kind: int) -> None:
        """Count a request that is neither a BIND nor a search."""
        connection = self._asks(number, op, time)
        self.segment.operations[kind] += 1
        connection.pending[op] = (time, kind, None, b"")

    def bind(self, number: int, op: int, time: int, dn: bytes) -> None:
        """Count a BIND request."""
        connection = self._asks(number, op, time)
        self.segment.operations[BIND] += 1
        connection.binding = shortened(dn)
        connection.pending[op] = (time, BIND, None, connection.binding)

    def search(self, number: int, op: int, time: int, base: bytes, scope: int, filter: bytes) -> None:  # noqa: A002  RFC 4511's word
        """Count a search request."""
        self._operations[SEARCH] += 1
        key = (shape(filter), base, scope)
        row = self._rows.get(key)
        if row is None:
            row = self._row(*key)
        row.searches += 1
        kept = filter if len(filter) <= LONGEST else shortened(filter)
        self._asks(number, op, time).pending[op] = (time, SEARCH, row, kept)

    def unbound(self, number: int, op: int, time: int) -> None:  # noqa: ARG002  as every request has it
        """Count an UNBIND; it ends no rest, for the connection would not have been missed."""
        self.at(time)
        self.segment.operations[UNBIND] += 1
        connection = self._unless_gone(number, time)
        if connection is not None and connection.closed is None:
            connection.operations += 1

    def abandoned(self, number: int, op: int, time: int, target: int | None) -> None:
        """Count an ABANDON; the operation it found has no result."""
        connection = self._asks(number, op, time)
        self.segment.operations[ABANDON] += 1
        there = self.connections.get(number, connection)
        if target is not None and there.pending.pop(target, None) is None and there.opened is None:
            there.held.append(Answer(target, time, ABANDON, 0, None, None, 0, b"", None, None))
        if not connection.pending:
            connection.rested = time
        self._end_if_complete(number, there)

    def internal(self) -> None:
        """Count an operation of the server itself."""
        self.segment.internal += 1

    # -- results

    def result(  # noqa: C901,PLR0913,PLR0917  the fields of a result, by position: this runs for every one
        self,
        number: int,
        op: int,
        time: int,
        kind: int,
        err: int,
        etime: int | None = None,
        wait: int | None = None,
        entries: int = 0,
        notes: bytes = b"",
        account: bytes | None = None,
        page: int | None = None,
        pages_end: bool = False,  # noqa: FBT001,FBT002  by position, too
    ) -> None:
        """Count a result.

        `account`: who a BIND result says is bound now; `page`: the server's number of a paged search, and `pages_end`
        that its last page is sent.
        """
        if time > self.last:
            self.last = time
        if time < self.first:
            self.first = time
        if account is not None:
            account = shortened(account)
        segment = self.segment
        segment.results[err] += 1
        if wait is not None:
            segment.waits[wait.bit_length()] += 1
            segment.waited += wait
            if wait >= segment.longest_wait[0]:
                segment.longest_wait = max(segment.longest_wait, (wait, -time))
        connection = self.connections.get(number) or self._unless_gone(number, time)
        if notes and kind == SEARCH:
            notes = self._noted(connection, notes, page, pages_end)
        if connection is None or connection.closed is not None:
            who = None if connection is None else connection.who
            self._late(number, connection, Answer(op, time, kind, err, etime, wait, entries, notes, account, who))
            return
        pending = connection.pending.pop(op, None)
        if pending is None:
            who = connection.who
            self._unrequested(
                number, connection, Answer(op, time, kind, err, etime, wait, entries, notes, account, who)
            )
        else:
            who = connection.account if connection.binding is None else connection.binding
            answer(segment, number, connection, pending, op, time, err, etime, wait, entries, notes, who)
            if kind == BIND:
                _bound(connection, op, err, account, pending[3] if pending[1] == BIND else ANONYMOUS)
        if not connection.pending:
            connection.rested = time

    def bound(self, number: int, time: int, account: bytes) -> None:
        """Take this account for the connection's: AUTOBIND, a client certificate."""
        self.at(time)
        connection = self._unless_gone(number, time)
        if connection is not None and connection.closed is None:
            connection.account = shortened(account)

    def binds(self, number: int, time: int, account: bytes) -> None:
        """Take this account for who the BIND under way will have bound: slapd's second line, before its result."""
        self.at(time)
        connection = self._unless_gone(number, time)
        if connection is not None and connection.closed is None:
            connection.account = connection.named = connection.binding = shortened(account)

    def lone_search(  # noqa: PLR0913,PLR0917  the fields of Active Directory's event
        self,
        time: int,
        client: bytes,
        account: bytes,
        base: bytes,
        scope: int,
        filter: bytes,  # noqa: A002  RFC 4511's word
        entries: int,
        etime: int,
        notes: bytes = b"",
    ) -> None:
        """Count a search and its result, of which the connection is not told."""
        self.at(time)
        segment = self.segment
        segment.operations[SEARCH] += 1
        segment.results[0] += 1
        row = self._row(shape(filter), base, scope)
        row.searches += 1
        connection = Connection(time, time, address(client[:SAMPLE_BYTES]))
        if notes:
            notes = self._noted(None, notes, None, ends=False)
        pending = (time, SEARCH, row, shortened(filter))
        answer(segment, -1, connection, pending, -1, time, 0, etime, None, entries, notes, shortened(account))

    def noticed(self, time: int, base: bytes, scope: int, filter: bytes, *, internal: bool) -> None:  # noqa: A002  as in search
        """Count an unindexed search that an errors log tells of."""
        self.at(time)
        self.segment.noticed.count(((shape(filter), base_class(base, scope), scope), internal))

    # -- how

    def _asks(self, number: int, op: int, time: int) -> Connection:
        """Return the connection of a request, with the rest counted that the request ends."""
        if time > self.last:
            self.last = time
        if time < self.first:
            self.first = time
        connection = self.connections.get(number) or self._unless_gone(number, time)
        if connection is None or connection.closed is not None:
            connection = self.run.after_close(number, time)
        connection.operations += 1
        last = connection.last_op
        if op == last + 1 and connection.closed is None:
            rested = connection.rested
            if rested is not None and time - rested >= SECOND and not connection.pending and last >= 0:
                rests_of(connection, len(connection.held)).add(time - rested, time, number)
        if connection.asked is None:
            connection.asked = Asked(op, time, len(connection.held), connection.rested)
        if op > last:
            connection.last_op = op
        connection.requests += 1
        return connection

    def _row(self, kind: bytes, base: bytes, scope: int) -> ShapeRow:
        """Return where searches of this shape and base are counted, and remember it unless the base is very long."""
        row = self.segment.shape((kind, base_class(base, scope), scope))
        if len(base) <= LONGEST:
            if len(self._rows) >= MOST_BASES:
                self._rows.clear()
            self._rows[kind, base, scope] = row
        return row

    def _late(self, number: int, connection: Connection | None, held: Answer) -> None:
        """Count a result that comes after the close of its connection."""
        gone = self.run.gone.get(number)
        if gone is not None and held.op in gone.pending:
            connection = gone
        if connection is None:
            unrequested(self.segment, number, held)
            return
        pending = connection.pending.pop(held.op, None)
        if pending is None or (connection is not gone and connection.is_gone(held.time)):
            self._unrequested(number, connection, held)
        else:
            answer_held(self.segment, number, connection, pending, held, connection.who)
        self._end_if_complete(number, connection)

    def _unrequested(self, number: int, connection: Connection, held: Answer) -> None:
        """Keep a result whose request may be in an earlier piece, else count it."""
        if connection.opened is None or held.time <= connection.opened + LATE:
            connection.held.append(held)
        else:
            unrequested(self.segment, number, held)
        if held.kind == BIND and connection.closed is None:
            _bound(connection, held.op, held.err, held.account, None)

    def _page(self, connection: Connection, page: int, ends: bool) -> None:  # noqa: FBT001  as in result
        """Tell the first page of a paged search from the later ones, which are no searches of their own."""
        goes_on = connection.pages.get(page)
        if goes_on:
            connection.continued += 1
        elif goes_on is None and len(connection.pages) >= self.segment.caps.pages:
            self.segment.cut_short.add("pages")
            return
        elif goes_on is None and connection.opened is None:
            connection.pages_left.add(page)
        connection.pages[page] = not ends

    def _noted(self, connection: Connection | None, notes: bytes, page: int | None, ends: bool) -> bytes:  # noqa: FBT001  as in result
        """Count the notes of a search, and return what they are counted as; a paged search has one, too."""
        notes = self.segment.noted.count(notes)
        if page is not None and connection is not None and connection.closed is None:
            self._page(connection, page, ends)
        return notes


def _bound(connection: Connection, op: int, err: int, told: bytes | None, asked: bytes | None) -> None:
    """Tell who is bound after the result of a BIND (RFC 4511, 4.2.1: a failed one leaves nobody).

    The result itself knows best, then a line before it, then the request.
    """
    if err == IN_PROGRESS:
        return
    named, connection.named = connection.named, None
    connection.binding = None
    if err != 0:
        connection.account = ANONYMOUS
    elif told is not None:
        connection.account = told
    elif named is not None:
        connection.account = named
    else:
        connection.account = op if asked is None else asked
