"""Who is who: which tables are one host's, and whose every other fact is (DESIGN: pairing, rule 2)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ldapdiag.analysis.hosts.folders import names_of_servers
from ldapdiag.analysis.hosts.grouping import Group, groups_of, short
from ldapdiag.analysis.hosts.listeners import served_ports
from ldapdiag.analysis.hosts.snapshots import Snapshot, snapshots_of
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.addresses import identifies_a_host, is_link_local, is_loopback
from ldapdiag.evidence.bundle import Bundle, Gap
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.flows import BoxTimeouts, FlowTable, Relay
from ldapdiag.evidence.host_facts import CaptureTimes, HostDescription, KernelSettings, TcpCounters
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.server_log import ServerLog
from ldapdiag.evidence.sockets import SocketTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.origin import Span

NAMES_ITS_HOST = (HostDescription, FlowTable, BoxTimeouts, KernelSettings, TcpCounters)
"""Facts of a host that need not be a directory server: alone in a folder they make that folder a host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A machine (or a network namespace), and every look at its sockets, in order of time."""

    kind: ClassVar[str] = "host"
    how: ClassVar[str] = SocketTable.how

    host: str
    addresses: frozenset[str] = frozenset()
    """Local addresses that identify it."""
    looks: tuple[Snapshot, ...] = ()
    ldap_ports: frozenset[int] = frozenset()
    """Ports the operator named."""
    description: HostDescription | None = None
    counters: TcpCounters | None = None
    """The latest telling of its TCP counters."""
    kernel: KernelSettings | None = None
    origins: tuple[str, ...] = ()
    merged_because: str | None = None

    @property
    def now(self) -> Snapshot | None:
        """Return the latest look at its sockets."""
        return self.looks[-1] if self.looks else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Facts with their hosts, the hosts, and the facts that are nobody's."""

    facts: tuple[Any, ...]
    hosts: tuple[Host, ...]
    gaps: tuple[Gap, ...]


def attribute(bundle: Bundle) -> Attribution:
    """Find the hosts, and give every fact to one."""
    times = capture_times(bundle.facts)
    facts = [_timed(fact, times) for fact in bundle.facts]
    groups = groups_of([fact for fact in facts if isinstance(fact, SocketTable)], namespaces_of(facts))
    owner = {id(table): group.name for group in groups for table in group.tables}
    by_folder: dict[str, set[str]] = defaultdict(set)
    for group in groups:
        for table in group.tables:
            by_folder[table.origin.folder].add(group.name)
    owner |= _boxes_among_others(facts, groups, by_folder)
    lone = _lone_hosts(facts, by_folder)
    servers = _directory_servers(facts, groups, by_folder, bundle.ldap_ports)
    lone |= names_of_servers(facts) if not groups else _other_servers(facts, by_folder)
    placed: list[Any] = []
    gaps: list[Gap] = []
    for fact in facts:
        host = owner[id(fact)] if id(fact) in owner else _host_for(fact, by_folder, lone, servers)
        if host is None:
            gaps.append(_nobodys(fact, by_folder, servers))
        else:
            placed.append(replace(fact, origin=replace(fact.origin, host=host)))
    return Attribution(
        facts=tuple(placed),
        hosts=tuple(_hosts(groups, placed, bundle.ldap_ports)),
        gaps=tuple(gaps),
    )


def capture_times(facts: Iterable[Any]) -> dict[str, Span]:
    """Return when each folder's evidence was taken, where a file of times says so."""
    return {fact.origin.folder: fact.span for fact in facts if isinstance(fact, CaptureTimes)}


def namespaces_of(facts: Iterable[Any]) -> dict[str, str]:
    """Return the machine and network namespace of each folder whose host told them."""
    return {
        fact.origin.folder: f"{fact.machine} {fact.namespace}"
        for fact in facts
        if isinstance(fact, HostDescription) and fact.machine and fact.namespace
    }


def _timed(fact: Any, times: dict[str, Span]) -> Any:  # noqa: ANN401  facts of all kinds
    taken = times.get(fact.origin.folder)
    if taken is None or fact.origin.taken is not None:
        return fact
    return replace(fact, origin=replace(fact.origin, taken=taken))


def _lone_hosts(facts: Iterable[Any], by_folder: dict[str, set[str]]) -> dict[str, str]:
    """Return folders without any socket table that hold facts of a host: the box between, most often."""
    folders = {fact.origin.folder for fact in facts if isinstance(fact, NAMES_ITS_HOST)}
    return {folder: short(folder) for folder in folders if folder not in by_folder}


def _other_servers(facts: Iterable[Any], by_folder: dict[str, set[str]]) -> dict[str, str]:
    """Return folders of nothing but what a server is set to, beside a server that has indexes of its own: replicas."""
    indexed = {fact.origin.folder for fact in facts if isinstance(fact, IndexConfiguration)}
    return {folder: short(folder) for folder in indexed - by_folder.keys()} if indexed & by_folder.keys() else {}


