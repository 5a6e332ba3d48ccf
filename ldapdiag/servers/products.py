"""Products: the families with their rooms, and what each room holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ldapdiag.evidence.family import Family
from ldapdiag.servers import dsconfig_indexes, ldbm_index_changes
from ldapdiag.servers.active_directory import defaults as active_directory_defaults
from ldapdiag.servers.active_directory import remedies as active_directory_remedies
from ldapdiag.servers.ds389 import candidates as ds389_candidates
from ldapdiag.servers.ds389 import defaults as ds389_defaults
from ldapdiag.servers.ds389 import index_remedies as ds389_index_remedies
from ldapdiag.servers.ds389 import remedies as ds389_remedies
from ldapdiag.servers.dsee import candidates as dsee_candidates
from ldapdiag.servers.dsee import defaults as dsee_defaults
from ldapdiag.servers.dsee import index_remedies as dsee_index_remedies
from ldapdiag.servers.dsee import remedies as dsee_remedies
from ldapdiag.servers.opendj import candidates as opendj_candidates
from ldapdiag.servers.opendj import defaults as opendj_defaults
from ldapdiag.servers.opendj import index_remedies as opendj_index_remedies
from ldapdiag.servers.opendj import remedies as opendj_remedies
from ldapdiag.servers.openldap import candidates as openldap_candidates
from ldapdiag.servers.openldap import defaults as openldap_defaults
from ldapdiag.servers.openldap import index_changes
from ldapdiag.servers.openldap import index_remedies as openldap_index_remedies
from ldapdiag.servers.openldap import remedies as openldap_remedies
from ldapdiag.servers.ping import candidates as ping_candidates
from ldapdiag.servers.ping import defaults as ping_defaults
from ldapdiag.servers.ping import index_remedies as ping_index_remedies
from ldapdiag.servers.ping import remedies as ping_remedies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.remedy import Remedy
    from ldapdiag.servers.candidates import Candidates, Change


class Defaults(Protocol):
    """The room `defaults` of a family: a module of plain functions and facts.

    An unknown version gets what holds for every version, else None.
    """

    RESERVED_DESCRIPTORS: int
    TIMES_RESERVED: int
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


class IndexRemedies(Protocol):
    """The room `index_remedies` of a family: a module of plain functions, and of how to see what they did.

    Names that are no attribute types are left out of the commands, and told in words. Which names mean one attribute,
    and of which others it is a kind, the server's schema tells.
    """

    SIGN: str
    """A sentence: what the log says of a search that an index answers."""

    def asking(self, server: str, version: Version) -> str:
        """Return ldapsearch with what it takes to ask a server for anything."""

    def add_indexes(
        self,
        server: str,
        backend: Backend,
        changes: Sequence[Change],
        configuration: IndexConfiguration,
        schema: Schema,
    ) -> Remedy:
        """Add indexes, and build them."""

    def add_indexes_ldif(
        self,
        server: str,
        backend: Backend,
        changes: Sequence[Change],
        configuration: IndexConfiguration,
        schema: Schema,
    ) -> str | None:
        """Return the same as LDIF; None where the product takes none."""

    def build_indexes(
        self,
        server: str,
        backend: Backend,
        attributes: Sequence[str],
        configuration: IndexConfiguration,
        schema: Schema,
    ) -> Remedy:
        """Build indexes that are configured."""

    def drop_indexes(
        self,
        server: str,
        backend: Backend,
        changes: Sequence[Change],
        configuration: IndexConfiguration,
        schema: Schema,
    ) -> Remedy:
        """Take indexes away."""


def honoured(version: Version) -> str:  # noqa: ARG001  the same question for every product
    """Return that an idle timeout which is set has its effect, as it has in most products."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One directory product: what it does when nothing is set, and how to set it."""

    family: Family
    defaults: Defaults
    remedies: Remedies
    ignores_idle_timeout: Callable[[Version], str] = honoured
    """Returns why an idle timeout that is set has no effect in a version; empty where it has."""
    candidates: Candidates | None = None
    """None: how it finds candidates is not simulated."""
    index_remedies: IndexRemedies | None = None
    never_dropped: frozenset[str] = frozenset()
    """Attributes, by their primary names in lower case, whose indexes stay, whatever a log shows of their use."""


PRODUCTS = {
    Family.DS389: Product(
        family=Family.DS389,
        defaults=ds389_defaults,
        remedies=ds389_remedies,
        candidates=ds389_candidates,
        index_remedies=ds389_index_remedies,
        never_dropped=ldbm_index_changes.NEVER_DROPPED,
    ),
    Family.OPENLDAP: Product(
        family=Family.OPENLDAP,
        defaults=openldap_defaults,
        remedies=openldap_remedies,
        index_remedies=openldap_index_remedies,
        never_dropped=index_changes.NEVER_DROPPED,
        candidates=openldap_candidates,
    ),
    Family.AD: Product(family=Family.AD, defaults=active_directory_defaults, remedies=active_directory_remedies),
    Family.DSEE: Product(
        family=Family.DSEE,
        defaults=dsee_defaults,
        remedies=dsee_remedies,
        index_remedies=dsee_index_remedies,
        never_dropped=ldbm_index_changes.NEVER_DROPPED,
        candidates=dsee_candidates,
    ),
    Family.OPENDJ: Product(
        family=Family.OPENDJ,
        defaults=opendj_defaults,
        remedies=opendj_remedies,
        index_remedies=opendj_index_remedies,
        never_dropped=dsconfig_indexes.NEVER_DROPPED,
        candidates=opendj_candidates,
        ignores_idle_timeout=opendj_defaults.ignores_idle_timeout,
    ),
    Family.PING: Product(
        family=Family.PING,
        defaults=ping_defaults,
        remedies=ping_remedies,
        index_remedies=ping_index_remedies,
        never_dropped=dsconfig_indexes.NEVER_DROPPED,
        candidates=ping_candidates,
    ),
}


def product_of(family: Family) -> Product | None:
    """Return the product of a family; None of one whose monitor is all we know (IBM): its remedies are advice."""
    return PRODUCTS.get(family)
