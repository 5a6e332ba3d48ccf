"""389 Directory Server and Red Hat Directory Server as a product."""

from __future__ import annotations

from ldapdiag.evidence.family import Family
from ldapdiag.servers.ds389 import candidates, index_remedies, storage, vlv_remedies
from ldapdiag.servers.ds389.defaults import DEFAULTS, IDLE
from ldapdiag.servers.ds389.index_lookup import why_no_approximate
from ldapdiag.servers.ds389.remedies import SETTINGS, raise_scan_limit, shorten_commits
from ldapdiag.servers.ds389.scan_limits import BASE_OVER_TEST, READ_OVER_TEST, longest_list
from ldapdiag.servers.ldbm.account_limits import applied_limits
from ldapdiag.servers.ldbm.index_changes import NEVER_DROPPED, SEARCHED_BY_RULES
from ldapdiag.servers.product import Product

PRODUCT = Product(
    family=Family.DS389,
    defaults=DEFAULTS,
    idle_enforcement=IDLE,
    remedies=SETTINGS,
    candidates=candidates,
    index_remedies=index_remedies,
    list_view_remedies=vlv_remedies,
    never_dropped=NEVER_DROPPED,
    searched_by_rules=SEARCHED_BY_RULES,
    longest_list=longest_list,
    read_over_test=READ_OVER_TEST,
    base_over_test=BASE_OVER_TEST,
    applied_limits=applied_limits,
    why_no_approximate=why_no_approximate,
    raise_scan_limit=raise_scan_limit,
    storage=storage,
    shorten_commits=shorten_commits,
)
