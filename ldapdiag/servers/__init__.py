"""Servers: what differs between directory products, as meaning. One folder per family, each with the same rooms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ldapdiag.evidence.family import Family
from ldapdiag.servers.ds389 import defaults as ds389_defaults
from ldapdiag.servers.ds389 import remedies as ds389_remedies
from ldapdiag.servers.openldap import defaults as openldap_defaults
from ldapdiag.servers.openldap import remedies as openldap_remedies

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version
    from ldapdiag.remedy import Remedy


class Defaults(Protocol):
    """The room `defaults` of a family: a module of plain functions and facts.

    An unknown version gets what holds for every version, else None.
    """

    RESERVED_DESCRIPTORS: int
    EXEMPTION: str

    def idle_timeout_seconds(self, version: Version) -> int | None:
        """Return the default idle timeout; 0 is off."""

    def sets_keepalive_time(self, version: Version) -> bool | None:
        """Tell whether the server sets the keepalive time of its sockets itself."""

    def keepalive_seconds(self, version: Version) -> int | None:
        """Return the default keepalive time; None where the kernel's holds, too."""

    def sends_keepalives(self, version: Version) -> bool | None:
        """Tell whether accepted sockets have keepalives on."""

    def max_descriptors(self, version: Version) -> int | None:
        """Return the server's own default limit; its process may have a smaller one."""

    def descriptor_cap(self, version: Version) -> int | None:
        """Return how many connections the server takes whatever its limits say."""

    def enforces_idle_only_under_activity(self, version: Version) -> bool | None:
        """Tell whether an idle connection is closed only when another one is active."""

    def idle_timeout_reaches_open_connections(self, version: Version) -> bool | None:
        """Tell whether a changed idle timeout holds for connections already open."""


class Remedies(Protocol):
    """The room `remedies` of a family: a module of plain functions."""

    def set_idle_timeout(self, server: str, seconds: int, current: int | None, version: Version = ()) -> Remedy:
        """Close connections that rest for so many seconds."""

    def set_keepalive(self, server: str, seconds: int, current: int | None = None, version: Version = ()) -> Remedy:
        """Probe connections that rest for so many seconds."""

    def exempt_from_idle_timeout(self, server: str, dns: tuple[str, ...], seconds: int = -1) -> Remedy | None:
        """Give accounts an idle limit of their own; None where the product has no such thing, or no DN is fit."""

    def raise_descriptor_limit(self, server: str, current: int | None, wanted: int, version: Version = ()) -> Remedy:
        """Let the server open more descriptors."""

    def raise_backlog(self, server: str, current: int | None, wanted: int, version: Version = ()) -> Remedy:
        """Let more connections wait to be accepted."""

    def raise_threads(self, server: str, current: int | None, wanted: int) -> Remedy:
        """Let the server work on more operations at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One directory product: what it does when nothing is set, and how to set it."""

    family: Family
    defaults: Defaults
    remedies: Remedies


PRODUCTS = {
    Family.DS389: Product(family=Family.DS389, defaults=ds389_defaults, remedies=ds389_remedies),
    Family.OPENLDAP: Product(family=Family.OPENLDAP, defaults=openldap_defaults, remedies=openldap_remedies),
}


def product_of(family: Family) -> Product:
    """Return the product of a family."""
    return PRODUCTS[family]
