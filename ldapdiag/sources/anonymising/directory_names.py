r"""Distinguished names and filters, as they stand in any text: their values become pseudonyms, their structure stays.

    uid=application_xyz,ou=services,dc=example,dc=com      (&(uid=jo*)(member=uid=x,dc=example))
    cn=dc\3Dexample\2Cdc\3Dcom,cn=mapping tree,cn=config   a name within a name, escaped

What a server calls its own entries (cn=config, cn=Client Connections) means something to a reader and tells nobody
anything, so it stays. Attribute types stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

NAMING = re.findall(
    r"\S+",
    """
    cn uid ou dc sn givenName mail userid displayName employeeNumber serialNumber title street postalCode fqdn
    telephoneNumber nsuniqueid entryUUID krbPrincipalName sAMAccountName userPrincipalName ipaUniqueID automountMapName
    2.5.4.3 2.5.4.4 2.5.4.5 2.5.4.6 2.5.4.7 2.5.4.8 2.5.4.10 2.5.4.11 2.5.4.42
    0.9.2342.19200300.100.1.1 0.9.2342.19200300.100.1.3 0.9.2342.19200300.100.1.25
    """,
)
"""Attribute types that name entries, and give a DN away wherever they stand."""

BRIEF = ("c", "l", "o", "st")
"""Attribute types so short that they may be anything; they count within a DN of several parts, or between quotes."""

STRUCTURAL = (
    *("olcDatabase", "olcOverlay", "olcModuleList", "olcBackend", "nsds5ReplicationAgreement", "ds-cfg-name"),
    *("gidNumber", "uidNumber", "changeNumber", "reqStart"),
)
"""Attribute types that name entries without telling anything."""

KEPT = re.compile(
    r"config|monitor|schema|changelog5?|features|encryption|plugins|mapping tree|replica|replication|tasks|index|sasl|"
    r"default indexes|directory manager|(?:ldbm|chaining) database|userroot|snmp|rsa|uniqueid generator|"
    r"connections?|current|total|(?:max )?file descriptors|max|active|pending|open|starting|backload|max pending|"
    r"tasklist|time|start|uptime|threads?|listeners?|databases?|backends?|statistics|bytes|pdu|entries|referrals|"
    r"operations|waiters|read|write|log|overlays|tls|state|runqueue|frontend|external|auth|peercred|root|root dns|"
    r"administration|administrators|admin data|version|client connections|work queue|connection handlers|"
    r"system information|disk space monitor|entry caches|jvm memory usage|password policies|"
    r"account status notification handlers|default query policy|query-policies|directory service|windows nt|services|"
    r"configuration|ntds settings|sites|servers|"
    r".+ connection handler\b.*|statistics for .*|.*database environment\b.*|.*connector\b.*",
    re.IGNORECASE,
)
"""What servers call their own entries, without the numbers some of them end with."""

NUMBERED = re.compile(r"[ \d.{}-]+$")

INTERNAL = re.compile(r"cn\s*=\s*monitor\s*$", re.IGNORECASE)
"""Whatever lies below cn=monitor is the server's own."""

UNDER_INDEX = re.compile(r"cn\s*=\s*(?:default )?index(?:es)?\s*[,;]", re.IGNORECASE)
"""The entry of an index is named after its attribute."""

_ATTRIBUTE = "|".join(re.escape(one) for one in sorted((*NAMING, *BRIEF, *STRUCTURAL), key=len, reverse=True))
_NAMING = "|".join(re.escape(one) for one in sorted(NAMING, key=len, reverse=True))
_ESCAPED = r"\\(?:[0-9A-Fa-f]{2}|[^0-9A-Fa-f\r\n])"
_QUOTED = r'"[^"\r\n]{1,2000}"'
_INNER = rf'(?:{_QUOTED}|(?:{_ESCAPED}|[^\\,+="\r\n\t<>;]){{1,500}}?)'
_OPEN = rf"""(?:{_ESCAPED}|[^\\,+="\r\n\t<>;:()\[\]{{}}|'])"""
_CLOSED = rf"""(?:{_ESCAPED}|[^\\,+="\r\n\t<>;:()\[\]{{}}|'\s])"""
_LAST = rf'(?:directory manager|{_CLOSED}(?:{_OPEN}*(?=["\r\n]|\Z)|{_CLOSED}*))'
"""The last value of a DN has blanks in it only where it is clear where it ends."""

_JOIN = r"\s?[,+]\s?"

DN = (
    rf"(?<![\w.;-])(?:(?:{_ATTRIBUTE})\s?=\s?{_INNER}{_JOIN})+(?:{_ATTRIBUTE})\s?=\s?(?:{_QUOTED}|{_LAST})"
    rf"|(?<![\w.;-])(?:{_NAMING})=(?:{_QUOTED}|{_LAST})"
    rf'|(?<=")(?:{"|".join(BRIEF)})=[^"\\,+=\r\n]{{1,200}}(?=")'
)
"""A pattern for a DN in any text; of one part only when its type is a telling one, or it stands between quotes."""

