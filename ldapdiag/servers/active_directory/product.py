"""Active Directory as a product."""

from __future__ import annotations

from ldapdiag.evidence.family import Family
from ldapdiag.servers.active_directory.defaults import DEFAULTS, IDLE
from ldapdiag.servers.active_directory.remedies import SETTINGS
from ldapdiag.servers.product import Product

PRODUCT = Product(family=Family.AD, defaults=DEFAULTS, idle_enforcement=IDLE, remedies=SETTINGS, on_linux=False)
