"""Addresses and ports as every table writes them, brought to one spelling."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

ANY = "*"
"""The wildcard address: 0.0.0.0, :: and * alike."""

CUT = "…"
"""Ends an address that the table cut short, or a host name: only the port can be joined."""

LONGEST_NAME = 255
"""Characters of a host name (RFC 1035, 2.3.4); what is longer is no name, and is not kept whole."""

LDAP_PORTS = frozenset({389, 636, 3268, 3269})
"""ldap, ldaps, and the two global-catalogue ports of Active Directory."""

SERVICES = {
    "ldap": 389,
    "ldaps": 636,
    "ssl-ldap": 636,
    "globalcat": 3268,
    "globalcate": 3268,
    "msft-gc": 3268,
    "msft-gc-ssl": 3269,
}
"""Port names as /etc/services of several systems spells them (IANA: ldap, ldaps, msft-gc, msft-gc-ssl)."""

UNKNOWN_PORT = -1
"""A port written as a name we do not know, or not written at all."""

ANY_PORT = 0

OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4 = re.compile(rf"(?:{OCTET}\.){{3}}{OCTET}")
"""Dotted decimal in its one spelling: four times as fast to recognise as ipaddress is to parse it."""

CONTAINER_BRIDGES = tuple(
    ipaddress.ip_network(network)
    for network in ("172.17.0.0/16", "10.88.0.0/16", "192.168.122.1", "10.0.2.2", "10.0.2.3", "10.0.2.15")
)
"""Defaults that are the same on thousands of hosts: the networks of docker and podman, libvirt's bridge, and the three
addresses of a guest behind VirtualBox's or QEMU's user network. The rest of 10.0.2.0/24 may well be somebody's LAN."""


def normalise_address(text: str) -> str:
    """Return the one spelling of an address: `::ffff:a.b.c.d` is `a.b.c.d`, brackets and scope are dropped.

    Wildcards become `*`. What is no address (a host name) is kept in lower case and marked with `…`.
    """
    return _normalised(text[:LONGEST_NAME])


@lru_cache(maxsize=65536)
def _normalised(text: str) -> str:
    bare = text.strip("[]").partition("%")[0].rstrip("]")
    if IPV4.fullmatch(bare.removeprefix("::ffff:")):
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
    """Return the port a table's text names: a number, `*`, or a service name of LDAP."""
    if text.isascii() and text.isdigit() and len(text) <= 5:
        number = int(text)
        return number if number < 1 << 16 else UNKNOWN_PORT
    if text == "*":
        return ANY_PORT
    return SERVICES.get(text.lower(), UNKNOWN_PORT)


class Addresses(dict[str, str]):
    """The addresses of one document: each text normalised once, each spelling one object in all columns."""

    def __missing__(self, text: str) -> str:
        address = normalise_address(text)
        address = self.setdefault(address, address)
        if len(text) <= LONGEST_NAME:
            self[text] = address
        return address


class Ports(dict[str, int]):
    """The ports of one document, each text looked up once."""

    def __missing__(self, text: str) -> int:
        port = port_number(text)
        if len(text) <= LONGEST_NAME:
            self[text] = port
        return port


@lru_cache(maxsize=65536)
def is_loopback(address: str) -> bool:
    """Tell whether an address never leaves its host."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def is_link_local(address: str) -> bool:
    """Tell whether an address means another host on every link (fe80::/10, 169.254.0.0/16)."""
    try:
        return ipaddress.ip_address(address).is_link_local
    except ValueError:
        return False


@lru_cache(maxsize=65536)
def identifies_a_host(address: str) -> bool:
    """Tell whether an address can say which host a table is from.

    Loopback, link-local, wildcard and the default container bridges are the same on many hosts
    (DESIGN: pairing, rule 2); a cut address or a name is no address.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if parsed.is_loopback or parsed.is_link_local or parsed.is_unspecified or parsed.is_multicast:
        return False
    return not any(parsed in bridge for bridge in CONTAINER_BRIDGES if bridge.version == parsed.version)


def is_exact(address: str) -> bool:
    """Tell whether an address is one, whole: not a host name, and not cut by the table that shows it."""
    return not address.endswith(CUT)


def endpoint(address: str, port: int) -> str:
    """Return `address:port` as people write it; IPv6 in brackets."""
    shown = "*" if port == ANY_PORT else "?" if port == UNKNOWN_PORT else str(port)
    return f"[{address}]:{shown}" if ":" in address else f"{address}:{shown}"
