"""Counting of idle times, by client and account, and when they reach the timeouts that administrators set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.connection import UNKNOWN
from ldapdiag.evidence.log.idle_times import IdleTimes
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.tables import OTHER

if TYPE_CHECKING:
    from ldapdiag.evidence.log.connection import Account, Connection
    from ldapdiag.evidence.log.segment import Segment


def count_idle_time(
    segment: Segment, number: int, connection: Connection, account: Account, since: int, ended: int
) -> None:
    """Count an idle time that a request ended.

    Of an unknown client or account it stays with the connection, because a later record may name them.
    """
    segment.timeline.idle_time(since, ended, used=1, closed=0)
    if connection.client is not None and isinstance(account, bytes):
        segment.idle_row(connection.client, account).used.add(ended - since, ended, number)
        return
    if account not in connection.idle_times and len(connection.idle_times) >= segment.caps.owed:
        segment.cut_short.add("idle_times")
        account = OTHER
    connection.idle_times.setdefault(account, IdleTimes()).add(ended - since, ended, number)


def count_last_idle_time(
    segment: Segment, number: int, connection: Connection, until: int | None, *, at_end: bool
) -> None:
    """Count the idle times of a connection that has ended `until` then, or is open at the end of the log."""
    client, unbound = connection.client_at_end, connection.unbound
    for account, idle_times in connection.idle_times.items():
        segment.idle_row(client, known(unbound if account is None else account)).used.merge(idle_times)
    since = connection.idle_at_end
    if since is None or until is None or until - since < SECOND:
        return
    account = unbound if connection.bound_as is None else connection.bound_as
    row = segment.idle_row(client, known(account))
    ended = row.open if at_end else row.closed(connection.code)
    ended.add(until - since, until, number)
    segment.timeline.idle_time(since, until, used=0, closed=int(not at_end))


def known(account: Account) -> bytes:
    """Return an account as far as it is known, now that no record before it can follow."""
    return account if isinstance(account, bytes) else UNKNOWN
