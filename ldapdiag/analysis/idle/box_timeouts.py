"""Settings: the idle timeouts that boxes say of themselves, and the directions they hold for (DESIGN, pairing, rule 6).

A setting counts from a box whose table holds the flow, or from a host that owns neither end and may forward: on any
other host a kernel's setting describes that host's own filter. A proxy's counts on its own legs, too: it owns the
client's end of those.
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
    """A box's own timeout for established connections."""

    box: str
    lower_seconds: float
    upper_seconds: float
    """The same, unless which of several settings holds is not told."""
    source: str
    directions: frozenset[str]
    """Subjects of the directions it holds for."""
    closes_both_ends: bool = False
    """The box closes at both ends when the time is up."""


def middlebox_timeouts(
    pairing: Pairing,
    kernels: Iterable[KernelSettings],
    flows: Sequence[FlowTable],
    timeouts: Iterable[BoxTimeouts] = (),
) -> tuple[MiddleboxTimeout, ...]:
    """Return the timeouts of boxes on a path, the soonest first."""
    ends = {pairing.host} | {name for direction in pairing.directions for name in direction.client_hosts}
    tracking = {table.origin.host for table in flows if not table.server or any(table.server)}
    found = []
    for kernel in kernels:
        box, seconds = kernel.origin.host, kernel.number(CONNTRACK_ESTABLISHED)
        outside = box not in ends and box not in tracking and kernel.number(IP_FORWARD) != 0
        on_path = _on_path(pairing, box, outside=outside)
        if seconds is not None and on_path:
            source = f"{CONNTRACK_ESTABLISHED.rpartition('.')[2]} of {box}"
            subjects = frozenset(one.subject for one in on_path)
            found.append(
                MiddleboxTimeout(
                    box=box, lower_seconds=seconds, upper_seconds=seconds, source=source, directions=subjects
                )
            )
    for told in timeouts:
        box = told.origin.host
        outside = box not in ends and box not in tracking
        for direction in _on_path(pairing, box, outside=outside, proxy=told.relay is Relay.PROXY):
            found += _holding(told, direction)
    return tuple(sorted(found, key=lambda setting: (setting.lower_seconds, setting.box, setting.source)))


def _on_path(pairing: Pairing, box: str, *, outside: bool, proxy: bool = False) -> list[Direction]:
    """Return the directions that a box carries; all of them, if it is outside and nothing tells which."""
    directions = pairing.directions
    carried = [
        one for one in directions if box in one.boxes or (proxy and one.server_count and box in one.client_hosts)
    ]
    if carried or not outside:
        return carried
    return [one for one in directions if not (proxy and one.client_hosts)]  # a client that was joined dials no proxy


def _holding(told: BoxTimeouts, direction: Direction) -> Iterator[MiddleboxTimeout]:
    """Yield what a box's settings say of one direction; of several that may hold, the bounds."""
    services = _services(told.services, direction)
    if not services:
        return
    soonest = min(services, key=lambda service: (service.seconds, service.name))
    latest = max(service.seconds for service in services)
    several = f", the sooner of {len(services)} that may hold" if latest > soonest.seconds else ""
    yield MiddleboxTimeout(
        box=told.origin.host,
        lower_seconds=soonest.seconds,
        upper_seconds=latest,
        source=f"{soonest.name} of {told.origin.host}{several}",
        directions=frozenset({direction.subject}),
        closes_both_ends=told.relay is Relay.PROXY,
    )


def _services(services: Iterable[ServiceTimeout], direction: Direction) -> list[ServiceTimeout]:
    """Return the services that lead to a direction's server: by its address, else by its port and a name for it."""
    endpoint = direction.server_address, direction.server_port
    every = list(services)
    exact = [one for one in every if endpoint in one.servers]
    if exact:
        return exact
    return [
        one
        for one in every
        if not one.servers or any(port == endpoint[1] and not is_exact(name) for name, port in one.servers)
    ]
