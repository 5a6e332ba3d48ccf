"""Pairing a million server sockets with a million client sockets, against two Python sets of the same tuples.

Run as a script it pairs once and prints the peak memory of its process: `python bench/pairing.py`.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from measure import Figure, best, peak_memory

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.hosts.snapshots import snapshots_of
from ldapdiag.analysis.pairing.direction import Direction
from ldapdiag.analysis.pairing.joining import join
from ldapdiag.analysis.pairing.pairing import Pairing, pair
from ldapdiag.analysis.pairing.socket_index import ClientSnapshots, ServerIndex
from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.origin import Origin
from ldapdiag.evidence.sockets import SocketTable, TcpState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.evidence.sockets import Key

HOSTS, PORTS = 20, 50_000
"""Per client; a million connections in total. A host has no more ports than this towards one server."""

GHOSTS = 50
"""Every 50th connection is absent at the client."""

GOAL = 4
MEMORY_GOAL = 1.0
"""GiB"""

SERVER, PORT = "10.77.1.2", 389


def table(host: str, local: Iterable[tuple[str, int]], remote: Iterable[tuple[str, int]]) -> SocketTable:
    """Return established sockets as a reader would: columns, each address and port one object."""
    local_address, local_port = map(list, zip(*local, strict=True))
    remote_address, remote_port = map(list, zip(*remote, strict=True))
    return SocketTable(
        origin=Origin(path=f"{host}/ss.txt", folder=host, host=host),
        tool="ss",
        local_address=local_address,
        local_port=local_port,
        remote_address=remote_address,
        remote_port=remote_port,
        state=[TcpState.ESTABLISHED] * len(local_port),
        shows_time_wait=True,
    )


def host(name: str, address: str, sockets: SocketTable) -> Host:
    """Return a host as attribution does."""
    return Host(host=name, addresses=frozenset({address}), snapshots=snapshots_of([sockets]))


def evidence() -> tuple[Host, list[Host]]:
    """Return the server with all connections, and the hosts of its clients with the live ones."""
    here = (SERVER, PORT)
    ports = list(range(10_000, 10_000 + PORTS))
    addresses = [f"10.77.2.{number}" for number in range(1, HOSTS + 1)]
    seen = ((address, port) for address in addresses for port in ports)
    server = host("ldap", SERVER, table("ldap", (here for _ in range(HOSTS * PORTS)), seen))
    live = [port for port in ports if port % GHOSTS]
    clients = [
        host(address, address, table(address, ((address, port) for port in live), (here for _ in live)))
        for address in addresses
    ]
    return server, clients


def pair_all(server: Host, clients: list[Host]) -> Pairing:
    """Pair as a diagnosis does."""
    found = pair(Instance(host=server.host, ports=frozenset({PORT})), (server, *clients), ())
    if isinstance(found, Missing) or sum(one.ghosts.count for one in found.directions) != HOSTS * PORTS // GHOSTS:
        raise AssertionError(f"the pairing is wrong: {found}")
    return found


def join_all(server: Host, clients: list[Host]) -> list[Direction]:
    """Join the directions alone, without finding them."""
    index = ServerIndex(server.snapshots[0])
    rows = {one.host: list(range(at * PORTS, (at + 1) * PORTS)) for at, one in enumerate(clients)}
    return [
        join(UnjoinedDirection(one.host, SERVER, PORT, rows[one.host], index), server, ClientSnapshots(one), ())
        for one in clients
    ]


def as_the_server_writes_them(sockets: SocketTable) -> Iterator[Key]:
    """Yield the key of each socket of a client, as the server sees it."""
    return zip(sockets.remote_address, sockets.remote_port, sockets.local_address, sockets.local_port, strict=True)


def two_sets(server: Host, clients: list[Host]) -> int:
    """Compare the same tuples with two Python sets."""
    here = set(server.snapshots[0].sockets.keys())
    there = set(chain.from_iterable(as_the_server_writes_them(one.snapshots[0].sockets) for one in clients))
    return len(here) - len(there)


def figures() -> Iterator[Figure]:
    """Yield the time of pairing, the time of joining alone, and the memory of pairing."""
    server, clients = evidence()
    theirs = partial(two_sets, server, clients)
    for what, ours in (("pair", pair_all), ("join alone", join_all)):
        spent = best(partial(ours, server, clients), theirs, repetitions=3)
        yield Figure(what=f"{what}, 1,000,000 with 1,000,000 / two sets", ours=spent[0], theirs=spent[1], goal=GOAL)
    child = subprocess.run([sys.executable, __file__], check=True, capture_output=True, text=True)
    peak = int(child.stdout) / (1 << 20)
    yield Figure(what="pair, peak memory of the process / 1 GiB", ours=peak, theirs=1.0, goal=MEMORY_GOAL, unit="GiB")


if __name__ == "__main__":
    pair_all(*evidence())
    print(peak_memory())
