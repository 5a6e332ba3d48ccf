"""Servers: the directory servers of every host, their names, and the server of each fact."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from ldapdiag.analysis.hosts.candidate import ports_of
from ldapdiag.analysis.hosts.hints import REPORTS, is_about_server
from ldapdiag.analysis.hosts.listeners import relays_at, served_ports
from ldapdiag.analysis.hosts.listening import listening_processes
from ldapdiag.analysis.hosts.separation import separate
from ldapdiag.evidence.addresses import ANY, LDAP_PORTS
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.flows import BoxTimeouts, FlowTable
from ldapdiag.evidence.host_facts import HostDescription
from ldapdiag.evidence.ldap_session import LdapSession, session_of
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from ldapdiag.analysis.hosts.candidate import Candidate
    from ldapdiag.analysis.hosts.hints import Endpoint
    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.listening import Listening
    from ldapdiag.analysis.hosts.separation import Separation

LOCAL_SOCKET = re.compile(r"ldapi://%2[Ff](?!proc%2)[A-Za-z0-9._%-]{1,200}")
READ_AS_ROOT = re.compile(r"^ldapsearch -Y EXTERNAL -H (ldapi://\S{1,200}) ", re.ASCII)
"""What a script asks at a local socket (sources/live/ssh/collect/directories.sh)."""
WITHOUT_SOCKET = "(without a local socket)"
"""What a script states of a slapd whose command line names none (directories.sh)."""
HOW_TO_SEPARATE = (
    "put it into a folder with the configuration of its server, name it after the server's process or port "
    "(proc-limits-PID.txt), or collect with ldapdiag collect as root"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProcess:
    """A process that accepts LDAP connections, as far as the evidence shows it."""

    host: str
    """The machine, or the network namespace."""
    listeners: frozenset[Endpoint] = frozenset()
    """The addresses (`*` for any) and ports on which it accepts connections, by a table of its host."""
    shared_ports: frozenset[int] = frozenset()
    """Ports on which another server of its host listens at other addresses."""
    owns_ports: bool = True
    """False: no table shows who listens, and other processes may on some of its ports."""
    pids: frozenset[int] = frozenset()
    """Its processes; several after a restart. Empty: unknown."""
    instance: str = ""
    """The name of its instance (389-ds); empty: unknown."""
    socket: str | None = ""
    """The URL of its local socket; empty: unknown; None: it has none."""
    session: LdapSession | None = None
    """How its evidence was read from it over LDAP; None: it was not."""
    ambiguous: frozenset[str] = frozenset()
    """Kinds of evidence on its host that fit several of its servers, and are used for none."""
    proxy: str = ""
    """The program of a proxy that accepts the connections ("proxy": unknown); empty: it is a directory server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListeningServer(ServerProcess):
    """One server of a host, before the evidence about it is joined."""

    kind: ClassVar[str] = "listening-server"
    how: ClassVar[str] = SocketTable.how

    server: str
    """Its name in reports: that of its host where it is the only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAttribution:
    """The facts with their servers, the servers, and a gap for each fact whose server is ambiguous."""

    facts: tuple[Any, ...]
    servers: tuple[ListeningServer, ...]
    gaps: tuple[Gap, ...]


def attribute_to_servers(hosts: Iterable[Host], facts: Iterable[Any]) -> ServerAttribution:
    """Find the servers of every host, and the server of every fact about one."""
    by_host: dict[str, list[Any]] = defaultdict(list)
    for fact in facts:
        by_host[fact.origin.host].append(fact)
    kept: list[Any] = list(by_host[""])
    servers: list[ListeningServer] = []
    gaps: list[Gap] = []
    for host in hosts:
        own = _of_host(host, by_host[host.host])
        kept.extend(own.facts)
        servers.extend(own.servers)
        gaps.extend(own.gaps)
    return ServerAttribution(facts=tuple(kept), servers=tuple(servers), gaps=tuple(gaps))


def _of_host(host: Host, facts: list[Any]) -> ServerAttribution:
    """Return the servers of one host, and its facts with their servers."""
    about_servers = [fact for fact in facts if is_about_server(fact)]
    known = host.ldap_ports | _reported_ports(about_servers)
    ports = frozenset[int]().union(*(served_ports(snapshot.sockets, known) for snapshot in host.snapshots))
    relays = _relays(host, ports, facts)
    if (
        ports
        and ports == relays.keys()
        and all(isinstance(fact, Monitor) for fact in facts if isinstance(fact, REPORTS))
    ):
        return ServerAttribution(facts=tuple(facts), servers=tuple(_proxies(host.host, relays, alone=True)), gaps=())
    shared = {fact.origin.folder for fact in facts if isinstance(fact, SocketTable | HostDescription)}
    separation = separate(_processes(host, known, relays), about_servers, shared)
    names = _names(host.host, separation.servers)
    return ServerAttribution(
        facts=tuple(_attributed(facts, names, separation.ambiguous)),
        servers=(
            *(_server(name, host.host, one, separation) for name, one in names.items()),
            *_proxies(host.host, relays, alone=False),
        ),
        gaps=tuple(_ambiguous(fact, host.host, sorted(names)) for fact in separation.ambiguous),
    )


def _processes(host: Host, known: Collection[int], relays: Collection[int]) -> Iterator[Listening]:
    """Yield the listening processes of a host that are no relays."""
    for one in listening_processes(host, known):
        endpoints = frozenset(endpoint for endpoint in one.endpoints if endpoint[1] not in relays)
        if endpoints:
            yield replace(one, endpoints=endpoints)


def _attributed(facts: Iterable[Any], names: Mapping[str, Candidate], ambiguous: Iterable[Any]) -> Iterator[Any]:
    """Yield the facts with the names of their servers, without those that fit several."""
    server_of = {id(fact): name for name, one in names.items() for fact in one.facts}
    left_out = {id(fact) for fact in ambiguous}
    for fact in facts:
        if id(fact) not in left_out:
            yield replace(fact, origin=replace(fact.origin, server=server_of.get(id(fact), "")))


def _proxies(host: str, relays: Mapping[int, str], *, alone: bool) -> Iterator[ListeningServer]:
    """Yield the proxies of a host; one without others beside it, and without a directory server, has its name."""
    programs = sorted(set(relays.values()))
    for program in programs:
        yield ListeningServer(
            server=host if alone and len(programs) == 1 else f"{program}@{host}",
            host=host,
            listeners=frozenset((ANY, port) for port, other in relays.items() if other == program),
            proxy=program,
        )


def _reported_ports(facts: Iterable[Any]) -> frozenset[int]:
    """Return the ports that servers report."""
    ports: set[int] = set()
    for fact in facts:
        if isinstance(fact, Configuration):
            ports.update(fact.ports)
        else:
            ports.update(port for _, port in getattr(fact, "listeners", ()))
    return frozenset(ports)


def _relays(host: Host, ports: frozenset[int], facts: Sequence[Any]) -> dict[int, str]:
    """Return the relays on a host's LDAP ports; where a directory server reports, only those that a table names."""
    tables = [snapshot.sockets for snapshot in host.snapshots]
    if any(isinstance(fact, REPORTS) for fact in facts):
        return relays_at(ports, tables, processes=host.processes)
    flows = [fact for fact in facts if isinstance(fact, FlowTable)]
    timeouts = [fact for fact in facts if isinstance(fact, BoxTimeouts)]
    return relays_at(ports, tables, flows, timeouts, host.processes)


