"""OpenDJ as a product."""

from __future__ import annotations

from ldapdiag.evidence.family import Family
from ldapdiag.servers.opendj import candidates, index_remedies, storage
from ldapdiag.servers.opendj.defaults import DEFAULTS, IDLE
from ldapdiag.servers.opendj.remedies import SETTINGS
from ldapdiag.servers.opends.candidates import longest_list
from ldapdiag.servers.opends.dsconfig_indexes import NEVER_DROPPED
from ldapdiag.servers.product import Product

PRODUCT = Product(
    family=Family.OPENDJ,
    defaults=DEFAULTS,
    idle_enforcement=IDLE,
    remedies=SETTINGS,
    index_remedies=index_remedies,
    never_dropped=NEVER_DROPPED,
    candidates=candidates,
    longest_list=longest_list,
    storage=storage,
)
