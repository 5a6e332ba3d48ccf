"""The plan of each server as plain values, for JSON (docs/contract.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.plan import IndexPlan
from ldapdiag.report.log.quantities import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.analysis.indexes.plan import PlannedIndexes
    from ldapdiag.analysis.indexes.search_coverage import ProposedIndex, SearchCoverage
    from ldapdiag.diagnosis import Diagnosis

HOUR = 3600


def plans(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """Return what to add to the indexes of each server, and what that ends."""
    coverages = {one.host: one for one in diagnosis.facts.every(IndexCoverage)}
    return [_plan(one, coverages[one.host]) for one in diagnosis.facts.every(IndexPlan)]


def _plan(plan: IndexPlan, coverage: IndexCoverage) -> dict[str, Any]:
    return {
        "server": plan.host,
        "configured": coverage.indexing is not None,
        "log_hours": round(coverage.seconds / HOUR, 3),
        "searches": sum(row.count for row in coverage.rows),
        "etime_seconds": seconds(coverage.etime),
        "unindexed_etime_seconds": seconds(sum(row.etime for row in coverage.scanned)),
        "saves_seconds": seconds(plan.saves),
        "exact": plan.exact,
        "cost": plan.cost,
        "cost_at_least": plan.at_least,
        "plan": [_row(row) for row in plan.rows],
        "no_index_helps": _searches(plan.remaining),
        "not_worth_an_index": _searches(plan.spared),
        "harmless": _searches(coverage.harmless),
    }


def _row(row: PlannedIndexes) -> dict[str, Any]:
    return {
        "attribute": row.attribute,
        "types": list(row.types),
        "backend": row.backend.name if row.backend else None,
        "sure": any(one.sure for one in row.resolves),
        "saves_seconds": seconds(row.saves),
        "searches": row.searches,
        "shapes": list(dict.fromkeys(one.search.shape for one in row.resolves)),
        "clients": list(dict.fromkeys(asker.client for asker in row.askers)),
        "accounts": list(dict.fromkeys(asker.account for asker in row.askers)),
    }


def _searches(rows: Iterable[SearchCoverage]) -> list[dict[str, Any]]:
    return [
        {
            "shape": row.search.shape,
            "base": row.search.base,
            "scope": row.search.scope,
            "searches": row.count,
            "etime_seconds": seconds(row.etime),
            "noted": row.noted,
            "cause": str(row.hindrance.cause) if row.hindrance else None,
            "part": row.hindrance.text if row.hindrance else None,
            "reason": row.hindrance.why if row.hindrance else None,
            "wants": [_wanted(some) for some in row.alternatives],
        }
        for row in rows
    ]


def _wanted(places: Iterable[ProposedIndex]) -> list[dict[str, str | None]]:
    return [{"backend": where or None, "attribute": one.attribute, "type": one.type} for where, one in sorted(places)]
