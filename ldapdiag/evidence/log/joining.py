"""Joining two pieces of one connection: what waited at the edge of the right one is told by the left one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.connection import ANONYMOUS, Asked, Tail
from ldapdiag.evidence.log.counting import answer_held, count_for_nobody, fail, owe, rests_of
from ldapdiag.evidence.log.kinds import ABANDON, BIND
from ldapdiag.evidence.log.stamps import SECOND

if TYPE_CHECKING:
    from ldapdiag.evidence.log.connection import Account, Connection
    from ldapdiag.evidence.log.segment import Segment


def introduce(segment: Segment, connection: Connection, opened: int, client: bytes) -> None:
    """Say who a connection belongs to that had asked before its opening was written."""
    connection.opened = opened
    connection.client = client
    connection.row = segment.client(client)
    if connection.account is None:
        connection.account = ANONYMOUS
    connection.held = [held._replace(who=ANONYMOUS) if held.who is None else held for held in connection.held]
    owed, connection.owed = connection.owed, {}
    for (shape, account), counts in owed.items():
        owe(segment, connection, shape, ANONYMOUS if account is None else account, counts)
    failures, connection.failures = connection.failures, {}
    for (dn, err), count in failures.items():
        fail(segment, connection, dn, err, count)
    for rests in connection.rests.values():
        connection.row.rests.take(rests)
    connection.rests = {}


class _Seam:
    """Where the two pieces meet: which results of the right one answer requests of the left one."""

    def __init__(self, segment: Segment, number: int, left: Connection, right: Connection) -> None:
        self.account = left.who
        self.binders: dict[Account, bytes] = {}
        """DNs by the op of the BIND whose result the right piece holds."""
        self.base = len(left.held)
        self.left_over = [0]
        """By epoch of the right piece: how many of its results so far are not for the left one."""
        self.quiet_from = None if left.pending else 0
        """The epoch of the right piece from which nothing of the left one is outstanding; None: never."""
        for epoch, answer in enumerate(right.held, 1):
            who = self.who(answer.who) if left.closed is None else left.who
            gone = left.is_gone(answer.time) or right.is_gone(answer.time)
            pending = None if gone else left.pending.pop(answer.op, None)
            if pending is None:
                left.held.append(answer._replace(who=who))
            else:
                if answer.kind != ABANDON:
                    answer_held(segment, number, left, pending, answer, who)
                    if answer.kind == BIND:
                        asked = pending[3] if pending[1] == BIND else ANONYMOUS
                        self.binders[answer.op] = asked if left.named is None else left.named
                        left.named = None
                if self.quiet_from is None and not left.pending:
                    self.quiet_from = epoch
            self.left_over.append(len(left.held) - self.base)

    def quiet(self, epoch: int) -> bool:
        """Tell whether nothing of the left piece is outstanding any more."""
        return self.quiet_from is not None and epoch >= self.quiet_from

    def epoch(self, epoch: int) -> int:
        """Return the epoch of both together."""
        return self.base + self.left_over[epoch]

    def who(self, account: Account) -> Account:
        """Return the account that a symbol of the right piece stands for, as far as the left one knows."""
        return self.account if account is None else self.binders.get(account, account)


def join(segment: Segment, number: int, left: Connection, right: Connection) -> None:
    """Let the left piece of a connection go on with the right one."""
    if right.client is not None:
        _meet(segment, left, right)
    seam = _Seam(segment, number, left, right)
    if left.closed is not None:  # what is asked after the close is nobody's
        count_for_nobody(segment, right, after_close=True)
        return
    _settle(segment, left, right, seam)
    if right.account is not None:
        left.account, left.binding = seam.who(right.account), None
    left.binding = left.binding if right.binding is None else right.binding
    left.named = left.named if right.named is None else right.named
    _rests(number, left, right, seam)
    _pages(left, right)
    left.pending.update(right.pending)
    _close(left, right, seam)
    left.operations += right.operations
    left.requests += right.requests
    left.first = min(left.first, right.first)


def _close(left: Connection, right: Connection, seam: _Seam) -> None:
    """Take over since when the connection rests, and its close."""
    if right.tail is not None:
        left.closed, left.code = right.closed, right.code
        rested, epoch, quiet = right.tail
        left.tail = Tail(left.rested if rested is None else rested, seam.epoch(epoch), quiet and seam.quiet(epoch))
    left.rested = left.rested if right.rested is None else right.rested


def _meet(segment: Segment, left: Connection, right: Connection) -> None:
    """Take over the client that the right piece knows: by a late opening, or by a PROXY header."""
    client = right.client or b""
    if right.opened is not None:
        introduce(segment, left, right.opened, client)
        return
    if left.row is not None:
        left.row.opened -= 1
        segment.client(client).opened += 1
    left.client = client
    left.row = segment.client(client)


def _settle(segment: Segment, left: Connection, right: Connection, seam: _Seam) -> None:
    """Count for client and account what the right piece owes them."""
    for (shape, account), counts in right.owed.items():
        owe(segment, left, shape, seam.who(account), counts)
    for (dn, err), count in right.failures.items():
        fail(segment, left, dn, err, count)


def _rests(number: int, left: Connection, right: Connection, seam: _Seam) -> None:
    """Count the rests of the right piece in which nothing of the left one was outstanding, and the one between them."""
    for epoch, rests in right.rests.items():
        if seam.quiet(epoch):
            rests_of(left, seam.epoch(epoch)).take(rests)
    asked = right.asked
    if asked is not None:
        rested = left.rested if asked.rested is None else asked.rested
        epoch = seam.epoch(asked.epoch)
        consecutive = 0 <= left.last_op == asked.op - 1
        if consecutive and rested is not None and asked.time - rested >= SECOND and seam.quiet(asked.epoch):
            rests_of(left, epoch).add(asked.time - rested, asked.time, number)
        if left.asked is None:
            left.asked = Asked(asked.op, asked.time, epoch, rested)
    left.last_op = max(left.last_op, right.last_op)


def _pages(left: Connection, right: Connection) -> None:
    left.continued += right.continued
    for page in right.pages_left:
        if left.pages.get(page):
            left.continued += 1
        elif page not in left.pages:
            left.pages_left.add(page)
    left.pages.update(right.pages)
