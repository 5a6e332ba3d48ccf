"""A capture without names: the same pieces with pseudonyms for DNs, addresses, hosts, mail addresses and filter values.

Equality and equal beginnings hold over all pieces (pseudonyms.py), so `diagnose` says of the anonymised capture what it
says of the original, in other names. What stands for what is returned, and belongs beside the capture, never into it.
A piece is held in memory while it is read, and read twice: the names met in any piece are looked for in all. A MiB of
access log takes 3 seconds.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.document import encoding_of
from ldapdiag.evidence.formats import HEAD_BYTES, head_of, recognise
from ldapdiag.evidence.socket_formats import proc_net
from ldapdiag.sources.anonymising.directory_names import INTERNAL, NAMING, PART
from ldapdiag.sources.anonymising.disguise import GRAMMAR, Disguise
from ldapdiag.sources.anonymising.pseudonyms import Pseudonyms
from ldapdiag.sources.files.unreadable import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from ldapdiag.sources.captures.manifest import ClockOffset
    from ldapdiag.sources.files.input import Input

MOST_BYTES = 512 << 20
"""Of a piece; a longer one is left out."""

PORT_FOLLOWS = frozenset({"netstat", "ss", "haproxy-sessions"})
"""Formats that write an IPv6 address and its port with nothing but a colon between."""

SOCKET_TABLES = frozenset({"ss", "netstat", "netstat-bsd", "netstat-solaris", "netstat-windows", "lsof"})
TABLE_ROW = re.compile(r" {0,2}(?:(?i:tcp|udp)\w* |[A-Z][A-Z\d-]{3,11} |\S+ +\d+ .*\bTCP )(?P<rest>.*)")
PEER_NAME = re.compile(
    r"(?:(?<=\s)|(?<=->)|^)(?P<name>[A-Za-z][\w-]*(?:\.[\w-]+)*)(?:[:.](?:\d{1,5}|ldaps?))(?=\s|->|$)"
)
"""A host in a socket table that was taken without -n; what ss tells of a socket further right looks alike."""

PEER_FIELDS = 5

HOST_NAME = re.compile(rb"^name: *(\S+)", re.MULTILINE)
NAMING_TYPES = frozenset(one.lower() for one in NAMING)
HOST_TYPES = frozenset(
    {"nsslapd-localhost", "nsds5replicahost", "ds-cfg-server-fqdn", "dnshostname", "fqdn", "serverhostname"}
)
LDIF_LINE = re.compile(r"(?P<type>[A-Za-z\d][\w;.-]*)(?P<colon>:(?::|<)? *)(?P<value>.*)")
DESCRIPTIONS = frozenset({"attributetypes", "objectclasses", "olcattributetypes", "olcobjectclasses"})
OID = re.compile(r"((?:^(?:\{\d{1,6}\})?\(|\b(?:SUP|EQUALITY|ORDERING|SUBSTR|SYNTAX)) *'?[\d.]+)")
"""Where RFC 4512 has a number in a description; 2.5.4.3 would pass for an address."""
HEXADECIMAL = re.compile(r"(?<![\dA-Fa-f])([\dA-F]{32}|[\dA-F]{8})(?=:[\dA-F]{4}(?![\dA-Fa-f]))")

DIAG_FIRST = b"inet_diag dump "
DIAG_MESSAGE = 20
"""SOCK_DIAG_BY_FAMILY."""

DIAG_HEADER = 16
DIAG_FAMILY = DIAG_HEADER
DIAG_ADDRESSES = (DIAG_HEADER + 8, DIAG_HEADER + 24)
"""Where the two addresses stand in a message, 16 bytes each."""

DIAG_LEAST = DIAG_HEADER + 56
AF_INET, AF_INET6 = 2, 10
"""Linux' numbers, wherever this runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anonymised:
    """A capture in other names, and the key to it."""

    pieces: tuple[Input, ...]
    gaps: tuple[Gap, ...]
    offsets: Mapping[str, ClockOffset] = field(default_factory=dict)
    mapping: Mapping[str, str] = field(default_factory=dict)
    """Original to pseudonym. Whoever has it can read the capture: keep it to yourself."""


