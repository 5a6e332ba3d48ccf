"""ServerIdentity: which directory product, and which version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?", re.ASCII)

DS389_BRANDS = ("389-Directory/", "Red Hat-Directory/", "Fedora-Directory/")
"""CAPBRAND in its version texts: 389-ds, and what it was sold as before."""


Version = tuple[int, ...]
"""A version as numbers; an empty one is unknown."""


class Family(StrEnum):
    """The directory products we know, by the name the contract gives them."""

    DS389 = "389ds"
    OPENLDAP = "openldap"

    @property
    def product(self) -> str:
        """Return the product's own name."""
        return {"389ds": "389 Directory Server", "openldap": "OpenLDAP"}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerIdentity:
    """A family, and the version."""

    family: Family
    version: Version = ()

    def __str__(self) -> str:
        number = ".".join(map(str, self.version))
        return f"{self.family.product} {number}".rstrip()


def identify(banner: str) -> ServerIdentity | None:
    """Return the identity that a version text tells: `389-Directory/2.3.1 B2025`, `OpenLDAP: slapd 2.5.13+dfsg-5`."""
    found = VERSION.search(banner)
    version = tuple(int(number) for number in found.groups(default="0")) if found else ()
    if any(brand in banner for brand in DS389_BRANDS):
        return ServerIdentity(family=Family.DS389, version=version)
    if "OpenLDAP" in banner or "slapd " in banner:
        return ServerIdentity(family=Family.OPENLDAP, version=version)
    return None
