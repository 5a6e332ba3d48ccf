"""Unclosed legs: sessions whose client-side leg a proxy has closed and the client's application has not.

A proxy that closes towards the client first (HAProxy with a `timeout server` below its `timeout client`) keeps the
server-side leg until the client closes, too, or until its own timeout for that (HAProxy: timeout client-fin, else
timeout client). Meanwhile the client-side leg is in FIN-WAIT-2 at the proxy and in CLOSE-WAIT at the client.
Measured with HAProxy 2.6.12: timeout client 1h, timeout server 3s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.snapshots import Snapshot
from ldapdiag.analysis.pairing.snapshot_order import is_same_socket, lasts
from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.analysis.pairing.socket_index import ClientIndex, ClientSnapshots, ServerIndex
    from ldapdiag.evidence.sockets import Key

LONG_SECONDS = 1.0
"""A program that reads an end of file closes at once; a socket that waits this long after the FIN waits for it."""

Socket = tuple[Snapshot, int]


@dataclass(frozen=True, slots=True)
class UnclosedLeg:
    """How one session's client-side leg is seen half-closed."""

    program: str
    """Of the client's socket; empty: unknown."""
    at_both: bool
    """Both the client's table and the proxy's show it."""


def unclosed_leg(leg: Key, client: ClientSnapshots | None, accepted: Sequence[ServerIndex]) -> UnclosedLeg | None:
    """Return how a leg is half-closed; None if it is not, or not for longer than any close takes.

    `accepted` are the proxy's own snapshots. The state must have lasted for LONG_SECONDS, by an age or two snapshots:
    both ends of one that is just closing show it as well.
    """
    at_client = [] if client is None else _of_one_socket(_at_client(client, leg))
    at_proxy = _of_one_socket(_at_proxy(accepted, leg))
    if client is not None and not (at_client and at_client[-1][0] is client.latest.snapshot):
        return None
    if not lasts(at_client + at_proxy, LONG_SECONDS):
        return None
    owners = [one.sockets.owner[row] for one, row in at_client if one.sockets.owner]
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
            yield index.snapshot, row


def _at_proxy(accepted: Sequence[ServerIndex], leg: Key) -> Iterator[Socket]:
    for index in accepted:
        row, snapshot = accepted_row(index, leg), index.snapshot
        if row is not None and snapshot.sockets.state[row] is TcpState.FIN_WAIT_2:
            yield snapshot, row


def _of_one_socket(sockets: Iterable[Socket]) -> list[Socket]:
    """Return those that are the same socket as the last one; a port may have been used again."""
    found = list(sockets)
    return [one for one in found if is_same_socket(*one, *found[-1])]
