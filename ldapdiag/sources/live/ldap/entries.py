"""Entries of a search, from BER to LDIF as they arrive.

ldap3 keeps each value twice and each name with its case folded: 8 s and 500 MiB for the 20,000 entries of a busy
slapd's cn=Monitor. Here an entry is text as soon as it is there, and nothing in it that was not asked for, or that may
be a password, is kept. Source: RFC 4511, section 4.5.2 (SearchResultEntry); RFC 2849.
"""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ldapdiag.evidence.ldif import DESCRIPTION, LONGEST_DESCRIPTION, SECRETS

if TYPE_CHECKING:
    from collections.abc import Iterator

ENTRY, REFERENCE = 0x64, 0x73
SEQUENCE, SET, INTEGER, OCTETS = 0x30, 0x31, 0x02, 0x04
LONG_FORM = 0x80
MOST_LENGTH_BYTES = 4
ALL = frozenset({"*", "+"})
SAFE = re.compile(rb"[!-9;=-~](?:[ -~]*[!-~])?")
"""Printable ASCII that neither begins with a blank, `:` or `<` nor ends with a blank: RFC 2849's SAFE-STRING, less."""

SYNCREPL = "olcsyncrepl"
WORDS = re.compile(r'(\w{1,64})=(?:"([^"]*)"|(\S+))', re.ASCII)
"""keyword=value of a syncrepl specification; a value in quotes may hold what looks like another keyword."""


class Damaged(ValueError):  # noqa: N818  what came is damaged; nobody made an error
    """What came is no message of LDAP."""


def size_of(data: bytes | bytearray, at: int = 0) -> tuple[int, int] | None:
    """Return where the content of the element at `at` begins and ends; None when more bytes are needed to tell."""
    if len(data) < at + 2:
        return None
    length, start = data[at + 1], at + 2
    if length >= LONG_FORM:
        count = length - LONG_FORM
        if not 0 < count <= MOST_LENGTH_BYTES:
            raise Damaged
        if len(data) < start + count:
            return None
        length, start = int.from_bytes(data[start : start + count], "big"), start + count
    return start, start + length


def operation_of(message: bytes) -> tuple[int, int]:
    """Return the tag of the operation a message holds, and where it stands."""
    start, end = _element(message, 0, len(message), SEQUENCE)
    _, at = _element(message, start, end, INTEGER)
    if at >= end:
        raise Damaged
    return message[at], at


class Sheet:
    """The entries of one file in their order; what is asked of an entry a second time is added to it."""

    def __init__(self) -> None:
        self.entries: dict[bytes, list[bytes]] = {}
        self.pending: list[tuple[bytes, bytes]] = []

    def take(self, message: bytes, at: int, wanted: frozenset[str]) -> None:
        """Keep the entry that stands at `at` of a message, if it says anything of what is `wanted`."""
        start, end = _element(message, at, len(message), ENTRY)
        name, start = _element(message, start, end, OCTETS)
        dn = message[name:start]
        lines = [line for attribute in _attributes(message, start, end) for line in _lines(*attribute, wanted)]
        if lines:
            self.pending.append((dn, b"".join(lines)))

    def settle(self) -> int:
        """Keep for good what came since the last time: the search ended well. Return how many entries it gave."""
        count = len(self.pending)
        for dn, lines in self.pending:
            self.entries.setdefault(dn.lower(), [lines_of(b"dn", dn)]).append(lines)
        self.pending = []
        return count

    def forget(self) -> None:
        """Drop what came since the last time: a part of a list would read as the whole of it."""
        self.pending = []

    def ldif(self, comment: str = "") -> bytes:
        """Return the text, with a comment above it."""
        head = f"# {_one_line(comment)}\n".encode() if comment else b""
        return head + b"".join(b"".join(parts) + b"\n" for parts in self.entries.values())


def lines_of(name: bytes, value: bytes) -> bytes:
    """Return one line of LDIF, in base64 where the value asks for it."""
    if not value:
        return b"%b:\n" % name
    if SAFE.fullmatch(value):
        return b"%b: %b\n" % (name, value)
    return b"%b:: %b\n" % (name, base64.b64encode(value))


def without_credentials(value: bytes) -> bytes:
    """Return of a syncrepl specification the DN it binds with, and nothing of the rest, which holds the password."""
    for name, quoted, bare in WORDS.findall(value.decode(errors="replace")):
        if name.lower() == "binddn":
            return f'binddn="{quoted or bare}"'.encode()
    return b""


def _attributes(message: bytes, at: int, end: int) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield names and values of a PartialAttributeList."""
    at, end = _element(message, at, end, SEQUENCE)
    while at < end:
        name, stop = _element(message, at, end, SEQUENCE)
        at = stop
        start, value = _element(message, name, stop, OCTETS)
        place, last = _element(message, value, stop, SET)
        values = []
        while place < last:
            first, place = _element(message, place, last, OCTETS)
            values.append(message[first:place])
        yield message[start:value], values


def _lines(name: bytes, values: list[bytes], wanted: frozenset[str]) -> Iterator[bytes]:
    plain = _plain(name)
    if plain is None or not (plain in wanted or wanted & ALL):
        return
    for value in values:
        told = without_credentials(value) if plain == SYNCREPL else value
        yield lines_of(name, told)


@lru_cache(maxsize=4096)
def _plain(name: bytes) -> str | None:
    """Return a name in lower case without its options; None for one that is no name, or that names a password."""
    text = name.decode("ascii", errors="replace")
    if len(text) > LONGEST_DESCRIPTION or not DESCRIPTION.fullmatch(text):
        return None
    plain = text.partition(";")[0].lower()
    return None if plain in SECRETS else plain


def _element(data: bytes, at: int, end: int, tag: int) -> tuple[int, int]:
    """Return where the content of an element begins and ends that must be of this tag and lie before `end`."""
    if at + 2 > end or data[at] != tag:
        raise Damaged
    start = at + 2
    stop = start + data[at + 1]
    if data[at + 1] >= LONG_FORM:  # rare: most elements are shorter than 128 bytes
        size = size_of(data, at)
        if size is None:
            raise Damaged
        start, stop = size
    if stop > end:
        raise Damaged
    return start, stop


def _one_line(text: str) -> str:
    r"""Return a text that stays on its line; a character that would not becomes \XX, as RFC 4514 writes it in a DN."""
    return "".join(
        one if one.isprintable() else "".join(f"\\{byte:02X}" for byte in one.encode(errors="replace")) for one in text
    )
