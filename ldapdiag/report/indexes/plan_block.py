"""The plans of indexes in the report of a diagnosis: a block each, in the place of the findings that they contain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.plan import IndexPlan
from ldapdiag.finding import Severity
from ldapdiag.report.findings import LONG_FIRST, first_sentence, print_commands
from ldapdiag.report.indexes.plan_headline import IN_THE_PLAN, PLAN, audit_command, saving
from ldapdiag.report.indexes.remedies import of_plans
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.finding import Finding
    from ldapdiag.report.headline import FirstStep
    from ldapdiag.report.page import Page

MISSING, COSTLY = "missing-index", "costly-search"


def planned(diagnosis: Diagnosis) -> list[tuple[IndexPlan, IndexCoverage]]:
    """Return the plans with an index to add; none where the plan is not judged, or compared with a baseline."""
    if diagnosis.changes is not None or not any(check == MISSING for check, _ in diagnosis.found):
        return []
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
