"""Searches with controls: paged (RFC 2696), sorted (RFC 2891), and a virtual list view (VLV)."""

from __future__ import annotations

from dataclasses import dataclass

from lab.raw_ldap import Connection, element, split
from lab.raw_search import SEVERAL, request

PAGED, SORT, VLV = "1.2.840.113556.1.4.319", "1.2.840.113556.1.4.473", "2.16.840.1.113730.3.4.9"
CONTROLS = 0xA0
ENTRY = 0x64
REFERENCE = 0x73


@dataclass(frozen=True, slots=True)
class Control:
    """What is asked of a search beside its filter."""

    page: int = 0
    """Entries in each page; 0: the search is not paged."""
    sort: tuple[str, ...] = ()
    """Attributes; a minus sign before one reverses the order."""
    first: int = 0
    """The first entry of a list view of WINDOW entries; 0: no list view."""


WINDOW = 10


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client received to one request."""

    err: int
    names: tuple[str, ...]
    """The DNs of the entries, as they came."""
    cookie: bytes = b""
    """Of a page that is not the last."""


def ask(connection: Connection, base: str, scope: str, text: str, control: Control, cookie: bytes = b"") -> Answer:
    """Send one search request, and wait for its result."""
    connection.send(request(base, scope, text) + _controls(control, cookie))
    names: list[str] = []
    while True:
        _, tag, content = connection.next_message()
        if tag == ENTRY:
            names.append((split(content)[1] or b"").decode())
        elif tag != REFERENCE:
            return Answer(content[2], tuple(names), _cookie(connection.controls) if control.page else b"")


def _controls(control: Control, cookie: bytes) -> bytes:
    parts = b""
    if control.page:
        parts += _control(PAGED, element(SEVERAL, _integer(control.page) + element(4, cookie)))
    if control.sort:
        parts += _control(SORT, element(SEVERAL, b"".join(map(_key, control.sort))))
    if control.first:
        place = element(0xA0, _integer(control.first) + _integer(0))
        parts += _control(VLV, element(SEVERAL, _integer(0) + _integer(WINDOW - 1) + place))
    return element(CONTROLS, parts) if parts else b""


def _control(oid: str, value: bytes) -> bytes:
    return element(SEVERAL, element(4, oid.encode()) + element(4, value))


def _key(name: str) -> bytes:
    reverse = element(0x81, b"\xff") if name.startswith("-") else b""
    return element(SEVERAL, element(4, name.removeprefix("-").encode()) + reverse)


def _integer(value: int) -> bytes:
    return element(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _cookie(controls: bytes) -> bytes:
    """Return the cookie of the answer's control for pages; none in the last page."""
    rest = split(controls)[1] or b""
    while rest:
        _, control, rest = split(rest)
        _, oid, after = split(control or b"")
        if oid == PAGED.encode():
            _, value, after = split(after)
            if value == b"\xff":  # the criticality comes before the value
                value = split(after)[1]
            _, size_and_cookie, _ = split(value or b"")
            _, _, cookie = split(size_and_cookie or b"")
            return split(cookie)[1] or b""
    return b""
