"""Entries of a search result, converted from BER to LDIF as they arrive.

ldap3 stores each value twice and each name with its case folded: 8 s and 500 MiB for the 20,000 entries in cn=Monitor
of a busy slapd. Here each entry becomes text at once, without attributes that were not requested or that may contain a
password. Source: RFC 4511, section 4.5.2 (SearchResultEntry); RFC 2849.
"""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes import openldap as openldap_indexes
from ldapdiag.evidence.indexes.slapd_internal_searches import reduced_urls
from ldapdiag.evidence.ldif import DESCRIPTION, LONGEST_DESCRIPTION, SECRETS
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ENTRY, REFERENCE = 0x64, 0x73
SEQUENCE, SET, INTEGER, OCTETS = 0x30, 0x31, 0x02, 0x04
LONG_FORM = 0x80
MOST_LENGTH_BYTES = 4
ALL = frozenset({"*", "+"})
SAFE = pattern(rb"[!-9;=-~](?:[ -~]*[!-~])?")
"""A subset of SAFE-STRING (RFC 2849): printable ASCII; no blank, `:` or `<` at its beginning, no blank at its end."""

WORDS = pattern(r'(\w{1,64})=(?:"([^"]*)"|(\S+))', re.ASCII)
"""keyword=value of a syncrepl specification; a quoted value may contain text that looks like another keyword."""


class MalformedMessage(ValueError):  # noqa: N818  an error of the sender, not of the program
    """The received data is not an LDAP message."""


def size_of(data: bytes | bytearray, at: int = 0) -> tuple[int, int] | None:
    """Return start and end of the content of the element at `at`; None while its header is incomplete."""
    if len(data) < at + 2:
        return None
    length, start = data[at + 1], at + 2
    if length >= LONG_FORM:
        count = length - LONG_FORM
        if not 0 < count <= MOST_LENGTH_BYTES:
            raise MalformedMessage
        if len(data) < start + count:
            return None
        length, start = int.from_bytes(data[start : start + count], "big"), start + count
    return start, start + length


def operation_of(message: bytes) -> tuple[int, int]:
    """Return the tag of the operation in a message, and its offset."""
    start, end = element(message, 0, len(message), SEQUENCE)
    _, at = element(message, start, end, INTEGER)
    if at >= end:
        raise MalformedMessage
    return message[at], at


class EntryBuffer:
    """The entries of one LDIF file in order; attributes from a later query are added to their entry."""

    def __init__(self) -> None:
        self.entries: dict[bytes, list[bytes]] = {}
        self.pending: list[tuple[bytes, bytes]] = []

    def add(self, message: bytes, at: int, wanted: frozenset[str]) -> None:
        """Add the entry at offset `at` of a message, if it has any of the `wanted` attributes."""
        start, end = element(message, at, len(message), ENTRY)
        name, start = element(message, start, end, OCTETS)
        dn = message[name:start]
        lines = [line for attribute in _attributes(message, start, end) for line in _lines(*attribute, wanted)]
        if lines:
            self.pending.append((dn, b"".join(lines)))

    def commit(self) -> int:
        """Keep the pending entries: the search succeeded. Return their number."""
        count = len(self.pending)
        for dn, lines in self.pending:
            self.entries.setdefault(dn.lower(), [lines_of(b"dn", dn)]).append(lines)
        self.pending = []
        return count

    def discard(self) -> None:
        """Drop the pending entries: an incomplete list would be read as a complete one."""
        self.pending = []

    def ldif(self, comment: str = "") -> bytes:
        """Return the LDIF, below a comment if there is one."""
        head = f"# {_one_line(comment)}\n".encode() if comment else b""
        return head + b"".join(b"".join(parts) + b"\n" for parts in self.entries.values())


def lines_of(name: bytes, value: bytes) -> bytes:
    """Return one line of LDIF, in base64 where RFC 2849 requires it."""
    if not value:
        return b"%b:\n" % name
    if SAFE.fullmatch(value):
        return b"%b: %b\n" % (name, value)
    return b"%b:: %b\n" % (name, base64.b64encode(value))


def without_credentials(value: bytes) -> bytes:
    """Return only the bind DN of a syncrepl specification, which also contains the password."""
    for name, quoted, bare in WORDS.findall(value.decode(errors="replace")):
        if name.lower() == "binddn":
            return f'binddn="{quoted or bare}"'.encode()
    return b""


def only_urls(value: bytes) -> bytes:
    """Return only the LDAP URLs of an access rule or a mapping of accounts, which also contain account names."""
    return reduced_urls(value.decode(errors="replace")).encode()


REDUCED: Mapping[str, Callable[[bytes], bytes]] = {
    openldap_indexes.SYNCREPL.lower(): without_credentials,
    **{name.lower(): only_urls for name in openldap_indexes.REDUCED},
}
"""What is kept of attributes that contain more than is needed, in lower case."""


def _attributes(message: bytes, at: int, end: int) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield names and values of a PartialAttributeList."""
    at, end = element(message, at, end, SEQUENCE)
    while at < end:
        name, stop = element(message, at, end, SEQUENCE)
        at = stop
        start, value = element(message, name, stop, OCTETS)
        offset, last = element(message, value, stop, SET)
        values = []
        while offset < last:
            first, offset = element(message, offset, last, OCTETS)
            values.append(message[first:offset])
        yield message[start:value], values


def _lines(name: bytes, values: list[bytes], wanted: frozenset[str]) -> Iterator[bytes]:
    plain = _plain(name)
    if plain is None or not (plain in wanted or wanted & ALL):
        return
    reduce = REDUCED.get(plain)
    for value in values:
        yield lines_of(name, reduce(value) if reduce else value)


@lru_cache(maxsize=4096)
def _plain(name: bytes) -> str | None:
    """Return an attribute name in lower case without options; None for an invalid name and for a password."""
    text = name.decode("ascii", errors="replace")
    if len(text) > LONGEST_DESCRIPTION or not DESCRIPTION.fullmatch(text):
        return None
    plain = text.partition(";")[0].lower()
    return None if plain in SECRETS else plain


def element(data: bytes, at: int, end: int, tag: int) -> tuple[int, int]:
    """Return start and end of an element's content. Raises MalformedMessage for another tag, or an end after `end`."""
    if at + 2 > end or data[at] != tag:
        raise MalformedMessage
    start = at + 2
    stop = start + data[at + 1]
    if data[at + 1] >= LONG_FORM:  # rare: most elements are shorter than 128 bytes
        size = size_of(data, at)
        if size is None:
            raise MalformedMessage
        start, stop = size
    if stop > end:
        raise MalformedMessage
    return start, stop


def _one_line(text: str) -> str:
    r"""Return a text on one line: unprintable characters become \XX, as in a DN (RFC 4514)."""
    return "".join(
        one if one.isprintable() else "".join(f"\\{byte:02X}" for byte in one.encode(errors="replace")) for one in text
    )
