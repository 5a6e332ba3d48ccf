"""Pseudonyms in the content of one file, according to its format: text, LDIF, /proc/net/tcp or inet_diag messages."""

from __future__ import annotations

import base64
import binascii
import re
import struct
from dataclasses import field
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING

from ldapdiag.evidence import dsconf_format, dsconfig_format
from ldapdiag.evidence.document import encoding_of
from ldapdiag.evidence.formats import HEAD_BYTES, head_of, recognise
from ldapdiag.evidence.socket_formats import proc_net
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.anonymising import fields, free_words, json_logs, packet_filters, storage
from ldapdiag.sources.anonymising.directory_names import INTERNAL, NAMING, PART, WHOLE_DN
from ldapdiag.sources.anonymising.windows_events import anonymised_events, has_events

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ldapdiag.sources.anonymising.text_anonymiser import TextAnonymiser

PORT_FOLLOWS = frozenset({"netstat", "ss", "haproxy-sessions"})
"""Formats that separate an IPv6 address from its port by a colon only."""

SOCKET_TABLES = frozenset({"ss", "netstat", "netstat-bsd", "netstat-solaris", "netstat-windows", "lsof"})
TABLE_ROW = pattern(r" {0,2}(?:(?i:tcp|udp)\w* |[A-Z][A-Z\d-]{3,11} |\S+ +\d+ .*\bTCP )(?P<rest>.*)")
PEER_NAME = pattern(r"(?:(?<=\s)|(?<=->)|^)(?P<name>[A-Za-z][\w-]*(?:\.[\w-]+)*)(?:[:.](?:\d{1,5}|ldaps?))(?=\s|->|$)")
"""A host name in a socket table without -n. Further right, ss prints details that look alike."""

PEER_FIELDS = 5

MACHINE = pattern(r"(?m)(?<=^machine: )[\w.:-]+")
HOST_NAME = pattern(r"(?m)(?<=^name: )(\S+)")
PROCESS = pattern(r"(?m)^(process: \d+ )(\S+)")
DIAG_OWNER = pattern(r"(?m)^(owner \d+ \d+ )(.+)$")
NAMING_TYPES = frozenset(one.lower() for one in NAMING)
HOST_TYPES = frozenset(
    {"nsslapd-localhost", "nsds5replicahost", "ds-cfg-server-fqdn", "dnshostname", "fqdn", "serverhostname"}
)
LDIF_LINE = pattern(r"(?P<type>[A-Za-z\d][\w;.-]*)(?P<colon>:(?::|<)? *)(?P<value>.*)")
FILTER, INSTRUCTION = "vlvfilter", "aci"
EVERYBODY = pattern(r"ldap:///(?:all|anyone)\b")
"""What remains of an access control instruction, which may name accounts, hosts and people in any form."""
DESCRIPTIONS = frozenset({"attributetypes", "objectclasses", "olcattributetypes", "olcobjectclasses"})
OID = pattern(r"((?:^(?:\{\d{1,6}\})?\(|\b(?:SUP|EQUALITY|ORDERING|SUBSTR|SYNTAX)) *'?[\d.]+)")
"""OIDs in a schema description (RFC 4512), which look like addresses: 2.5.4.3."""
BINARY = pattern(r"certificate|photo|password|(?:^|;)binary|^userpw|credentials$|^nsslapd-rootpw$|^olcrootpw$|\bkey$")
FREE_TEXT = frozenset({"description", "nsslapd-localuser", "nsslapd-backend", "ds-cfg-description", "seealso", "info"})
"""Attributes of a server's own entries that people fill in."""
SETTING = pattern(
    r"ns|olc|ds-|vlv|dbfilename-|memberof|pam|password|referint-|uniqueness-|dna|automember|mep|rootdn|ssl|schemaupdate"
    r"|cacert|entry|(?:cn|aci|objectclass|database|changetype|add|replace|delete|default|creatorsname|modifiersname)$"
)
"""How the types of servers begin in their configuration; values of other types there may be names."""
STRUCTURE = frozenset(
    {
        "objectclass",
        "structuralobjectclass",
        "namingcontexts",
        "subschemasubentry",
        "connection",
        "ldapadminlimits",
        "changetype",
    }
)
HARMLESS = pattern(r"[\d.,:+TZ-]*|TRUE|FALSE|on|off|yes|no", re.IGNORECASE | re.ASCII)
"""Values of other entries that stay: numbers, times, truth values."""
HEXADECIMAL = pattern(r"(?<![\dA-Fa-f])([\dA-F]{32}|[\dA-F]{8})(?=:[\dA-F]{4}(?![\dA-Fa-f]))")