def _server(name: str, host: str, one: Candidate, separation: Separation) -> ListeningServer:
    ports, known = ports_of(one.served), ports_of(one.reported) | LDAP_PORTS
    return ListeningServer(
        server=name,
        host=host,
        listeners=frozenset(one.served),
        shared_ports=frozenset(
            port for other in separation.servers if other is not one for port in ports & ports_of(other.served)
        ),
        owns_ports=bool(one.pids) or ports <= known,
        pids=frozenset(one.pids),
        ambiguous=frozenset(fact.kind for fact in separation.ambiguous),
        instance=next(iter(one.named)) if len(one.named) == 1 else "",
        socket=_local_socket(one.facts),
        session=_session(one),
    )


def _local_socket(facts: Collection[Any]) -> str | None:
    """Return the URL of the socket at which the evidence was read, else of the one that the server lists."""
    asked = {url for fact in facts for url in LOCAL_SOCKET.findall(fact.origin.asked)}
    lists = [
        one.local_sockets for one in facts if isinstance(one, Configuration | Monitor) and one.local_sockets is not None
    ]
    listed = {f"ldapi://{quote(path, safe='')}" for paths in lists for path in paths}
    if not asked and not listed and (lists or any(WITHOUT_SOCKET in fact.origin.asked for fact in facts)):
        return None
    return next(iter(asked or listed)) if len(asked or listed) == 1 else ""


def _session(one: Candidate) -> LdapSession | None:
    """Return the session that the evidence was read in; of several, one with a bind.

    A script on the server's host reads at the local socket as root.
    """
    sessions = {session for fact in one.facts if (session := session_of(fact.origin.asked)) is not None}
    for fact in one.facts:
        if (found := READ_AS_ROOT.search(fact.origin.asked)) and LOCAL_SOCKET.fullmatch(found[1]):
            sessions.add(LdapSession(url=found[1], mechanism="EXTERNAL"))
    return min(sessions, key=lambda session: (not session.is_bound, session.url), default=None)


def _names(host: str, servers: Sequence[Candidate]) -> dict[str, Candidate]:
    """Return the servers by their names: the host's if there is one; else instance, port, process or product."""
    if len(servers) == 1:
        return {host: servers[0]}
    names: dict[str, Candidate] = {}
    for one in servers:
        name = next(name for name in _possible_names(host, one, servers) if name not in names)
        names[name] = one
    return dict(sorted(names.items()))


def _possible_names(host: str, one: Candidate, servers: Collection[Candidate]) -> Iterator[str]:
    """Yield the names of a server among several of a host, the best first; none that several may have."""
    others = [other for other in servers if other is not one]
    for instance in one.named:
        if len(one.named) == 1 and not any(instance in other.named for other in others):
            yield f"slapd-{instance}@{host}"
    endpoints = one.served or one.endpoints
    ports = ports_of(endpoints)
    if ports and not any(min(ports) in ports_of(other.served or other.endpoints) for other in others):
        yield f"{host}:{min(ports)}"
    for address, port in sorted(endpoints):
        yield f"{host}:{f'[{address}]' if ':' in address else address}:{port}"
    if one.pids:
        yield f"{host} (process {min(one.pids)})"
    for family in sorted(one.families):
        yield f"{family}@{host}"
    for number in range(1, len(servers) + 1):
        yield f"{host} (server {number})"


def _ambiguous(fact: Any, host: str, names: Sequence[str]) -> Gap:  # noqa: ANN401  facts of all kinds
    return Gap(
        target=fact.origin.path,
        reason=f"the server of this {fact.kind} is ambiguous: {counted(len(names), 'directory server')} on {host} "
        f"({', '.join(names)})",
        how=HOW_TO_SEPARATE,
    )
