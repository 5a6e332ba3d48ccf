"""Servers: the directory servers of every host, their names, and the server of each fact.

Separation: the directory servers of one host, and the files of evidence about each.

What two files share (a process, a listener, the name of an instance, a number in their names, a folder of their own)
makes them one server's, unless they contradict each other: other processes, other products, other complete sets of
ports. A file that fits several servers belongs to none of them. Where no evidence separates two servers, they are one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from ldapdiag.analysis.hosts.candidate import (
    Candidate,
    Listening,
    listening_processes,
    meet,
    of_file,
    of_process,
    ports_of,
)
from ldapdiag.analysis.hosts.hints import REPORTS, is_about_server
from ldapdiag.analysis.hosts.listeners import relays_at, served_ports
from ldapdiag.evidence.addresses import ANY, LDAP_PORTS
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.flows import BoxTimeouts, FlowTable
from ldapdiag.evidence.host_facts import HostDescription
from ldapdiag.evidence.ldap_session import LdapSession, session_of
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from ldapdiag.analysis.hosts.candidate import FileKey
    from ldapdiag.analysis.hosts.hints import Endpoint
    from ldapdiag.analysis.hosts.host import Host

LOCAL_SOCKET = pattern(r"ldapi://%2[Ff](?!proc%2)[A-Za-z0-9._%-]{1,200}")
READ_AS_ROOT = pattern(r"^ldapsearch -Y EXTERNAL -H (ldapi://\S{1,200}) ", re.ASCII)
"""What a script asks at a local socket (sources/live/ssh/collect/directories.sh)."""
WITHOUT_SOCKET = "(without a local socket)"
"""What a script states of a slapd whose command line names none (directories.sh)."""
NO_WORD = pattern(r"[^A-Za-z0-9]+", re.ASCII)
"""What the name of a variable of the shell cannot have."""
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
    is_named: bool = False
    """The operator named its address: commands may have it."""
    mark: str = ""
    """The end of the variables that stand for its address, if there are several servers."""
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


def addressed(servers: Sequence[ListeningServer], named: Collection[str]) -> tuple[ListeningServer, ...]:
    """Return the servers with what commands need: whether the operator named the address, and how variables end."""
    known = [replace(one, is_named=_is_named(one, named)) for one in servers]
    several = sum(not one.is_named and not one.proxy for one in known) > 1
    marks: dict[str, None] = {}
    for one in known if several else ():
        mark = NO_WORD.sub("_", one.server)
        while mark in marks:
            mark += "_"
        marks[mark] = None
    return tuple(replace(one, mark=mark) for one, mark in zip(known, marks, strict=True)) if several else tuple(known)


def _is_named(one: ListeningServer, named: Collection[str]) -> bool:
    """Return whether the operator named the address; of a local socket, that is its host."""
    if one.session is not None and one.session.url in named:
        return True
    return one.host in named and (one.session is None or one.session.is_local)


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
    for process in listening_processes(host, known):
        endpoints = frozenset(endpoint for endpoint in process.endpoints if endpoint[1] not in relays)
        if endpoints:
            yield replace(process, endpoints=endpoints)


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
        fact.local_sockets
        for fact in facts
        if isinstance(fact, Configuration | Monitor) and fact.local_sockets is not None
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
    for server in servers:
        name = next(name for name in _possible_names(host, server, servers) if name not in names)
        names[name] = server
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


MOST_SERVERS = 200
"""On one host; further files that fit none of them are not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """The servers of one host, and the facts that fit several of them."""

    servers: tuple[Candidate, ...]
    ambiguous: tuple[Any, ...] = ()


def separate(processes: Iterable[Listening], facts: Iterable[Any], shared_folders: Collection[str]) -> Separation:
    """Separate the evidence of one host into that of its directory servers.

    `facts` are those about server processes; in `shared_folders` is evidence of the whole host.
    """
    files: dict[FileKey, list[Any]] = defaultdict(list)
    for fact in facts:
        files[fact.origin.path, fact.origin.asked].append(fact)
    reports = [of_file(key, own) for key, own in sorted(files.items())]
    candidates = [*(part for process in processes for part in _by_address(of_process(process), reports)), *reports]
    _read_words(candidates)
    for shared in (_identity, _number, lambda one: _folder(one, shared_folders)):
        candidates = _united(candidates, shared)
    servers = _with_unowned([candidate for candidate in candidates if candidate.is_process])
    return _placed(servers, [candidate for candidate in candidates if not candidate.is_process])


def _by_address(process: Candidate, files: Iterable[Candidate]) -> list[Candidate]:
    """Return a port without an owner by its addresses, where servers report that they listen at different ones."""
    ports = ports_of(process.served)
    complete = {frozenset(file.endpoints) for file in files if file.exact and ports & ports_of(file.endpoints)}
    if process.pids or all(meet(one, other) for one, other in combinations(complete, 2)):
        return [process]
    return [of_process(Listening(endpoints=frozenset({endpoint}))) for endpoint in sorted(process.served)]


