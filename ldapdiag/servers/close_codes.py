"""Close reasons by product and by the code or text in its access log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers.close_reasons import CloseKind, CloseReason
from ldapdiag.servers.traits import FOLDERS, traits_of

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Family

ADDED_CODES = {
    "restart": CloseReason("the server restarted", CloseKind.RESTART),
    "other": CloseReason("other reasons, counted together", CloseKind.UNKNOWN),
}
"""Codes that the log analysis adds to those of the servers."""

NO_CODE = CloseReason("the log contains no reason", CloseKind.UNKNOWN)
UNKNOWN_CODE = CloseReason("the text of the server", CloseKind.UNKNOWN)


def close_reason(family: Family | None, code: str) -> CloseReason:
    """Return the meaning of a close code in the log of a product; the code may be any text.

    `family` None: the logs are of several products; a code then has a meaning only if it is the same in all of them.
    """
    known = traits_of(family).close_reasons.get(code) if family else _common_meaning(code)
    return known or ADDED_CODES.get(code) or (UNKNOWN_CODE if code else NO_CODE)


def _common_meaning(code: str) -> CloseReason | None:
    """Return the meaning of a code if it is the same in all products; an empty code has none, except in slapd's log."""
    known = [traits_of(family).close_reasons for family in FOLDERS]
    meanings = {closes[code] for closes in known if code and code in closes}
    return meanings.pop() if len(meanings) == 1 else None
