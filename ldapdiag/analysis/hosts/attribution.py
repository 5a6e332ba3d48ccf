"""Attribution: the hosts of the evidence, and the host of each fact (docs/how-it-decides.md, "Whose table it is").

Folders: which of them belong to one server, where no socket table identifies the host.

    /var/log/dirsrv/slapd-ds1/access    /etc/dirsrv/slapd-ds1/dse.ldif     one server: the folders have one name
    case/access                         case/config/dse.ldif               one server: no other folder is as near
    ldaps://ds1 (live)                  logs/access                        one server: there is no other
    ds1/access, ds1/dse.ldif            ds2/dse.ldif                       two: the log has its own configuration

Facts of another product belong to another server.

Assembly: every host of the evidence, with its snapshots, its routes and the latest facts that describe it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from ldapdiag.analysis.hosts.grouping import HostGroup, connected_addresses, group_tables
from ldapdiag.analysis.hosts.host import Host, own_addresses
from ldapdiag.analysis.hosts.layout import Layout, ancestors, base_name, lay_out
from ldapdiag.analysis.hosts.listeners import relays_at, served_ports
from ldapdiag.analysis.hosts.servers import ListeningServer, addressed, attribute_to_servers
from ldapdiag.analysis.hosts.snapshots import snapshots_of
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.addresses import identifies_a_host
from ldapdiag.evidence.bundle import Bundle, Gap
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.flows import BoxTimeouts, FlowTable, Relay, TrackingCounters
from ldapdiag.evidence.host_facts import CaptureTimes, HostDescription, KernelSettings, RouteTable, TcpCounters
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.ldap_probe import LdapProbe
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.processes import BootTime, ProcessTable
from ldapdiag.evidence.ruleset import Ruleset
from ldapdiag.evidence.server_log import ServerLog
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.evidence.storage import STORAGE_OF_HOST
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.traits import traits_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from ldapdiag.evidence.origin import Span

OF_ANY_HOST = (
    HostDescription, RouteTable, Ruleset, TrackingCounters, KernelSettings, TcpCounters, ProcessTable, BootTime,
)  # fmt: skip
"""Facts that any host has: what no folder assigns to one is not taken for the only directory server's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Facts with their hosts and servers, and a gap for each fact whose host or server is ambiguous."""

    facts: tuple[Any, ...]
    hosts: tuple[Host, ...]
    servers: tuple[ListeningServer, ...]
    gaps: tuple[Gap, ...]


def attribute(bundle: Bundle) -> Attribution:
    """Find the hosts, and the host of every fact."""
    layout = layout_of(bundle.facts)
    times = capture_times(bundle.facts)
    facts = [_placed(fact, layout, times) for fact in bundle.facts]
    groups = group_tables([fact for fact in facts if isinstance(fact, SocketTable)], namespaces_of(facts), layout)
    by_folder: dict[str, set[str]] = defaultdict(set)
    for group in groups:
        for table in group.tables:
            by_folder[table.origin.folder].add(group.name)
    by_folder |= other_folders(facts, by_folder, layout)
    by_fact = {id(table): group.name for group in groups for table in group.tables}
    by_fact |= _middleboxes_in_shared_folders(facts, groups, by_folder)
    without_table = hosts_without_table(facts, by_folder, layout)
    servers = _directory_servers(facts, groups, by_folder, bundle.ldap_ports)
    without_table |= name_servers(facts) if not groups else replicas_without_table(facts, by_folder)
    placed: list[Any] = []
    gaps: list[Gap] = []
    replicated = replicated_configurations(facts)
    for fact in facts:
        if isinstance(fact, LdapProbe):
            host: str | None = _probed_host(fact, groups, by_folder)
        else:
            host = by_fact[id(fact)] if id(fact) in by_fact else _host_of(fact, by_folder, without_table, servers)
        if host is None and fact.origin.path not in replicated:
            gaps.append(_ambiguous(fact, by_folder, servers))
        else:
            placed.append(replace(fact, origin=replace(fact.origin, host=host or "")))
    placed = list(at_every_server(placed, replicated))
    hosts = tuple(assemble_hosts(groups, placed, bundle.ldap_ports))
    own = attribute_to_servers(hosts, placed)
    gaps.extend(_unknown_orders(hosts, groups, layout))
    named = addressed(own.servers, bundle.named)
    return Attribution(facts=own.facts, hosts=hosts, servers=named, gaps=(*gaps, *own.gaps))


