"""Oracle DSEE as a product."""

from __future__ import annotations

from ldapdiag.evidence.family import Family
from ldapdiag.servers.dsee import candidates, index_remedies, storage
from ldapdiag.servers.dsee.defaults import DEFAULTS, IDLE
from ldapdiag.servers.dsee.remedies import SETTINGS
from ldapdiag.servers.dsee.storage import shorten_commits
from ldapdiag.servers.ldbm.account_limits import applied_limits
from ldapdiag.servers.ldbm.index_changes import NEVER_DROPPED, SEARCHED_BY_RULES
from ldapdiag.servers.product import Product

PRODUCT = Product(
    family=Family.DSEE,
    defaults=DEFAULTS,
    idle_enforcement=IDLE,
    remedies=SETTINGS,
    index_remedies=index_remedies,
    never_dropped=NEVER_DROPPED,
    searched_by_rules=SEARCHED_BY_RULES,
    candidates=candidates,
    candidates_tested=False,
    longest_list=candidates.longest_list,
    applied_limits=applied_limits,
    storage=storage,
    shorten_commits=shorten_commits,
)
