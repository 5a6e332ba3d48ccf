"""OpenLDAP as a product."""

from __future__ import annotations

from ldapdiag.evidence.family import Family
from ldapdiag.servers.openldap import candidates, index_remedies, storage
from ldapdiag.servers.openldap.account_limits import applied_limits
from ldapdiag.servers.openldap.defaults import DEFAULTS, IDLE
from ldapdiag.servers.openldap.index_changes import NEVER_DROPPED
from ldapdiag.servers.openldap.index_remedies import raise_scan_limit
from ldapdiag.servers.openldap.remedies import SETTINGS
from ldapdiag.servers.openldap.storage import shorten_commits
from ldapdiag.servers.product import Product

PRODUCT = Product(
    family=Family.OPENLDAP,
    defaults=DEFAULTS,
    idle_enforcement=IDLE,
    remedies=SETTINGS,
    index_remedies=index_remedies,
    never_dropped=NEVER_DROPPED,
    makes_own_indexes=False,
    candidates=candidates,
    raise_scan_limit=raise_scan_limit,
    applied_limits=applied_limits,
    longest_list=candidates.longest_list,
    copy_over_test=candidates.COPY_OVER_TEST,
    approximate_over_test=candidates.APPROXIMATE_OVER_TEST,
    why_no_approximate=candidates.why_no_approximate,
    storage=storage,
    shorten_commits=shorten_commits,
)