def _read_words(candidates: Sequence[Candidate]) -> None:
    """Read the words of file names as processes, listeners or instances, where there are such."""
    pids = {pid for one in candidates for pid in one.pids}
    served = {endpoint for one in candidates for endpoint in one.served}
    instances = {name.lower(): name for one in candidates for name in one.named}
    for candidate in candidates:
        for word in candidate.words:
            number = int(word) if word.isdigit() else -1
            if number in pids and not candidate.pids:
                candidate.pids.add(number)
            elif not candidate.endpoints and (named := {endpoint for endpoint in served if endpoint[1] == number}):
                candidate.endpoints |= named
            elif word in instances and not candidate.instances and not candidate.is_process:
                candidate.instances.add(instances[word])
        if candidate.process is not None and not candidate.pids and not candidate.endpoints:
            candidate.pids.add(candidate.process)


def _identity(one: Candidate) -> list[object]:
    """Return what identifies a server: its processes, instance, configuration and listeners."""
    return [
        *one.pids,
        *one.named,
        *one.paths,
        *one.endpoints,
        *(f"port {port}" for port in ports_of(one.endpoints)),
    ]


def _number(one: Candidate) -> list[object]:
    """Return the numbers of files, by folder: the collection script numbers those of a host's second server and on."""
    numbers = [word for word in one.words if word.isdigit()]
    return [
        (fact.origin.folder, number)
        for fact in one.facts
        for number in (numbers or (["1"] if fact.origin.asked and "://" not in fact.origin.asked else []))
    ]


def _folder(one: Candidate, shared_folders: Collection[str]) -> list[object]:
    """Return the folders of its files that have no evidence of the whole host."""
    return [fact.origin.folder for fact in one.facts if fact.origin.folder not in shared_folders]


def _united(candidates: Sequence[Candidate], shared: Callable[[Candidate], Collection[object]]) -> list[Candidate]:
    """Unite the candidates that share something and do not contradict each other.

    What several processes have identifies none of them; nor does what contradicting files have.
    """
    held = Counter(what for one in candidates if one.is_process for what in set(shared(one)))
    united: dict[int, Candidate] = {}
    having: dict[object, dict[int, Candidate]] = defaultdict(dict)
    for candidate in candidates:
        own = {what for what in shared(candidate) if held[what] < 2}
        near = {number: other for what in own for number, other in having[what].items() if number in united}
        partners = [other for other in near.values() if not other.contradicts(candidate)]
        if _contradict(partners):
            partners = []
        for other in partners[1:]:
            partners[0].add(other)
            del united[id(other)]
        target = partners[0] if partners else candidate
        if partners:
            target.add(candidate)
        united[id(target)] = target
        for what in shared(target):
            having[what][id(target)] = target
    return list(united.values())


def _with_unowned(servers: list[Candidate]) -> list[Candidate]:
    """Return the listening servers: ports without an owner are one server's unless evidence separates them.

    Of those that it does not place, the owner is another, unknown server.
    """
    unowned = [server for server in servers if not server.pids]
    owned = [server for server in servers if server.pids]
    unknown = [one for one in unowned if not one.files]
    reported = [one for one in unowned if one.files]
    complete = {port for one in reported if one.exact for port in ports_of(one.endpoints)}
    rest = ports_of(endpoint for one in unknown for endpoint in one.served)
    separated = _contradict(reported)
    if not separated and (not complete or rest <= LDAP_PORTS):
        return [*owned, *_as_one(unowned)]
    return [*owned, *(reported if separated else _as_one(reported)), *_as_one(unknown)]


def _as_one(candidates: Sequence[Candidate]) -> list[Candidate]:
    for other in candidates[1:]:
        candidates[0].add(other)
    return list(candidates[:1])


def _placed(servers: list[Candidate], files: list[Candidate]) -> Separation:
    """Add each file to the only server that it fits; one that reports about a server which fits none is a server."""
    files = sorted(files, key=lambda one: (-one.known, min(one.files)))
    if len(servers) == 1 and not _contradict([one for one in (*servers, *files) if one.reports]):
        servers[0].families.clear()  # a program may have another name; the only server is not in doubt
    open_to = [
        server
        for server in servers
        if server.known
        or not _contradict([file for file in files if file.reports and _fits_only(file, server, servers)])
    ]
    unknown = {id(file) for one in open_to if not one.pids for file in _of_several_processes(one, files, open_to)}
    ambiguous: list[Any] = []
    for file in files:
        fitting = [one for one in open_to if not one.contradicts(file)]
        if len(fitting) == 1 and id(file) not in unknown:
            fitting[0].add(file)
        elif not fitting and file.reports and len(servers) < MOST_SERVERS:
            servers.append(file)
            open_to.append(file)
        elif fitting or servers:
            ambiguous.extend(file.facts)
    return Separation(servers=tuple(servers), ambiguous=tuple(ambiguous))


def _of_several_processes(
    server: Candidate, files: Iterable[Candidate], servers: Sequence[Candidate]
) -> list[Candidate]:
    """Return the files about processes that fit no other server, if they are of several: any may be the server's."""
    own = [file for file in files if file.pids and not file.reports and _fits_only(file, server, servers)]
    return own if _contradict(own) else []


def _contradict(candidates: Iterable[Candidate]) -> bool:
    """Return whether any two contradict each other."""
    different = {candidate.signature: candidate for candidate in candidates}
    return any(one.contradicts(other) for one, other in combinations(different.values(), 2))


def _fits_only(file: Candidate, server: Candidate, servers: Iterable[Candidate]) -> bool:
    return [one for one in servers if not one.contradicts(file)] == [server]
