"""Counting: add a result, a failed BIND or the end of a connection to a Segment, once its client is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.connection import ANONYMOUS, IN_PROGRESS, UNKNOWN, Connection
from ldapdiag.evidence.log.durations import bucket
from ldapdiag.evidence.log.idle_counting import count_last_idle_time, known
from ldapdiag.evidence.log.operation_kinds import ABANDON, BIND, SEARCH
from ldapdiag.evidence.log.selected_operations import selected
from ldapdiag.evidence.log.shape_row import ShapeRow
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.substrings import STOPPED_LENGTHS, lengths
from ldapdiag.evidence.log.tables import OTHER, OTHER_RESULT
from ldapdiag.evidence.log.timeline import SLOW

if TYPE_CHECKING:
    from ldapdiag.evidence.log.connection import Account, OperationResult, Pending, Subject
    from ldapdiag.evidence.log.operation_row import OperationRow, ShapeKey
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.evidence.log.sorting import Sorting

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

EARLY = SECOND
"""A result that is written before its request is of a time as near as this."""
MOST_EARLY = 10 * SECOND
"""Such a result waits for its request as long; then it has none."""

UNKNOWN_CONNECTION = Connection(0, 0, UNKNOWN)
"""The connection of results without a request."""


def count_result(
    segment: Segment, number: int, connection: Connection, pending: Pending, result: OperationResult, account: Account
) -> bool:
    """Count the result of a request, attributed to `account`; a BIND to the DN that it asks for.

    Return whether a row counts it.
    """
    requested, kind, row, subject, sorting = pending
    op, time, _, err, etime, _, _, _, notes, _, _ = result
    if etime is None:
        etime = max(0, time - requested)
    segment.took += etime
    if row is None:
        return False
    row = segment.same_row(row)
    text: bytes = row.key[0] if kind == SEARCH else row.key[1]  # type: ignore[assignment]  # by the kind of key
    if kind == BIND and subject:
        account = subject
    if segment.selection is not None and not selected(
        segment, connection, number, result, (kind, text), account, etime
    ):
        return False
    _count_in_interval(segment, time // SECOND, kind, err, etime)
    _count_in_row(row, result, etime)
    if etime >= row.worst[0]:
        row.worst = max(row.worst, (etime, -time, -number, -op, subject))
    if kind == SEARCH:
        _count_search(row, result, etime, subject, sorting)  # type: ignore[arg-type]  # searches have a ShapeRow
    client, is_noted = connection.client, 1 if notes else 0
    if client is None:
        cell = connection.unattributed.get(((kind, text), account, err))
    else:
        cell = segment.attribution.get((kind, text, client, account, err))  # type: ignore[arg-type]  # None is no key
    if cell is None:
        attribute(segment, connection, (kind, text), account, err, [1, etime, is_noted])
        return True
    cell[0] += 1
    cell[1] += etime
    cell[2] += is_noted
    return True


def _count_in_interval(segment: Segment, second: int, kind: int, err: int, etime: int) -> None:
    interval = segment.timeline.at(second)
    interval.answered += 1
    interval.etime += etime
    if etime >= SLOW:
        interval.slow += 1
    if kind == SEARCH:
        interval.searches += 1
        interval.search_etime += etime
    elif kind == BIND and err not in {0, IN_PROGRESS}:
        interval.failed_binds += 1


def _count_in_row(row: OperationRow, result: OperationResult, etime: int) -> None:
    _, time, _, err, _, wait, optime, entries, _, _, _ = result
    row.answered += 1
    row.etime += etime
    row.entries += entries
    row.etimes[bucket(etime)] += 1
    if wait is not None:
        row.wait += wait
        row.waits[bucket(wait)] += 1
    if optime is not None:
        row.optimes[bucket(optime)] += 1
    if err:
        row.failed(err)
    row.first = min(row.first, time)
    row.last = max(row.last, time)
    row.series.add(time // SECOND, 1, etime)


def _count_search(row: ShapeRow, result: OperationResult, etime: int, subject: bytes, sorting: Sorting | None) -> None:
    _, _, _, err, _, _, _, entries, notes, _, _ = result
    if err or notes or sorting is not None:
        _count_unusual(row, result, etime, sorting)
    elif entries > row.most_entries:
        row.most_entries = entries
    if row.has_substrings:
        digits = lengths(subject)
        row.measured(STOPPED_LENGTHS + digits if err in STOPPED else digits, 1, etime, 1 if notes else 0, entries)


def _count_unusual(row: ShapeRow, result: OperationResult, etime: int, sorting: Sorting | None) -> None:
    """Count a result with an error code or notes, which may not contain all entries, or one that was to be sorted."""
    err, entries, notes = result.err, result.entries, result.notes
    if sorting is not None:
        candidates, unindexed = max(sorting.candidates, 0), not UNINDEXED.isdisjoint(notes.split(b","))
        row.sorted(sorting, 1, etime, int(unindexed), candidates, candidates)
    if notes:
        row.noted[notes] = row.noted.get(notes, 0) + 1
    if err in STOPPED:
        row.stop((err, notes), [1, etime, result.wait or 0, entries, entries])
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
    """Count a result that was kept until its request was known, or whose request came after the close."""
    bound_as = account if kept.account is None or pending[1] != BIND else kept.account
    count_result(segment, number, connection, pending, kept, bound_as)


def name_mechanism(segment: Segment, connection: Connection, op: int, mechanism: bytes) -> bool:
    """Count a BIND that awaits its result by this mechanism; return whether the request is known."""
    pending = connection.pending.get(op)
    if pending is None:
        return False
    time, kind, row, subject, sorting = pending
    if kind == BIND and row is not None:
        before = segment.targets.get((BIND, row.key[1])) or segment.target((BIND, OTHER))
        before.requests -= 1
        if before.requests == 0:
            del segment.targets[before.key]  # type: ignore[arg-type]  # a BIND has a TargetKey
        named = segment.target((BIND, mechanism))
        named.requests += 1
        connection.pending[op] = (time, kind, named, subject, sorting)
    return True


def count_without_request(
    segment: Segment, number: int, result: OperationResult, connection: Connection | None = None
) -> None:
    """Count a result whose request is not in the log, as an operation of its connection, None: of an unknown client."""
    kind = result.kind
    if kind < 0 or kind == ABANDON:
        return
    segment.operations[kind] += 1
    row: OperationRow = segment.shape(UNSEEN_SEARCH) if kind == SEARCH else segment.target((kind, UNKNOWN))
    row.requests += 1
    if connection is None:
        result = result._replace(account=None, bound_as=UNKNOWN)
    requested_dn = UNKNOWN if result.account is None else result.account
    pending = (result.time, kind, row, requested_dn if kind == BIND else b"", None)
    count_kept_result(segment, number, connection or UNKNOWN_CONNECTION, pending, result, result.bound_as)


def count_early_results(
    segment: Segment,
    number: int,
    connection: Connection,
    *,
    now: int | None,
    late: Connection | None = None,
) -> None:
    """Count the results that have no request before them: threads may write a result before its request.

    At the end of the connection such a result belongs to the request that has no other. Until then a result waits for
    one that comes, and both for another result. `now`: the time of a later record of this connection (no other, whose
    time may be forged); None at the end. `late`: the stand-in with the requests after the close.
    """
    results, connection.early = connection.early, []
    for result, is_open in results:
        if not is_open and late is not None and (pending := late.pending.take(result.op)) is not None:
            count_kept_result(segment, number, late, pending, result, late.account)
            continue
        pending = connection.pending.get(result.op)
        if pending is None or pending[1] != result.kind or abs(pending[0] - result.time) > EARLY:
            pending = None
        if pending is not None and now is None:
            connection.pending.take(result.op)
            count_kept_result(segment, number, connection, pending, result, result.bound_as)
        elif now is not None and (pending is not None or now - result.time <= MOST_EARLY):
            connection.early.append((result, is_open))
        else:
            count_without_request(segment, number, result, connection if is_open else None)


def count_unanswered(segment: Segment, pending: Pending) -> None:
    """Count a request whose result is not in the log."""
    row = pending[2]
    if row is not None:
        segment.same_row(row).unanswered += 1


def count_abandoned(segment: Segment, pending: Pending) -> None:
    """Count a request that an ABANDON ended before its result."""
    row = pending[2]
    if row is not None:
        segment.same_row(row).abandoned += 1


def attribute(
    segment: Segment, connection: Connection, subject: Subject, account: Account, err: int, counts: list[int]
) -> None:
    """Attribute operations to client and account, or keep them with the connection until both are known."""
    if connection.client is not None and isinstance(account, bytes):
        segment.attribute((*subject, connection.client, account, err), counts)
        return
    key = (subject, account, err)
    if key not in connection.unattributed and len(connection.unattributed) >= segment.caps.owed:
        segment.cut_short.add("attribution")
        key = ((subject[0], OTHER), None, OTHER_RESULT)
    cell = connection.unattributed.setdefault(key, [0, 0, 0])
    for place, count in enumerate(counts):
        cell[place] += count


def apply_late_opening(segment: Segment, connection: Connection, opened: int, client: bytes) -> None:
    """Attribute to `client` what a connection did before its opening was written.

    What came before the first BIND is anonymous.
    """
    connection.opened = opened
    connection.client = client
    if connection.account is None:
        connection.account = ANONYMOUS
    kept, connection.unattributed = connection.unattributed, {}
    for (subject, account, err), counts in kept.items():
        attribute(segment, connection, subject, ANONYMOUS if account is None else account, err, counts)


def change_client(segment: Segment, connection: Connection, client: bytes) -> None:
    """Continue a connection with the client that a PROXY header names."""
    if connection.opened is not None and connection.client is not None and not connection.is_before_period:
        segment.client(connection.client).opened -= 1
        segment.client(client).opened += 1
    connection.client = client


def end_connection(
    segment: Segment, number: int, connection: Connection, *, at_end: bool = False, at: int | None = None
) -> None:
    """Count a connection of which no record can follow; `at_end`: it is open at the end of the log.

    `at`: when a restart of the server, or the end of the log, ended it.
    """
    count_last_idle_time(segment, number, connection, connection.closed or at, at_end=at_end)
    last_use = connection.last_use(at)
    count_early_results(segment, number, connection, now=None)
    count_unattributed(segment, connection)
    count_clear_binds(segment, connection)
    for pending in connection.pending.values():
        count_unanswered(segment, pending)
    row = segment.client(connection.client_at_end)
    account = connection.unbound if connection.account is None else connection.account
    segment.accounts.count(known(account))
    row.operations += connection.operations
    row.used(connection.first if connection.opened is None else connection.opened, last_use)
    segment.continued += connection.continued
    if connection.first_op is not None:
        segment.holes += max(0, connection.last_op - connection.first_op + 1 - connection.requests)
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


def count_unattributed(segment: Segment, connection: Connection) -> None:
    """Count what is kept of a client or account that no later record can name, under the unknown ones."""
    client, unbound = connection.client_at_end, connection.unbound
    for ((kind, text), kept, err), counts in connection.unattributed.items():
        segment.attribute((kind, text, client, known(unbound if kept is None else kept), err), counts)


def count_clear_bind(segment: Segment, connection: Connection, dn: bytes) -> None:
    """Keep a BIND that sent a password without TLS, by its DN, until the end of the connection."""
    if dn not in connection.clear_binds and len(connection.clear_binds) >= segment.caps.owed:
        segment.cut_short.add("clear_binds")
        dn = OTHER
    connection.clear_binds[dn] = connection.clear_binds.get(dn, 0) + 1


def count_clear_binds(segment: Segment, connection: Connection) -> None:
    """Count the BINDs that sent a password without TLS, where the log has the connection from its beginning.

    Of another connection the log may lack what secured it.
    """
    if connection.opened is not None and connection.client is not None:
        for dn, count in connection.clear_binds.items():
            segment.clear_binds.count((connection.client, dn), count)
    elif connection.clear_binds:
        segment.maybe_clear += 1