def anonymise(
    pieces: Iterable[Input],
    *,
    secret: bytes,
    gaps: Iterable[Gap] = (),
    offsets: Mapping[str, ClockOffset] | None = None,
) -> Anonymised:
    """Return a capture with pseudonyms; the same secret gives the same ones.

    A piece that cannot be read becomes a gap.
    """
    pseudonyms = Pseudonyms(secret)
    disguise = Disguise(pseudonyms)
    pieces, gaps = tuple(pieces), list(gaps)
    hosts = {_host(piece) for piece in pieces}
    for host in hosts:
        disguise.know_host(host)
    readable = tuple(piece for piece in pieces if _learn(piece, disguise, gaps))
    folders: dict[str, str] = {}
    renamed = tuple(_renamed(piece, disguise, folders) for piece in readable)
    return Anonymised(
        pieces=renamed,
        gaps=tuple(_gap(gap, disguise, hosts) for gap in gaps),
        offsets={_target(name, disguise, hosts): offset for name, offset in (offsets or {}).items()},
        mapping=dict(sorted(pseudonyms.mapping.items())),
    )


def _host(piece: Input) -> str:
    return piece.folder.rstrip("/").rpartition("/")[2]


def _learn(piece: Input, disguise: Disguise, gaps: list[Gap]) -> bool:
    """Meet the names of a piece; return whether it can be read."""
    try:
        with piece.open() as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        gaps.append(unreadable(piece.label, error))
        return False
    if len(content) > MOST_BYTES:
        reason = f"is longer than {MOST_BYTES >> 20} MiB and is left out of an anonymised capture"
        gaps.append(Gap(target=piece.label, reason=reason, how="collect it without --anonymise"))
        return False
    if content.startswith(b"ldapdiag-host ") and (named := HOST_NAME.search(content)):
        disguise.know_host(named[1].decode(errors="backslashreplace"))
    disguised(content, piece.path, disguise)
    return True


def _renamed(piece: Input, disguise: Disguise, folders: dict[str, str]) -> Input:
    """Return a piece with pseudonyms in its content, its path and its story."""
    host = disguise.host(_host(piece))
    number = folders.setdefault(piece.folder, str(len(folders) + 1))
    path = f"{host}/{disguise.text(piece.path.rpartition('/')[2])}"
    with piece.open() as stream:
        content = disguised(stream.read(MOST_BYTES), piece.path, disguise)
    return replace(
        piece.with_content(content),
        path=path,
        folder=f"{number}/{host}",
        label=path,
        asked=_told(piece.asked, disguise, {_host(piece)}),
    )


def _target(name: str, disguise: Disguise, hosts: AbstractSet[str]) -> str:
    """Return what was asked: a host by its name, or `ssh://joe@app1`."""
    return disguise.host(name) if name in hosts else _told(name, disguise, hosts)


def _gap(gap: Gap, disguise: Disguise, hosts: AbstractSet[str]) -> Gap:
    how = _told(gap.how, disguise, hosts) if gap.how else gap.how
    return Gap(target=_target(gap.target, disguise, hosts), reason=_told(gap.reason, disguise, hosts), how=how)


def _told(text: str, disguise: Disguise, hosts: AbstractSet[str]) -> str:
    """Return a sentence of ours with pseudonyms, also for names of hosts too short to be looked for in evidence."""
    names = "|".join(re.escape(name) for name in sorted(hosts - GRAMMAR, key=len, reverse=True) if name)
    if names:
        text = re.sub(rf"(?<![\w.@/-])(?:{names})(?=[\s,;:-]|$)", lambda found: disguise.host(found[0]), text)
    return disguise.text(text)


def disguised(content: bytes, path: str, disguise: Disguise) -> bytes:
    """Return a piece's content with pseudonyms, by the format it is in."""
    if content.startswith(DIAG_FIRST):
        return _diag(content, disguise)
    name = path.rpartition("/")[2]
    form = recognise(head_of(name, content[:HEAD_BYTES], whole=len(content) <= HEAD_BYTES))
    kind = form.name if form else ""
    encoding = encoding_of(content[:HEAD_BYTES])
    errors = "surrogateescape" if encoding == "utf-8" else "replace"
    text = content.decode(encoding, errors)
    if kind == "proc-net-tcp":
        new = _proc_net(text, disguise)
    elif kind == "ldif":
        new = _Ldif(disguise).text(text)
    elif kind == "host":
        new = re.sub(r"(?m)(?<=^name: )\S+", lambda found: disguise.host(found[0]), disguise.text(text))
    else:
        if kind in SOCKET_TABLES:
            _learn_peers(text, disguise)
        new = disguise.text(text, port_follows=kind in PORT_FOLLOWS)
    return new.encode(encoding, errors)


