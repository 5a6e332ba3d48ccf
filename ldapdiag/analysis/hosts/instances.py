"""Instance: the evidence about one directory server process, in one place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.listeners import unfit_because
from ldapdiag.analysis.hosts.servers import ListeningServer, ServerProcess
from ldapdiag.analysis.hosts.snapshots import without_rows
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.addresses import ANY
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family, ServerIdentity, Version
from ldapdiag.evidence.host_facts import DescriptorCount, KernelSettings, ProcessLimits, TcpCounters
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.server_log import ServerLog
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.evidence.storage.settings import StorageSettings
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.commands.server_address import ServerAddress
from ldapdiag.servers.idle.enforcement import UNKNOWN_PRODUCT, IdleEnforcement
from ldapdiag.servers.product import Product
from ldapdiag.servers.products import product_of

if TYPE_CHECKING:
    from ldapdiag.evidence.threads import ProcessThreads


def readings_of(server: Instance, threads: tuple[ProcessThreads, ...]) -> list[ProcessThreads]:
    """Return the readings of a server's process: of several by its sockets, the one that was read last."""
    on_host = [thread for thread in threads if thread.origin.host == server.host]
    own = [one for one in on_host if one.pid in server.pids]
    if not own and not server.pids and server.is_only and len({one.pid for one in on_host}) == 1:
        own = on_host
    latest = max(own, key=lambda one: (one.uptime_seconds or 0.0, one.pid), default=None)
    return [one for one in own if latest is not None and one.pid == latest.pid]


T = TypeVar("T")

BEHIND = "collect from the directory servers behind it, or name them as targets"

Source = Monitor | Configuration | ServerLog | AccessLog | IndexConfiguration | StorageSettings | None
"""Evidence that a server reports about itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance(ServerProcess):
    """A host that accepts LDAP connections, with the facts about its server. None: not in the evidence."""

    kind: ClassVar[str] = "directory-server"
    how: ClassVar[str] = "on the server: its socket table (ss -tanoiep), its cn=monitor or its configuration"

    name: str
    """The name in reports: the host's where it has one instance."""
    identity: ServerIdentity | None = None
    ports: frozenset[int] = frozenset()
    established: int | None = None
    """Established connections at the server's end, in the latest snapshot."""
    monitor: Monitor | None = None
    configuration: Configuration | None = None
    limits: ProcessLimits | None = None
    descriptors: DescriptorCount | None = None
    logs: tuple[ServerLog, ...] = ()
    access_logs: tuple[AccessLog, ...] = ()
    kernel: KernelSettings | None = None
    counters: TcpCounters | None = None
    origins: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """Return what it is in a few words: the product, else a directory server or a proxy."""
        if self.proxy:
            return "proxy" if self.proxy == "proxy" else f"proxy ({self.proxy})"
        return str(self.identity or "directory server")

    @property
    def not_a_directory(self) -> Missing | None:
        """Return, of a proxy, why what only a directory server has is missing; None of a directory server."""
        if not self.proxy:
            return None
        reason = f"{self.name} is a {self.description}, not a directory server"
        return Missing(host=self.name, reason=reason, how=BEHIND, inapplicable=True)

    @property
    def is_only(self) -> bool:
        """Return whether its host has no other server: it has the host's name then."""
        return self.name == self.host

    @property
    def address(self) -> ServerAddress:
        """Return how commands reach it."""
        return ServerAddress(
            name=self.name,
            host=self.host,
            ports=tuple(sorted(self.ports)),
            instance=self.instance,
            socket=self.socket,
            session=self.session,
            is_named=self.is_named,
            mark=self.mark,
            manager=self.configuration.manager if self.configuration else "",
            pid=next(iter(self.pids)) if len(self.pids) == 1 else None,
        )

    def serves(self, address: str, port: int) -> bool:
        """Return whether it accepts connections to one of its host's addresses and this port."""
        return port in self.ports and (
            port not in self.shared_ports or not self.listeners.isdisjoint({(address, port), (ANY, port)})
        )

    def own_sockets(self, host: Host) -> Host:
        """Return its host without the sockets of another server on the same port."""
        if not self.shared_ports:
            return host
        return replace(
            host, snapshots=tuple(replace(snapshot, sockets=self._own(snapshot.sockets)) for snapshot in host.snapshots)
        )

    def _own(self, table: SocketTable) -> SocketTable:
        ends = zip(table.local_address, table.local_port, strict=True)
        others = (
            row for row, (address, port) in enumerate(ends) if port in self.ports and not self.serves(address, port)
        )
        return without_rows(table, frozenset(others))

    @property
    def product(self) -> Product | None:
        """Return the product data of this server's family."""
        return product_of(self.identity.family) if self.identity else None

    @property
    def family(self) -> Family | None:
        """Return the server's family, where the evidence names it."""
        return self.identity.family if self.identity else None

    @property
    def version(self) -> Version:
        """Return the server's version; empty when unknown."""
        return self.identity.version if self.identity else ()

    @property
    def idle_enforcement(self) -> IdleEnforcement:
        """Return how this version enforces an idle timeout: the exempt account by its configured name, too."""
        known = self.product.idle_enforcement.at(self.version) if self.product else UNKNOWN_PRODUCT
        manager = self.configuration.manager if self.configuration and known.exempt else None
        return replace(known, exempt=(*known.exempt, manager)) if manager else known

    def origins_of(self, *facts: Any) -> tuple[str, ...]:  # noqa: ANN401  facts of all kinds, or None
        """Return where these facts were read."""
        return tuple(sorted({fact.origin.path for fact in facts if fact is not None}))


