"""Counting: add a result, a failed BIND or the end of a connection to a Segment, once its client is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.connection import ANONYMOUS, IN_PROGRESS, UNKNOWN, Connection
from ldapdiag.evidence.log.idle_times import IdleTimes
from ldapdiag.evidence.log.operation_kinds import ABANDON, BIND, SEARCH
from ldapdiag.evidence.log.substrings import STOPPED_LENGTHS, lengths
from ldapdiag.evidence.log.tables import OTHER

if TYPE_CHECKING:
    from ldapdiag.evidence.log.connection import Account, OperationResult, Pending
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.evidence.log.sorting import Sorting
    from ldapdiag.evidence.log.tables import ShapeKey, ShapeRow

LIMITS = frozenset({3, 4, 11})
"""timeLimitExceeded, sizeLimitExceeded, adminLimitExceeded (RFC 4511, appendix A): there were more entries."""
REFUSED = frozenset({3, 11, 50, 53})
"""timeLimitExceeded, adminLimitExceeded, insufficientAccessRights, unwillingToPerform: what servers answer instead of
examining more entries (RFC 4511, appendix A)."""
STOPPED = LIMITS | REFUSED
UNINDEXED = frozenset({b"A", b"U"})
"""The notes of 389-ds on a search without an index for all or a part of it."""
PAGE = b"P"
"""The note of 389-ds on a page of a paged search."""

UNSEEN_SEARCH: ShapeKey = (UNKNOWN, UNKNOWN, -1)
"""Searches whose request is not in the log."""

UNKNOWN_CONNECTION = Connection(0, 0, UNKNOWN)
"""The connection of results without a request."""


def count_result(  # noqa: C901,PLR0913,PLR0917  the fields of a result, by position: this runs for every one
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
    """Count the result of a request, attributed to `account`."""
    requested, kind, row, subject, sorting = pending
    if etime is None:
        etime = max(0, time - requested)
    segment.took += etime
    if row is None:
        if kind == BIND and err not in {0, IN_PROGRESS}:
            count_failed_bind(segment, connection, subject, err)
        return
    row.answered += 1
    row.etime += etime
    row.entries += entries
    row.histogram[etime.bit_length()] += 1
    if wait is not None:
        row.wait += wait
    refused = 0
    if err or notes or sorting is not None:
        refused = 1 if err in REFUSED else 0
        _count_unusual(row, err, entries, notes, etime, wait, sorting)
    elif entries > row.most_entries:
        row.most_entries = entries
    if row.has_substrings:
        digits = lengths(subject)
        row.measured(STOPPED_LENGTHS + digits if err in STOPPED else digits, 1, etime, 1 if notes else 0, entries)
    if etime >= row.worst[0]:
        row.worst = max(row.worst, (etime, -time, -number, -op, subject))
    shape, client = row.key[0], connection.client
    if client is None:
        cell = connection.unattributed.get((shape, account))
    else:
        cell = segment.attribution.get((shape, client, account))  # type: ignore[arg-type]  # None is no key
    if cell is None:
        attribute(segment, connection, shape, account, [1, etime, 1 if notes else 0, refused])
        return
    cell[0] += 1
    cell[1] += etime
    if notes:
        cell[2] += 1
    cell[3] += refused


def _count_unusual(
    row: ShapeRow, err: int, entries: int, notes: bytes, etime: int, wait: int | None, sorting: Sorting | None
) -> None:
    """Count a result with an error code or notes, which may not contain all entries, or one that was to be sorted."""
    if sorting is not None:
        candidates, unindexed = max(sorting.candidates, 0), not UNINDEXED.isdisjoint(notes.split(b","))
        row.sorted(sorting, 1, etime, int(unindexed), candidates, candidates)
    if err:
        row.failed(err)
    if notes:
        row.noted[notes] = row.noted.get(notes, 0) + 1
    if err in STOPPED:
        row.stop((err, notes), [1, etime, wait or 0, entries, entries])
    if err in LIMITS or (err == 0 and PAGE in notes.split(b",")):
        row.most_limited = max(row.most_limited, entries)
    elif err == 0:
        row.most_entries = max(row.most_entries, entries)


def add_sorting(connection: Connection, op: int, line: Sorting) -> bool:
    """Add a SORT or VLV line to the request it belongs to; return whether this is known."""
    pending = connection.pending.get(op)
    if pending is None:
        return False
    time, kind, row, subject, before = pending
    connection.pending[op] = (time, kind, row, subject, line if before is None else before.and_then(line))
    return True


def count_kept_result(
    segment: Segment, number: int, connection: Connection, pending: Pending, kept: OperationResult, account: Account
) -> None:
    """Count a result that was kept until its request was known."""
    op, time, _, err, etime, wait, entries, notes, *_ = kept
    count_result(segment, number, connection, pending, op, time, err, etime, wait, entries, notes, account)


def count_without_request(segment: Segment, number: int, result: OperationResult) -> None:
    """Count a result whose request is not in the log, as an operation of an unknown client."""
    kind = result.kind
    if kind < 0 or kind == ABANDON:
        return
    if segment.dropped_requests[kind]:
        segment.dropped_requests[kind] -= 1
        return
    segment.operations[kind] += 1
    row = None
    if kind == SEARCH:
        row = segment.shape(UNSEEN_SEARCH)
        row.searches += 1
    pending = (result.time, kind, row, UNKNOWN if kind == BIND else b"", None)
    count_kept_result(segment, number, UNKNOWN_CONNECTION, pending, result, UNKNOWN)


def attribute(segment: Segment, connection: Connection, shape: bytes, account: Account, counts: list[int]) -> None:
    """Attribute searches to client and account, or keep them with the connection until both are known."""
    if connection.client is not None and isinstance(account, bytes):
        segment.attribute((shape, connection.client, account), counts)
        return
    key = (shape, account)
    if key not in connection.unattributed and len(connection.unattributed) >= segment.caps.owed:
        segment.cut_short.add("attribution")
        key = (OTHER, None)
    cell = connection.unattributed.setdefault(key, [0, 0, 0, 0])
    for place, count in enumerate(counts):
        cell[place] += count


def count_failed_bind(segment: Segment, connection: Connection, dn: bytes, err: int, count: int = 1) -> None:
    """Count failed BINDs."""
    if connection.client is None:
        connection.failures[dn, err] = connection.failures.get((dn, err), 0) + count
        return
    segment.failures.count((dn, connection.client, err), count)


def resolve_account(segment: Segment, connection: Connection) -> None:
    """Attribute what came before the first BIND to the anonymous account, where the connection's opening is known."""
    if connection.opened is None or connection.account is not None:
        return
    connection.account = ANONYMOUS
    kept, connection.unattributed = connection.unattributed, {}
    for (shape, account), counts in kept.items():
        attribute(segment, connection, shape, ANONYMOUS if account is None else account, counts)