def _unknown_orders(hosts: Iterable[Host], groups: Iterable[HostGroup], layout: Layout) -> Iterator[Gap]:
    """Yield a gap for each host whose snapshots lie in several folders, in an order that nothing shows."""
    folders = {group.name: {table.origin.folder for table in group.tables} for group in groups}
    for host in hosts:
        unknown = [snapshot for snapshot in host.snapshots if snapshot.taken is None]
        of_host = folders.get(host.host, set())
        shown = len({one.number for one in unknown}) == len(unknown) and layout.unordered.isdisjoint(of_host)
        if len(of_host) > 1 and len(unknown) > 1 and not shown:
            last = ", ".join(unknown[-1].origins)
            yield Gap(
                target=host.host,
                reason=f"the order of its snapshots is unknown; the last one is assumed to be {last}",
                how="number their folders (snap1, snap2), or put a file captured-at.txt beside each table",
            )


def layout_of(facts: Iterable[Any]) -> Layout:
    """Return what the folders of the evidence stand for."""
    addresses: dict[str, set[str]] = defaultdict(set)
    for table in facts:
        if isinstance(table, SocketTable):
            addresses[table.origin.folder] |= connected_addresses(table)
    return lay_out((fact.origin.folder for fact in facts), addresses)


def capture_times(facts: Iterable[Any]) -> dict[str, Span]:
    """Return when each folder's evidence was taken, where a file of times contains that."""
    return {fact.origin.folder: fact.span for fact in facts if isinstance(fact, CaptureTimes)}


def namespaces_of(facts: Iterable[Any]) -> dict[str, str]:
    """Return the machine and network namespace of each folder whose host description contains them."""
    return {
        fact.origin.folder: f"{fact.machine} {fact.namespace}"
        for fact in facts
        if isinstance(fact, HostDescription) and fact.machine and fact.namespace
    }


def _placed(fact: Any, layout: Layout, times: dict[str, Span]) -> Any:  # noqa: ANN401  facts of all kinds
    """Return a fact with its snapshot and, if its own is unknown, the time of its folder; a table in its host's."""
    origin = fact.origin
    root = layout.root(origin.folder)
    return replace(
        fact,
        origin=replace(
            origin,
            folder=root if isinstance(fact, SocketTable) else origin.folder,
            taken=origin.taken or times.get(origin.folder) or times.get(root),
            snapshot=layout.numbers.get(origin.folder, 0),
        ),
    )


def _middleboxes_in_shared_folders(
    facts: Iterable[Any], groups: list[HostGroup], by_folder: dict[str, set[str]]
) -> dict[int, str]:
    """Return, by the id of the fact, the hosts of middleboxes whose tables lie in a folder of several hosts.

    A proxy is the host that owns its server-side legs; any other middlebox is named after its file. Settings belong to
    the only flow table in the folder that is of the same kind of middlebox.
    """
    hosts: dict[int, str] = {}
    in_folder: dict[tuple[str, Relay], set[str]] = defaultdict(set)
    shared = [fact for fact in facts if len(by_folder.get(fact.origin.folder, ())) > 1]
    for table in (fact for fact in shared if isinstance(fact, FlowTable)):
        legs = {server[2] for server in table.server if server is not None} if table.relay is Relay.PROXY else set()
        owners = [group.name for group in groups if legs and legs <= group.addresses]
        hosts[id(table)] = owners[0] if len(owners) == 1 else _stem(table)
        in_folder[table.origin.folder, table.relay].add(hosts[id(table)])
    for settings in (fact for fact in shared if isinstance(fact, BoxTimeouts)):
        names = in_folder[settings.origin.folder, settings.relay]
        hosts[id(settings)] = next(iter(names)) if len(names) == 1 else _stem(settings)
    return hosts


def _stem(fact: FlowTable | BoxTimeouts) -> str:
    return fact.origin.path.rpartition("/")[2].rpartition(".")[0] or fact.origin.path