CONFIGURATION = pattern(r"(?m)^(configuration: \d+ )(.*)")
"""Process and path in a list of processes."""

PLACES = frozenset(
    {
        *("nsslapd-directory", "nsslapd-db-logdirectory", "nsslapd-changelogdir", "nsslapd-accesslog"),
        *("olcdbdirectory", "olclogfile", "ds-cfg-db-directory", "ds-cfg-replication-db-directory", "ds-cfg-log-file"),
    }
)
"""Attributes that are a folder or a file of a server's data."""
PLACE_LINES = pattern(r'(?im)^(?:directory|logfile)[ \t]+"?(/[^"\s]+)')
"""Those of slapd.conf."""

URLS = frozenset({"olcaccess", "olcauthidrewrite", "olcauthzregexp", "olcconstraintattribute", "olcuniqueuri"})
"""Attributes with LDAP URLs; the attribute types in these decide which indexes slapd's own searches use."""
LDAP_URL = pattern(r'ldap:///(?P<base>[^?\s"]*)(?P<names>\?[A-Za-z\d,._;-]*(?:\?(?:sub|one|base|children)?)?)')

PROBED = pattern(r"(?m)(?<=^target: )(?P<scheme>ldap[is]?)://(?P<name>(?![\d.]+(?::|$))[\w.%-]+)(?P<rest>\S*)")
"""A target with a name, not an address, in a file of format ldap-probe."""

DIAG_FIRST = b"inet_diag dump "
DIAG_MESSAGE = 20
"""SOCK_DIAG_BY_FAMILY."""

DIAG_HEADER = 16
DIAG_FAMILY = DIAG_HEADER
DIAG_ADDRESSES = (DIAG_HEADER + 8, DIAG_HEADER + 24)
"""Offsets of the two addresses in a message, 16 bytes each."""

DIAG_LEAST = DIAG_HEADER + 56
AF_INET, AF_INET6 = 2, 10
"""The values on Linux, also on other systems."""


def anonymised_content(content: bytes, path: str, anonymiser: TextAnonymiser) -> bytes:
    """Return the content of a file with pseudonyms, according to its format."""
    if content.startswith(DIAG_FIRST):
        return _diag(content, anonymiser)
    name = path.rpartition("/")[2]
    form = recognise(head_of(name, content[:HEAD_BYTES], whole=len(content) <= HEAD_BYTES))
    kind = form.name if form else ""
    encoding = encoding_of(content[:HEAD_BYTES])
    errors = "surrogateescape" if encoding == "utf-8" else "replace"
    text = content.decode(encoding, errors)
    if kind in BY_FORMAT:
        new = BY_FORMAT[kind](text, anonymiser)
    elif not form and has_events(text):
        new = anonymised_events(text, anonymiser)
    elif form and kind in storage.FORMATS:
        new = storage.anonymised_storage(text, form, anonymiser)
    else:
        _learn(text, kind, anonymiser)
        text = free_words.without_free_words(fields.before_names(text, kind, anonymiser), kind, anonymiser)
        new = text if kind == "haproxy.cfg" else anonymiser.text(text, port_follows=kind in PORT_FOLLOWS)
        new = fields.programs(new, kind, anonymiser)
    return new.encode(encoding, errors)


def _ldif(text: str, anonymiser: TextAnonymiser) -> str:
    return _LdifAnonymiser(anonymiser).text(text)


def _probe(text: str, anonymiser: TextAnonymiser) -> str:
    return PROBED.sub(lambda found: _probed(found, anonymiser), anonymiser.text(text))


def _rules(text: str, anonymiser: TextAnonymiser) -> str:
    return anonymiser.text(packet_filters.anonymised_rules(text, anonymiser))


