"""Counting of idle times, by client and account, and when they reach the timeouts that administrators set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.connection import ANONYMOUS, UNKNOWN, IdleTime
from ldapdiag.evidence.log.idle_times import IdleTimes
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.tables import OTHER

if TYPE_CHECKING:
    from ldapdiag.evidence.log.connection import Account, Connection
    from ldapdiag.evidence.log.segment import Segment


def count_idle_time(segment: Segment, number: int, connection: Connection, idle_time: IdleTime) -> None:
    """Count an idle time that a request ended, or keep it with the connection until client and account are known."""
    client, account = connection.client, idle_time.account
    if client is None or not isinstance(account, bytes):
        connection.uncertain_idle_times.append(idle_time)
        return
    _, _, since, ended = idle_time
    segment.idle_row(client, account).used.add(ended - since, ended, number)
    segment.timeline.idle_time(since, ended, used=1, closed=0)


def count_certain_idle_times(segment: Segment, number: int, connection: Connection) -> None:
    """Count the idle times that were kept, now that everything before them is known; but not yet the client, perhaps.

    Of an unknown client or account they stay with the connection, because a later record may name them.
    """
    kept, connection.uncertain_idle_times = connection.uncertain_idle_times, []
    for _, account, since, ended in kept:
        segment.timeline.idle_time(since, ended, used=1, closed=0)
        if account is None and connection.opened is not None:
            account = ANONYMOUS  # noqa: PLW2901  what came before the first BIND
        if connection.client is not None and isinstance(account, bytes):
            segment.idle_row(connection.client, account).used.add(ended - since, ended, number)
            continue
        if account not in connection.idle_times and len(connection.idle_times) >= segment.caps.owed:
            segment.cut_short.add("idle_times")
            account = OTHER  # noqa: PLW2901  beyond the cap
        connection.idle_times.setdefault(account, IdleTimes()).add(ended - since, ended, number)


def count_last_idle_time(
    segment: Segment, number: int, connection: Connection, until: int | None, *, at_end: bool
) -> None:
    """Count the idle times of a connection that has ended `until` then, or is open at the end of the log."""
    count_certain_idle_times(segment, number, connection)
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