def _directory_servers(
    facts: list[Any], groups: list[HostGroup], by_folder: dict[str, set[str]], ldap_ports: frozenset[int]
) -> set[str]:
    """Return the hosts that are directory servers by their listeners, or by facts in their own folder."""
    known = ldap_ports | _listener_ports(fact for fact in facts if len(by_folder.get(fact.origin.folder, ())) != 1)
    servers = {group.name for group in groups if _serves(group, facts, known)}
    for fact in facts:
        hosts = by_folder.get(fact.origin.folder, set())
        if isinstance(fact, Monitor | Configuration | ServerLog | AccessLog) and len(hosts) == 1:
            servers |= hosts
    return servers


def _serves(group: HostGroup, facts: list[Any], known: frozenset[int]) -> bool:
    """Return whether a directory server, not only a proxy, listens on a host."""
    ports = frozenset[int]().union(*(served_ports(table, known) for table in group.tables))
    if not ports:
        return False
    folders = {table.origin.folder for table in group.tables}
    own = [fact for fact in facts if fact.origin.folder in folders]
    flows = [fact for fact in own if isinstance(fact, FlowTable)]
    timeouts = [fact for fact in own if isinstance(fact, BoxTimeouts)]
    return bool(ports - relays_at(ports, group.tables, flows, timeouts).keys())


def _listener_ports(facts: Iterable[Any]) -> frozenset[int]:
    """Return the ports of the listeners that servers report; among several hosts, the ports identify the server."""
    ports: set[int] = set()
    for fact in facts:
        if isinstance(fact, Configuration):
            ports.update(fact.ports)
        elif isinstance(fact, Monitor | ServerLog | AccessLog):
            ports.update(port for _, port in fact.listeners)
    return frozenset(ports)


def _host_of(
    fact: Any,  # noqa: ANN401  facts of all kinds
    by_folder: dict[str, set[str]],
    without_table: dict[str, str],
    servers: set[str],
) -> str | None:
    """Return the host of a fact: the only one of its folder, else the only directory server; None if ambiguous."""
    folder = fact.origin.folder
    if len(by_folder.get(folder, ())) == 1:
        return next(iter(by_folder[folder]))
    if folder in without_table:
        return without_table[folder]
    if isinstance(fact, CaptureTimes):
        return ""
    if isinstance(fact, OF_ANY_HOST):
        return None
    if len(servers) == 1:
        return next(iter(servers))
    return None if servers or by_folder.get(folder) else base_name(folder)


def _probed_host(probe: LdapProbe, groups: list[HostGroup], by_folder: dict[str, set[str]]) -> str:
    """Return the host that a failed probe was for: by its address, else by its folder, whose name is the target's."""
    owners = sorted(group.name for group in groups if probe.address and probe.address in group.addresses)
    in_folder = sorted(by_folder.get(probe.origin.folder, ()))
    return next(iter(owners or in_folder), base_name(probe.origin.folder))


def _ambiguous(fact: Any, by_folder: dict[str, set[str]], servers: set[str]) -> Gap:  # noqa: ANN401  facts of all kinds
    in_folder = sorted(by_folder.get(fact.origin.folder, set()))
    among = f"{len(in_folder)} hosts in its folder" if in_folder else f"{len(servers)} directory servers"
    return Gap(
        target=fact.origin.path,
        reason=f"the host of this {fact.kind} is ambiguous: {among} ({', '.join(in_folder or sorted(servers))})",
        how="put it into a folder with that host's socket table",
    )


HOST_FACTS = (
    HostDescription,
    RouteTable,
    Ruleset,
    TrackingCounters,
    FlowTable,
    BoxTimeouts,
    KernelSettings,
    TcpCounters,
    ProcessTable,
    BootTime,
    *STORAGE_OF_HOST,
)
"""Facts of a host that need not be a directory server: a folder without a socket table that has one is a host."""


