"""The plan of each server as plain values, for JSON (docs/contract.md)."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.plan import IndexPlan, indexes_as_data, set_with
from ldapdiag.analysis.indexes.predictions import TIME_UNKNOWN, time_with
from ldapdiag.analysis.indexes.search_coverage import PredictedTime, sum_of
from ldapdiag.analysis.indexes.unused_indexes import UnusedIndexes
from ldapdiag.finding import Severity, finding_id
from ldapdiag.report.as_data import remedy_as_data
from ldapdiag.report.indexes.remedies import of_plans
from ldapdiag.report.log.quantities import seconds
from ldapdiag.wording import counted, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.analysis.indexes.plan import PlannedIndexes
    from ldapdiag.analysis.indexes.remaining_searches import RemainingSearches
    from ldapdiag.analysis.indexes.search_coverage import ProposedIndex, SearchCoverage
    from ldapdiag.analysis.log.searches import Requester
    from ldapdiag.diagnosis import Diagnosis

UNREADABLE = "not known: its filter is cut off in the log, or is none of RFC 4515"
MOST_SHAPES = 50
"""Filter shapes with their time before and with the plan."""
MISSING, COSTLY = "missing-index", "costly-search"
IN_THE_PLAN = frozenset(
    {"missing-index", "unindexable-filter", "substring-too-short", "scan-limit-exceeded", "unused-index"}
)
"""Checks whose findings are in the plan and the lines below it."""


def blocks(diagnosis: Diagnosis) -> Iterator[dict[str, Any]]:
    """Yield the plans with an index to add as the report of all evidence has them: in place of their findings."""
    remedies = list(of_plans(diagnosis))
    for plan in diagnosis.facts.every(IndexPlan):
        coverage = diagnosis.facts.of(IndexCoverage, plan.server)
        if plan.indexes and coverage is not None and coverage.indexes is not None:
            brief = next((remedy for remedy in remedies if remedy.target == plan.server and remedy.brief), None)
            yield {
                "server": plan.server,
                "summary": _summary(plan, coverage),
                "indexes": [{"attribute": row.attribute, "types": list(row.types)} for row in plan.indexes],
                "commands": brief.brief if brief else None,
                "risk": brief.risk if brief else None,
                "findings": list(_contained(diagnosis, plan)),
            }


def _contained(diagnosis: Diagnosis, plan: IndexPlan) -> Iterator[str]:
    """Yield the findings that a plan contains: its indexes, searches that they help, lesser ones that none helps."""
    shapes = {scan.group.shape for scan in plan.resolved}
    for check, finding in diagnosis.found:
        if finding.server != plan.server or finding.is_accepted:
            continue
        helped = check == MISSING or (check == COSTLY and finding.observed["shape"] in shapes)
        if helped or (check in IN_THE_PLAN and finding.severity < Severity.HIGH):
            yield finding_id(check, finding)


def _summary(plan: IndexPlan, coverage: IndexCoverage) -> str:
    """Return how many indexes a plan adds, and what they save."""
    remaining = coverage.remaining
    costliest = f"the costliest {counted(remaining.judged, 'kind')} of search" if remaining else ""
    if not plan.indexes:
        judged = " for the searches that were judged" if _unjudged(plan, coverage)["searches"] else ""
        return f"no index to add{f' for {costliest}' if costliest else judged}"
    scanned = sum(row.etime for row in coverage.scans)
    changes = counted(len(plan.indexes), "index change")
    refused = counted(plan.refused, "refused search", "refused searches")
    least, probable, most = (
        percent(each / scanned if scanned else 0).removesuffix(" %").replace("<1", "0")
        for each in (plan.before - plan.after.most, plan.saved, plan.before - plan.after.least)
    )
    share = f"{probable} %" if least == most else f"about {probable} % ({least} to {most} %)"
    possible = "possible: " if coverage.indexes is None else ""
    judged = f" of {costliest}" if costliest else ""
    s = "s" * (len(plan.indexes) == 1)
    effects = [f"let{s} the server answer {refused}"] * bool(plan.refused)
    untimed = counted(sum(row.search_count for row in plan.indexes), "search", "searches")
    if not scanned and plan.indexes and not plan.refused:
        return f"{possible}{changes} help{s} {untimed} whose time is not in the log ({_how_good(plan)})"
    effects += [f"remove{s} {share} of the unindexed search time{judged}"] * bool(plan.before or not plan.refused)
    return f"{possible}{changes} {' and '.join(effects)} ({_how_good(plan)})"


def _how_good(plan: IndexPlan) -> str:
    """Return how the plan compares with all sets of indexes that have the same effect."""
    if plan.exact:
        return "the smallest set found"
    return f"its cost is at most {plan.cost / plan.lower_bound:.2g} times that of the smallest set"


def plans(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """Return the index plan of each server, and the searches it removes, keeps or ignores."""
    coverages = {coverage.server: coverage for coverage in diagnosis.facts.every(IndexCoverage)}
    remedies = list(of_plans(diagnosis))
    return [
        _plan(plan, coverages[plan.server], diagnosis.facts.of(UnusedIndexes, plan.server))
        | {"remedies": [remedy_as_data(remedy) for remedy in remedies if remedy.target == plan.server]}
        for plan in diagnosis.facts.every(IndexPlan)
    ]


def _plan(plan: IndexPlan, coverage: IndexCoverage, usage: UnusedIndexes | None) -> dict[str, Any]:
    configured = coverage.indexes.configuration.backends if coverage.indexes is not None else ()
    fastest = coverage.fastest
    undecided = sum(search.etime for search in coverage.undecided)
    return {
        "server": plan.server,
        "configured": coverage.indexes is not None,
        "backends": [one.name for one in configured],
        "summary": _summary(plan, coverage),
        "log_seconds": round(coverage.seconds, 9),
        "searches": coverage.count,
        "etime_seconds": seconds(coverage.etime),
        "unindexed_etime_seconds": seconds(coverage.unindexed_at_least),
        **_remaining(coverage.remaining),
        **({"undecided_etime_seconds": seconds(undecided)} if undecided else {}),
        **_saving(plan),
        "exact": plan.exact,
        "cost": plan.cost,
        "cost_at_least": plan.lower_bound,
        "plan": [_row(row, plan, coverage, fastest) for row in plan.indexes],
        "shapes": list(islice(_shapes(plan, coverage), MOST_SHAPES)),
        "predicted": [_predicted(scan, plan) for scan in plan.resolved],
        "not_built": _searches(plan.unbuilt),
        "indexed_later": _searches(plan.younger),
        "indexed_since": f"{plan.indexed_since:%Y-%m-%dT%H:%M:%SZ}" if plan.indexed_since else None,
        "perhaps_pages": _searches(plan.perhaps_pages),
        "no_index_helps": _searches(plan.unhelped),
        "not_worth_an_index": _searches(plan.below_threshold),
        "harmless": _searches(coverage.harmless),
        "outside_suffixes": coverage.outside_suffixes,
        "unjudged": _unjudged(plan, coverage),
        "not_used": [
            {
                "backend": one.backend.name,
                "attribute": one.attribute,
                "types": list(one.types),
                "log_seconds": one.seconds,
            }
            for one in (usage.unused if usage else ())
        ],
    }


def _remaining(remaining: RemainingSearches | None) -> dict[str, Any]:
    """Return the searches that are not judged one by one; nothing where there are none."""
    if remaining is None:
        return {}
    least, most = remaining.unindexed
    return {
        "not_judged": {
            "judged_kinds": remaining.judged,
            "kinds": remaining.kinds,
            "others": remaining.unlisted,
            "searches": remaining.count,
            "etime_seconds": seconds(remaining.etime),
            "unindexed_etime_seconds": {"least": seconds(least), "most": seconds(most)},
        }
    }


def _unjudged(plan: IndexPlan, coverage: IndexCoverage) -> dict[str, float]:
    """Return the searches of which it is not known whether an index helps, and their time at most, beside all."""
    found = [(one.count, one.etime) for one in (*plan.unjudged, *coverage.undecided)]
    found += [(one.count, one.etime) for one in coverage.not_audited]
    if (rest := coverage.remaining) is not None and rest.unindexed.most:
        found.append((rest.count, rest.unindexed.most))
    return {
        "searches": sum(count for count, _ in found),
        "of_searches": coverage.count + sum(one.count for one in coverage.not_audited),
        "etime_seconds": seconds(sum(etime for _, etime in found)),
        "of_etime_seconds": seconds(coverage.etime),
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
    if slowed is not None:
        return slowed.times(search.count)
    unpredicted = search.etime - search.examining_etime
    return sum_of([search.after(plan.added), PredictedTime(unpredicted, unpredicted, unpredicted)])


def _predicted(scan: SearchCoverage, plan: IndexPlan) -> dict[str, Any]:
    """Return the average time of a kind of search, before and with the plan."""
    after = scan.each_after(plan.added)
    return {
        "shape": scan.group.shape,
        "base": scan.group.base,
        "scope": scan.group.scope,
        "lengths": scan.piece_lengths,
        "searches": scan.count,
        "mean_seconds": seconds(scan.mean),
        "after_seconds": {
            "least": seconds(after.least),
            "expected": seconds(after.expected),
            "most": seconds(min(after.most, scan.mean)),
        }
        if scan.examining
        else None,
    }


def _row(row: PlannedIndexes, plan: IndexPlan, coverage: IndexCoverage, fastest: int) -> dict[str, Any]:
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
        "then_each": time_with(row.mean_after, row.mean_before, fastest) if row.examining else TIME_UNKNOWN,
        "requesters": [{"client": requester.client, "account": requester.account} for requester in row.requesters],
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
            "backends": [backend.name for backend in row.backends],
            **_obstacle(row),
            "wants": [_wanted(some) for some in row.sufficient_sets],
        }
        for row in rows
    ]


def _obstacle(row: SearchCoverage) -> dict[str, str | None]:
    """Return why no index helps, and the part of the filter that is about; null where one does."""
    if row.filter is None:
        return {"cause": None, "part": None, "reason": UNREADABLE}
    if row.obstacle is None:
        return {"cause": None, "part": None, "reason": None}
    return {"cause": str(row.obstacle.cause), "part": row.obstacle.text, "reason": row.obstacle.reason}


def _wanted(places: Iterable[ProposedIndex]) -> list[dict[str, str | None]]:
    return [
        {"backend": where or None, "attribute": one.attribute, "type": one.type, "rule": one.rule or None}
        for where, one in sorted(places)
    ]
