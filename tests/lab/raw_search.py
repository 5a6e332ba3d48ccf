"""Search requests of any filter, in a handful of bytes (RFC 4511 4.5.1, RFC 4515), for a Connection of raw_ldap."""

from __future__ import annotations

import re

from lab.raw_ldap import SEARCH_REQUEST, Connection, element

SCOPES = {"base": 0, "one": 1, "sub": 2}
SETS = {"&": 0xA0, "|": 0xA1, "!": 0xA2}
ORDERED = {">": 0xA5, "<": 0xA6, "~": 0xA8}
EQUALITY, SUBSTRINGS, PRESENT, EXTENSIBLE = 0xA3, 0xA4, 0x87, 0xA9
EXTENDED = re.compile(r"([^:]*)(:dn)?(?::([^:]+))?:=(.*)", re.DOTALL)
SEVERAL, NOT_TYPES_ONLY = 0x30, b"\x01\x01\x00"


def search(connection: Connection, base: str, scope: str, text: str) -> int:
    """Search for no attribute, drop the entries, and return the result code."""
    connection.send(request(base, scope, text))
    return connection.result()


def request(base: str, scope: str, text: str) -> bytes:
    """Return a search request for no attribute."""
    limits = element(0x0A, bytes([SCOPES[scope]])) + element(0x0A, b"\x00") + element(2, b"\x00") * 2 + NOT_TYPES_ONLY
    wanted = element(SEVERAL, element(4, b"1.1"))
    return element(SEARCH_REQUEST, element(4, base.encode()) + limits + in_ber(text) + wanted)


def in_ber(text: str) -> bytes:
    """Return a filter in BER."""
    filter_, rest = _read(text)
    assert not rest, f"{rest!r} follows a filter"
    return filter_


def _read(text: str) -> tuple[bytes, str]:
    """Return the first filter of a text, and what follows it."""
    if text[1] not in SETS:
        inner, _, rest = text[1:].partition(")")
        return _assertion(inner), rest
    members, rest = b"", text[2:]
    while rest[0] != ")":
        member, rest = _read(rest)
        members += member
    return element(SETS[text[1]], members), rest[1:]


def _assertion(text: str) -> bytes:
    if ":=" in text:
        name, dn, rule, value = EXTENDED.fullmatch(text).groups()
        told = element(0x81, rule.encode()) if rule else b""
        told += element(0x82, name.encode()) if name else b""
        return element(EXTENSIBLE, told + element(0x83, _octets(value)) + (b"\x84\x01\xff" if dn else b""))
    name, _, value = text.partition("=")
    if name[-1] in ORDERED:
        return element(ORDERED[name[-1]], element(4, name[:-1].encode()) + element(4, _octets(value)))
    if value == "*":
        return element(PRESENT, name.encode())
    if "*" not in value:
        return element(EQUALITY, element(4, name.encode()) + element(4, _octets(value)))
    first, *middle, last = map(_octets, value.split("*"))
    pieces = [(0x80, first), *((0x81, one) for one in middle), (0x82, last)]
    content = b"".join(element(tag, octets) for tag, octets in pieces if octets)
    return element(SUBSTRINGS, element(4, name.encode()) + element(SEVERAL, content))


def _octets(value: str) -> bytes:
    return re.sub(rb"\\([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), value.encode())