def name_servers(facts: Iterable[Any]) -> dict[str, str]:
    """Return the server's name for each folder that shares its server with another folder."""
    facts_in: dict[str, list[Any]] = defaultdict(list)
    for fact in facts:
        if not isinstance(fact, CaptureTimes):
            facts_in[fact.origin.folder].append(fact)
    logs = [folder for folder, found in facts_in.items() if _has(found, AccessLog)]
    by_log: dict[str, list[str]] = defaultdict(list)
    for folder in facts_in.keys() - set(logs):
        if log := _nearest(folder, [log for log in logs if _may_be_one(facts_in[log], facts_in[folder])]):
            by_log[log].append(folder)
    names: dict[str, str] = {}
    for log, others in by_log.items():
        indexed = [folder for folder in others if _has(facts_in[folder], IndexConfiguration)]
        own = _nearest(log, indexed)
        joined = [folder for folder in others if folder not in indexed or folder == own]
        names |= dict.fromkeys((log, *joined), _name(log, joined))
    return names


def _name(log: str, joined: list[str]) -> str:
    """Return a server's name: its target, the parent of its folders, or the folder of its log."""
    live = [folder for folder in joined if "/" not in folder]
    if len(live) == 1:
        return base_name(live[0])
    parent = log.rpartition("/")[0]
    shared = parent and all(folder.rpartition("/")[0] == parent for folder in joined)
    return base_name(parent) if shared else base_name(log)


def _has(facts: Iterable[Any], kind: type[Any]) -> bool:
    return any(isinstance(fact, kind) for fact in facts)


def _may_be_one(log: list[Any], others: list[Any]) -> bool:
    """Return whether both may belong to one server: one product, and not each with an index configuration."""
    if _has(log, IndexConfiguration) and _has(others, IndexConfiguration):
        return False
    one, two = _families(log), _families(others)
    return not one or not two or not one.isdisjoint(two)


def _families(facts: Iterable[Any]) -> set[Family]:
    """Return the products these facts name."""
    named = (fact.family if isinstance(fact, AccessLog) else _identified(fact) for fact in facts)
    return {family.kin for family in named if family}


def _identified(fact: Any) -> Family | None:  # noqa: ANN401  facts of all kinds
    identity = getattr(fact, "identity", None)
    return identity.family if identity else None


def _nearest(folder: str, others: list[str]) -> str | None:
    """Return the folder of the same name, else the one that shares most of the file path; None if two are equal."""
    ranked = sorted(others, key=lambda other: _nearness(folder, other), reverse=True)
    if len(ranked) > 1 and _nearness(folder, ranked[0]) == _nearness(folder, ranked[1]):
        return None
    return ranked[0] if ranked else None


def _nearness(folder: str, other: str) -> tuple[bool, int]:
    shared = 0
    for one, two in zip(folder.split("/"), other.split("/"), strict=False):
        if one != two:
            break
        shared += 1
    return base_name(folder) == base_name(other), shared


def other_folders(facts: Iterable[Any], by_folder: dict[str, set[str]], layout: Layout) -> dict[str, set[str]]:
    """Return the only host of each folder without a socket table: that of its tree, its snapshots, or around it.

    A folder lies within a host's if other hosts do not: `ldap/logs` beside `app1`, never `incident/fw` in `incident`.
    """
    by_host: dict[str, set[str]] = defaultdict(set)
    for folder, hosts in by_folder.items():
        by_host[layout.host(folder)] |= hosts
    found: dict[str, set[str]] = {}
    for folder in {fact.origin.folder for fact in facts} - by_folder.keys():
        place = layout.host(folder)
        around = next((ancestor for ancestor in ancestors(place) if ancestor in by_host), None)
        outside = around and any(not f"{other}/".startswith(f"{around}/") for other in by_host)
        hosts = by_host.get(place) or (by_host[around] if around and outside else set())
        if len(hosts) == 1:
            found[folder] = hosts
    return found


def hosts_without_table(facts: Iterable[Any], by_folder: dict[str, set[str]], layout: Layout) -> dict[str, str]:
    """Return the hosts of folders that have no socket table but other facts of a host: middleboxes, most often.

    Folders of one name that have the same kind of fact are different hosts, unless they are snapshots of one.
    """
    kinds: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    folders = {fact.origin.folder: fact for fact in facts if isinstance(fact, HOST_FACTS)}
    for fact in facts:
        if isinstance(fact, HOST_FACTS) and fact.origin.folder not in by_folder:
            folder = fact.origin.folder
            kinds[layout.name(folder)][layout.host(folder)].add(fact.kind)
    rivals = {
        name
        for name, by_host in kinds.items()
        if any(not one.isdisjoint(other) for one, other in combinations(by_host.values(), 2))
    }
    return {
        folder: "/".join(layout.host(folder).split("/")[-2:]) if layout.name(folder) in rivals else layout.name(folder)
        for folder in folders
        if folder not in by_folder
    }


