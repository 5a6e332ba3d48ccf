"""The head of a report, and what repeats it at the end of one that is longer than the terminal.

The changes since a baseline on the screen: how many of each kind, and the earlier findings that are none now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.baseline.changes import GROWN
from ldapdiag.report.changes import FORMER, count_parts, former_lines, grown_lines
from ldapdiag.report.findings import FIRST, STYLES, TITLE, print_finding, print_step, step_parts
from ldapdiag.report.headline import CLEAR, NOT_READ, UNKNOWN, outcomes, reservation
from ldapdiag.report.page import packed
from ldapdiag.report.verdicts import severity_of
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.report.headline import FirstStep, Headline
    from ldapdiag.report.page import Page

LISTED = 3
"""Servers named before a sentence about their logs."""
REPRISE = 5
"""Lines that repeat the head."""


def print_outcomes(page: Page, document: Mapping[str, Any]) -> None:
    """Print how many verdicts of each outcome there are, and how many findings have changed since a baseline."""
    page.packed("verdicts", outcomes(document), "bold")
    for sentence in _logged(document["servers"]):
        page.labelled("log", sentence, "bold")
    if rest := reservation(document):
        page.labelled(UNKNOWN, rest, "bold")
    if document["baseline"]:
        page.packed("changes", count_parts(document["baseline"]), "bold")


def _logged(servers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield which searches the access logs have, with the servers where these differ."""
    by_sentence: dict[str, list[str]] = {}
    for server in servers:
        for logged in server.get("logged", ()):
            by_sentence.setdefault(logged, []).append(server["name"])
    for logged, names in by_sentence.items():
        more = f" and {number(len(names) - LISTED)} more" if len(names) > LISTED else ""
        whose = f"{', '.join(names[:LISTED])}{more}: " if len(by_sentence) > 1 else ""
        sentence = f"{whose}{logged}."
        yield f"{sentence[0].upper()}{sentence[1:]}" if not whose else sentence


def print_head(
    page: Page, document: Mapping[str, Any], first: Headline, step: FirstStep | None, *, verbose: bool
) -> None:
    """Print the worst finding with the first step, so that the step begins on the first screen; or that none is."""
    if first.finding is not None and step is not None:
        print_finding(page, first.finding, verbose=verbose, step=step, head=True, series=document["series"])
    elif first.label != NOT_READ:
        page.labelled(first.label, first.text, "bold green" if first.label == CLEAR else "bold", "bold")
        if first.detail:
            page.indented(first.detail)
        if step is not None:
            print_step(page, step, verbose=verbose)
        page.blank()


def print_reprise(page: Page, document: Mapping[str, Any], first: Headline | None, step: FirstStep | None) -> None:
    """Repeat the head on a terminal from which the report has moved it."""
    if page.height is None or page.rows < page.height:
        return
    page.blank()
    left = REPRISE - len(list(packed(outcomes(document), page.room)))
    if document["baseline"]:
        left -= len(list(packed(list(count_parts(document["baseline"])), page.room)))
    missing = document["shortfall"]
    if missing and (first is None or first.label != NOT_READ):
        page.labelled(NOT_READ, missing["reason"], "bold red", most=1)
        left -= 1
    if first is not None:
        style = STYLES[severity_of(first.finding)] if first.finding else "bold"
        most = min(TITLE, left - 1)
        page.labelled(first.label, first.text, style, most=most)
        left -= min(most, page.lines_of(first.text))
    if step is not None:
        above = ["see above"] if step.remedy else []
        page.packed(FIRST, [*step_parts(step), *above], "bold", most=max(1, min(TITLE, left)))
    print_outcomes(page, document)


CHANGED_ROWS = 8
"""Earlier findings of each kind, and notes, that are printed without -v."""
CHANGE_STYLES = {"gone": "green", "not seen": "bold"}


def print_former(page: Page, baseline: Mapping[str, Any] | None, *, verbose: bool) -> None:
    """Print the earlier findings that are gone or not seen, each with the reason, and what limits the comparison."""
    if baseline is None:
        return
    for became in FORMER:
        _print_some(page, became, CHANGE_STYLES[became], former_lines(baseline, became), verbose=verbose)
    _print_some(page, "baseline", "bold", baseline["notes"], verbose=verbose)


def print_grown(page: Page, document: Mapping[str, Any], *, verbose: bool) -> None:
    """Print the findings that are new or worse since the baseline: the last lines of a night's log."""
    for change in GROWN if document["baseline"] else ():
        _print_some(page, change, "bold red", list(grown_lines(document, change)), verbose=verbose)


def _print_some(page: Page, label: str, style: str, lines: Sequence[str], *, verbose: bool) -> None:
    shown = lines if verbose else lines[:CHANGED_ROWS]
    page.listed(label, shown, style)
    if len(lines) > len(shown):
        page.indented(f"and {number(len(lines) - len(shown))} more (-v shows them)")