def _boxes_among_others(facts: Iterable[Any], groups: list[Group], by_folder: dict[str, set[str]]) -> dict[int, str]:
    """Return the hosts of boxes whose tables lie in a folder of several hosts, by fact.

    A proxy is the host that owns its legs to the servers; any other box is called by its file. Settings go with the
    only table there of their kind of box.
    """
    hosts: dict[int, str] = {}
    here: dict[tuple[str, Relay], set[str]] = defaultdict(set)
    among = [fact for fact in facts if len(by_folder.get(fact.origin.folder, ())) > 1]
    for table in (fact for fact in among if isinstance(fact, FlowTable)):
        legs = {server[2] for server in table.server if server is not None} if table.relay is Relay.PROXY else set()
        owners = [group.name for group in groups if legs and legs <= group.addresses]
        hosts[id(table)] = owners[0] if len(owners) == 1 else _stem(table)
        here[table.origin.folder, table.relay].add(hosts[id(table)])
    for settings in (fact for fact in among if isinstance(fact, BoxTimeouts)):
        names = here[settings.origin.folder, settings.relay]
        hosts[id(settings)] = next(iter(names)) if len(names) == 1 else _stem(settings)
    return hosts


def _stem(fact: FlowTable | BoxTimeouts) -> str:
    return fact.origin.path.rpartition("/")[2].rpartition(".")[0] or fact.origin.path


def _directory_servers(
    facts: list[Any], groups: list[Group], by_folder: dict[str, set[str]], ldap_ports: frozenset[int]
) -> set[str]:
    """Return the hosts that are directory servers by their listeners, or by facts in their own folder."""
    known = ldap_ports | _told_ports(fact for fact in facts if len(by_folder.get(fact.origin.folder, ())) != 1)
    servers = {group.name for group in groups if any(served_ports(table, known) for table in group.tables)}
    for fact in facts:
        hosts = by_folder.get(fact.origin.folder, set())
        if isinstance(fact, Monitor | Configuration | ServerLog | AccessLog) and len(hosts) == 1:
            servers |= hosts
    return servers


def _told_ports(facts: Iterable[Any]) -> frozenset[int]:
    """Return the ports that servers say they listen on; among several hosts, these tell whose words they are."""
    ports: set[int] = set()
    for fact in facts:
        if isinstance(fact, Configuration):
            ports.update(fact.ports)
        elif isinstance(fact, Monitor | ServerLog | AccessLog):
            ports.update(port for _, port in fact.listeners)
    return frozenset(ports)


def _host_for(
    fact: Any,  # noqa: ANN401  facts of all kinds
    by_folder: dict[str, set[str]],
    lone: dict[str, str],
    servers: set[str],
) -> str | None:
    folder = fact.origin.folder
    if len(by_folder.get(folder, ())) == 1:
        return next(iter(by_folder[folder]))
    if folder in lone:
        return lone[folder]
    if isinstance(fact, CaptureTimes):
        return ""
    if isinstance(fact, HostDescription | KernelSettings | TcpCounters):
        return None
    if len(servers) == 1:
        return next(iter(servers))
    return None if servers or by_folder.get(folder) else short(folder)


def _nobodys(fact: Any, by_folder: dict[str, set[str]], servers: set[str]) -> Gap:  # noqa: ANN401  facts of all kinds
    here = sorted(by_folder.get(fact.origin.folder, set()))
    among = f"{len(here)} hosts in its folder" if here else f"{len(servers)} directory servers"
    return Gap(
        target=fact.origin.path,
        reason=f"whose {fact.kind} this is cannot be told: {among} ({', '.join(here or sorted(servers))})",
        how="put it into a folder with that host's socket table",
    )


def _hosts(groups: list[Group], facts: list[Any], ldap_ports: frozenset[int]) -> Iterable[Host]:
    known = {group.name for group in groups}
    tables: dict[str, list[SocketTable]] = defaultdict(list)
    origins: dict[str, list[str]] = defaultdict(list)
    descriptions: dict[str, HostDescription] = {}
    counters: dict[str, TcpCounters] = {}
    kernels: dict[str, KernelSettings] = {}
    for fact in sorted(facts, key=lambda fact: fact.origin.path):
        name = fact.origin.host
        if isinstance(fact, SocketTable):
            tables[name].append(fact)
        elif isinstance(fact, HostDescription):
            descriptions[name] = fact
        elif isinstance(fact, TcpCounters):
            counters[name] = fact
        elif isinstance(fact, KernelSettings):
            kernels[name] = fact
        if name:
            origins[name].append(fact.origin.path)
    by_name = {group.name: group for group in groups}
    for name in sorted(known | set(origins)):
        group = by_name.get(name)
        description = descriptions.get(name)
        yield Host(
            host=name,
            addresses=frozenset(group.addresses if group else ())
            | (own_addresses(description) if description else set()),
            looks=snapshots_of(tables[name]),
            ldap_ports=ldap_ports,
            description=description,
            counters=counters.get(name),
            kernel=kernels.get(name),
            origins=tuple(sorted(origins[name])),
            merged_because=group.because if group else None,
        )


def own_addresses(description: HostDescription) -> set[str]:
    """Return the addresses of a host's interfaces that no other host has as well."""
    return {address for address in description.addresses if identifies_a_host(address)}


def inner_addresses(host: Host) -> set[str]:
    """Return the addresses that other machines may have as well, a container bridge's say: they tell hosts of one."""
    told = host.description.addresses if host.description else frozenset[str]()
    return {address for address in told - host.addresses if not (is_loopback(address) or is_link_local(address))}
