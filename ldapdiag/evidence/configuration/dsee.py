"""Whose cn=config it is: Directory Server Enterprise Edition and 389-ds inherited the same attribute names.

    dn: cn=config
    nsslapd-idletimeout: 0
    nsslapd-infolog-area: 0

ds389.py reads the settings of both; the defaults differ, so the two must not be taken for each other.
Source: Oracle E28967 (man pages of section 5dsconf): attributes that 389-ds never had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family, ServerIdentity, identify

if TYPE_CHECKING:
    from ldapdiag.evidence.ldif import Entry

OWN_NAMES = (
    "ds-maxheaphigh",
    "ds-maxheaplow",
    "ds-start-tls-enabled",
    "nsslapd-infolog-area",
    "nsslapd-infolog-level",
    "nsslapd-maxconnections",
)


def identity_of(entry: Entry) -> ServerIdentity:
    """Return the server that a cn=config entry with nsslapd attributes belongs to; 389-ds unless something tells."""
    told = identify(entry.first("nsslapd-versionstring"))
    if told and told.family in {Family.DS389, Family.DSEE}:
        return told
    return ServerIdentity(family=Family.DSEE if any(name in entry for name in OWN_NAMES) else Family.DS389)
