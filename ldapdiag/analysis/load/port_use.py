"""PortUse: how many ports of one source address are in use towards one server: at a client, at a NAT, at the server.

A connection is known by both addresses and both ports, so one address can have at most as many connections to an
address and port as it may use ports. Those in TIME-WAIT count where the kernel does not choose them again.

LocalPorts: the ports that a host may choose for its outgoing connections to one server (ip-sysctl.rst).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ldap_sockets import End, endpoints_of, rows_by_peer
from ldapdiag.evidence.addresses import LDAP_PORTS, endpoint, is_loopback
from ldapdiag.evidence.flows import Relay
from ldapdiag.evidence.sockets import OF_WINDOWS, TcpState
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.servers.hosts.kernel import (
    KERNEL_PORT_RANGE,
    KERNEL_REUSE_TIME_WAIT,
    NAT_PORT_RANGE,
    PORT_RANGE,
    RESERVED_PORTS,
    REUSE_TIME_WAIT,
    TIME_WAIT_SECONDS,
    TIMESTAMPS,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.instances import Instance
    from ldapdiag.evidence.flows import FlowTable
    from ldapdiag.evidence.host_facts import KernelSettings

RANGE = pattern(r"(\d{1,5})\s+(\d{1,5})", re.ASCII)
RESERVED = pattern(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
FIRST_OF_BSD, LAST_OF_BSD = "net.inet.ip.portrange.first", "net.inet.ip.portrange.last"
LAST_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPorts:
    """The ports from which a kernel chooses one for each connection to the same address and port."""

    first: int
    last: int
    reserved: frozenset[int] = frozenset()
    """Ports of the range that it never chooses."""
    source: str
    is_known: bool
    """The host's own setting; False: the default of its system, or of Linux."""
    reuse: int = KERNEL_REUSE_TIME_WAIT
    """tcp_tw_reuse, where time stamps are on."""
    time_wait_seconds: int | None = TIME_WAIT_SECONDS
    """None: how long TIME-WAIT lasts is not known."""

    @property
    def count(self) -> int:
        """Return how many there are."""
        return self.last - self.first + 1 - len(self.reserved)

    @property
    def text(self) -> str:
        """Return the range as ip_local_port_range has it, with a hyphen."""
        return f"{self.first}-{self.last}"

    def contains(self, port: int) -> bool:
        """Return whether the kernel may choose a port."""
        return self.first <= port <= self.last and port not in self.reserved

    def reuses_time_wait(self, destination: str) -> bool:
        """Return whether a port in TIME-WAIT may be chosen again, after a second."""
        return self.reuse == 1 or (self.reuse == 2 and is_loopback(destination))


DEFAULT = LocalPorts(
    first=KERNEL_PORT_RANGE[0], last=KERNEL_PORT_RANGE[1], source="the default of Linux", is_known=False
)
WINDOWS = LocalPorts(
    first=49152,
    last=LAST_PORT,
    source="the default of Windows; netsh int ipv4 show dynamicport tcp shows its own",
    is_known=False,
    reuse=0,
    time_wait_seconds=None,
)
"""Since Windows Vista and Server 2008. Source: KB 929851. TIME-WAIT lasts 120 s, or TcpTimedWaitDelay."""
MANY = 100
"""So many ports of a client that are all in the range of Windows are no chance: of Linux', 42 % are."""


def local_ports(kernel: KernelSettings | None, *, windows: bool = False) -> LocalPorts:
    """Return the ports of a host by its kernel's settings, else by the defaults of its system."""
    ends = None if kernel is None else _range(kernel)
    if kernel is None or ends is None:
        return WINDOWS if windows else DEFAULT
    first, last = ends
    return LocalPorts(
        first=first,
        last=last,
        reserved=frozenset(_reserved(kernel.values.get(RESERVED_PORTS, ""), first, last)),
        source=f"{PORT_RANGE if PORT_RANGE in kernel.values else FIRST_OF_BSD} in {kernel.origin.path}",
        is_known=True,
        reuse=0 if kernel.number(TIMESTAMPS) == 0 else _number(kernel, REUSE_TIME_WAIT, KERNEL_REUSE_TIME_WAIT),
    )


