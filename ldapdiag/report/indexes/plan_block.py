"""The plans of indexes in the report of a diagnosis: a block each, in the place of the findings that they contain.

What an audit states first of a plan: what it saves, how good it is, and what to do first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.finding import Severity
from ldapdiag.report.common_parts import hint_for
from ldapdiag.report.findings import LONG_FIRST, first_sentence, print_commands
from ldapdiag.report.headline import FirstStep
from ldapdiag.wording import counted, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.indexes.coverage import IndexCoverage
    from ldapdiag.analysis.indexes.plan import IndexPlan
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.finding import Finding
    from ldapdiag.report.page import Page

MISSING, COSTLY = "missing-index", "costly-search"


def planned(diagnosis: Diagnosis) -> list[tuple[IndexPlan, IndexCoverage]]:
    """Return the plans with an index to add; none where the plan is not judged, or compared with a baseline."""
    if diagnosis.changes is not None or not any(check == MISSING for check, _ in diagnosis.found):
        return []
    from ldapdiag.analysis.indexes.coverage import IndexCoverage  # noqa: PLC0415  import late: few reports have a plan
    from ldapdiag.analysis.indexes.plan import IndexPlan  # noqa: PLC0415

    plans = ((plan, diagnosis.facts.of(IndexCoverage, plan.server)) for plan in diagnosis.facts.every(IndexPlan))
    return [(plan, one) for plan, one in plans if plan.indexes and one is not None and one.indexes is not None]


def contained(diagnosis: Diagnosis, plan: IndexPlan) -> Iterator[Finding]:
    """Yield the findings that a plan contains: its indexes, searches that they help, lesser ones that none helps."""
    shapes = {scan.group.shape for scan in plan.resolved}
    for check, finding in diagnosis.found:
        if finding.server != plan.server or finding.is_accepted:
            continue
        helped = check == MISSING or (check == COSTLY and finding.observed["shape"] in shapes)
        if helped or (check in IN_THE_PLAN and finding.severity < Severity.HIGH):
            yield finding


def print_plan(
    page: Page, diagnosis: Diagnosis, plan: IndexPlan, coverage: IndexCoverage, step: FirstStep | None
) -> None:
    """Print what a plan saves and adds, its commands if they are few and not printed yet, and where all of it is."""
    from ldapdiag.report.indexes.remedies import of_plans  # noqa: PLC0415  import late: few reports have a plan

    page.labelled(PLAN, f"{plan.server}: {saving(plan, coverage)}", "bold")
    page.indented(" · ".join(f"{row.attribute} {','.join(row.types)}" for row in plan.indexes))
    done = step is not None and step.remedy is not None and step.remedy.target == plan.server
    remedies = [one for one in of_plans(diagnosis) if one.target == plan.server and one.brief]
    if remedies and not done and page.rows_of(remedies[0].brief) <= LONG_FIRST:
        page.indented(f"risk: {first_sentence(remedies[0].risk)}")
        print_commands(page, remedies[0].brief)
    many = counted(len(list(contained(diagnosis, plan))), "finding")
    page.indented(f"{many} on its searches in one place, with all commands:")
    print_commands(page, audit_command(diagnosis))


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
