"""Providers: which function joins which fact. Its signature names the facts it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.accounts import Accounts, count_accounts
from ldapdiag.analysis.advice import IdleAdvice, advise
from ldapdiag.analysis.coverage import Coverage, audit
from ldapdiag.analysis.descriptors import Descriptors, count_descriptors
from ldapdiag.analysis.idle import IdleBounds, bound_idle
from ldapdiag.analysis.index_plan import IndexPlan, plan
from ldapdiag.analysis.indexing import Indexing, find_indexing
from ldapdiag.analysis.keepalive import GhostLifetime, measure_lifetime
from ldapdiag.analysis.pairing import Pairing, pair
from ldapdiag.analysis.servers import DirectoryServer, find_servers
from ldapdiag.analysis.traffic import Traffic, add_up
from ldapdiag.analysis.usage import Usage, find_usage
from ldapdiag.evidence.indexes import IndexConfiguration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PROVIDERS: Mapping[type[Any], Callable[..., Any]] = {
    DirectoryServer: find_servers,
    Traffic: add_up,
    Pairing: pair,
    GhostLifetime: measure_lifetime,
    Accounts: count_accounts,
    Descriptors: count_descriptors,
    IdleAdvice: advise,
    IdleBounds: bound_idle,
    Indexing: find_indexing,
    Coverage: audit,
    IndexPlan: plan,
    Usage: find_usage,
}
"""Which function joins which fact. diagnosis.py runs each at most once per host, needs first."""

INDEX_FACTS = frozenset({IndexConfiguration, Indexing, Coverage, IndexPlan, Usage})
"""What a check of the index half asks for."""
