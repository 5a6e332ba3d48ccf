"""Counting: what a result, a failed BIND or the end of a connection adds to a Segment; for whom, once that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.connection import ANONYMOUS, UNKNOWN, Connection
from ldapdiag.evidence.log.kinds import ABANDON, BIND, SEARCH
from ldapdiag.evidence.log.pieces import lengths
from ldapdiag.evidence.log.rests import Rests
from ldapdiag.evidence.log.tables import OTHER

if TYPE_CHECKING:
    from ldapdiag.evidence.log.connection import Account, Answer, Pending
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.evidence.log.tables import ShapeKey, ShapeRow

IN_PROGRESS = 14
"""saslBindInProgress (RFC 4511, appendix A): a step, neither a success nor a failure."""

LIMITS = frozenset({3, 4, 11})
"""timeLimitExceeded, sizeLimitExceeded, adminLimitExceeded (RFC 4511, appendix A): there were more entries."""
PAGE = b"P"
"""The note of 389-ds on a page of a paged search."""

UNSEEN_SEARCH: ShapeKey = (UNKNOWN, UNKNOWN, -1)
"""Searches whose request is not in the log."""

NOBODY = Connection(0, 0, UNKNOWN)
"""Whose results these are."""


def answer(  # noqa: C901,PLR0913,PLR0917  the fields of a result, by position: this runs for every one
    segment: Segment,
    number: int,
    connection: Connection,
    pending: Pending,
    op: int,
    time: int,
    err: int,
    etime: int | None,
    wait: int | None,
    entries: int,
    notes: bytes,
    account: Account,
) -> None:
    """Count the result of a request, for who is bound by then."""
    asked, kind, row, subject = pending
    if etime is None:
        etime = max(0, time - asked)
    segment.took += etime
    if row is None:
        if kind == BIND and err not in {0, IN_PROGRESS}:
            fail(segment, connection, subject, err)
        return
    row.answered += 1
    row.etime += etime
    row.entries += entries
    row.histogram[etime.bit_length()] += 1
    if wait is not None:
        row.wait += wait
    if err or notes:
        _unusual(row, err, entries, notes)
    elif entries > row.most_entries:
        row.most_entries = entries
    if row.has_pieces:
        row.measured(lengths(subject), 1, etime, 1 if notes else 0, entries)
    if etime >= row.worst[0]:
        row.worst = max(row.worst, (etime, -time, -number, -op, subject))
    shape, client = row.key[0], connection.client
    if client is None:
        cell = connection.owed.get((shape, account))
    else:
        cell = segment.attribution.get((shape, client, account))  # type: ignore[arg-type]  # None is not there
    if cell is None:
        owe(segment, connection, shape, account, [1, etime, 1 if notes else 0])
        return
    cell[0] += 1
    cell[1] += etime
    if notes:
        cell[2] += 1


def _unusual(row: ShapeRow, err: int, entries: int, notes: bytes) -> None:
    """Count a result with a code or notes, whose entries may not be all there are."""
    if err:
        row.failed(err)
    if notes:
        row.noted[notes] = row.noted.get(notes, 0) + 1
    if err in LIMITS or (err == 0 and PAGE in notes.split(b",")):
        row.most_limited = max(row.most_limited, entries)
    elif err == 0:
        row.most_entries = max(row.most_entries, entries)


def answer_held(
    segment: Segment, number: int, connection: Connection, pending: Pending, held: Answer, account: Account
) -> None:
    """Count a result that was kept until its request was known."""
    op, time, _, err, etime, wait, entries, notes, _, _ = held
    answer(segment, number, connection, pending, op, time, err, etime, wait, entries, notes, account)


def unrequested(segment: Segment, number: int, held: Answer) -> None:
    """Count a result whose request is not in the log: the operation is counted by it, for nobody."""
    kind = held.kind
    if kind < 0 or kind == ABANDON:
        return
    if segment.forgotten[kind]:
        segment.forgotten[kind] -= 1
        return
    segment.operations[kind] += 1
    row = None
    if kind == SEARCH:
        row = segment.shape(UNSEEN_SEARCH)
        row.searches += 1
    pending = (held.time, kind, row, UNKNOWN if kind == BIND else b"")
    answer_held(segment, number, NOBODY, pending, held, UNKNOWN)


def owe(segment: Segment, connection: Connection, shape: bytes, account: Account, counts: list[int]) -> None:
    """Count searches for who asked, or keep them with the connection until that is known."""
    if connection.client is not None and isinstance(account, bytes):
        segment.attribute((shape, connection.client, account), counts)
        return
    key = (shape, account)
    if key not in connection.owed and len(connection.owed) >= segment.caps.owed:
        segment.cut_short.add("attribution")
        key = (OTHER, None)
    cell = connection.owed.setdefault(key, [0, 0, 0])
    for place, count in enumerate(counts):
        cell[place] += count


def fail(segment: Segment, connection: Connection, dn: bytes, err: int, count: int = 1) -> None:
    """Count failed BINDs."""
    if connection.client is None:
        connection.failures[dn, err] = connection.failures.get((dn, err), 0) + count
        return
    segment.failures.count((dn, connection.client, err), count)


def settle(segment: Segment, connection: Connection) -> None:
    """Count for who asked on a connection whose beginning is known: nothing comes before it."""
    if connection.opened is None or connection.account is not None:
        return
    connection.account = ANONYMOUS
    owed, connection.owed = connection.owed, {}
    for (shape, account), counts in owed.items():
        owe(segment, connection, shape, ANONYMOUS if account is None else account, counts)


def rests_of(connection: Connection, epoch: int) -> Rests:
    """Return where rests of a connection are counted."""
    return connection.rests.setdefault(epoch, Rests()) if connection.row is None else connection.row.rests


def end(segment: Segment, number: int, connection: Connection, *, at_end: bool = False) -> None:
    """Count a connection of which nothing more can come; `at_end`: it is open where the log ends."""
    count_for_nobody(segment, connection)
    row = connection.row or segment.client(UNKNOWN)
    for rests in connection.rests.values():
        row.rests.take(rests)
    account = ANONYMOUS if connection.account is None and connection.opened is not None else connection.account
    segment.accounts.count(account if isinstance(account, bytes) else UNKNOWN)
    row.operations += connection.operations
    segment.continued += connection.continued
    if connection.asked is not None:
        segment.holes += max(0, connection.last_op - connection.asked.op + 1 - connection.requests)
    if at_end:
        segment.open_at_end += 1
        return
    code = connection.code
    row.codes[code] = row.codes.get(code, 0) + 1
    if connection.operations == 0:
        row.silent[code] = row.silent.get(code, 0) + 1
    row.per_connection[connection.operations.bit_length()] += 1
    if connection.closed is None:
        return
    if connection.opened is not None:
        row.lifetimes[max(0, connection.closed - connection.opened).bit_length()] += 1
    tail = connection.tail
    if tail is not None and tail.quiet and tail.rested is not None and connection.closed > tail.rested:
        row.tails.setdefault(code, Rests()).add(connection.closed - tail.rested, connection.closed, number)


def count_for_nobody(segment: Segment, connection: Connection, *, after_close: bool = False) -> None:
    """Count for nobody what is owed to a client or account that the log does not tell, or that came after the close."""
    client = UNKNOWN if connection.client is None or after_close else connection.client
    nobody = UNKNOWN if connection.opened is None else ANONYMOUS
    for (shape, asker), counts in connection.owed.items():
        account = nobody if asker is None else asker
        told = isinstance(account, bytes) and not after_close
        segment.attribute((shape, client, account if told else UNKNOWN), counts)  # type: ignore[arg-type]  # told: bytes
    for (dn, err), count in connection.failures.items():
        segment.failures.count((dn, client, err), count)
