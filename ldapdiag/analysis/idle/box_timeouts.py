"""Middlebox timeouts: the idle timeouts configured on middleboxes, and the directions each applies to.

A setting counts for the directions that its middlebox carries, by a flow table or by routes (pairing/carriers.py); a
proxy's for the legs that it has itself. All others are named as not used (docs/how-it-decides.md, "What a middlebox
may prove").
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.pairing.direction import PathKind
from ldapdiag.evidence.addresses import is_exact
from ldapdiag.evidence.flows import Relay
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.hosts.kernel import CONNTRACK_ESTABLISHED, IP_FORWARD

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from ldapdiag.analysis.pairing.direction import Direction, Path
    from ldapdiag.analysis.pairing.pairing import Pairing
    from ldapdiag.evidence.flows import BoxTimeouts, ServiceTimeout
    from ldapdiag.evidence.host_facts import KernelSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class MiddleboxTimeout:
    """A middlebox's own timeout for established connections."""

    middlebox: str
    lower_seconds: float
    upper_seconds: float
    """Equal to the lower one, unless it is unknown which of several settings applies."""
    source: str
    directions: frozenset[str]
    """Subjects of the directions it applies to; none: the middlebox is not known to carry any."""
    closes_both_ends: bool = False
    """On timeout the middlebox closes the connections to both ends."""


def middlebox_timeouts(
    pairing: Pairing, kernels: Iterable[KernelSettings], timeouts: Iterable[BoxTimeouts] = ()
) -> tuple[MiddleboxTimeout, ...]:
    """Return the configured timeouts of hosts that may be middleboxes, the shortest first."""
    ends = {pairing.host} | {name for direction in pairing.directions for name in direction.client_hosts}
    found = [
        *(timeout for kernel in kernels for timeout in _of_kernel(kernel, pairing, ends)),
        *(timeout for configured in timeouts for timeout in _of_middlebox(configured, pairing)),
    ]
    return tuple(sorted(set(found), key=lambda timeout: (timeout.lower_seconds, timeout.middlebox, timeout.source)))


def _of_kernel(kernel: KernelSettings, pairing: Pairing, ends: Collection[str]) -> Iterator[MiddleboxTimeout]:
    """Yield the conntrack timeout of a Linux host, if the host carries a direction, or may be a middlebox of others.

    On a host that only has an end the setting describes that host's own filter.
    """
    middlebox, seconds = kernel.origin.host, kernel.number(CONNTRACK_ESTABLISHED)
    forwards = kernel.number(IP_FORWARD) != 0
    carried = [direction for direction in pairing.directions if _carries(direction.path, middlebox, forwards=forwards)]
    if seconds is not None and (carried or (forwards and middlebox not in ends)):
        yield MiddleboxTimeout(
            middlebox=middlebox,
            lower_seconds=seconds,
            upper_seconds=seconds,
            source=f"{CONNTRACK_ESTABLISHED.rpartition('.')[2]} of {middlebox}",
            directions=frozenset(direction.subject for direction in carried),
        )


def _carries(path: Path, middlebox: str, *, forwards: bool = True) -> bool:
    """Return whether a middlebox forwards the packets of a path; a route alone needs a host that forwards."""
    by_table = middlebox in path.carriers.by_table or middlebox in path.carriers.by_address
    translates = middlebox in path.middleboxes and path.kind is not PathKind.PROXY
    return by_table or translates or (forwards and middlebox in path.carriers.by_route)


def _of_middlebox(timeouts: BoxTimeouts, pairing: Pairing) -> Iterator[MiddleboxTimeout]:
    """Yield the timeouts that the configuration of a proxy or load balancer sets for each direction it carries.

    Where it carries none, yield those of its services that lead to the server, for no direction.
    """
    middlebox, proxy = timeouts.origin.host, timeouts.relay is Relay.PROXY
    carries = _is_leg_of if proxy else _is_carried_by
    carried = [direction for direction in pairing.directions if carries(direction, middlebox)]
    for direction in carried or pairing.directions:
        for timeout in _of_services(timeouts, direction):
            yield timeout if carried else replace(timeout, directions=frozenset())


def _is_carried_by(direction: Direction, middlebox: str) -> bool:
    return _carries(direction.path, middlebox)


def _is_leg_of(direction: Direction, proxy: str) -> bool:
    """Return whether these are the legs of a proxy towards the server: it has their sockets, or owns their address."""
    path = direction.path
    owned = proxy in direction.client_hosts or proxy == path.carriers.owner
    listed = proxy in path.carriers.proxies or (path.kind is PathKind.PROXY and proxy in path.middleboxes)
    return listed or (owned and direction.server_count > 0)


def _of_services(timeouts: BoxTimeouts, direction: Direction) -> Iterator[MiddleboxTimeout]:
    """Yield the timeout of the services that lead to a direction's server; of several, their bounds."""
    services = _services(timeouts.services, direction)
    if not services:
        return
    shortest = min(services, key=lambda service: (service.seconds, service.name))
    longest = max(service.seconds for service in services)
    several = f", the shortest of {len(services)} that may hold" if longest > shortest.seconds else ""
    yield MiddleboxTimeout(
        middlebox=timeouts.origin.host,
        lower_seconds=shortest.seconds,
        upper_seconds=longest,
        source=f"{shortest.name} of {timeouts.origin.host}{several}",
        directions=frozenset({direction.subject}),
        closes_both_ends=timeouts.relay is Relay.PROXY,
    )


def _services(services: Iterable[ServiceTimeout], direction: Direction) -> list[ServiceTimeout]:
    """Return the services that lead to a direction's server: by its address, else by its port and a host name."""
    endpoint = direction.server_address, direction.server_port
    every = list(services)
    exact = [service for service in every if endpoint in service.servers]
    return exact or [
        service
        for service in every
        if not service.servers or any(port == endpoint[1] and not is_exact(name) for name, port in service.servers)
    ]