@provides(Instance)
def find_instances(  # noqa: PLR0913, PLR0917  the kinds of evidence about a server
    servers: tuple[ListeningServer, ...],
    hosts: tuple[Host, ...],
    monitors: tuple[Monitor, ...],
    configurations: tuple[Configuration, ...],
    limits: tuple[ProcessLimits, ...],
    descriptors: tuple[DescriptorCount, ...],
    logs: tuple[ServerLog, ...],
    access_logs: tuple[AccessLog, ...],
    kernels: tuple[KernelSettings, ...],
    counters: tuple[TcpCounters, ...],
    indexes: tuple[IndexConfiguration, ...],
    storage: tuple[StorageSettings, ...],
) -> Iterator[Instance]:
    """Yield an instance for every process that accepts LDAP connections, with the evidence about it."""
    by_name = {host.host: host for host in hosts}
    for server in servers:
        name, host, ports = server.server, by_name[server.host], frozenset(port for _, port in server.listeners)
        shared = Instance(
            name=name,
            host=host.host,
            ports=ports,
            listeners=server.listeners,
            shared_ports=server.shared_ports,
            owns_ports=server.owns_ports,
            pids=server.pids,
            instance=server.instance,
            socket=server.socket,
            session=server.session,
            is_named=server.is_named,
            mark=server.mark,
            ambiguous=server.ambiguous,
            proxy=server.proxy,
            kernel=merge_settings(facts_of(kernels, host.host)),
            counters=_last(facts_of(counters, host.host)),
            origins=host.origins,
        )
        shared = replace(shared, established=_established(shared.own_sockets(host), ports))
        if server.proxy:
            yield shared
            continue
        monitor = choose_monitor(facts_of(monitors, name))
        configuration = merge_configurations(facts_of(configurations, name))
        own_logs = tuple(sorted(facts_of(logs, name), key=lambda log: log.origin.path))
        own_access_logs = tuple(sorted(facts_of(access_logs, name), key=lambda log: log.origin.path))
        reports: list[Source] = [*facts_of(indexes, name), *facts_of(storage, name)]
        yield replace(
            shared,
            identity=_identity([monitor, configuration, *own_logs, *own_access_logs, *reports]),
            monitor=monitor,
            configuration=configuration,
            limits=_last(facts_of(limits, name)),
            descriptors=_last(facts_of(descriptors, name)),
            logs=own_logs,
            access_logs=own_access_logs,
        )


def facts_of(facts: Iterable[T], subject: str) -> list[T]:
    """Return the read facts that belong to a server, by the name of its instance, or to a host."""
    return [fact for fact in facts if subject_of(fact) == subject]


def subject_of(fact: Any) -> str:  # noqa: ANN401  read facts have an origin, joined facts a server or a host
    """Return the server a fact belongs to, else the host; empty for a fact about all."""
    origin = getattr(fact, "origin", None)
    if origin is not None:
        return str(origin.server or origin.host)
    return str(fact.name if isinstance(fact, Instance) else getattr(fact, "server", getattr(fact, "host", "")))


def choose_monitor(monitors: list[Monitor]) -> Monitor | None:
    """Return the most informative reading of cn=monitor: with connections, the latest."""

    def order(monitor: Monitor) -> tuple[bool, float, str]:
        at = monitor.taken_at.timestamp() if monitor.taken_at else 0.0
        return monitor.connections is not None, at, monitor.origin.path

    return max(monitors, key=order, default=None)


def merge_configurations(configurations: list[Configuration]) -> Configuration | None:
    """Merge several excerpts of a configuration; a complete entry has precedence."""
    if len(configurations) < 2:
        return configurations[0] if configurations else None
    ordered = sorted(configurations, key=lambda one: (not one.complete, one.origin.path))
    merged = {name.name: getattr(ordered[0], name.name) for name in fields(Configuration)}
    for one in ordered[1:]:
        unset = [name for name, value in merged.items() if value is None or value is False or value == ()]
        merged |= {name: getattr(one, name) for name in unset}
    return Configuration(**merged)


def merge_settings(settings: list[KernelSettings]) -> KernelSettings | None:
    """Merge one host's kernel parameters from several files: of two values of one parameter, the later."""
    if not settings:
        return None
    ordered = sorted(settings, key=lambda one: one.origin.order)
    values = {name: value for one in ordered for name, value in one.values.items()}
    return KernelSettings(origin=ordered[0].origin, values=values)


def _last(facts: list[T]) -> T | None:
    return max(facts, key=lambda fact: fact.origin.order, default=None)  # type: ignore[attr-defined]  # T is a read fact


def _identity(sources: Iterable[Source]) -> ServerIdentity | None:
    known = [source.identity for source in sources if source]
    return next((one for one in known if one.version), known[0] if known else None)


def _established(host: Host, ports: frozenset[int]) -> int | None:
    if host.latest is None or unfit_because(host.latest.sockets, ports):
        return None
    return len(host.latest.sockets.established_at(ports))
