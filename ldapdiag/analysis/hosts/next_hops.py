"""NextHops: the hosts that forward packets to an address, by the routes that were read."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import is_ipv4
from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.servers.hosts.kernel import IP_FORWARD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.evidence.host_facts import Route

MOST_HOPS = 16
"""A longer way is a loop."""


class Way(NamedTuple):
    """The hosts that forward packets to an address, in order, as far as their routes were read."""

    through: tuple[str, ...] = ()
    attached: bool = False
    """The sender's own network contains the address: nothing forwards these packets."""
    known: bool = False
    """The sender's route to the address was read."""


class NextHops:
    """The routes of all hosts, and the hosts that own their gateways."""

    def __init__(self, hosts: Iterable[Host]) -> None:
        self._hosts = {host.host: host for host in hosts}
        self._routes = {name: _by_length(host.routes) for name, host in self._hosts.items() if host.routes}
        self._forwarding = [name for name in self._routes if _may_forward(self._hosts[name])]
        self._owners: dict[str, set[str]] = defaultdict(set)
        for name, host in self._hosts.items():
            for address in host.addresses:
                self._owners[address].add(name)

    def owner(self, address: str) -> str | None:
        """Return the only host that has an address; None without one."""
        owners = self._owners.get(address, set())
        return next(iter(owners)) if len(owners) == 1 else None

    def shows_sockets(self, name: str) -> bool:
        """Return whether a socket table of a host was read."""
        return self._hosts[name].latest is not None

    def way(self, sender: str, address: str) -> Way:
        """Return the way of packets from a host to an address."""
        through: list[str] = []
        at: str | None = sender
        first = None
        while at is not None and len(through) < MOST_HOPS and address not in self._hosts[at].addresses:
            route = self._route(at, address)
            first = first or route
            at = self.owner(route.gateways[0]) if route and len(route.gateways) == 1 else None
            if at is None or at in through:
                break
            through.append(at)
        inside = bool(through) and address in self._hosts[through[-1]].addresses
        attached = first is not None and first.on_link and not first.network.endswith("/0")
        return Way(tuple(through[:-1] if inside else through), attached, first is not None)

    def joining(self, one: str, other: str) -> str | None:
        """Return the only host that may forward and has an interface in the networks of both addresses."""
        found = [name for name in self._forwarding if self._joins(name, one, other)]
        return found[0] if len(found) == 1 else None

    def _joins(self, name: str, one: str, other: str) -> bool:
        routes = self._route(name, one), self._route(name, other)
        networks = {route.network for route in routes if route is not None and route.on_link}
        return len(networks) == len(routes)

    def _route(self, name: str, address: str) -> Route | None:
        """Return the most specific route of a host to an address."""
        routes = self._routes.get(name)
        if routes is None:
            return None
        version, number = _number(address)
        for length, networks in routes.get(version, ()):
            route = networks.get(number >> (_bits(version) - length))
            if route is not None:
                return route
        return None


def _may_forward(host: Host) -> bool:
    """Return whether a host is attached to several networks, and is not known to forward nothing."""
    attached = {route.network for route in host.routes if route.on_link}
    return len(attached) > 1 and (host.kernel is None or host.kernel.number(IP_FORWARD) != 0)


def _by_length(routes: Iterable[Route]) -> Mapping[int, list[tuple[int, dict[int, Route]]]]:
    """Return routes by IP version, the longest prefix first; of equal networks the first route counts."""
    found: dict[int, dict[int, dict[int, Route]]] = defaultdict(lambda: defaultdict(dict))
    for route in routes:
        network = ipaddress.ip_network(route.network, strict=False)
        prefix = int(network.network_address) >> (network.max_prefixlen - network.prefixlen)
        found[network.version][network.prefixlen].setdefault(prefix, route)
    return {version: sorted(lengths.items(), reverse=True) for version, lengths in found.items()}


def _bits(version: int) -> int:
    return 32 if version == 4 else 128


@lru_cache(maxsize=65536)
def _number(address: str) -> tuple[int, int]:
    """Return the version of an address and its number; version 0 for a name."""
    if is_ipv4(address):
        return 4, int.from_bytes(map(int, address.split(".")))
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return 0, 0
    return parsed.version, int(parsed)