def _place(path: str, anonymiser: TextAnonymiser) -> str:
    """Return a folder or a file with pseudonyms, wherever it is: also a relative one."""
    if not path.startswith("/"):
        return anonymiser.path(f"/{path}")[1:]
    anonymiser.add_folder(path.split("/")[1])
    return anonymiser.path(path)


def _learn(text: str, kind: str, anonymiser: TextAnonymiser) -> None:
    """Make the hosts of socket tables and the folders of slapd.conf known."""
    if kind in SOCKET_TABLES:
        _learn_hosts(text, anonymiser)
    for place in PLACE_LINES.findall(text) if kind == "slapd-conf" else ():
        _place(place, anonymiser)


def _probed(found: re.Match[str], anonymiser: TextAnonymiser) -> str:
    """Return the URL of a directory server with a pseudonym for its name, and without the path of a local socket."""
    if found["scheme"] == "ldapi":
        return f"{found['scheme']}://"
    return f"{found['scheme']}://{anonymiser.host(found['name'])}{found['rest']}"


def _description(text: str, anonymiser: TextAnonymiser) -> str:
    """Return a host's description; its machine is replaced in all other files, too."""
    text = MACHINE.sub(lambda found: anonymiser.value_of(found[0]), text)
    parts = HOST_NAME.split(text)
    return "".join(anonymiser.host(part) if at % 2 else anonymiser.text(part) for at, part in enumerate(parts))


def _processes(text: str, anonymiser: TextAnonymiser) -> str:
    """Return a list of processes; its paths may lie anywhere."""
    paths = CONFIGURATION.split(text)
    parts = [
        anonymiser.path(part) if at % 3 == 2 else part if at % 3 else anonymiser.text(part)
        for at, part in enumerate(paths)
    ]
    return PROCESS.sub(lambda found: found[1] + anonymiser.program(found[2]), "".join(parts))


def _learn_hosts(text: str, anonymiser: TextAnonymiser) -> None:
    """Learn the host names in a socket table."""
    for line in text.splitlines():
        if row := TABLE_ROW.match(line):
            for found in PEER_NAME.finditer(" ".join(row["rest"].split()[:PEER_FIELDS])):
                anonymiser.add_host(found["name"])


def _proc_net(text: str, anonymiser: TextAnonymiser) -> str:
    """Return /proc/net/tcp with pseudonyms; its addresses are 32-bit words in the byte order of the host."""
    big = bool(proc_net.BIG_ENDIAN.search(text)) and not proc_net.LITTLE_ENDIAN.search(text)
    known: dict[str, str] = {}

    def in_network_order(data: bytes) -> bytes:
        return data if big else b"".join(data[at : at + 4][::-1] for at in range(0, len(data), 4))

    def replaced(found: re.Match[str]) -> str:
        digits = found[1]
        if digits not in known:
            known[digits] = in_network_order(_packed(in_network_order(bytes.fromhex(digits)), anonymiser)).hex().upper()
        return known[digits]

    return HEXADECIMAL.sub(replaced, text)


def _packed(address: bytes, anonymiser: TextAnonymiser) -> bytes:
    """Return the pseudonym of a packed address (network byte order)."""
    parsed = IPv4Address(address) if len(address) == 4 else IPv6Address(address)
    return anonymiser.address(parsed).packed


def _diag(content: bytes, anonymiser: TextAnonymiser) -> bytes:
    """Return inet_diag messages with pseudonyms of the same length."""
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
                raw[start : start + size] = _packed(bytes(raw[start : start + size]), anonymiser)
        at += (length + 3) & ~3
    first, newline, owners = text.partition(b"\n")
    named = anonymiser.text(owners.decode(errors="surrogateescape"))
    named = DIAG_OWNER.sub(lambda found: found[1] + anonymiser.program(found[2]), named)
    owners = named.encode(errors="surrogateescape")
    return first + newline + owners + separator + bytes(raw)


