"""The directory products: their defaults, remedies and index lookup, by family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.servers import dsconfig_indexes, ldbm_index_changes
from ldapdiag.servers.active_directory import remedies as active_directory_remedies
from ldapdiag.servers.active_directory.defaults import DEFAULTS as ACTIVE_DIRECTORY_DEFAULTS
from ldapdiag.servers.ds389 import candidates as ds389_candidates
from ldapdiag.servers.ds389 import index_remedies as ds389_index_remedies
from ldapdiag.servers.ds389 import remedies as ds389_remedies
from ldapdiag.servers.ds389.defaults import DEFAULTS as DS389_DEFAULTS
from ldapdiag.servers.dsee import candidates as dsee_candidates
from ldapdiag.servers.dsee import index_remedies as dsee_index_remedies
from ldapdiag.servers.dsee import remedies as dsee_remedies
from ldapdiag.servers.dsee.defaults import DEFAULTS as DSEE_DEFAULTS
from ldapdiag.servers.opendj import candidates as opendj_candidates
from ldapdiag.servers.opendj import index_remedies as opendj_index_remedies
from ldapdiag.servers.opendj import remedies as opendj_remedies
from ldapdiag.servers.opendj.defaults import DEFAULTS as OPENDJ_DEFAULTS
from ldapdiag.servers.openldap import candidates as openldap_candidates
from ldapdiag.servers.openldap import index_changes
from ldapdiag.servers.openldap import index_remedies as openldap_index_remedies
from ldapdiag.servers.openldap import remedies as openldap_remedies
from ldapdiag.servers.openldap.defaults import DEFAULTS as OPENLDAP_DEFAULTS
from ldapdiag.servers.ping import candidates as ping_candidates
from ldapdiag.servers.ping import index_remedies as ping_index_remedies
from ldapdiag.servers.ping import remedies as ping_remedies
from ldapdiag.servers.ping.defaults import DEFAULTS as PING_DEFAULTS

if TYPE_CHECKING:
    from ldapdiag.servers.candidates import Candidates
    from ldapdiag.servers.defaults import ProductDefaults
    from ldapdiag.servers.product_interfaces import IndexRemedies, ServerRemedies


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One directory product: what it does when nothing is configured, and the commands that change it."""

    family: Family
    defaults: ProductDefaults
    remedies: ServerRemedies
    candidates: Candidates | None = None
    """None: its index lookup is not simulated."""
    index_remedies: IndexRemedies | None = None
    never_dropped: frozenset[str] = frozenset()
    """Attributes (primary names, lower case) whose indexes are never dropped, even if no search in a log uses them."""


PRODUCTS = {
    Family.DS389: Product(
        family=Family.DS389,
        defaults=DS389_DEFAULTS,
        remedies=ds389_remedies,
        candidates=ds389_candidates,
        index_remedies=ds389_index_remedies,
        never_dropped=ldbm_index_changes.NEVER_DROPPED,
    ),
    Family.OPENLDAP: Product(
        family=Family.OPENLDAP,
        defaults=OPENLDAP_DEFAULTS,
        remedies=openldap_remedies,
        index_remedies=openldap_index_remedies,
        never_dropped=index_changes.NEVER_DROPPED,
        candidates=openldap_candidates,
    ),
    Family.AD: Product(family=Family.AD, defaults=ACTIVE_DIRECTORY_DEFAULTS, remedies=active_directory_remedies),
    Family.DSEE: Product(
        family=Family.DSEE,
        defaults=DSEE_DEFAULTS,
        remedies=dsee_remedies,
        index_remedies=dsee_index_remedies,
        never_dropped=ldbm_index_changes.NEVER_DROPPED,
        candidates=dsee_candidates,
    ),
    Family.OPENDJ: Product(
        family=Family.OPENDJ,
        defaults=OPENDJ_DEFAULTS,
        remedies=opendj_remedies,
        index_remedies=opendj_index_remedies,
        never_dropped=dsconfig_indexes.NEVER_DROPPED,
        candidates=opendj_candidates,
    ),
    Family.PING: Product(
        family=Family.PING,
        defaults=PING_DEFAULTS,
        remedies=ping_remedies,
        index_remedies=ping_index_remedies,
        never_dropped=dsconfig_indexes.NEVER_DROPPED,
        candidates=ping_candidates,
    ),
}


def product_of(family: Family) -> Product | None:
    """Return the product of a family; None for IBM, of which only the monitor is read: its remedies are advice."""
    return PRODUCTS.get(family)