PART = re.compile(
    rf"(?P<type>{_ATTRIBUTE})(?P<equals>\s?=\s?)(?P<value>{_QUOTED}|(?:{_ESCAPED}|[^\\,+\r\n])*)", re.IGNORECASE
)
ANY_DN = re.compile(DN, re.IGNORECASE)

FILTER = r"""(?i:filter)["']?\s?[=:]\s?["']?(?=\()"""
"""A pattern for what stands before a filter."""

ASSERTION = re.compile(
    r"\((?P<type>\??[\w.;-]*)(?P<rule>(?::[\w.:-]*)?[~<>:]?=)(?P<value>(?:\\[0-9A-Fa-f]{2}|\\.|[^()\\])*)(?=\)|$)"
)
KEPT_ASSERTIONS = frozenset({"objectclass", "structuralobjectclass", "objectcategory"})


class DirectoryNames:
    """DNs and filters with pseudonyms for their values; `word` and `plain` make those."""

    def __init__(self, word: Callable[[str], str], plain: Callable[[str], str]) -> None:
        self._word = word
        self._plain = plain
        """For what stays but for addresses and names of hosts in it."""

    def dn(self, text: str) -> str:
        """Return a DN with pseudonyms."""
        internal = INTERNAL.search(text) is not None

        def part(found: re.Match[str]) -> str:
            value = found["value"]
            named = UNDER_INDEX.match(text[found.end() :].lstrip(",+ ")) is not None
            return found["type"] + found["equals"] + self._value(found["type"], value, kept=internal or named)

        return PART.sub(part, text)

    def filter(self, text: str) -> str:
        """Return the text of a filter, or of the beginning of one, with pseudonyms for what is asserted."""

        def assertion(found: re.Match[str]) -> str:
            kind, value = found["type"].lstrip("?"), found["value"]
            if kind.lower() not in KEPT_ASSERTIONS:
                value = (
                    self.dn(value) if ANY_DN.match(value) else "*".join(self._escaped(one) for one in value.split("*"))
                )
            return f"({found['type']}{found['rule']}{value}"

        return ASSERTION.sub(assertion, text)

    def value(self, kind: str, text: str) -> str:
        """Return the value of a naming attribute as an entry has it."""
        return self._value(kind, text, kept=False)

    def _value(self, kind: str, value: str, *, kept: bool) -> str:
        if value.startswith('"') and value.endswith('"') and len(value) > 1:
            return f'"{self._value(kind, value[1:-1], kept=kept)}"'
        decoded = "".join(character for _, character in _characters(value))
        if ANY_DN.fullmatch(decoded):
            return self._again(value, self.dn(decoded))
        if kept or kind.lower() in _STRUCTURAL or (kind.lower() in COMMON_NAME and _is_kept(decoded)):
            return self._plain(value)
        return self._escaped(value)

    def _escaped(self, value: str) -> str:
        """Return a value's pseudonym, with what was escaped and stays escaped as it was."""
        decoded = "".join(character for _, character in _characters(value))
        plain = self._plain(decoded)
        return self._again(value, self._word(decoded) if plain == decoded else plain)

    def _again(self, value: str, mapped: str) -> str:
        """Return a mapped value in the escapes of the original, character by character."""
        written = list(_characters(value))
        if len(written) != len(mapped):
            return re.sub(r'([\\,+="<>;])', r"\\\1", mapped) if "\\" in value else mapped
        return "".join(raw if character == new else new for (raw, character), new in zip(written, mapped, strict=True))


COMMON_NAME = frozenset({"cn", "2.5.4.3"})
_STRUCTURAL = frozenset(one.lower() for one in STRUCTURAL)
_CHARACTER = re.compile(r"((?:\\[0-9A-Fa-f]{2})+)|\\(.)|(.)", re.DOTALL)


def _characters(value: str) -> list[tuple[str, str]]:
    """Return a value's characters, each as written and as meant."""
    characters = []
    for found in _CHARACTER.finditer(value):
        hexadecimal, escaped, plain = found.groups()
        if not hexadecimal:
            characters.append((found[0], escaped or plain))
            continue
        at = 0
        for meant in bytes.fromhex(hexadecimal.replace("\\", "")).decode(errors="surrogateescape"):
            length = 3 * len(meant.encode(errors="surrogateescape"))
            characters.append((hexadecimal[at : at + length], meant))
            at += length
    return characters


def _is_kept(value: str) -> bool:
    bare = value.strip()
    return KEPT.fullmatch(bare) is not None or KEPT.fullmatch(NUMBERED.sub("", bare)) is not None
