r"""Distinguished names and filters in any text: their values become pseudonyms, their structure stays.

    uid=application_xyz,ou=services,dc=example,dc=com      (&(uid=jo*)(member=uid=x,dc=example))
    cn=dc\3Dexample\2Cdc\3Dcom,cn=mapping tree,cn=config   a name within a name, escaped

Names of a server's own entries (cn=config, cn=Client Connections) stay: the diagnosis needs them, and they are not
confidential. Attribute types stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.lazy_pattern import pattern

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
"""Attribute types that name entries, and identify a DN in any text."""

BRIEF = ("c", "l", "o", "st")
"""Short attribute types, ambiguous in text: they count only in a DN of several RDNs, or between quotes."""

STRUCTURAL = (
    *("olcDatabase", "olcOverlay", "olcModuleList", "olcBackend", "nsds5ReplicationAgreement", "ds-cfg-name"),
    *("gidNumber", "uidNumber", "changeNumber", "reqStart"),
)
"""Attribute types that name entries by values that are not confidential."""

KEPT = pattern(
    r"config|monitor|schema|changelog5?|features|encryption|plugins|mapping tree|replica|replication|tasks|index|sasl|"
    r"default indexes|directory manager|(?:ldbm|chaining) database|userroot|snmp|rsa|bdb|mdb|accesslog|"
    r"uniqueid generator|"
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
"""Names of the servers' own entries, without a trailing number."""

NUMBERED = pattern(r"[ \d.{}-]+$")

INTERNAL = pattern(r"cn\s*=\s*monitor\s*$", re.IGNORECASE)
"""All entries below cn=monitor are the server's own."""

UNDER_INDEX = pattern(r"cn\s*=\s*(?:default )?index(?:es)?\s*[,;]", re.IGNORECASE)
"""An index entry has the name of its attribute."""

_ATTRIBUTE = "|".join(re.escape(one) for one in sorted((*NAMING, *BRIEF, *STRUCTURAL), key=len, reverse=True))
_NAMING = "|".join(re.escape(one) for one in sorted(NAMING, key=len, reverse=True))
_ESCAPED = rf"\\(?:\\[,+;](?!\s?(?:{_ATTRIBUTE})\s?=)|[0-9A-Fa-f]{{2}}|[^0-9A-Fa-f\r\n])"
"""In JSON the backslash before a comma is escaped itself."""
_QUOTED = r'(?:"[^"\r\n]{1,2000}"|\\"[^"\r\n]{1,2000}?\\")'
_INNER = rf'(?:{_QUOTED}|(?:{_ESCAPED}|[^\\,+="\r\n\t<>;]){{1,500}}?)'
_OPEN = rf"""(?:{_ESCAPED}|[^\\,+="\r\n\t<>;:()\[\]{{}}|'])"""
_CLOSED = rf"""(?:{_ESCAPED}|[^\\,+="\r\n\t<>;:()\[\]{{}}|'\s])"""
_LAST = rf'(?:directory manager|{_CLOSED}(?:{_OPEN}*(?=["\r\n]|\Z)|{_CLOSED}*))'
"""The last value of a DN may contain blanks only where its end is unambiguous."""

_JOIN = r"\s?[,+]\s?"

_END = r"(?: \w+=| (?:new|old)\b|[ \t]*(?:[\r\n]|\Z))"
_LOGGED = (
    r'(?:(?<=dn=")|(?<=base=")|(?<=newsup=")|(?<=newsuperior=")|(?<= id="))(?=[^"\s])'
    rf'(?:[^"\r\n]|(?<!=)"(?!{_END})){{1,4096}}(?="{_END})'
)
"""What a log gives for a DN, of whatever types; not every server escapes a quote in it."""

DN = (
    rf"{_LOGGED}"
    rf"|(?<![\w.;-])(?:(?:{_ATTRIBUTE})\s?=\s?{_INNER}{_JOIN})+(?:{_ATTRIBUTE})\s?=\s?(?:{_QUOTED}|{_LAST})"
    rf"|(?<![\w.;-])(?:{_NAMING})=(?:{_QUOTED}|{_LAST})"
    rf'|(?<=")(?:{"|".join(BRIEF)})=[^"\\,+=\r\n]{{1,200}}(?=")'
)
"""A DN in any text; with one RDN only for the types in NAMING, or between quotes."""

PART = pattern(
    rf"(?P<type>[A-Za-z\d][\w.;-]*)(?P<equals>\s?=\s?)(?P<value>{_QUOTED}|(?:{_ESCAPED}|[^\\,+\r\n])*)", re.IGNORECASE
)
ANY_DN = pattern(DN, re.IGNORECASE)
WHOLE_DN = pattern(
    rf"(?:{_ATTRIBUTE})\s?=(?:{_ESCAPED}|[^\\,+=])+(?:{_JOIN}(?:{_ATTRIBUTE})\s?=(?:{_ESCAPED}|[^\\,+=])+)*",
    re.IGNORECASE,
)
"""A value that is a DN, also of one RDN: o=Company."""

