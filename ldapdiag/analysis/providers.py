"""Providers: the function that computes each fact from other facts; its signature names those that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.hosts.instances import Instance, find_instances
from ldapdiag.analysis.idle.advice import IdleAdvice, advise
from ldapdiag.analysis.idle.bounds import IdleBounds, bound_idle
from ldapdiag.analysis.idle.keepalive import GhostLifetime, measure_lifetime
from ldapdiag.analysis.indexes.coverage import IndexCoverage, audit_searches
from ldapdiag.analysis.indexes.plan import IndexPlan, plan_indexes
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes, find_server_indexes
from ldapdiag.analysis.indexes.unused_indexes import UnusedIndexes, find_unused_indexes
from ldapdiag.analysis.load.accounts import Accounts, count_accounts
from ldapdiag.analysis.load.descriptors import Descriptors, count_descriptors
from ldapdiag.analysis.load.responsiveness import Responsiveness, assess
from ldapdiag.analysis.log.traffic import Traffic, combine_logs
from ldapdiag.analysis.pairing.pairing import Pairing, pair
from ldapdiag.evidence.indexes import IndexConfiguration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PROVIDERS: Mapping[type[Any], Callable[..., Any]] = {
    Instance: find_instances,
    Traffic: combine_logs,
    Pairing: pair,
    GhostLifetime: measure_lifetime,
    Accounts: count_accounts,
    Descriptors: count_descriptors,
    Responsiveness: assess,
    IdleAdvice: advise,
    IdleBounds: bound_idle,
    ServerIndexes: find_server_indexes,
    IndexCoverage: audit_searches,
    IndexPlan: plan_indexes,
    UnusedIndexes: find_unused_indexes,
}
"""Fact to function. diagnosis.py calls each at most once per server or host, after those it depends on."""

INDEX_FACTS = frozenset({IndexConfiguration, ServerIndexes, IndexCoverage, IndexPlan, UnusedIndexes})
"""The facts of checks about indexes; `ldapdiag indexes` runs the checks that need one of them."""