def _learn_peers(text: str, disguise: Disguise) -> None:
    """Meet the hosts that a socket table names."""
    for line in text.splitlines():
        if row := TABLE_ROW.match(line):
            for found in PEER_NAME.finditer(" ".join(row["rest"].split()[:PEER_FIELDS])):
                disguise.know_host(found["name"])


def _proc_net(text: str, disguise: Disguise) -> str:
    """Return /proc/net/tcp with pseudonyms; its addresses are words in the byte order of the host."""
    big = bool(proc_net.BIG_ENDIAN.search(text)) and not proc_net.LITTLE_ENDIAN.search(text)
    known: dict[str, str] = {}

    def turned(data: bytes) -> bytes:
        return data if big else b"".join(data[at : at + 4][::-1] for at in range(0, len(data), 4))

    def replaced(found: re.Match[str]) -> str:
        digits = found[1]
        if digits not in known:
            known[digits] = turned(_packed(turned(bytes.fromhex(digits)), disguise)).hex().upper()
        return known[digits]

    return HEXADECIMAL.sub(replaced, text)


def _packed(address: bytes, disguise: Disguise) -> bytes:
    """Return the pseudonym of an address in network order."""
    parsed = IPv4Address(address) if len(address) == 4 else IPv6Address(address)
    return disguise.address(parsed).packed


def _diag(content: bytes, disguise: Disguise) -> bytes:
    """Return the kernel's answers with pseudonyms, rewritten in place."""
    text, separator, binary = content.partition(b"\n\n")
    order = "big" if text.partition(b"\n")[0].split()[-1:] == [b"big"] else "little"
    header = struct.Struct(">IH" if order == "big" else "<IH")
    raw = bytearray(binary)
    at = 0
    while at + DIAG_HEADER <= len(raw):
        length, kind = header.unpack_from(raw, at)
        if length < DIAG_HEADER:
            break
        if kind == DIAG_MESSAGE and DIAG_LEAST <= length <= len(raw) - at:
            size = {AF_INET: 4, AF_INET6: 16}.get(raw[at + DIAG_FAMILY], 0)
            for start in (at + offset for offset in DIAG_ADDRESSES if size):
                raw[start : start + size] = _packed(bytes(raw[start : start + size]), disguise)
        at += (length + 3) & ~3
    first, newline, owners = text.partition(b"\n")
    told = disguise.text(owners.decode(errors="surrogateescape")).encode(errors="surrogateescape")
    return first + newline + told + separator + bytes(raw)


@dataclass(slots=True)
class _Ldif:
    """LDIF being disguised; lines that continue others are joined to them."""

    disguise: Disguise
    dn: str = ""
    naming: dict[str, tuple[str, str]] = field(default_factory=dict)
    """What the entry's first RDN says: type to value and its pseudonym."""

    def text(self, text: str) -> str:
        """Return LDIF with pseudonyms."""
        return "".join(self._line(line) for line in re.sub(r"\r?\n ", "", text).splitlines(keepends=True))

    def _line(self, line: str) -> str:
        bare = line.rstrip("\r\n")
        found = LDIF_LINE.fullmatch(bare)
        if found is None:
            return self.disguise.text(bare) + line[len(bare) :]
        colon, value = found["colon"], found["value"]
        if colon.startswith("::"):
            try:
                value = base64.b64decode(value, validate=True).decode()
            except (binascii.Error, ValueError):
                return line
        new = self._value(found["type"].partition(";")[0].lower(), value)
        if colon.startswith("::"):
            new = base64.b64encode(new.encode(errors="surrogateescape")).decode()
        return found["type"] + colon + new + line[len(bare) :]

    def _value(self, kind: str, value: str) -> str:
        if kind == "dn":
            return self._begin(value)
        if kind in self.naming and value.casefold() == self.naming[kind][0].casefold():
            return self.naming[kind][1]
        if kind in HOST_TYPES:
            self.disguise.know_host(value)
            return self.disguise.host(value)
        if kind in DESCRIPTIONS:
            parts = OID.split(value)
            return "".join(part if at % 2 else self.disguise.text(part) for at, part in enumerate(parts))
        internal = INTERNAL.search(self.dn) or self.dn.lower().endswith("cn=config") or not self.dn
        if kind in NAMING_TYPES and not internal and "@" not in value:
            return self.disguise.value(kind, value)
        return self.disguise.text(value, port_follows="source" in value)

    def _begin(self, dn: str) -> str:
        new = self.disguise.dn(dn)
        self.dn = dn
        self.naming = {}
        before, after = PART.match(dn), PART.match(new)
        if before and after:
            self.naming[before["type"].lower()] = before["value"], after["value"]
        return new