def replicas_without_table(facts: Iterable[Any], by_folder: dict[str, set[str]]) -> dict[str, str]:
    """Return the servers of folders that have an index configuration only, if another server has its own, too."""
    indexed = {fact.origin.folder for fact in facts if isinstance(fact, IndexConfiguration)}
    return {folder: base_name(folder) for folder in indexed - by_folder.keys()} if indexed & by_folder.keys() else {}


def replicated_configurations(facts: Iterable[Any]) -> frozenset[str]:
    """Return the paths of index configurations that are those of all servers of a product which have logs."""
    logged = {fact.family for fact in facts if isinstance(fact, AccessLog)}
    return frozenset(
        fact.origin.path
        for fact in facts
        if isinstance(fact, IndexConfiguration)
        if fact.identity.family in logged and traits_of(fact.identity.family).replicates_indexes
    )


def at_every_server(placed: Iterable[Any], replicated: Collection[str]) -> Iterator[Any]:
    """Yield facts with their hosts; a replicated configuration that is no server's own, at each server with a log."""
    placed = list(placed)
    logged = sorted({
        fact.origin.host
        for fact in placed
        if isinstance(fact, AccessLog) and traits_of(fact.family).replicates_indexes
    })  # fmt: skip
    for fact in placed:
        if fact.origin.path not in replicated or fact.origin.host in logged:
            yield fact
            continue
        for host in logged:
            yield replace(fact, origin=replace(fact.origin, host=host))


T = TypeVar("T")


def assemble_hosts(groups: Iterable[HostGroup], facts: Iterable[Any], ldap_ports: frozenset[int]) -> Iterator[Host]:
    """Yield every host that has a socket table or any other fact, by name; `facts` have the host as their origin."""
    of_host: dict[str, list[Any]] = defaultdict(list)
    for fact in sorted(facts, key=lambda fact: fact.origin.order):
        of_host[fact.origin.host].append(fact)
    by_name = {group.name: group for group in groups}
    for name in sorted(by_name.keys() | (of_host.keys() - {""})):
        yield _host(name, by_name.get(name), of_host[name], ldap_ports)


def _host(name: str, group: HostGroup | None, facts: list[Any], ldap_ports: frozenset[int]) -> Host:
    """Return a host from its facts, the latest last."""
    description, counters = _latest(facts, HostDescription), _all(facts, TcpCounters)
    routes = _all(facts, RouteTable)
    return Host(
        host=name,
        addresses=frozenset(group.addresses if group else ())
        | (own_addresses(description) if description else set())
        | {address for table in routes for address in table.addresses if identifies_a_host(address)},
        snapshots=snapshots_of(_all(facts, SocketTable)),
        ldap_ports=ldap_ports,
        description=description,
        counters=counters[-1] if counters else None,
        first_counters=_first_reading(counters),
        kernel=_latest(facts, KernelSettings),
        processes=_latest(facts, ProcessTable),
        boot=_latest(facts, BootTime),
        routes=tuple(dict.fromkeys(route for table in routes for route in table.routes)),
        rulesets=tuple(_all(facts, Ruleset)),
        tracking=_latest(facts, TrackingCounters),
        origins=tuple(sorted(fact.origin.path for fact in facts)),
        merge_reason=group.merge_reason if group else None,
    )


def _all(facts: Iterable[Any], kind: type[T]) -> list[T]:
    return [fact for fact in facts if isinstance(fact, kind)]


def _latest(facts: Iterable[Any], kind: type[T]) -> T | None:
    return next(reversed(_all(facts, kind)), None)


def _first_reading(counters: list[TcpCounters]) -> TcpCounters | None:
    """Return the first of several readings of counters, in order of time; None unless the last is known to be later."""
    if not all(reading.origin.taken for reading in counters) or len(counters) < 2:
        return None
    first, last = counters[0].origin.taken, counters[-1].origin.taken
    return counters[0] if first and last and first.end < last.start else None
