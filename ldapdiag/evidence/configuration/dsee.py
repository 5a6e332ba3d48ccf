"""The product of a cn=config entry: Directory Server Enterprise Edition and 389-ds have the same attribute names.

    dn: cn=config
    nsslapd-idletimeout: 0
    nsslapd-infolog-area: 0

ds389.py reads the settings of both; their defaults differ, so the product matters.
Source: Oracle E28967 (man pages of section 5dsconf), for the attributes that no 389-ds version has.
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
    """Return the product of a cn=config entry, by its version or an attribute of DSEE; by default 389-ds."""
    identity = identify(entry.first("nsslapd-versionstring"))
    if identity and identity.family in {Family.DS389, Family.DSEE}:
        return identity
    return ServerIdentity(family=Family.DSEE if any(name in entry for name in OWN_NAMES) else Family.DS389)
