"""PingDirectory as a product."""

from __future__ import annotations

from ldapdiag.evidence.family import Family
from ldapdiag.servers.opends.candidates import longest_list
from ldapdiag.servers.opends.dsconfig_indexes import NEVER_DROPPED
from ldapdiag.servers.ping import candidates, index_remedies, storage
from ldapdiag.servers.ping.defaults import DEFAULTS, IDLE
from ldapdiag.servers.ping.remedies import SETTINGS
from ldapdiag.servers.product import Product

PRODUCT = Product(
    family=Family.PING,
    defaults=DEFAULTS,
    idle_enforcement=IDLE,
    remedies=SETTINGS,
    index_remedies=index_remedies,
    never_dropped=NEVER_DROPPED,
    candidates=candidates,
    candidates_tested=False,
    longest_list=longest_list,
    storage=storage,
)
