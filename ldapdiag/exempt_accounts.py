"""Accounts that a site has exempted from a check, compared as distinguished names (RFC 4514), not as text."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from ldapdiag.errors import UsageError
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import is_distinguished_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ANONYMOUS = "anonymous"
"""How reports name the account of a connection without bind DN."""

ESCAPE = pattern(r"(?:\\[0-9A-Fa-f]{2})+|\\(.)", re.DOTALL)
SHORT_NAMES = {
    "2.5.4.3": "cn",
    "2.5.4.6": "c",
    "2.5.4.7": "l",
    "2.5.4.8": "st",
    "2.5.4.9": "street",
    "2.5.4.10": "o",
    "2.5.4.11": "ou",
    "0.9.2342.19200300.100.1.1": "uid",
    "0.9.2342.19200300.100.1.25": "dc",
    "commonname": "cn",
    "userid": "uid",
    "domaincomponent": "dc",
    "organizationname": "o",
    "organizationalunitname": "ou",
}
"""The attribute types of RFC 4514, section 3, by OID and by their longer names (RFC 4519)."""

Name = tuple[tuple[tuple[str, str], ...], ...]
"""A DN for comparison: its RDNs, each with its attributes and values in order."""


@dataclass(frozen=True)
class ExemptAccounts:
    """Accounts that a check does not report; it states how many it left out."""

    accounts: tuple[str, ...] = ()

    def __contains__(self, account: str) -> bool:
        return bool(self.accounts) and comparable_name(account) in self._names

    def without(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return counts by account, without those of exempt accounts."""
        return {account: count for account, count in counts.items() if account not in self}

    @cached_property
    def _names(self) -> frozenset[Name]:
        return frozenset(map(comparable_name, self.accounts))


NO_ACCOUNTS = ExemptAccounts()


def exempt_accounts(accounts: Iterable[object]) -> ExemptAccounts:
    """Return the accounts of a configuration. Raises UsageError for what is neither a DN nor `anonymous`."""
    listed = tuple(accounts)
    for one in listed:
        if not isinstance(one, str) or not one or not (one == ANONYMOUS or is_distinguished_name(one)):
            raise UsageError(f"{one!r} is no distinguished name (and not {ANONYMOUS!r})")
    return ExemptAccounts(tuple(str(one) for one in listed))


@lru_cache(4096)
def comparable_name(dn: str) -> Name:
    """Return a DN for comparison: without case, blanks around separators, escapes, and the order within an RDN.

    Values are compared as caseIgnoreMatch does (RFC 4518): a run of blanks is one. Any text has a result.
    """
    return tuple(tuple(sorted(map(_assertion, _parts(rdn, "+")))) for rdn in _parts(dn, ",;"))


def _assertion(part: str) -> tuple[str, str]:
    name, _, value = part.partition("=")
    kind = name.strip().lower().removeprefix("oid.")
    quoted = re.fullmatch(r' *"(.*)" *', value, re.DOTALL)
    plain = ESCAPE.sub(_unescaped, quoted[1] if quoted else value)
    return SHORT_NAMES.get(kind, kind), " ".join(plain.casefold().split())


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return found[1]
    return bytes.fromhex(found[0].replace("\\", "")).decode("utf-8", "backslashreplace")


def _parts(text: str, separators: str) -> list[str]:
    """Return the parts of a DN between its separators, those in escapes and between quotation marks excluded."""
    parts, begin, escaped, quoted = [], 0, False, False
    for place, letter in enumerate(text):
        if escaped:
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter == '"':
            quoted = not quoted
        elif letter in separators and not quoted:
            parts.append(text[begin:place])
            begin = place + 1
    return [*parts, text[begin:]]
