"""Joining two chunks of one connection: the left one decides what was open at the edge of the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.connection import ANONYMOUS, FirstRequest, IdleAtClose, IdleTime, PendingRequests
from ldapdiag.evidence.log.counting import (
    add_sorting,
    attribute,
    attribute_kept,
    count_abandoned,
    count_clear_bind,
    count_kept_result,
    count_unattributed,
    name_mechanism,
)
from ldapdiag.evidence.log.idle_counting import count_idle_time
from ldapdiag.evidence.log.operation_kinds import ABANDON, BIND, EXTENDED, NAMED
from ldapdiag.evidence.log.stamps import SECOND

if TYPE_CHECKING:
    from ldapdiag.evidence.log.connection import Account, Connection, OperationResult
    from ldapdiag.evidence.log.segment import Segment


def apply_late_opening(segment: Segment, connection: Connection, opened: int, client: bytes) -> None:
    """Attribute to `client` what a connection did before its opening was written."""
    connection.opened = opened
    connection.client = client
    connection.row = segment.client(client)
    if connection.account is None:
        connection.account = ANONYMOUS
    connection.unmatched = [
        result._replace(bound_as=ANONYMOUS) if result.bound_as is None else result for result in connection.unmatched
    ]
    connection.uncertain_idle_times = [
        idle_time._replace(account=ANONYMOUS) if idle_time.account is None else idle_time
        for idle_time in connection.uncertain_idle_times
    ]
    attribute_kept(segment, connection)


def change_client(segment: Segment, connection: Connection, client: bytes) -> None:
    """Continue a connection with the client that a PROXY header names."""
    row = segment.client(client)
    if connection.opened is not None and connection.row is not None:
        connection.row.opened -= 1
        row.opened += 1
    connection.client, connection.row = client, row


NO_REQUESTS = PendingRequests()


class _Seam:
    """The border between the two chunks: the results of the right one matched with the requests of the left one."""

    def __init__(
        self, segment: Segment, number: int, left: Connection, right: Connection, late: PendingRequests
    ) -> None:
        self.account = left.bound_as
        self.bind_dns: dict[Account, bytes] = {}
        """DNs by the op of the BIND whose result is in the right chunk."""
        self.base = len(left.unmatched)
        self.left_over = [0]
        """By epoch of the right chunk: the number of its results so far without a request in the left one."""
        self.quiet_from = None if left.pending else 0
        """The first epoch of the right chunk in which no operation of the left one is outstanding; None: never."""
        self.secured_from = 0 if left.secured else None
        """The first epoch of the right chunk in which the connection was secured in the left one; None: never."""
        closed_from = 0 if left.closed is not None else len(right.unmatched)
        if left.closed is None and right.idle_at_close is not None:
            closed_from = right.idle_at_close.epoch
        for epoch, result in enumerate(right.unmatched, 1):
            account = self.resolve(result.bound_as) if left.closed is None else left.bound_as
            expired = left.is_expired(result.time) or right.is_expired(result.time)
            is_of_late = epoch > closed_from and result.op in late and result.kind not in {ABANDON, NAMED}
            if expired or is_of_late or not self._match(segment, number, left, result, account):
                left.unmatched.append(result._replace(bound_as=account))
            elif self.quiet_from is None and not left.pending:
                self.quiet_from = epoch
            if self.secured_from is None and left.secured:
                self.secured_from = epoch
            self.left_over.append(len(left.unmatched) - self.base)

    def _match(
        self, segment: Segment, number: int, left: Connection, result: OperationResult, account: Account
    ) -> bool:
        """Match a result of the right chunk with its request; return whether this is in the left one."""
        if result.sorting is not None:
            return add_sorting(left, result.op, result.sorting)
        if result.kind == NAMED:
            return name_mechanism(segment, left, result.op, result.account or b"")
        pending = left.pending.take(result.op)
        if pending is not None and result.kind != ABANDON:
            count_kept_result(segment, number, left, pending, result, account)
            self._resolve_bind(left, result, pending[3] if pending[1] == BIND else ANONYMOUS)
            if result.kind == EXTENDED:
                left.end_extended(result.err, pending[3])
        elif pending is not None:
            count_abandoned(segment, pending)
        return pending is not None

    def _resolve_bind(self, left: Connection, result: OperationResult, requested_dn: bytes) -> None:
        if result.kind == BIND:
            self.bind_dns[result.op] = requested_dn if left.confirmed_dn is None else left.confirmed_dn
            left.confirmed_dn = None

    def quiet(self, epoch: int) -> bool:
        """Return whether no operation of the left chunk is outstanding any more."""
        return self.quiet_from is not None and epoch >= self.quiet_from

    def secured(self, epoch: int) -> bool:
        """Return whether the connection was secured in the left chunk, or by an operation requested there."""
        return self.secured_from is not None and epoch >= self.secured_from

    def epoch(self, epoch: int) -> int:
        """Return the epoch in the joined chunks of an epoch of the right one."""
        return self.base + self.left_over[epoch]

    def resolve(self, account: Account) -> Account:
        """Return the account that a symbol of the right chunk stands for, as far as the left one determines it."""
        return self.account if account is None else self.bind_dns.get(account, account)


def join(segment: Segment, number: int, left: Connection, right: Connection, after_close: Connection | None) -> None:
    """Continue the left chunk of a connection with the right one.

    `after_close`: the stand-in with the requests that were written after its close; results end these first.
    """
    if right.client is not None:
        _take_client(segment, left, right)
    seam = _Seam(segment, number, left, right, NO_REQUESTS if after_close is None else after_close.pending)
    if left.closed is not None:  # requests after the close belong to no connection
        count_unattributed(segment, right, after_close=True)
        return
    _attribute(segment, left, right, seam)
    left.name(right.named_client, right.named_account)
    if right.account is not None:
        left.account, left.bind_dn = seam.resolve(right.account), None
    left.bind_dn = left.bind_dn if right.bind_dn is None else right.bind_dn
    left.confirmed_dn = left.confirmed_dn if right.confirmed_dn is None else right.confirmed_dn
    _join_idle_times(segment, number, left, right, seam)
    _join_pages(left, right)
    _join_security(segment, left, right, seam)
    left.pending.add_all(right.pending)
    _take_close(left, right, seam)
    left.operations += right.operations
    left.requests += right.requests


def _take_close(left: Connection, right: Connection, seam: _Seam) -> None:
    """Take over the close of the right chunk, and the time since which the connection is idle."""
    if right.idle_at_close is not None:
        left.closed, left.code = right.closed, right.code
        since, epoch, quiet = right.idle_at_close
        since = left.idle_since if since is None else since
        left.idle_at_close = IdleAtClose(since, seam.epoch(epoch), quiet and seam.quiet(epoch))
    left.idle_since = left.idle_since if right.idle_since is None else right.idle_since


def _take_client(segment: Segment, left: Connection, right: Connection) -> None:
    """Take over the client of the right chunk, from a late opening or a PROXY header."""
    client = right.client or b""
    if right.opened is not None:
        apply_late_opening(segment, left, right.opened, client)
        return
    change_client(segment, left, client)


def _attribute(segment: Segment, left: Connection, right: Connection, seam: _Seam) -> None:
    """Attribute what the right chunk keeps to the client and account of the left one."""
    for (subject, account, err), counts in right.unattributed.items():
        attribute(segment, left, subject, seam.resolve(account), err, counts)


def _join_idle_times(segment: Segment, number: int, left: Connection, right: Connection, seam: _Seam) -> None:
    """Count the idle time between the chunks, and those of the right one.

    Of the latter those count during which no operation of the left chunk was outstanding.
    """
    first = right.first_request
    if first is not None:
        idle_since = left.idle_since if first.idle_since is None else first.idle_since
        epoch, account = seam.epoch(first.epoch), seam.resolve(first.account)
        since = left.opened if left.last_op < 0 else idle_since
        consecutive = left.previous_op == first.op - 1 and right.opened is None
        if consecutive and since is not None and first.time - since >= SECOND and seam.quiet(first.epoch):
            count_idle_time(segment, number, left, IdleTime(epoch, account, since, first.time))
        if left.first_request is None:
            left.first_request = FirstRequest(first.op, first.time, epoch, idle_since, account)
        left.previous_op = right.previous_op
    for epoch, account, since, ended in right.uncertain_idle_times:
        if seam.quiet(epoch):
            idle_time = IdleTime(seam.epoch(epoch), seam.resolve(account), since, ended)
            count_idle_time(segment, number, left, idle_time)
    left.last_op = max(left.last_op, right.last_op)


def _join_security(segment: Segment, left: Connection, right: Connection, seam: _Seam) -> None:
    for (epoch, dn), count in right.clear_binds.items():
        if not seam.secured(epoch):
            count_clear_bind(segment, left, (seam.epoch(epoch), dn), count)
    left.secured |= right.secured


def _join_pages(left: Connection, right: Connection) -> None:
    left.continued += right.continued
    for page in right.uncertain_pages:
        if left.pages.get(page):
            left.continued += 1
        elif page not in left.pages:
            left.uncertain_pages.add(page)
    left.pages.update(right.pages)