@dataclass(slots=True)
class _LdifAnonymiser:
    """Replaces names in LDIF; folded lines are joined."""

    anonymiser: TextAnonymiser
    dn: str = ""
    naming: dict[str, tuple[str, str]] = field(default_factory=dict)
    """First RDN of the entry: type to value and its pseudonym."""

    def text(self, text: str) -> str:
        """Return LDIF with pseudonyms."""
        return "".join(self._line(line) for line in re.sub(r"\r?\n ", "", text).splitlines(keepends=True))

    def _line(self, line: str) -> str:
        bare = line.rstrip("\r\n")
        found = LDIF_LINE.fullmatch(bare)
        if found is None:
            return self.anonymiser.text(bare) + line[len(bare) :]
        colon, value = found["colon"], found["value"]
        if colon.startswith("::"):
            try:
                value = base64.b64decode(value, validate=True).decode(errors="surrogateescape")
            except (binascii.Error, ValueError):  # lenient decoders read it all the same
                return f"{found['type']}: {fields.WITHHELD}{line[len(bare) :]}"
        kind = found["type"].lower()
        new = fields.WITHHELD if BINARY.search(kind) else self._value(kind.partition(";")[0], value)
        if colon.startswith("::"):
            new = base64.b64encode(new.encode(errors="surrogateescape")).decode()
        return found["type"] + colon + new + line[len(bare) :]

    def _value(self, kind: str, value: str) -> str:  # noqa: PLR0911  a case each
        if kind == "dn":
            return self._begin(value)
        if kind in self.naming and value.casefold() == self.naming[kind][0].casefold():
            return self.naming[kind][1]
        if kind in HOST_TYPES:
            self.anonymiser.add_host(value)
            return self.anonymiser.host(value)
        if kind in PLACES or kind == FILTER:
            return self.anonymiser.filter(value) if kind == FILTER else _place(value, self.anonymiser)
        if kind == INSTRUCTION:
            return " ".join(EVERYBODY.findall(value)) or fields.WITHHELD
        if kind in DESCRIPTIONS:
            parts = OID.split(value)
            return "".join(part if at % 2 else self.anonymiser.text(part) for at, part in enumerate(parts))
        if WHOLE_DN.fullmatch(value) or (kind.endswith("dn") and "=" in value):
            return self.anonymiser.dn(value)
        configured = self.dn.lower().endswith("cn=config") and SETTING.match(kind)
        internal = INTERNAL.search(self.dn) or configured or not self.dn
        by_people = kind in FREE_TEXT and not INTERNAL.search(self.dn)
        if by_people or not (internal or kind in STRUCTURE or HARMLESS.fullmatch(value)):
            return self.anonymiser.text(value, by_people=True)
        if kind in NAMING_TYPES and not internal and "@" not in value:
            return self.anonymiser.value(kind, value)
        value = fields.without_secrets(value, self.anonymiser)
        plain = kind not in URLS
        return self.anonymiser.text(value, port_follows="source" in value) if plain else self._with_urls(value)

    def _with_urls(self, value: str) -> str:
        """Return a value with LDAP URLs whose attribute types and scopes remain."""
        parts, at = list[str](), 0
        for found in LDAP_URL.finditer(value):
            base = self.anonymiser.dn(found["base"]) if found["base"] else ""
            parts += [self.anonymiser.text(value[at : found.start()]), f"ldap:///{base}{found['names']}"]
            at = found.end()
        return "".join([*parts, self.anonymiser.text(value[at:])])

    def _begin(self, dn: str) -> str:
        new = self.anonymiser.dn(dn)
        self.dn = dn
        self.naming = {}
        before, after = PART.match(dn), PART.match(new)
        if before and after:
            self.naming[before["type"].lower()] = before["value"], after["value"]
        return new


BY_FORMAT: Mapping[str, Callable[[str, TextAnonymiser], str]] = {
    "proc-net-tcp": _proc_net,
    "ldif": _ldif,
    "host": _description,
    "processes": _processes,
    "ldap-probe": _probe,
    "backendstat-index-status": fields.index_status,
    "dsconf": partial(fields.properties, kept=dsconf_format.KEPT),
    "dsconfig": partial(fields.properties, kept=dsconfig_format.KEPT),
    "ps": fields.process_list,
    "f5-profiles": fields.idle_profiles,
    **dict.fromkeys(packet_filters.FORMATS, _rules),
    **dict.fromkeys(json_logs.FORMATS, json_logs.anonymised_json),
}
"""Formats whose grammar decides more than the fields in `fields`."""
