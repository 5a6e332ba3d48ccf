"""ServerIdentity: which directory product, and which version."""

from __future__ import annotations

import re
from enum import StrEnum

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

VERSION = pattern(r"(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?", re.ASCII)
LONGEST_BANNER = 4096


Version = tuple[int, ...]
"""A version as numbers; an empty one is unknown."""


class Family(StrEnum):
    """The supported directory products, by their identifiers in docs/contract.md."""

    DS389 = "389ds"
    OPENLDAP = "openldap"
    AD = "ad"
    DSEE = "dsee"
    OPENDJ = "opendj"
    PING = "ping"
    IBM = "ibm"

    @property
    def product(self) -> str:
        """Return the name of the product."""
        return {
            "389ds": "389 Directory Server",
            "openldap": "OpenLDAP",
            "ad": "Active Directory",
            "dsee": "Directory Server Enterprise Edition",
            "opendj": "OpenDJ",
            "ping": "PingDirectory",
            "ibm": "IBM Directory Server",
        }[self.value]

    @property
    def kin(self) -> Family:
        """Return the family that stands for all those which the same text or program may come from."""
        return {Family.DSEE: Family.DS389, Family.PING: Family.OPENDJ}.get(self, self)

    @property
    def short(self) -> str:
        """Return its name in hints about what to collect."""
        return {"389ds": "389-ds", "dsee": "DSEE", "ibm": "IBM"}.get(self.value, self.product)


BRANDS: tuple[tuple[str, Family, str], ...] = (
    ("389-directory/", Family.DS389, ""),
    ("red hat-directory/", Family.DS389, ""),
    ("fedora-directory/", Family.DS389, ""),
    ("openldap", Family.OPENLDAP, ""),
    ("slapd ", Family.OPENLDAP, ""),
    ("sun-directory-server/", Family.DSEE, ""),
    ("sun-java(tm)-system-directory/", Family.DSEE, ""),
    ("sun java(tm) system directory server", Family.DSEE, ""),
    ("sun-one-directory/", Family.DSEE, ""),
    ("directory server enterprise edition", Family.DSEE, ""),
    ("oracle unified directory", Family.OPENDJ, "Oracle Unified Directory"),
    ("forgerock directory services", Family.OPENDJ, "ForgeRock Directory Services"),
    ("pingds", Family.OPENDJ, "PingDS"),
    ("opends", Family.OPENDJ, "OpenDS"),
    ("opendj", Family.OPENDJ, ""),
    ("pingdirectory", Family.PING, ""),
    ("ping identity directory", Family.PING, ""),
    ("unboundid", Family.PING, "UnboundID Directory Server"),
    ("samba team", Family.AD, "Samba"),
    ("ibm tivoli directory", Family.IBM, "IBM Tivoli Directory Server"),
    ("ibm security directory", Family.IBM, "IBM Security Directory Server"),
    ("ibm security verify directory", Family.IBM, "IBM Security Verify Directory"),
    ("ibm verify directory", Family.IBM, "IBM Verify Directory"),
    ("ibm directory", Family.IBM, ""),
)
"""Substring of a version text (in lower case), the family, and the product name where it differs from the family's.

389-ds: CAPBRAND, and the names of its earlier brands. Oracle Unified Directory, ForgeRock DS and PingDS are forks of
OpenDS, as OpenDJ is.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerIdentity:
    """The product family of a server, and its version."""

    family: Family
    version: Version = ()
    product: str = ""
    """The product name, where it differs from the family's."""

    def __str__(self) -> str:
        number = ".".join(map(str, self.version))
        return f"{self.product or self.family.product} {number}".rstrip()


def identify(banner: str) -> ServerIdentity | None:
    """Return the product of a version text, as in `389-Directory/2.3.1 B2025` and `OpenLDAP: slapd 2.5.13+dfsg-5`.

    None: the text names no supported product.
    """
    text = banner[:LONGEST_BANNER].lower()
    for brand, family, product in BRANDS:
        if brand in text:
            found = VERSION.search(text, text.index(brand))
            version = tuple(int(number) for number in found.groups(default="0")) if found else ()
            return ServerIdentity(family=family, version=version, product=product)
    return None
