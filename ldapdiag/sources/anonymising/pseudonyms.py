"""Prefix-preserving pseudonyms for addresses and words, the same in all files.

Each character (of an address: each bit) is changed by a keyed function of those before it. So two pseudonyms have a
common prefix exactly as long as that of the originals: equality holds, `jo*` still matches `john`, and two addresses of
one network stay in one network. Without the secret they can only be guessed, from frequency and context. After
Crypto-PAn (Xu, Fan, Ammar, Moon, 2002), with HMAC-SHA256.
"""

from __future__ import annotations

import hmac
import ipaddress
import string
from hashlib import sha256
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import CONTAINER_BRIDGES

if TYPE_CHECKING:
    from collections.abc import Iterable

    IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
    IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

UNTOUCHED = (
    *(ipaddress.ip_network(one) for one in ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3")),
    *CONTAINER_BRIDGES,
    *(ipaddress.ip_network(one) for one in ("::/16", "ff00::/8")),
)
"""Networks with a general meaning: their addresses stay, and no other address is mapped into them."""

LINK_LOCAL = ipaddress.ip_network("fe80::/10")
"""Its prefix stays; the last 64 bits, often derived from a MAC address, are changed."""

INTERFACE_BITS = 64

KEPT_BITS = {4: 8, 6: 16}
"""First bits of an address, which stay, so that a private network stays private; they do not identify its owner."""

CLASSES = {**dict.fromkeys(string.ascii_lowercase, "a"), **dict.fromkeys(string.ascii_uppercase, "A")}
CLASSES |= dict.fromkeys(string.digits, "0")
SIZES = {"a": 26, "A": 26, "0": 10}


MAX_PREFIX = 128
"""Characters of a prefix that the following ones depend on; characters beyond it depend on their position only."""


class Pseudonyms:
    """The pseudonyms of one capture, with their originals."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self.mapping: dict[str, str] = {}
        """Original to pseudonym, of all changed values."""
        self._untouched_paths = {4: _paths(UNTOUCHED, 4), 6: _paths((*UNTOUCHED, LINK_LOCAL), 6)}
        self._addresses: dict[IpAddress, IpAddress] = {}
        self._words: dict[str, str] = {}
        self._numbers: dict[bytes, int] = {}

    def word(self, text: str) -> str:
        """Return the pseudonym of a value: letters become letters of the same case, digits digits, all else stays.

        Letters other than A to Z become one of these; values that differ only in such letters may become equal.
        """
        known = self._words.get(text)
        if known is None:
            known = self._words[text] = self._word(text)
            if known != text:
                self.mapping[text] = known
        return known

    def address(self, address: IpAddress) -> IpAddress:
        """Return the pseudonym of an address; an address in UNTOUCHED stays."""
        known = self._addresses.get(address)
        if known is None:
            known = self._addresses[address] = self._address(address)
            if known != address:
                self.mapping[str(address)] = str(known)
        return known

    def _number(self, kind: bytes, prefix: bytes) -> int:
        """Return a number that depends on the secret and on the prefix before a character or a bit."""
        number = self._numbers.get(kind + prefix)
        if number is None:
            number = int.from_bytes(hmac.digest(self._secret, kind + prefix, sha256)[:8], "big")
            self._numbers[kind + prefix] = number
        return number

    def _word(self, text: str) -> str:
        mapped = []
        for at, character in enumerate(text):
            kind = CLASSES.get(character) or _class_of(character)
            if not kind:
                mapped.append(character)
                continue
            prefix = text[: min(at, MAX_PREFIX)].casefold().encode(errors="surrogateescape")
            number = self._number(b"word%d\0" % max(0, at - MAX_PREFIX), prefix)
            if character in CLASSES:  # never by 0: each character changes
                number = ord(character) - ord(kind) + 1 + number % (SIZES[kind] - 1)
            mapped.append(chr(ord(kind) + number % SIZES[kind]))
        return "".join(mapped)

    def _address(self, address: IpAddress) -> IpAddress:
        if isinstance(address, ipaddress.IPv6Address):
            inner = address.ipv4_mapped
            if inner is not None:
                return ipaddress.IPv6Address((0xFFFF << 32) | int(self.address(inner)))
            if address in LINK_LOCAL:
                mapped_bits = self._bits(address, address.max_prefixlen - INTERFACE_BITS)
                zone = f"%{address.scope_id}" if address.scope_id else ""
                return ipaddress.IPv6Address(f"{ipaddress.IPv6Address(mapped_bits)}{zone}")
        if any(address in network for network in UNTOUCHED if network.version == address.version):
            return address
        return type(address)(self._bits(address, KEPT_BITS[address.version]))

    def _bits(self, address: IpAddress, kept: int) -> int:
        """Return the pseudonym of an address as a number, with its first `kept` bits unchanged."""
        bits = f"{int(address):0{address.max_prefixlen}b}"
        kind = b"address%d\0" % address.version
        paths = self._untouched_paths[address.version]
        mapped_bits = []
        for at, bit in enumerate(bits):
            prefix = bits[:at]
            keep = at < kept or prefix in paths
            flip = 0 if keep else self._number(kind, prefix.encode()) & 1
            mapped_bits.append(str(int(bit) ^ flip))
        return int("".join(mapped_bits), 2)


def _paths(networks: Iterable[IpNetwork], version: int) -> frozenset[str]:
    """Return all proper prefixes of the networks that stay; the next bit after one must not change."""
    paths = set()
    for network in networks:
        if network.version == version:
            bits = f"{int(network.network_address):0{network.max_prefixlen}b}"
            paths |= {bits[:at] for at in range(network.prefixlen)}
    return frozenset(paths)


def _class_of(character: str) -> str:
    """Return the class of a non-ASCII character; empty unless it is a letter or a digit."""
    if character.isascii() or not character.isalnum():
        return ""
    return "0" if character.isdecimal() else "A" if character.isupper() else "a"
