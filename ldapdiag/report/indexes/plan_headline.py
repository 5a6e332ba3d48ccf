"""What an audit states first of a plan: what it saves, how good it is, and what to do first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.report.common_parts import hint_for
from ldapdiag.report.headline import FirstStep
from ldapdiag.wording import counted, percent

if TYPE_CHECKING:
    from ldapdiag.analysis.indexes.coverage import IndexCoverage
    from ldapdiag.analysis.indexes.plan import IndexPlan
    from ldapdiag.diagnosis import Diagnosis

PLAN = "PLAN"
IN_THE_PLAN = frozenset(
    {"missing-index", "unindexable-filter", "substring-too-short", "scan-limit-exceeded", "unused-index"}
)
"""Checks whose findings are in the plan and the lines below it."""


def saving(plan: IndexPlan, coverage: IndexCoverage) -> str:
    """Return how many indexes a plan adds, and what they save."""
    if not plan.indexes:
        return "no index to add"
    scanned = sum(row.etime for row in coverage.scans)
    changes = counted(len(plan.indexes), "index change")
    least, probable, most = (
        percent(each / scanned if scanned else 0).removesuffix(" %").replace("<1", "0")
        for each in (plan.before - plan.after.most, plan.saved, plan.before - plan.after.least)
    )
    share = f"{probable} %" if least == most else f"about {probable} % ({least} to {most} %)"
    possible = "possible: " if coverage.indexes is None else ""
    removes = f"remove{'s' * (len(plan.indexes) == 1)}"
    return f"{possible}{changes} {removes} {share} of the unindexed search time ({_how_good(plan)})"


def _how_good(plan: IndexPlan) -> str:
    """Return how the plan compares with all sets of indexes that have the same effect."""
    if plan.exact:
        return "the smallest set found"
    return f"its cost is at most {plan.cost / plan.lower_bound:.2g} times that of the smallest set"


def script_command(diagnosis: Diagnosis) -> str:
    """Return the command that writes the script of the plans."""
    return f"{audit_command(diagnosis)} --script > plan.sh"


def audit_command(diagnosis: Diagnosis) -> str:
    """Return the command that prints the plans of the same evidence in full."""
    return " ".join(filter(None, ["ldapdiag indexes", diagnosis.typed]))


def step_of_plan(plan: IndexPlan, coverage: IndexCoverage) -> FirstStep | None:
    """Return what to do first with a plan; None if there is nothing to add."""
    if not plan.indexes:
        return None
    if coverage.indexes is not None:
        return FirstStep("add the indexes with the commands of this plan, one server at a time, off peak")
    how = hint_for(IndexConfiguration.how, [coverage.family] if coverage.family else [])
    return FirstStep(f"add the index configuration{f': {how}' if how else ''}")
