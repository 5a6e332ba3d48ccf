"""Close reasons by product and by the code or text in its access log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.servers.close_reasons import CloseKind, CloseReason
from ldapdiag.servers.ds389 import defaults as ds389
from ldapdiag.servers.dsee import defaults as dsee
from ldapdiag.servers.opendj import defaults as opendj
from ldapdiag.servers.openldap import defaults as openldap
from ldapdiag.servers.ping import defaults as ping

if TYPE_CHECKING:
    from collections.abc import Mapping

CLOSE_REASONS: Mapping[Family, Mapping[str, CloseReason]] = {
    Family.DS389: ds389.CLOSE_REASONS,
    Family.DSEE: dsee.CLOSE_REASONS,
    Family.OPENDJ: opendj.CLOSE_REASONS,
    Family.OPENLDAP: openldap.CLOSE_REASONS,
    Family.PING: ping.CLOSE_REASONS,
}

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
    known = CLOSE_REASONS.get(family, {}).get(code) if family else _common_meaning(code)
    return known or ADDED_CODES.get(code) or (UNKNOWN_CODE if code else NO_CODE)


def _common_meaning(code: str) -> CloseReason | None:
    """Return the meaning of a code if it is the same in all products; an empty code has none, except in slapd's log."""
    meanings = {closes[code] for closes in CLOSE_REASONS.values() if code and code in closes}
    return meanings.pop() if len(meanings) == 1 else None
