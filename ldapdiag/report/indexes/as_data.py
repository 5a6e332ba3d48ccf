"""The plan of each server as plain values, for JSON (docs/contract.md)."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.plan import IndexPlan, indexes_as_data, set_with
from ldapdiag.analysis.indexes.search_coverage import sum_of
from ldapdiag.analysis.indexes.unused_indexes import UnusedIndexes
from ldapdiag.analysis.indexes.worth import HOUR
from ldapdiag.report.log.quantities import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.analysis.indexes.plan import PlannedIndexes
    from ldapdiag.analysis.indexes.search_coverage import PredictedTime, ProposedIndex, SearchCoverage
    from ldapdiag.analysis.log.searches import Requester
    from ldapdiag.diagnosis import Diagnosis

MOST_SHAPES = 50
"""Filter shapes with their time before and with the plan."""


def plans(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """Return the index plan of each server, and the searches it removes, keeps or ignores."""
    coverages = {one.server: one for one in diagnosis.facts.every(IndexCoverage)}
    return [
        _plan(one, coverages[one.server], diagnosis.facts.of(UnusedIndexes, one.server))
        for one in diagnosis.facts.every(IndexPlan)
    ]


def _plan(plan: IndexPlan, coverage: IndexCoverage, usage: UnusedIndexes | None) -> dict[str, Any]:
    return {
        "server": plan.server,
        "configured": coverage.indexes is not None,
        "log_hours": round(coverage.seconds / HOUR, 6),
        "searches": sum(row.count for row in coverage.searches),
        "etime_seconds": seconds(coverage.etime),
        "unindexed_etime_seconds": seconds(sum(row.etime for row in coverage.scans)),
        **_saving(plan),
        "exact": plan.exact,
        "cost": plan.cost,
        "cost_at_least": plan.lower_bound,
        "plan": [_row(row, plan, coverage) for row in plan.indexes],
        "shapes": list(islice(_shapes(plan, coverage), MOST_SHAPES)),
        "predicted": [_predicted(scan, plan) for scan in plan.resolved],
        "not_built": _searches(plan.unbuilt),
        "no_index_helps": _searches(plan.unhelped),
        "not_worth_an_index": _searches(plan.below_threshold),
        "harmless": _searches(coverage.harmless),
        "not_used": [
            {"backend": one.backend.name, "attribute": one.attribute, "types": list(one.types)}
            for one in (usage.unused if usage else ())
        ],
    }


def _saving(plan: IndexPlan | PlannedIndexes) -> dict[str, Any]:
    """Return the time that indexes probably save, and the time that is left."""
    after = plan.after
    return {
        "saves_seconds": seconds(plan.saved),
        "saves": {"least": seconds(plan.before - after.most), "most": seconds(plan.before - after.least)},
        "after_seconds": {"least": seconds(after.least), "most": seconds(after.most)},
    }


def _shapes(plan: IndexPlan, coverage: IndexCoverage) -> Iterator[dict[str, Any]]:
    """Yield the search time of each filter shape, before and with the plan; the most time first."""
    by_shape: dict[str, list[SearchCoverage]] = defaultdict(list)
    for search in coverage.searches:
        by_shape[search.group.shape].append(search)
    etimes = {shape: sum(search.etime for search in searches) for shape, searches in by_shape.items()}
    for shape in sorted(etimes, key=lambda one: (-etimes[one], one)):
        after = sum_of(_with_plan(search, plan) for search in by_shape[shape])
        yield {
            "shape": shape,
            "searches": sum(search.count for search in by_shape[shape]),
            "etime_seconds": seconds(etimes[shape]),
            "with_plan_seconds": {
                "least": seconds(after.least),
                "expected": seconds(after.expected),
                "most": seconds(after.most),
            },
        }


def _with_plan(search: SearchCoverage, plan: IndexPlan) -> PredictedTime:
    slowed = search.slowed_by(plan.added)
    return search.after(plan.added) if slowed is None else slowed.times(search.count)


def _predicted(scan: SearchCoverage, plan: IndexPlan) -> dict[str, Any]:
    """Return the average time of a kind of search, before and with the plan."""
    after = scan.after(plan.added)
    count = max(1, scan.count)
    return {
        "shape": scan.group.shape,
        "base": scan.group.base,
        "scope": scan.group.scope,
        "lengths": scan.piece_lengths,
        "searches": scan.count,
        "mean_seconds": seconds(scan.mean),
        "after_seconds": {
            "least": seconds(after.least // count),
            "expected": seconds(after.expected // count),
            "most": seconds(after.most // count),
        },
    }


def _row(row: PlannedIndexes, plan: IndexPlan, coverage: IndexCoverage) -> dict[str, Any]:
    return {
        "attribute": row.attribute,
        "types": list(row.types),
        "backend": row.backend.name if row.backend else None,
        "sets": [indexes_as_data(one) for one in set_with(row, plan, coverage)],
        "sure": any(one.certain for one in row.resolved),
        **_saving(row),
        "searches": row.search_count,
        "shapes": list(dict.fromkeys(one.group.shape for one in row.resolved)),
        "slows": list(dict.fromkeys(one.group.shape for one in row.slowed)),
        **_senders(row.requesters),
    }


def _senders(requesters: Iterable[Requester]) -> dict[str, list[str]]:
    found = tuple(requesters)
    return {
        "clients": list(dict.fromkeys(one.client for one in found)),
        "accounts": list(dict.fromkeys(one.account for one in found)),
    }


def _searches(rows: Iterable[SearchCoverage]) -> list[dict[str, Any]]:
    return [
        {
            "shape": row.group.shape,
            "base": row.group.base,
            "scope": row.group.scope,
            "searches": row.count,
            "etime_seconds": seconds(row.etime),
            "noted": row.noted,
            **_senders(row.group.requesters),
            "cause": str(row.obstacle.cause) if row.obstacle else None,
            "part": row.obstacle.text if row.obstacle else None,
            "reason": row.obstacle.reason if row.obstacle else None,
            "wants": [_wanted(some) for some in row.sufficient_sets],
        }
        for row in rows
    ]


def _wanted(places: Iterable[ProposedIndex]) -> list[dict[str, str | None]]:
    return [
        {"backend": where or None, "attribute": one.attribute, "type": one.type, "rule": one.rule or None}
        for where, one in sorted(places)
    ]
