"""Sampled connections: a few ghosts of a direction, as the server, the client and the middleboxes show each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.hosts.ages import column_seconds
from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.sockets import Timer
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.socket_index import ClientIndex
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection

MOST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledConnection:
    """One ghost, with what each table contains of it."""

    client_port: int
    server_state: str
    idle_seconds: float | None
    """Since the server last received data; None: its table shows no ages."""
    last_received: datetime | None
    """When that was, by the time of the server's table; None where either is unknown."""
    unanswered_probes: int | None
    """Keepalive probes that the server sent without an answer; None: its table shows no timers."""
    client_host: str
    client_state: str | None
    """None: the client's table has no socket with this port."""
    entries: Mapping[str, str | None] = field(default_factory=dict)
    """By middlebox on the path, the state of its entry; None: it has none."""

    @property
    def observed(self) -> dict[str, Any]:
        """Return the observed values (docs/contract.md)."""
        at = self.last_received
        return {
            "client_port": self.client_port,
            "server": {
                "state": self.server_state,
                "idle_seconds": self.idle_seconds,
                "last_received_at": at and at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
                "unanswered_probes": self.unanswered_probes,
            },
            "client": {"host": self.client_host, "state": self.client_state},
            "boxes": [{"host": host, "state": state} for host, state in sorted(self.entries.items())],
        }


def sample_ghosts(
    unjoined: UnjoinedDirection, rows: Iterable[int], near: ClientIndex, client: str, on_path: Sequence[Middlebox]
) -> tuple[SampledConnection, ...]:
    """Return a few of the server's rows, from the shortest idle to the longest; `near` is the client's snapshot."""
    table = unjoined.table
    known = sorted(
        (row for row in rows if table.remote_port[row] != UNKNOWN_PORT),
        key=lambda row: (column_seconds(table.last_received, row) or 0.0, table.remote_port[row]),
    )
    at_client = near.sockets.get(unjoined.direction, {})
    found = []
    for row in _spread(known):
        other = at_client.get(table.remote_port[row])
        idle = column_seconds(table.last_received, row)
        taken = unjoined.snapshot.taken
        found.append(
            SampledConnection(
                client_port=table.remote_port[row],
                server_state=table.state[row].name,
                idle_seconds=idle,
                last_received=taken.start - timedelta(seconds=idle) if taken and idle is not None else None,
                unanswered_probes=_unanswered(unjoined, row),
                client_host=client,
                client_state=None if other is None else near.table.state[other].name,
                entries={one.host: _state(one, unjoined, row) for one in on_path},
            )
        )
    return tuple(found)


def _spread(rows: Sequence[int]) -> Iterable[int]:
    """Return at most MOST rows at equal distances, the first and the last among them."""
    if len(rows) <= MOST:
        return rows
    return [rows[number * (len(rows) - 1) // (MOST - 1)] for number in range(MOST)]


def _state(middlebox: Middlebox, unjoined: UnjoinedDirection, row: int) -> str | None:
    entry = middlebox.flows.get(unjoined.key_of(row))
    return None if entry is None else entry.state


def _unanswered(unjoined: UnjoinedDirection, row: int) -> int | None:
    timer, probes = unjoined.table.timer, unjoined.table.probes
    if timer is None or probes is None:
        return None
    return probes[row] if timer[row] is Timer.KEEPALIVE else 0
