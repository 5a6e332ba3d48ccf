"""A host: one machine or network namespace, its addresses and the snapshots of its sockets."""

from __future__ import annotations

from typing import ClassVar

from ldapdiag.analysis.hosts.snapshots import Snapshot
from ldapdiag.evidence.addresses import identifies_a_host, is_link_local, is_loopback
from ldapdiag.evidence.flows import TrackingCounters
from ldapdiag.evidence.host_facts import HostDescription, KernelSettings, Route, TcpCounters
from ldapdiag.evidence.processes import BootTime, ProcessTable
from ldapdiag.evidence.ruleset import Ruleset
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A machine (or a network namespace), and every snapshot of its sockets, in order of time."""

    kind: ClassVar[str] = "host"
    how: ClassVar[str] = SocketTable.how

    host: str
    addresses: frozenset[str] = frozenset()
    """Local addresses that identify it."""
    snapshots: tuple[Snapshot, ...] = ()
    ldap_ports: frozenset[int] = frozenset()
    """Ports the operator named."""
    description: HostDescription | None = None
    counters: TcpCounters | None = None
    """The latest reading of its TCP counters."""
    first_counters: TcpCounters | None = None
    """The first reading, where there are several."""
    kernel: KernelSettings | None = None
    processes: ProcessTable | None = None
    boot: BootTime | None = None
    """From a file of its own; `description` may contain it, too."""
    routes: tuple[Route, ...] = ()
    rulesets: tuple[Ruleset, ...] = ()
    """Its packet filter: one command lists all of it, or one IP version's part."""
    tracking: TrackingCounters | None = None
    origins: tuple[str, ...] = ()
    merge_reason: str | None = None
    """Why tables of several folders were taken for this host's."""

    @property
    def uses_tracking(self) -> bool:
        """Return whether rules or counters show that packets pass through its connection tracking."""
        counted = self.tracking is not None and self.tracking.in_use
        return counted or bool(self.tracked_versions)

    @property
    def tracked_versions(self) -> frozenset[str]:
        """Return the IP versions of which rules lead packets through connection tracking."""
        return frozenset[str]().union(*(ruleset.tracking for ruleset in self.rulesets))

    @property
    def latest(self) -> Snapshot | None:
        """Return the latest snapshot of its sockets."""
        return self.snapshots[-1] if self.snapshots else None


def own_addresses(description: HostDescription) -> set[str]:
    """Return the addresses of a host's interfaces that are unique to it."""
    return {address for address in description.addresses if identifies_a_host(address)}


def inner_addresses(host: Host) -> set[str]:
    """Return the addresses that identify a host only on its own machine, for example those of a container bridge."""
    described = host.description.addresses if host.description else frozenset[str]()
    return {address for address in described - host.addresses if not (is_loopback(address) or is_link_local(address))}
