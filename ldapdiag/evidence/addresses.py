"""Addresses and ports of every table, in one normalised form."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

ANY = "*"
"""The wildcard address: 0.0.0.0, :: and *."""

CUT = "…"
"""Ends a host name, or an address that the table truncated: such an endpoint joins by its port only."""

LONGEST_NAME = 255
"""Longest host name in characters (RFC 1035, 2.3.4); longer text is truncated."""

LDAP_PORTS = frozenset({389, 636, 3268, 3269})
"""ldap, ldaps, and the two global-catalogue ports of Active Directory."""

CATALOG_PORTS = frozenset({3268, 3269})
"""Those two."""

SERVICES = {
    "ldap": 389,
    "ldaps": 636,
    "ssl-ldap": 636,
    "globalcat": 3268,
    "globalcate": 3268,
    "msft-gc": 3268,
    "msft-gc-ssl": 3269,
}
"""LDAP port names in the /etc/services of several systems (IANA: ldap, ldaps, msft-gc, msft-gc-ssl)."""

UNKNOWN_PORT = -1
"""A port that is missing, or written as an unknown service name."""

ANY_PORT = 0

OCTETS = frozenset(map(str, range(256)))

CONTAINER_BRIDGES = tuple(
    ipaddress.ip_network(network)
    for network in ("172.17.0.0/16", "10.88.0.0/16", "192.168.122.1", "10.0.2.2", "10.0.2.3", "10.0.2.15")
)
"""Default addresses that thousands of hosts share: the networks of Docker and Podman, libvirt's bridge, and the three
addresses of a guest in VirtualBox's or QEMU's user network. Others in 10.0.2.0/24 may belong to a real LAN."""


def is_ipv4(text: str) -> bool:
    """Return whether a text is an IPv4 address in canonical dotted decimal, faster than `ipaddress` parses it."""
    octets = text.split(".")
    return len(octets) == 4 and OCTETS.issuperset(octets)


def normalise_address(text: str) -> str:
    """Return the normalised form of an address: `::ffff:a.b.c.d` becomes `a.b.c.d`, brackets and scope are dropped.

    Wildcards become `*`. A host name is returned in lower case, followed by `…`.
    """
    return _normalised(text[:LONGEST_NAME])


@lru_cache(maxsize=65536)
def _normalised(text: str) -> str:
    bare = text.strip("[]").partition("%")[0].rstrip("]")
    if is_ipv4(bare.removeprefix("::ffff:")):
        bare = bare.removeprefix("::ffff:")
        return ANY if bare == "0.0.0.0" else bare  # noqa: S104  the wildcard as tables print it; nothing is bound
    if bare in {"*", ""}:
        return ANY
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        if bare == "localhost":
            return "127.0.0.1"
        return bare.lower().rstrip(CUT) + CUT
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return ANY if address.is_unspecified else str(address)


def port_number(text: str) -> int:
    """Return the port number of a number, `*` or an LDAP service name; UNKNOWN_PORT for anything else."""
    if text.isascii() and text.isdigit() and len(text) <= 5:
        number = int(text)
        return number if number < 1 << 16 else UNKNOWN_PORT
    if text == "*":
        return ANY_PORT
    return SERVICES.get(text.lower(), UNKNOWN_PORT)


class Addresses(dict[str, str]):
    """The addresses of one document: each text is normalised once, and equal addresses are one object in memory."""

    def __missing__(self, text: str) -> str:
        address = normalise_address(text)
        address = self.setdefault(address, address)
        if len(text) <= LONGEST_NAME:
            self[text] = address
        return address


class Ports(dict[str, int]):
    """The ports of one document; each text is converted once."""

    def __missing__(self, text: str) -> int:
        port = port_number(text)
        if len(text) <= LONGEST_NAME:
            self[text] = port
        return port


@lru_cache(maxsize=65536)
def is_loopback(address: str) -> bool:
    """Return whether this is a loopback address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def is_link_local(address: str) -> bool:
    """Return whether an address is unique on its link only (fe80::/10, 169.254.0.0/16)."""
    try:
        return ipaddress.ip_address(address).is_link_local
    except ValueError:
        return False


@lru_cache(maxsize=65536)
def identifies_a_host(address: str) -> bool:
    """Return whether an address can identify the host of a table.

    Many hosts share loopback, link-local and wildcard addresses and the default container bridges
    (docs/how-it-decides.md, "Whose table it is"). Host names and truncated addresses do not identify a host.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if parsed.is_loopback or parsed.is_link_local or parsed.is_unspecified or parsed.is_multicast:
        return False
    return not any(parsed in bridge for bridge in CONTAINER_BRIDGES if bridge.version == parsed.version)


def is_exact(address: str) -> bool:
    """Return whether this is a complete address: neither a host name nor truncated by the table."""
    return not address.endswith(CUT)


def endpoint(address: str, port: int) -> str:
    """Return `address:port`, with IPv6 addresses in brackets."""
    shown = "*" if port == ANY_PORT else "?" if port == UNKNOWN_PORT else str(port)
    return f"[{address}]:{shown}" if ":" in address else f"{address}:{shown}"