def idle_times_of(connection: Connection, epoch: int) -> IdleTimes:
    """Return the histogram that counts the idle times of a connection."""
    if connection.row is None:
        return connection.idle_times.setdefault(epoch, IdleTimes())
    return connection.row.idle_times


def end_connection(segment: Segment, number: int, connection: Connection, *, at_end: bool = False) -> None:
    """Count a connection of which no record can follow; `at_end`: it is open at the end of the log."""
    count_unattributed(segment, connection)
    row = connection.row or segment.client(UNKNOWN)
    for idle_times in connection.idle_times.values():
        row.idle_times.merge(idle_times)
    account = ANONYMOUS if connection.account is None and connection.opened is not None else connection.account
    segment.accounts.count(account if isinstance(account, bytes) else UNKNOWN)
    row.operations += connection.operations
    segment.continued += connection.continued
    if connection.first_request is not None:
        segment.holes += max(0, connection.last_op - connection.first_request.op + 1 - connection.requests)
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
    idle = connection.idle_at_close
    if idle is not None and idle.quiet and idle.idle_since is not None and connection.closed > idle.idle_since:
        before_close = row.idle_before_close.setdefault(code, IdleTimes())
        before_close.add(connection.closed - idle.idle_since, connection.closed, number)


def count_unattributed(segment: Segment, connection: Connection, *, after_close: bool = False) -> None:
    """Count what cannot be attributed any more, under the unknown client and account.

    That is what is kept of a client or account that is not in the log, and what came after the close.
    """
    client = UNKNOWN if connection.client is None or after_close else connection.client
    unbound = UNKNOWN if connection.opened is None else ANONYMOUS
    for (shape, kept), counts in connection.unattributed.items():
        account = unbound if kept is None else kept
        is_known = isinstance(account, bytes) and not after_close
        segment.attribute((shape, client, account if is_known else UNKNOWN), counts)  # type: ignore[arg-type]  # is_known: bytes
    for (dn, err), count in connection.failures.items():
        segment.failures.count((dn, client, err), count)
