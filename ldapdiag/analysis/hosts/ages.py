"""How long sockets have been at rest, and whether anybody still answers, by what a table's columns tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.sockets import SocketTable, Timer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def seconds(column: Sequence[int | None] | None, row: int | None) -> float | None:
    """Return a column of milliseconds in seconds; None where the telling has no such column or value."""
    value = column[row] if column is not None and row is not None else None
    return None if value is None else value / 1000


def idle_seconds(table: SocketTable, rows: Iterable[int]) -> list[float]:
    """Return for how long no data has come in on these rows, where the table tells."""
    if table.last_received is None:
        return []
    ages = (seconds(table.last_received, row) for row in rows)
    return [age for age in ages if age is not None]


def probes_unanswered(table: SocketTable, row: int) -> bool:
    """Tell whether keepalive probes of this socket go unanswered."""
    timer, probes = table.timer, table.probes
    return bool(timer and probes and timer[row] is Timer.KEEPALIVE and probes[row] >= 1)
