"""Proxy sessions: the sessions that a proxy carries to the server, by the state of their client-side legs."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds
from ldapdiag.analysis.pairing.forwarders import FEWER_LEGS, SEVERAL_LEGS
from ldapdiag.analysis.pairing.socket_index import ServerIndex
from ldapdiag.analysis.pairing.unclosed_legs import accepted_row, leg_row, unclosed_leg
from ldapdiag.evidence.addresses import UNKNOWN_PORT, is_loopback
from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.socket_index import ClientSnapshots
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
    from ldapdiag.evidence.sockets import Key

KEPT = frozenset({TcpState.ESTABLISHED, TcpState.FIN_WAIT_1, TcpState.FIN_WAIT_2})
"""States in which a proxy still expects the client's end of a leg."""

USED_SECONDS = 10.0
"""What arrived through a forwarding program since then came from a client."""

UNREAD = ""
"""Stands for all clients whose table was not read."""


@dataclass(slots=True)
class ClientSessions:
    """The sessions of one client's host."""

    endpoints: set[tuple[str, int]] = field(default_factory=set)
    """The proxy's addresses and ports to which the client connects."""
    ports: set[int] = field(default_factory=set)
    """The client's ports."""
    absent: list[int] = field(default_factory=list)
    """Server rows of sessions whose client-side leg is absent."""
    unclosed: dict[tuple[str, str], list[tuple[int, bool]]] = field(default_factory=lambda: defaultdict(list))
    """By client address and program: the server rows of sessions that the application does not close, and whether both
    ends of the client-side leg show that."""


@dataclass(slots=True)
class Sessions:
    """The sessions of a direction, by the state of their client-side legs."""

    count: int = 0
    live: int = 0
    by_client: dict[str, ClientSessions] = field(default_factory=lambda: defaultdict(ClientSessions))
    """By the client's host; UNREAD where only the proxy's own table was read."""
    absent_at_proxy: set[int] = field(default_factory=set)
    """Server rows whose client-side leg is absent at the client, and not established in the proxy's table either."""
    unproven: Counter[str] = field(default_factory=Counter)


def classify_sessions(
    unjoined: UnjoinedDirection,
    middlebox: Middlebox,
    clients: Sequence[ClientSnapshots],
    proxy: ClientSnapshots | None,
) -> Sessions:
    """Classify the sessions that the proxy carries to the server by the state of their client-side legs."""
    owners = {address: client for client in clients for address in client.host.addresses}
    accepted = [ServerIndex(index.snapshot) for index in proxy.indexes] if proxy else []
    sessions = Sessions()
    for row, key in zip(unjoined.rows, unjoined.keys(), strict=True):
        if not middlebox.carries(key):
            continue
        sessions.count += 1
        leg = middlebox.flows[key].client
        absent_at_proxy = bool(accepted) and not _is_accepted(accepted[-1], leg)
        client = proxy if is_loopback(leg[0]) else owners.get(leg[0])
        name = client.host.host if client else UNREAD
        of_client = sessions.by_client[name]
        of_client.endpoints.add((leg[2], leg[3]))
        of_client.ports.add(leg[1])
        state = _state_at_client(client, leg) if client else None
        if (unclosed := unclosed_leg(leg, client, accepted)) is not None:
            of_client.unclosed[leg[0], unclosed.program].append((row, unclosed.at_both))
        elif client is None and not absent_at_proxy:
            _count_unread(sessions, middlebox, leg, column_seconds(unjoined.table.last_received, row))
        elif state is TcpState.ESTABLISHED:
            sessions.live += 1
        elif state is not None:
            sessions.unproven[f"closing or opening at {name}"] += 1
        else:
            of_client.absent.append(row)
            sessions.absent_at_proxy.update([row] if absent_at_proxy else [])
    return sessions


def _count_unread(sessions: Sessions, middlebox: Middlebox, leg: Key, idle_seconds: float | None) -> None:
    """Count a session of an unread client: through a forwarding program, one that was just used is live."""
    if leg == FEWER_LEGS:
        sessions.unproven[
            f"{middlebox.program} has fewer established client-side sockets in {middlebox.host}'s table"
        ] += 1
    elif middlebox.program and idle_seconds is not None and idle_seconds <= USED_SECONDS:
        sessions.live += 1
    elif leg == SEVERAL_LEGS:
        sessions.unproven[f"{middlebox.program} on {middlebox.host} has several client-side sockets"] += 1
    else:
        sessions.unproven[f"of {leg[0]}, whose table was not read"] += 1


def _is_accepted(accepted: ServerIndex, leg: Key) -> bool:
    """Return whether the proxy's own table has a client-side leg that is open at its end, or of unknown port."""
    row = accepted_row(accepted, leg)
    return leg[3] == UNKNOWN_PORT or (row is not None and accepted.snapshot.sockets.state[row] in KEPT)


def _state_at_client(client: ClientSnapshots, leg: Key) -> TcpState | None:
    """Return the state of a leg at its client, ESTABLISHED if any snapshot shows it; None when none has it."""
    found = None
    for index in client.indexes:
        row = leg_row(index, leg)
        if row is not None:
            found = index.table.state[row]
            if found is TcpState.ESTABLISHED:
                break
    return found
