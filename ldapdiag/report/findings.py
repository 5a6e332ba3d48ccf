"""A finding on the page: its title, a chart of its numbers, the explanation, and the remedies.

The chart of a finding on a terminal: without -v one at most, so that the first screen has room for what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.finding import Severity
from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import Needs, step_labels
from ldapdiag.report.candidates import candidates
from ldapdiag.report.changes import change_word
from ldapdiag.report.charts.chart import BarChart, StripChart
from ldapdiag.report.charts.of_finding import finding_charts
from ldapdiag.report.charts.terminal import bars
from ldapdiag.report.charts.terminal_charts import bar_rows, strip_rows, time_rows
from ldapdiag.report.verdicts import acceptance_of, is_accepted, severity_of
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.report.charts.chart import Chart
    from ldapdiag.report.headline import FirstStep
    from ldapdiag.report.page import Page

FIRST = "    first"
"""The label of what to do first."""

LINES = 7
"""Lines of an explanation without -v: whole sentences, in the order of the check, which begins with what decides."""

LONG = 16
"""Rows of commands that are shown without -v."""

LONG_FIRST = 50
"""The same of the first step, which is carried out from what is printed, and of the few lines of a remedy (`brief`)."""

FIRST_SCREEN = 24
"""Rows in which a report answers what is wrong, how certain that is, and what to do first."""

TITLE = 2
"""Lines of a title without -v."""

SENTENCE_END = pattern(r"(?<=[\w)])\. (?=[A-Z])")

STYLES = {
    Severity.CRITICAL: "bold red",
    Severity.HIGH: "red",
    Severity.MEDIUM: "magenta",
    Severity.LOW: "bold",
    Severity.INFO: "dim",
}
"""Colours that are readable on light and dark terminals; the severity is also a word."""


def print_finding(
    page: Page,
    finding: Mapping[str, Any],
    *,
    verbose: bool,
    step: FirstStep | None = None,
    head: bool = False,
    brief: bool = False,
    series: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Print one finding: title, chart, sentences, remedies.

    `step`: what to do first; it is printed with the finding at the head of the report, and so that it begins on the
    first screen. `brief`: without chart, sentences and commands. `series`: those of the report, from which a forecast
    is drawn.
    """
    if is_accepted(finding) and not verbose:
        _print_accepted(page, finding)
        return
    severity = severity_of(finding)
    grave = severity >= Severity.HIGH and not is_accepted(finding)
    label = finding["severity"].upper() if grave else finding["severity"]
    page.labelled(label, finding["title"], STYLES[severity], "bold" if grave else "", most=None if verbose else TITLE)
    rows = [] if brief else list(finding_chart(finding, series, page.room, verbose=verbose))
    in_head = step if head else None
    left = FIRST_SCREEN - page.rows - 1 - rows_of_step(page, in_head) if in_head and not verbose else len(rows) + LINES
    early = len(rows) < left
    for row in rows if early else ():
        page.row(row)
    most = max(1, min(LINES, left - len(rows) * early)) if head or (grave and not brief) else 0
    print_explanation(page, finding, verbose=verbose, most=most)
    if in_head is not None:
        print_step(page, in_head, verbose=verbose)
    for row in () if early else rows:
        page.row(row)
    for label, remedy in labelled(finding["remedies"]):
        if step is None or remedy != step.remedy:
            print_remedy(page, label, remedy, verbose=verbose, brief=brief)
        elif not head:
            page.numbered(label, [remedy["title"], "see above"], "bold")
    page.blank()


def _print_accepted(page: Page, finding: Mapping[str, Any]) -> None:
    """Print a finding that the site has accepted: its title, and the decision."""
    page.labelled("accepted", finding["title"], "dim", "dim", most=TITLE)
    page.indented(" · ".join([finding["check"], finding["severity"], acceptance_of(finding)]), "dim", most=TITLE)
    page.blank()


def print_explanation(page: Page, finding: Mapping[str, Any], *, verbose: bool, most: int) -> None:
    """Print the sentences of a finding, without -v as many whole ones as `most` lines show, and how certain it is."""
    hidden = _print_sentences(page, finding["detail"].split("\n"), verbose=verbose, most=most)
    more = [f"-v shows {counted(hidden, 'more line')}"] if hidden else []
    remarks = filter(None, [change_word(finding)])
    page.indented(" · ".join([*remarks, finding["check"], finding["confidence"], *more]), "dim")
    if finding["acceptance"]:
        page.indented(acceptance_of(finding), "bold")
    if verbose:
        page.indented(f"from {', '.join(finding['origins'])}", "dim")


def _print_sentences(page: Page, sentences: Sequence[str], *, verbose: bool, most: int) -> int:
    """Print sentences, without -v as many whole ones as `most` lines show; return the lines left."""
    lines = [page.lines_of(sentence) for sentence in sentences]
    shown = 0
    for sentence, length in zip(sentences, lines, strict=True):
        if not verbose and shown + length > most and (shown or not most):
            break
        page.indented(sentence, most=None if verbose else most)
        shown += length if verbose else min(length, most)
    return sum(lines) - shown


