"""Forwarders: programs at the client's end that pass connections on, seen by the sockets that each process owns.

A connection through `ssh -L`, socat or stunnel ends at the forwarding program: its socket at the client's end shows
that the program runs, and nothing of the application behind it. The other socket of the same process is the
client-side leg. HAProxy and F5 have session tables, which show more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.listeners import is_relay
from ldapdiag.analysis.pairing.flow_tables import CARRIED, FlowEntry, Middlebox
from ldapdiag.evidence.addresses import ANY, ANY_PORT, UNKNOWN_PORT
from ldapdiag.evidence.flows import Relay
from ldapdiag.evidence.sockets import WITHOUT_PEER, Key, TcpState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ldapdiag.analysis.pairing.socket_index import ClientSnapshots
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
    from ldapdiag.evidence.sockets import SocketTable

SEVERAL_LEGS: Key = (ANY, UNKNOWN_PORT, ANY, UNKNOWN_PORT)
FEWER_LEGS: Key = (ANY, ANY_PORT, ANY, UNKNOWN_PORT)
"""The process has fewer established client-side sockets than connections to the server, or none."""
GONE = WITHOUT_PEER | {TcpState.TIME_WAIT, TcpState.CLOSED}


def find_forwarder(unjoined: UnjoinedDirection, client: ClientSnapshots) -> Middlebox | None:
    """Return the sessions of a forwarding program that has connections of this direction; None without one.

    A process with one client-side socket passes all its connections to the server on from there (sshd, a child of
    socat). Which socket belongs to which is not known of a process that has several.
    """
    table, rows = client.latest.table, client.latest.established(unjoined.direction)
    owners = table.owner
    forwarded = {port: row for port, row in rows.items() if owners and is_relay(owners[row])}
    if owners is None or not forwarded:
        return None
    legs = _client_side_legs(table, set(rows.values()))
    pids = {port: table.pid[row] if table.pid else None for port, row in forwarded.items()}
    counts = Counter(pids.values())
    leg_of = {pid: _leg(table, legs.get(pid, ()) if pid else (), counts[pid]) for pid in counts}
    flows = {(*unjoined.direction, port): FlowEntry(leg_of[pid], CARRIED) for port, pid in pids.items()}
    return Middlebox(
        host=client.host.host,
        program=min(owners[row] for row in forwarded.values()),
        relay=Relay.PROXY,
        whole=False,
        tracks=True,
        flows=flows,
        keys_by_direction={unjoined.direction: tuple(flows)},
        client_keys=frozenset(),
        translated_clients=frozenset(),
        translated=frozenset(),
        unjoined=(),
        times=(client.latest.snapshot.taken,),
        longest_left={},
        origins=client.latest.snapshot.origins,
    )


def _client_side_legs(table: SocketTable, to_server: set[int]) -> Mapping[int, Sequence[int]]:
    """Return the other connected sockets of each process; those that it has accepted, if any."""
    listening = {port for port, state in zip(table.local_port, table.state, strict=True) if state is TcpState.LISTEN}
    accepted: dict[int, list[int]] = defaultdict(list)
    opened: dict[int, list[int]] = defaultdict(list)
    for row, pid in enumerate(table.pid or ()):
        if pid and row not in to_server and table.state[row] not in GONE:
            (accepted if table.local_port[row] in listening else opened)[pid].append(row)
    return opened | accepted


def _leg(table: SocketTable, legs: Sequence[int], forwarded: int) -> Key:
    """Return the client's end of the only client-side leg of a process, as the client's host writes it."""
    if len(legs) != 1:
        established = sum(table.state[row] is TcpState.ESTABLISHED for row in legs)
        return SEVERAL_LEGS if established >= forwarded else FEWER_LEGS
    (leg,) = legs
    return table.remote_address[leg], table.remote_port[leg], table.local_address[leg], table.local_port[leg]
