"""Candidate: what is about one server process of a host, while the servers of the host are separated.

Listening: the server processes of one host as its socket tables and its list of processes show them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.hosts.hints import INSTANCE, REPORTS, hints_of
from ldapdiag.analysis.hosts.listeners import served_ports
from ldapdiag.evidence.addresses import ANY, LDAP_PORTS
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.sockets import TcpState
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.traits import directory_programs, families_of_programs, traits_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from ldapdiag.analysis.hosts.hints import Endpoint, Life
    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.evidence.sockets import SocketTable

SAME_START = timedelta(seconds=2)
"""Servers print their start in seconds, some by subtracting."""

FileKey = tuple[str, str]
"""The path of a file and the command that it answers: two targets may answer under one path."""


@dataclass(slots=True, eq=False)
class Candidate:
    """What is about one server process, as far as the separation has come."""

    is_process: bool = False
    """A socket table or a list of processes shows it."""
    served: set[Endpoint] = field(default_factory=set)
    """The listeners that a table shows."""
    endpoints: set[Endpoint] = field(default_factory=set)
    """Those, and the listeners that the server reports."""
    reported: set[Endpoint] = field(default_factory=set)
    """The listeners that the server reports."""
    exact: bool = False
    """The endpoints are all that the server has."""
    targets: set[Endpoint] = field(default_factory=set)
    """Targets without TLS that answered."""
    lives: set[Life] = field(default_factory=set)
    pids: set[int] = field(default_factory=set)
    instances: set[str] = field(default_factory=set)
    families: set[Family] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    """Paths of its configuration, or in a command."""
    process: int | None = None
    """The process in the file's name, unless it is a port."""
    words: tuple[str, ...] = ()
    """The words of the file's name."""
    files: dict[FileKey, list[Any]] = field(default_factory=dict)

    @property
    def facts(self) -> list[Any]:
        """Return the facts of all its files."""
        return [fact for facts in self.files.values() for fact in facts]

    @property
    def reports(self) -> bool:
        """Return whether a server reports about itself here."""
        return any(isinstance(fact, REPORTS) for fact in self.facts)

    @property
    def named(self) -> set[str]:
        """Return the named instances that it may be; a folder of another product may have such a name, too."""
        return self.instances if all(traits_of(family).names_instances for family in self.families) else set()

    @property
    def known(self) -> int:
        """Return how much is known that may contradict another candidate."""
        return sum(map(bool, (self.families, self.named, self.pids, self.exact)))

    @property
    def signature(self) -> tuple[object, ...]:
        """Return what `contradicts` compares."""
        known: tuple[set[Any], ...]
        known = (self.pids, self.families, self.instances, self.endpoints, self.targets, self.lives)
        return (self.exact, *(frozenset(one) for one in known))

    def contradicts(self, other: Candidate) -> bool:
        """Return whether the two cannot be one server process."""
        known = ((self.pids, other.pids), (self.families, other.families), (self.named, other.named))
        if any(one and two and one.isdisjoint(two) for one, two in known):
            return True
        if not (self.pids.isdisjoint(other.pids) and self.named.isdisjoint(other.named)):
            return False
        if any(overlap(live, two) for live in self.lives for two in other.lives):
            return True
        if meet(self.endpoints, other.endpoints):
            return False
        targets = self.targets and other.targets and self.targets.isdisjoint(other.targets)
        return bool(targets) or (self.exact and other.exact)

    def add(self, other: Candidate) -> None:
        """Add what is known of another one, which is the same server."""
        for name in ("served", "endpoints", "reported", "targets", "lives", "pids", "instances", "families", "paths"):
            getattr(self, name).update(getattr(other, name))
        self.is_process, self.exact = self.is_process or other.is_process, self.exact or other.exact
        self.words += other.words
        self.files |= other.files


def of_process(one: Listening) -> Candidate:
    """Return the candidate of a listening process."""
    families = families_of_programs()
    return Candidate(
        is_process=True,
        served=set(one.endpoints),
        endpoints=set(one.endpoints),
        exact=bool(one.pids and one.endpoints),
        pids=set(one.pids),
        instances={name for path in one.configurations for name in INSTANCE.findall(path)},
        families={families[program] for program in one.programs if program in families},
        paths=set(one.configurations),
    )


def of_file(key: FileKey, facts: Sequence[Any]) -> Candidate:
    """Return the candidate of a file of evidence."""
    hints = hints_of(facts)
    return Candidate(
        endpoints=set(hints.endpoints),
        reported=set(hints.endpoints),
        exact=hints.exact,
        targets=set(hints.targets),
        lives=set(hints.lives),
        pids=set(hints.pids),
        instances=set(hints.instances),
        families=set(hints.families),
        paths=set(hints.paths),
        process=hints.process,
        words=hints.words,
        files={key: list(facts)},
    )


def ports_of(endpoints: Iterable[Endpoint]) -> set[int]:
    """Return the ports of endpoints."""
    return {port for _, port in endpoints}


def meet(some: Collection[Endpoint], others: Collection[Endpoint]) -> bool:
    """Return whether any two endpoints may be one listener: the same port, at the same address or at any."""
    addresses: dict[int, set[str]] = {}
    for address, port in some:
        addresses.setdefault(port, set()).add(address)
    return any(
        port in addresses and (address == ANY or not addresses[port].isdisjoint({address, ANY}))
        for address, port in others
    )


def overlap(one: Life, other: Life) -> bool:
    """Return whether two reports are of servers that ran at one time: a restart begins after the report before it."""
    (started, reported), (later, _) = sorted((one, other), key=lambda life: life[0])
    return reported is not None and later - started > SAME_START and later <= reported


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
        if process.program in directory_programs() or listener.port in LDAP_PORTS or listener.port in known:
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