FILTER = r"""(?i:filter)["']?\s?[=:]\s?["']?(?=\()"""
"""The text before a filter."""

ASSERTION = pattern(
    r"\((?P<type>\??[\w.;-]*)(?P<rule>(?::[\w.:-]*)?[~<>:]?=)(?P<value>(?:\\[0-9A-Fa-f]{2}|\\.|[^()\\])*)(?=\)|$)"
)
KEPT_ASSERTIONS = frozenset({"objectclass", "structuralobjectclass", "objectcategory"})


class DirectoryNames:
    """Replace the values in DNs and filters: `word` makes a pseudonym, `plain` treats values that stay."""

    def __init__(self, word: Callable[[str], str], plain: Callable[[str], str]) -> None:
        self._word = word
        self._plain = plain
        """Replaces only the addresses in a value."""

    def dn(self, text: str) -> str:
        """Return a DN with pseudonyms."""
        internal, of_config = INTERNAL.search(text) is not None, text.rstrip().lower().endswith("cn=config")

        def part(found: re.Match[str]) -> str:
            value = found["value"]
            known = internal or (of_config and found["type"].lower() not in _TYPES)
            named = UNDER_INDEX.match(text[found.end() :].lstrip(",+ ")) is not None
            return found["type"] + found["equals"] + self._value(found["type"], value, kept=known or named)

        parts, at = list[str](), 0
        for found in PART.finditer(text):
            parts += [self._between(text[at : found.start()]), part(found)]
            at = found.end()
        return "".join([*parts, self._between(text[at:])])

    def _between(self, text: str) -> str:
        """Return what is between the parts of a DN, or all of what is none."""
        return self._word(text) if text.strip(SEPARATORS) else text

    def filter(self, text: str) -> str:
        """Return a filter, or the beginning of one, with pseudonyms for its assertion values."""

        def assertion(found: re.Match[str]) -> str:
            kind, value = found["type"].lstrip("?"), found["value"]
            if kind.lower() not in KEPT_ASSERTIONS:
                value = (
                    self.dn(value) if ANY_DN.match(value) else "*".join(self._escaped(one) for one in value.split("*"))
                )
            return f"({found['type']}{found['rule']}{value}"

        return ASSERTION.sub(assertion, text)

    def value(self, kind: str, text: str) -> str:
        """Return the pseudonym of a naming attribute's value in an entry."""
        return self._value(kind, text, kept=False)

    def _value(self, kind: str, value: str, *, kept: bool) -> str:
        if value.startswith('"') and value.endswith('"') and len(value) > 1:
            return f'"{self._value(kind, value[1:-1], kept=kept)}"'
        decoded = "".join(character for _, character in _characters(value))
        if ANY_DN.fullmatch(decoded):
            return self._with_escapes_of(value, self.dn(decoded))
        if kept or kind.lower() in _STRUCTURAL or (kind.lower() in COMMON_NAME and _is_kept(decoded)):
            return self._plain(value)
        return self._escaped(value)

    def _escaped(self, value: str) -> str:
        """Return the pseudonym of a value; characters that stay keep their escapes."""
        decoded = "".join(character for _, character in _characters(value))
        plain = self._plain(decoded)
        return self._with_escapes_of(value, self._word(decoded) if plain == decoded else plain)

    def _with_escapes_of(self, value: str, mapped: str) -> str:
        """Return a mapped value with the escapes of the original, character by character."""
        written = list(_characters(value))
        if len(written) != len(mapped):
            return re.sub(r'([\\,+="<>;])', r"\\\1", mapped) if "\\" in value else mapped
        return "".join(raw if character == new else new for (raw, character), new in zip(written, mapped, strict=True))


COMMON_NAME = frozenset({"cn", "2.5.4.3"})
_STRUCTURAL = frozenset(one.lower() for one in STRUCTURAL)
_TYPES = frozenset(one.lower() for one in (*NAMING, *BRIEF))
SEPARATORS = " ,+;\\"
_CHARACTER = pattern(r"((?:\\[0-9A-Fa-f]{2})+)|\\(.)|(.)", re.DOTALL)


def _characters(value: str) -> list[tuple[str, str]]:
    """Return the characters of a value, each as written and decoded."""
    characters = []
    for found in _CHARACTER.finditer(value):
        hexadecimal, escaped, plain = found.groups()
        if not hexadecimal:
            characters.append((found[0], escaped or plain))
            continue
        at = 0
        for character in bytes.fromhex(hexadecimal.replace("\\", "")).decode(errors="surrogateescape"):
            length = 3 * len(character.encode(errors="surrogateescape"))
            characters.append((hexadecimal[at : at + length], character))
            at += length
    return characters


def _is_kept(value: str) -> bool:
    bare = value.strip()
    return KEPT.fullmatch(bare) is not None or KEPT.fullmatch(NUMBERED.sub("", bare)) is not None
