"""Unclosed legs: sessions whose client-side leg a proxy has closed and the client's application has not.

A proxy that closes towards the client first (HAProxy with a `timeout server` below its `timeout client`) keeps the
server-side leg until the client closes, too, or until its own timeout for that (HAProxy: timeout client-fin, else
timeout client). Meanwhile the client-side leg is in FIN-WAIT-2 at the proxy and in CLOSE-WAIT at the client.
Measured with HAProxy 2.6.12: timeout client 1h, timeout server 3s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds
from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.sockets import SocketTable, TcpState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.analysis.pairing.socket_index import ClientIndex, ClientSnapshots, ServerIndex
    from ldapdiag.evidence.sockets import Key

LONG_SECONDS = 1.0
"""A program that reads an end of file closes at once; a socket that waits this long after the FIN waits for it."""

Socket = tuple[SocketTable, int]


@dataclass(frozen=True, slots=True)
class UnclosedLeg:
    """How one session's client-side leg is seen half-closed."""

    program: str
    """Of the client's socket; empty: unknown."""
    at_both: bool
    """Both the client's table and the proxy's show it."""


def unclosed_leg(leg: Key, client: ClientSnapshots | None, accepted: Sequence[ServerIndex]) -> UnclosedLeg | None:
    """Return how a leg is half-closed; None if it is not, or not for longer than any close takes.

    `accepted` are the proxy's own snapshots. The state must be seen twice, or have lasted for LONG_SECONDS.
    """
    at_client = [] if client is None else list(_at_client(client, leg))
    at_proxy = list(_at_proxy(accepted, leg))
    if client is not None and not (at_client and _is_latest(at_client, client)):
        return None
    sockets = at_client + at_proxy
    if len(sockets) < 2 and not any(_seconds_waiting(*socket) >= LONG_SECONDS for socket in sockets):
        return None
    owners = [table.owner[row] for table, row in at_client if table.owner]
    return UnclosedLeg(program=owners[-1] if owners else "", at_both=bool(at_client and at_proxy))


def leg_row(index: ClientIndex, leg: Key) -> int | None:
    """Return the row of a leg in a client's table; the proxy's address may be unknown (`show sess` without `all`)."""
    address, port, destination, destination_port = leg
    if destination_port != UNKNOWN_PORT:
        return index.sockets.get((destination, destination_port, address), {}).get(port)
    return next((rows[port] for key, rows in index.sockets.items() if key[2] == address and port in rows), None)


def accepted_row(index: ServerIndex, leg: Key) -> int | None:
    """Return the row of a leg in the proxy's own table."""
    address, port, destination, destination_port = leg
    return index.sockets.get((destination, destination_port, address), {}).get(port)


def _at_client(client: ClientSnapshots, leg: Key) -> Iterator[Socket]:
    for index in client.indexes:
        row = leg_row(index, leg)
        if row is not None and index.table.state[row] is TcpState.CLOSE_WAIT:
            yield index.table, row


def _at_proxy(accepted: Sequence[ServerIndex], leg: Key) -> Iterator[Socket]:
    for index in accepted:
        row, table = accepted_row(index, leg), index.snapshot.sockets
        if row is not None and table.state[row] is TcpState.FIN_WAIT_2:
            yield table, row


def _is_latest(sockets: Sequence[Socket], client: ClientSnapshots) -> bool:
    return sockets[-1][0] is client.latest.table


def _seconds_waiting(table: SocketTable, row: int) -> float:
    """Return the seconds since the FIN, or the ACK of it, arrived; 0 where the table does not show that."""
    return column_seconds(table.last_acknowledged, row) or 0.0