def _number(kernel: KernelSettings, name: str, default: int) -> int:
    value = kernel.number(name)
    return default if value is None else value


def _range(kernel: KernelSettings) -> tuple[int, int] | None:
    """Return the first and the last port; None where they are not in the settings, or are no range."""
    if found := RANGE.fullmatch(kernel.values.get(PORT_RANGE, "")):
        first, last = int(found[1]), int(found[2])
    else:
        one, other = kernel.number(FIRST_OF_BSD), kernel.number(LAST_OF_BSD)
        if one is None or other is None:
            return None
        first, last = sorted((one, other))
    return (first, last) if 0 < first <= last <= LAST_PORT else None


def _reserved(text: str, first: int, last: int) -> set[int]:
    """Return the reserved ports within the range; `text` as in `8080,9148-9150`."""
    ports: set[int] = set()
    for part in text.split(","):
        if found := RESERVED.fullmatch(part.strip()):
            low, high = int(found[1]), int(found[2] or found[1])
            ports.update(range(max(low, first), min(high, last) + 1))
    return ports


CONNECTIONS = frozenset(TcpState) - {TcpState.LISTEN, TcpState.CLOSED, TcpState.UNKNOWN}
NAT_PORTS = LocalPorts(
    first=NAT_PORT_RANGE[0],
    last=NAT_PORT_RANGE[1],
    source="the range of Linux' NAT; a rule may allow fewer",
    is_known=False,
    reuse=0,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PortUse:
    """The connections of one source address to one address and port of a server."""

    host: str
    """Whose table shows them."""
    end: str
    """Where that is: client, nat, server."""
    source: str
    server: str
    """Address and port."""
    name: str
    """The server, by the name of its instance; empty when it is not in the evidence."""
    used: int
    """Ports that cannot be chosen for another connection."""
    time_wait: int
    """Those of them in TIME-WAIT; they are not counted where the kernel chooses them again."""
    reused: int = 0
    """Ports in TIME-WAIT that may be chosen again."""
    outside: int = 0
    """Connections from ports that are not of the range."""
    ports: LocalPorts
    owner: str | None = None
    """The program that has most of the connections; None: not known."""
    origins: tuple[str, ...]

    @property
    def share(self) -> float:
        """Return the part of the ports that is used."""
        return self.used / self.ports.count if self.ports.count > 0 else 1.0

    @property
    def opened_per_second(self) -> float | None:
        """Return how many connections a second this end closed in the last minute; None: not known.

        Only Linux' TIME-WAIT is known to last 60 s; conntrack's timeouts are settings of their own.
        """
        lasts = self.ports.time_wait_seconds
        return (self.time_wait + self.reused) / lasts if self.end == End.CLIENT and lasts else None

    @property
    def possible_per_second(self) -> float | None:
        """Return how many connections a second the ports suffice for beside those that are open; None: no limit."""
        lasts = self.ports.time_wait_seconds
        if self.end != End.CLIENT or self.reused or not lasts:
            return None
        return max(0, self.ports.count - self.used + self.time_wait) / lasts


def uses_at_clients(hosts: Sequence[Host], servers: Sequence[Instance]) -> Iterator[PortUse]:
    """Yield the ports that each host uses towards each server, by its latest table."""
    known = endpoints_of(servers, hosts)
    for host in hosts:
        if host.latest is None:
            continue
        table = host.latest.sockets
        ports = local_ports(host.kernel, windows=not OF_WINDOWS.isdisjoint(host.latest.tools))
        here = [server for server in servers if server.host == host.host]
        for peer, rows in rows_by_peer(table, CONNECTIONS, here, known).items():
            if peer.end is not End.CLIENT:
                continue
            by_address: dict[str, list[int]] = defaultdict(list)
            for row in rows:
                by_address[table.local_address[row]].append(row)
            for address, own in by_address.items():
                states = {table.local_port[row]: table.state[row] is TcpState.TIME_WAIT for row in own}
                yield _use(
                    states,
                    ports,
                    host=host.host,
                    end=End.CLIENT,
                    source=address,
                    server=peer.name,
                    destination=table.remote_address[rows[0]],
                    name=peer.server,
                    owner=table.owner_of(own),
                    origins=host.latest.origins,
                )


def uses_behind_nat(
    flows: Iterable[FlowTable], hosts: Sequence[Host], servers: Sequence[Instance]
) -> Iterator[PortUse]:
    """Yield the ports that each NAT uses of an address of its own towards each server, by its flow tables."""
    known = endpoints_of(servers, hosts)
    found: dict[tuple[str, str, str, int], dict[int, bool]] = defaultdict(dict)
    origins: dict[str, set[str]] = defaultdict(set)
    for table in flows:
        if table.relay is not Relay.NAT:
            continue
        origins[table.origin.host].add(table.origin.path)
        for client, key, state in zip(table.client, table.server, table.state, strict=True):
            if key is None or key[2] == client[0] or (key[1] not in LDAP_PORTS and key[:2] not in known):
                continue
            ports = found[table.origin.host, key[2], *key[:2]]
            ports[key[3]] = state == "TIME_WAIT" and ports.get(key[3], True)
    for (host, source, address, port), states in found.items():
        yield _use(
            states,
            NAT_PORTS,
            host=host,
            end="nat",
            source=source,
            server=endpoint(address, port),
            destination=address,
            name=known.get((address, port), ""),
            origins=tuple(sorted(origins[host])),
        )


def uses_at_servers(
    hosts: Sequence[Host], servers: Sequence[Instance], elsewhere: Collection[str]
) -> Iterator[PortUse]:
    """Yield the ports of each client address as the server sees them, except addresses known `elsewhere`.

    The client's connections in TIME-WAIT are not at the server, and its ports are not known, so this is a lower bound.
    """
    for host in hosts:
        here = [server for server in servers if server.host == host.host]
        if host.latest is None or not here:
            continue
        table = host.latest.sockets
        for peer, rows in rows_by_peer(table, CONNECTIONS - {TcpState.TIME_WAIT}, here, {}).items():
            if peer.end is not End.SERVER or peer.name in elsewhere:
                continue
            counts: Mapping[tuple[str, int], int] = Counter(
                (table.local_address[row], table.local_port[row]) for row in rows
            )
            (address, port), _ = max(counts.items(), key=lambda one: (one[1], one[0]))
            states = {
                table.remote_port[row]: False
                for row in rows
                if (table.local_address[row], table.local_port[row]) == (address, port)
            }
            yield _use(
                states,
                _as_seen(states),
                host=host.host,
                end=End.SERVER,
                source=peer.name,
                server=endpoint(address, port),
                destination=address,
                name=peer.server,
                origins=host.latest.origins,
            )


def _as_seen(ports: Iterable[int]) -> LocalPorts:
    """Return the ports that an address may have: those of one host, if all are of the default range of a system."""
    seen = set(ports)
    one_host = [WINDOWS] * (len(seen) >= MANY) + [DEFAULT]
    return next((one for one in one_host if all(map(one.contains, seen))), NAT_PORTS)


def _use(  # noqa: PLR0913  the fields of the fact
    states: Mapping[int, bool],
    ports: LocalPorts,
    *,
    host: str,
    end: str,
    source: str,
    server: str,
    destination: str,
    name: str,
    origins: tuple[str, ...],
    owner: str | None = None,
) -> PortUse:
    """Return the fact; `states`: by port, whether it is in TIME-WAIT."""
    inside = {port: waits for port, waits in states.items() if ports.contains(port)}
    waiting = sum(inside.values())
    reused = waiting if ports.reuses_time_wait(destination) else 0
    return PortUse(
        host=host,
        end=str(end),
        source=source,
        server=server,
        name=name,
        used=len(inside) - reused,
        time_wait=waiting - reused,
        reused=reused,
        outside=sum(0 < port <= LAST_PORT for port in states) - len(inside),
        ports=ports,
        owner=owner,
        origins=origins,
    )
