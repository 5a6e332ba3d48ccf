"""Middlebox timeouts: the idle timeouts configured on middleboxes, and the directions each applies to.

A setting counts if the middlebox's table contains the flow, or if the host owns neither end and may forward. On another
host a kernel's setting describes that host's own filter. A proxy's setting also counts for its own legs, whose client
end it owns (docs/how-it-decides.md, "The idle timeout of a middlebox").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import is_exact
from ldapdiag.evidence.flows import Relay
from ldapdiag.servers.kernel import CONNTRACK_ESTABLISHED, IP_FORWARD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.analysis.pairing.direction import Direction
    from ldapdiag.analysis.pairing.pairing import Pairing
    from ldapdiag.evidence.flows import BoxTimeouts, FlowTable, ServiceTimeout
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
    """Subjects of the directions it applies to."""
    closes_both_ends: bool = False
    """On timeout the middlebox closes the connections to both ends."""


def middlebox_timeouts(
    pairing: Pairing,
    kernels: Iterable[KernelSettings],
    flows: Sequence[FlowTable],
    timeouts: Iterable[BoxTimeouts] = (),
) -> tuple[MiddleboxTimeout, ...]:
    """Return the configured timeouts of the middleboxes on a path, the shortest first."""
    ends = {pairing.host} | {name for direction in pairing.directions for name in direction.client_hosts}
    tracking = {table.origin.host for table in flows if not table.server or any(table.server)}
    elsewhere = ends | tracking
    found = [
        *(timeout for kernel in kernels for timeout in _of_kernel(kernel, pairing, elsewhere)),
        *(timeout for configured in timeouts for timeout in _of_middlebox(configured, pairing, elsewhere)),
    ]
    return tuple(sorted(found, key=lambda timeout: (timeout.lower_seconds, timeout.middlebox, timeout.source)))


def _of_kernel(kernel: KernelSettings, pairing: Pairing, elsewhere: set[str]) -> Iterator[MiddleboxTimeout]:
    """Yield the conntrack timeout of a Linux host, if the host is on a path."""
    middlebox, seconds = kernel.origin.host, kernel.number(CONNTRACK_ESTABLISHED)
    may_forward = middlebox not in elsewhere and kernel.number(IP_FORWARD) != 0
    on_path = _on_path(pairing, middlebox, assumed=may_forward)
    if seconds is not None and on_path:
        yield MiddleboxTimeout(
            middlebox=middlebox,
            lower_seconds=seconds,
            upper_seconds=seconds,
            source=f"{CONNTRACK_ESTABLISHED.rpartition('.')[2]} of {middlebox}",
            directions=frozenset(direction.subject for direction in on_path),
        )


def _of_middlebox(timeouts: BoxTimeouts, pairing: Pairing, elsewhere: set[str]) -> Iterator[MiddleboxTimeout]:
    """Yield the timeouts that the configuration of a proxy or load balancer sets for each direction it carries."""
    middlebox = timeouts.origin.host
    for direction in _on_path(
        pairing, middlebox, assumed=middlebox not in elsewhere, proxy=timeouts.relay is Relay.PROXY
    ):
        yield from _of_services(timeouts, direction)


def _on_path(pairing: Pairing, middlebox: str, *, assumed: bool, proxy: bool = False) -> list[Direction]:
    """Return the directions that a middlebox carries; all, if it is `assumed` on the path and no table names any."""
    directions = pairing.directions
    carried = [
        direction
        for direction in directions
        if middlebox in direction.path.middleboxes
        or (proxy and direction.server_count and middlebox in direction.client_hosts)
    ]
    if carried or not assumed:
        return carried
    # A client whose sockets were joined to the server's has dialled no proxy.
    return [direction for direction in directions if not (proxy and direction.client_hosts)]


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
