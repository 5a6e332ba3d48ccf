"""What a close code means, by product: each has a room `codes`, keyed by the server's own word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.servers.ds389 import codes as ds389
from ldapdiag.servers.dsee import codes as dsee
from ldapdiag.servers.nature import Close, Nature
from ldapdiag.servers.opendj import codes as opendj
from ldapdiag.servers.openldap import codes as openldap
from ldapdiag.servers.ping import codes as ping

if TYPE_CHECKING:
    from collections.abc import Mapping

CLOSES: Mapping[Family, Mapping[str, Close]] = {
    Family.DS389: ds389.CLOSES,
    Family.DSEE: dsee.CLOSES,
    Family.OPENDJ: opendj.CLOSES,
    Family.OPENLDAP: openldap.CLOSES,
    Family.PING: ping.CLOSES,
}

OURS = {
    "restart": Close("the server restarted", Nature.RESTART),
    "other": Close("reasons that are not told apart", Nature.UNKNOWN),
}
"""Codes that the reading of a log adds to the server's."""

SILENT = Close("the log gives no reason", Nature.UNKNOWN)
UNKNOWN = Close("the server's own words", Nature.UNKNOWN)


def close_of(family: Family | None, code: str) -> Close:
    """Return what the code of a close means in a product's log; a log is text, so it may be anything.

    `family` None: logs of several products are added up; a code has its meaning if it means the same to all of them.
    """
    known = CLOSES.get(family, {}).get(code) if family else _agreed(code)
    return known or OURS.get(code) or (UNKNOWN if code else SILENT)


def _agreed(code: str) -> Close | None:
    """Return what a code means wherever it is known; no code is no word, whatever it means to slapd."""
    meanings = {closes[code] for closes in CLOSES.values() if code and code in closes}
    return meanings.pop() if len(meanings) == 1 else None
