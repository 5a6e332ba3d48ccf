"""A target during collection: the collector that gets its evidence, and the evidence collected so far."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from ldapdiag.analysis.hosts.host import own_addresses
from ldapdiag.analysis.hosts.listeners import relays_at, served_ports
from ldapdiag.evidence.addresses import is_loopback
from ldapdiag.evidence.flows import BoxTimeouts, FlowTable
from ldapdiag.evidence.host_facts import HostDescription
from ldapdiag.evidence.ldap_probe import LdapProbe
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.targets import LocalTarget

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ldapdiag.evidence.bundle import Gap
    from ldapdiag.evidence.origin import Fact
    from ldapdiag.sources.captures.manifest import ClockOffset
    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.live.ssh.access_logs import ShowFile

LOCAL = LocalTarget().label


class Collector(Protocol):
    """Get the evidence of one target. All methods block, keep the time limit, and return early on an interrupt."""

    target: str
    """As on the command line."""

    def collect(self) -> Iterator[Input | Gap]:
        """Yield all evidence of the target, its first snapshot included."""

    def snapshot(self) -> Iterator[Input | Gap]:
        """Yield another snapshot of its sockets; nothing for a target without sockets."""

    def access_logs(self, show_file: ShowFile) -> Iterator[Input | Gap]:
        """Yield the access logs of its directory servers; to be called last. `show_file` is called for each file."""

    def close(self) -> None:
        """End the collection; leave no process and no connection."""

    @property
    def peer(self) -> str | None:
        """Return the server's address of the LDAP connection; None for a host."""

    @property
    def clock_offset(self) -> ClockOffset | None:
        """Return how far the target's clock is ahead of the local one; None when unknown."""


@dataclass(slots=True)
class CollectedTarget:
    """The evidence collected from one target so far."""

    collector: Collector
    pieces: list[Input] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    """Facts of the first collection; they decide the order of the later snapshots."""

    @property
    def has_answered(self) -> bool:
        """Return whether there is any answer; a failed probe of a directory server is none."""
        return any(not is_failed_probe(piece) for piece in self.pieces)

    def serves(self, ports: Collection[int]) -> bool:
        """Return whether a directory server listens on this host."""
        return any(served_ports(fact, ports) for fact in self.facts if isinstance(fact, SocketTable))

    def folder_of(self, address: str) -> str | None:
        """Return the folder of the host in this target that owns an address; None when no host does.

        A loopback address belongs to the local host: the connection was opened there.
        """
        if is_loopback(address):
            return self.folder if self.collector.target == LOCAL else None
        hosts = (fact for fact in self.facts if isinstance(fact, HostDescription))
        return next((host.origin.folder for host in hosts if address in own_addresses(host)), None)

    def is_proxy(self, folder: str) -> bool:
        """Return whether only proxies serve the LDAP ports of the host in a folder."""
        own = [fact for fact in self.facts if fact.origin.folder == folder]
        tables = [fact for fact in own if isinstance(fact, SocketTable)]
        ports = frozenset[int]().union(*(served_ports(table, ()) for table in tables))
        flows = [fact for fact in own if isinstance(fact, FlowTable)]
        timeouts = [fact for fact in own if isinstance(fact, BoxTimeouts)]
        return bool(ports) and ports == relays_at(ports, tables, flows, timeouts).keys()

    @property
    def folder(self) -> str:
        """Return the folder of the named host; its further network namespaces have folders of their own."""
        return next((piece.folder for piece in self.pieces), "")

    @property
    def summary(self) -> str:
        """Return the result in a few words, for a progress line."""
        tables = [fact for fact in self.facts if isinstance(fact, SocketTable)]
        monitors = [fact for fact in self.facts if isinstance(fact, Monitor)]
        parts = [f"{_count(len(table), 'socket')} ({table.tool})" for table in tables[:1]]
        parts += [_count(len(tables) - 1, "more network namespace")] if len(tables) > 1 else []
        counts = [monitor.current_connections for monitor in monitors]
        parts += ["cn=monitor" if count is None else f"cn=monitor {_count(count, 'connection')}" for count in counts]
        return ", ".join(parts) or _count(len(self.pieces), "file")


def is_failed_probe(piece: Input) -> bool:
    """Return whether a piece only records that a directory server did not answer."""
    return any(isinstance(fact, LdapProbe) for fact in piece.facts)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