def print_step(page: Page, step: FirstStep, *, verbose: bool, label: str = FIRST) -> None:
    """Print what to do first, with the risk above its commands."""
    page.packed(label, step_parts(step), "bold", "bold", most=None if verbose else TITLE)
    if step.remedy is not None:
        print_body(page, step.remedy, verbose=verbose, deeper=0)


def step_parts(step: FirstStep) -> list[str]:
    """Return the parts of the line about the first step."""
    return [step.text, *([place_of(step.remedy)] if step.remedy else [])]


def rows_of_step(page: Page, step: FirstStep) -> int:
    """Return how many rows the first step needs, without its commands."""
    texts = [" · ".join(step_parts(step))]
    if step.remedy is not None:
        texts += [first_sentence(step.remedy["changes"]), f"risk: {step.remedy['risk']}"]
    return sum(map(page.lines_of, texts))


def labelled(remedies: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield remedies with the number of their step; an alternative has `or` instead."""
    return zip(step_labels(remedy["alternative"] for remedy in remedies), remedies, strict=True)


def print_remedy(page: Page, label: str, remedy: Mapping[str, Any], *, verbose: bool, brief: bool = False) -> None:
    """Print a remedy; the first one of a finding with its commands, the others with -v."""
    page.numbered(label, [remedy["title"], place_of(remedy)], "bold")
    if (label == "1" and not brief) or verbose:
        print_body(page, remedy, verbose=verbose, deeper=3)


def place_of(remedy: Mapping[str, Any]) -> str:
    """Return where a remedy is carried out, and what it needs to take effect."""
    clause = Needs(remedy["needs"]).clause
    return f"at {remedy['target']}{clause and f', {clause}'}"


def print_body(page: Page, remedy: Mapping[str, Any], *, verbose: bool, deeper: int) -> None:
    """Print what a remedy changes, its risk, and its commands, if they are few or with -v; verify and undo with -v."""
    if remedy["kind"] == "advice":
        page.indented(remedy["text"] if verbose or not deeper else first_sentence(remedy["text"]), deeper=deeper)
        return
    page.indented(remedy["changes"] if verbose else first_sentence(remedy["changes"]), deeper=deeper)
    text = remedy["text"] if verbose else brief_text(page, remedy, LONG if deeper else LONG_FIRST)
    whole = verbose or text == remedy["text"]
    page.indented(f"risk: {remedy['risk'] if whole else first_sentence(remedy['risk'])}", deeper=deeper)
    if not text:
        lines = counted(remedy["text"].count("\n") + 1, "line")
        page.indented(f"commands: {lines} (-v shows them)", deeper=deeper)
        return
    print_commands(page, text)
    if verbose:
        page.indented("verify:", deeper=deeper)
        print_commands(page, remedy["verify"])
        page.indented("undo:", deeper=deeper)
        print_commands(page, remedy["undo"])


def brief_text(page: Page, remedy: Mapping[str, Any], most: int = LONG_FIRST, *, most_brief: int = LONG_FIRST) -> str:
    """Return the commands that are printed without -v: those of a few rows; empty if there are none."""
    text = remedy["brief"] or remedy["text"]
    return text if page.rows_of(text) <= (most_brief if remedy["brief"] else most) else ""


def first_sentence(text: str) -> str:
    """Return the first sentence of a text."""
    found = SENTENCE_END.search(text)
    return text[: found.start() + 1] if found else text


def print_commands(page: Page, text: str) -> None:
    """Print commands at the left edge, so that they can be pasted."""
    page.blank()
    page.verbatim(text)
    page.blank()


SHARES = 5
"""Rows of a share shown without -v."""


def finding_chart(
    finding: Mapping[str, Any], series: Sequence[Mapping[str, Any]], room: int, *, verbose: bool
) -> Iterator[str]:
    """Yield the rows of a finding's chart; of all of them with -v."""
    observed = finding["observed"]
    if rows := observed.get("by_account"):
        yield from shares([(row["bind_dn"], row["connections"]) for row in rows], room, verbose=verbose)
    elif rows := observed.get("by_client"):
        yield from shares([(row["client"], row["connections"]) for row in rows], room, verbose=verbose)
    else:
        table = list(candidates(observed, verbose=verbose))
        charts = finding_charts(finding, {"findings": (), "series": series})
        for chart in charts if verbose else charts[: 0 if table else 1]:
            yield from _rows(chart, room, verbose=verbose)
        yield from table


def _rows(chart: Chart, room: int, *, verbose: bool) -> Iterator[str]:
    if isinstance(chart, BarChart):
        return bar_rows(chart, room, verbose=verbose)
    return strip_rows(chart, room, verbose=verbose) if isinstance(chart, StripChart) else time_rows(chart, room)


def shares(rows: list[tuple[str, int]], room: int, *, verbose: bool) -> Iterator[str]:
    """Yield the largest shares, all of them with -v."""
    shown = rows if verbose else rows[:SHARES]
    yield from bars(shown, room)
    if len(rows) > len(shown):
        others = sum(count for _, count in rows[len(shown) :])
        yield f"and {len(rows) - len(shown)} more with {others}"
