"""Listening: the server processes of one host as its socket tables and its list of processes show them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.listeners import DIRECTORY_PROGRAMS, served_ports
from ldapdiag.evidence.addresses import ANY, LDAP_PORTS
from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ldapdiag.analysis.hosts.hints import Endpoint
    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.evidence.sockets import SocketTable

SHARED_OWNERS = frozenset({"systemd", "init", "launchd"})
"""Programs that open a listening socket and pass it on to the server that they start."""
ENDED = "Z"
"""The state of a process that has ended, and that its parent has not removed: it has no sockets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """One server process and its LDAP listeners; without processes, a port whose owner no table shows."""

    endpoints: frozenset[Endpoint]
    pids: frozenset[int] = frozenset()
    """Several after a restart, or where processes share their listeners."""
    programs: frozenset[str] = frozenset()
    configurations: tuple[str, ...] = ()
    """Paths of its configuration."""


def listening_processes(host: Host, known: Collection[int]) -> list[Listening]:
    """Return the processes that listen on a host's LDAP ports; `known` adds ports to the registered ones."""
    owners: dict[Endpoint, set[tuple[int, str]]] = defaultdict(set)
    for snapshot in host.snapshots:
        for endpoint, pid, program in _listeners(snapshot.sockets, served_ports(snapshot.sockets, known)):
            owners[endpoint].update({(pid, program)} if pid is not None and program not in SHARED_OWNERS else ())
    for pid, program, endpoint in _listed(host, known):
        owners[endpoint].add((pid, program))
    processes = _united(owners)
    paths = host.processes.configurations if host.processes else ()
    return [
        Listening(
            endpoints=frozenset(endpoints),
            pids=frozenset(pid for pid, _ in owned),
            programs=frozenset(program for _, program in owned if program),
            configurations=tuple(path for pid, path in paths if pid in {number for number, _ in owned}),
        )
        for endpoints, owned in processes
    ]


def _listeners(table: SocketTable, ports: Collection[int]) -> Iterator[tuple[Endpoint, int | None, str]]:
    """Yield the listeners on these ports with their process and program; of a table without them, the connections."""
    states = set(table.state)
    for row, (address, port, _, _) in enumerate(table.keys()):
        if port in ports and (table.state[row] is TcpState.LISTEN or TcpState.LISTEN not in states):
            endpoint = (address if table.state[row] is TcpState.LISTEN else ANY, port)
            yield endpoint, table.pid[row] if table.pid else None, table.owner[row] if table.owner else ""


def _listed(host: Host, known: Collection[int]) -> Iterator[tuple[int, str, Endpoint]]:
    """Yield the LDAP listeners of the directory servers in a list of processes."""
    for listener in host.processes.listeners if host.processes else ():
        process = host.processes.process(listener.pid) if host.processes else None
        if process is None or process.state == ENDED or not process.namespace:
            continue
        if process.program in DIRECTORY_PROGRAMS or listener.port in LDAP_PORTS or listener.port in known:
            yield listener.pid, process.program, (listener.address, listener.port)


def _united(owners: dict[Endpoint, set[tuple[int, str]]]) -> list[tuple[set[Endpoint], set[tuple[int, str]]]]:
    """Return the listeners of each process with their owners; ports without an owner one by one."""
    united: list[tuple[set[Endpoint], set[tuple[int, str]]]] = []
    for endpoint, owned in sorted(owners.items()):
        pids = {pid for pid, _ in owned}
        same = [
            one
            for one in united
            if not pids.isdisjoint(pid for pid, _ in one[1])
            or (not pids and not one[1] and endpoint[1] in _ports(one[0]))
        ]
        merged = ({endpoint}.union(*(one[0] for one in same)), owned.union(*(one[1] for one in same)))
        united = [*(one for one in united if one not in same), merged]
    return united


def _ports(endpoints: set[Endpoint]) -> set[int]:
    return {port for _, port in endpoints}
