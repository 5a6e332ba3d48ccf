"""Ages of sockets: the time since data last arrived, and unanswered keepalive probes, from a table's columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.sockets import SocketTable, Timer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MANY_TRIES = 4
"""Attempts of TCP to send again, each after twice the time of the one before: 3 s from the shortest, 200 ms."""
TRIES_SECONDS = 3.0
MANY_PROBES = 2


def column_seconds(column: Sequence[int | None] | None, row: int | None) -> float | None:
    """Return one value of a column of milliseconds in seconds; None where the table has no such column or value."""
    value = column[row] if column is not None and row is not None else None
    return None if value is None else value / 1000


def seconds_since_received(table: SocketTable, rows: Iterable[int]) -> list[float]:
    """Return the seconds since data last arrived on these rows, where the table shows them (tcp_info lastrcv)."""
    if table.last_received is None:
        return []
    ages = (column_seconds(table.last_received, row) for row in rows)
    return [age for age in ages if age is not None]


def probes_unanswered(table: SocketTable, row: int) -> bool:
    """Return whether keepalive probes of this socket are unanswered."""
    timer, probes = table.timer, table.probes
    return bool(timer and probes and timer[row] is Timer.KEEPALIVE and probes[row] >= 1)


def retransmits(table: SocketTable, row: int) -> bool:
    """Return whether this socket retransmits data, or a FIN, that is not acknowledged."""
    timer, count = table.timer, table.retransmits
    return bool(timer and count and timer[row] is Timer.RETRANSMIT and count[row] >= 1)


def unanswered_seconds(table: SocketTable, row: int) -> float | None:
    """Return for how long packets of a socket have been unanswered, at least; None: none is, or one was just lost."""
    if probes_unanswered(table, row) and table.probes and table.probes[row] >= MANY_PROBES:
        return TRIES_SECONDS
    if retransmits(table, row) and table.retransmits and table.retransmits[row] >= MANY_TRIES:
        return max(column_seconds(table.busy, row) or 0.0, TRIES_SECONDS)
    return None
