"""What an audit states first of a plan: what it saves, how good it is, and what to do first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.report.headline import FirstStep
from ldapdiag.report.hints import hint_for
from ldapdiag.report.log.quantities import percent
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from ldapdiag.analysis.indexes.coverage import IndexCoverage
    from ldapdiag.analysis.indexes.plan import IndexPlan

PLAN = "PLAN"


def saving(plan: IndexPlan, coverage: IndexCoverage) -> str:
    """Return how many indexes a plan adds, and what they save."""
    if not plan.indexes:
        return "no index to add"
    scanned = sum(row.etime for row in coverage.scans)
    changes = counted(len(plan.indexes), "index change")
    share = f"{percent(plan.saved / scanned if scanned else 0)} of the unindexed search time"
    possible = "possible: " if coverage.indexes is None else ""
    return f"{possible}{changes} remove{'s' * (len(plan.indexes) == 1)} {share}; {_how_good(plan)}"


def _how_good(plan: IndexPlan) -> str:
    """Return how the plan compares with all sets of indexes that have the same effect."""
    if plan.exact:
        return "no cheaper set does"
    return f"its cost is at most {plan.cost / plan.lower_bound:.2g} times that of the cheapest set"


def step_of_plan(plan: IndexPlan, coverage: IndexCoverage) -> FirstStep | None:
    """Return what to do first with a plan; None if there is nothing to add."""
    if not plan.indexes:
        return None
    if coverage.indexes is not None:
        return FirstStep("write the commands to a file and read it: the same command with --script > plan.sh")
    how = hint_for(IndexConfiguration.how, [coverage.family] if coverage.family else [])
    return FirstStep(f"add the index configuration{f': {how}' if how else ''}")
