"""The head of a report, and what repeats it at the end of one that is longer than the terminal.

Remarks on a finding: what is known of it besides what its check has found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.changes import change_of, change_word
from ldapdiag.report.changes_text import parts_since
from ldapdiag.report.findings import FIRST, STYLES, TITLE, print_finding, print_step, step_parts
from ldapdiag.report.headline import CLEAR, NOT_READ, UNKNOWN, outcomes, reservation
from ldapdiag.report.page import packed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.finding import Finding
    from ldapdiag.report.headline import FirstStep, Headline
    from ldapdiag.report.page import Page

REPRISE = 5
"""Lines that repeat the head."""


def print_outcomes(page: Page, diagnosis: Diagnosis) -> None:
    """Print how many verdicts of each outcome there are, and how many findings have changed since a baseline."""
    page.packed("verdicts", outcomes(diagnosis), "bold")
    if rest := reservation(diagnosis):
        page.labelled(UNKNOWN, rest, "bold")
    if since := parts_since(diagnosis.changes):
        page.packed("changes", since, "bold")


def print_head(
    page: Page,
    diagnosis: Diagnosis,
    first: Headline,
    step: FirstStep | None,
    series: Sequence[Mapping[str, Any]] = (),
    *,
    verbose: bool,
) -> None:
    """Print the worst finding with the first step, so that the step begins on the first screen; or that none is."""
    if first.finding is not None and step is not None:
        print_finding(
            page,
            first.finding,
            first.check,
            verbose=verbose,
            step=step,
            head=True,
            series=series,
            remarks=remarks_on(diagnosis, first.check, first.finding),
        )
    elif first.label != NOT_READ:
        page.labelled(first.label, first.text, "bold green" if first.label == CLEAR else "bold", "bold")
        if first.detail:
            page.indented(first.detail)
        if step is not None:
            print_step(page, step, verbose=verbose)
        page.blank()


def print_reprise(page: Page, diagnosis: Diagnosis, first: Headline | None, step: FirstStep | None) -> None:
    """Repeat the head on a terminal from which the report has moved it."""
    if page.height is None or page.rows < page.height:
        return
    page.blank()
    left = REPRISE - len(list(packed(outcomes(diagnosis), page.room)))
    if since := parts_since(diagnosis.changes):
        left -= len(list(packed(since, page.room)))
    if diagnosis.shortfall and (first is None or first.label != NOT_READ):
        page.labelled(NOT_READ, diagnosis.shortfall.reason, "bold red", most=1)
        left -= 1
    if first is not None:
        style = STYLES[first.finding.severity] if first.finding else "bold"
        most = min(TITLE, left - 1)
        page.labelled(first.label, first.text, style, most=most)
        left -= min(most, page.lines_of(first.text))
    if step is not None:
        above = ["see above"] if step.remedy else []
        page.packed(FIRST, [*step_parts(step), *above], "bold", most=max(1, min(TITLE, left)))
    print_outcomes(page, diagnosis)


def remarks_on(diagnosis: Diagnosis, check: str, finding: Finding) -> tuple[str, ...]:
    """Return what became of a finding since the baseline; nothing without one."""
    changed = change_of(diagnosis.changes, check, finding)
    return tuple(filter(None, (change_word({"severity": str(finding.severity)} | changed),)))
