r"""The routes and the interfaces' addresses of a Linux host, as ip prints them.

    default via 10.77.2.1 dev eth0 proto static                                                 ip route, ip -6 route
    10.77.2.0/24 dev eth0 proto kernel scope link src 10.77.2.2
    default proto static metric 20 \    nexthop via 10.77.2.1 dev eth0 weight 1 \ …              ip -o route
    blackhole 10.9.0.0/16
    2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default     ip addr
        inet 10.77.2.2/24 brd 10.77.2.255 scope global eth0
    2: eth0    inet6 fd77::2/64 scope global \        valid_lft forever preferred_lft forever     ip -o addr

Source: ip-route(8), ip-address(8). Policy routing (ip rule) is not read.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import normalise_address
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.host_facts import Route, RouteTable
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.origin import Origin

ADDRESS = r"[0-9A-Fa-f:.]{2,45}"
ROUTE = pattern(
    rf"(?:(?P<kind>unicast|blackhole|unreachable|prohibit|throw) )?(?P<to>default|{ADDRESS}(?:/\d{{1,3}})?)"
    rf"(?P<rest>(?: .*)?)",
    re.ASCII,
)
ROUTE_OF_DEVICE = pattern(
    rf"(?:default|{ADDRESS}(?:/\d{{1,3}})?) (?:via (?:inet6 )?{ADDRESS} )?dev \S+(?: .*)?", re.ASCII
)
"""A route as most tables have one; by this form the table is recognised."""
NEXT_HOP = pattern(rf"\bvia (?:inet6 )?({ADDRESS})(?= |$)", re.ASCII)
SOURCE = pattern(rf"\bsrc ({ADDRESS})(?= |$)", re.ASCII)
CONTINUED = pattern(r"\s+nexthop ")
INTERFACE = pattern(r"\d+: [^\s:]+: <")
INTERFACE_ADDRESS = pattern(
    rf"(?:\d+: \S+)? {{1,40}}inet6? ({ADDRESS})(?: peer {ADDRESS})?(/\d{{1,3}}) .*\bscope \w+", re.ASCII
)
DISCARDED = frozenset({"blackhole", "unreachable", "prohibit", "throw"})
MOST_ROUTES = 5000
"""A longer table is not used: without all its routes, the one that applies to an address is unknown."""


class Routes:
    """The routes and addresses while their text is read."""

    def __init__(self) -> None:
        self._routes: list[Route] = []
        self._addresses: set[str] = set()

    def take(self, line: str) -> bool:
        """Read a line of ip route; return whether it is one."""
        found = ROUTE.fullmatch(line.rstrip())
        rest = found["rest"] if found else ""
        network = _network(found["to"], rest) if found else None
        if found is None or network is None:
            return False
        hops = tuple(normalise_address(hop) for hop in NEXT_HOP.findall(rest))
        on_link = not hops and found["kind"] not in DISCARDED
        self._add(Route(network, hops, on_link))
        self._addresses.update(normalise_address(source) for source in SOURCE.findall(rest))
        return True

    def take_hop(self, line: str) -> bool:
        """Read a line with a further next hop of the route before; return whether it is one."""
        if not (CONTINUED.match(line) and self._routes):
            return False
        last = self._routes.pop()
        hops = tuple(normalise_address(hop) for hop in NEXT_HOP.findall(line))
        self._routes.append(Route(last.network, (*last.gateways, *hops)))
        return True

    def take_address(self, line: str) -> bool:
        """Read the address of an interface, whose network is attached; return whether the line has one."""
        found = INTERFACE_ADDRESS.match(line)
        network = _network(found[1] + found[2], "") if found else None
        if found is None or network is None:
            return False
        self._add(Route(network, on_link=True))
        self._addresses.add(normalise_address(found[1]))
        return True

    def table(self, origin: Origin) -> RouteTable | None:
        """Return what was read; None without a route, or if there were too many."""
        if not self._routes or len(self._routes) > MOST_ROUTES:
            return None
        return RouteTable(origin=origin, routes=tuple(self._routes), addresses=frozenset(self._addresses))

    def _add(self, route: Route) -> None:
        if len(self._routes) <= MOST_ROUTES:
            self._routes.append(route)


def recognises(head: Head) -> bool:
    """Recognise a route with its device, or an interface before its address."""
    if any(ROUTE_OF_DEVICE.fullmatch(line.rstrip()) for line in head.lines):
        return True
    return any(INTERFACE_ADDRESS.match(line) for line in head.lines)


def read(document: Document) -> Iterator[RouteTable]:
    """Read routes and addresses; details of interfaces are ignored."""
    routes = Routes()
    details = False
    for line in document.lines:
        details = details or INTERFACE.match(line) is not None
        known = routes.take_address(line) or routes.take_hop(line) or routes.take(line)
        if not (known or details) and line.strip():
            document.misread(line)
    table = routes.table(document.origin())
    if table is not None:
        yield table


def _network(text: str, rest: str) -> str | None:
    """Return a destination in CIDR notation; None where it is no network."""
    if text == "default":
        hop = NEXT_HOP.search(rest)
        return "::/0" if ":" in (hop[1] if hop else "") or " pref " in rest else "0.0.0.0/0"
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        return None


FORMAT = Format(name="routes", title="routes or interfaces of ip", recognises=recognises, read=read)
