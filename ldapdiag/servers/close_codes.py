"""What a close code means, by product: each has a room `codes`, keyed by the server's own word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.servers.close_reasons import CloseKind, CloseReason
from ldapdiag.servers.ds389 import close_codes as ds389
from ldapdiag.servers.dsee import close_codes as dsee
from ldapdiag.servers.opendj import close_codes as opendj
from ldapdiag.servers.openldap import close_codes as openldap
from ldapdiag.servers.ping import close_codes as ping

if TYPE_CHECKING:
    from collections.abc import Mapping

CLOSE_REASONS: Mapping[Family, Mapping[str, CloseReason]] = {
    Family.DS389: ds389.CLOSE_REASONS,
    Family.DSEE: dsee.CLOSE_REASONS,
    Family.OPENDJ: opendj.CLOSE_REASONS,
    Family.OPENLDAP: openldap.CLOSE_REASONS,
    Family.PING: ping.CLOSE_REASONS,
}

OURS = {
    "restart": CloseReason("the server restarted", CloseKind.RESTART),
    "other": CloseReason("reasons that are not told apart", CloseKind.UNKNOWN),
}
"""Codes that the reading of a log adds to the server's."""

SILENT = CloseReason("the log gives no reason", CloseKind.UNKNOWN)
UNKNOWN = CloseReason("the server's own words", CloseKind.UNKNOWN)


def close_reason(family: Family | None, code: str) -> CloseReason:
    """Return what the code of a close means in a product's log; a log is text, so it may be anything.

    `family` None: logs of several products are added up; a code has its meaning if it means the same to all of them.
    """
    known = CLOSE_REASONS.get(family, {}).get(code) if family else _agreed(code)
    return known or OURS.get(code) or (UNKNOWN if code else SILENT)


def _agreed(code: str) -> CloseReason | None:
    """Return what a code means wherever it is known; no code is no word, whatever it means to slapd."""
    meanings = {closes[code] for closes in CLOSE_REASONS.values() if code and code in closes}
    return meanings.pop() if len(meanings) == 1 else None
