"""A finding on the page: its title, a chart of its numbers, the explanation, and the remedies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.finding import Finding, Severity
from ldapdiag.report.candidates import candidates
from ldapdiag.report.charts.terminal import bars

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.remedy import Remedy
    from ldapdiag.report.page import Page

SHARES = 5
"""Rows of a share shown without -v."""

LONG = 40
"""Lines of commands that are shown without -v."""

STYLES = {
    Severity.CRITICAL: "bold red",
    Severity.HIGH: "red",
    Severity.MEDIUM: "magenta",
    Severity.LOW: "bold",
    Severity.INFO: "dim",
}
"""Colours that are readable on light and dark terminals; the severity is also a word."""


def print_finding(page: Page, finding: Finding, check: str, *, verbose: bool) -> None:
    """Print one finding: title, chart, sentences, remedies."""
    grave = finding.severity >= Severity.HIGH
    label = str(finding.severity).upper() if grave else str(finding.severity)
    page.labelled(label, finding.title, STYLES[finding.severity], "bold" if grave else "")
    for row in chart(finding, page.room, verbose=verbose):
        page.row(row)
    for sentence in finding.detail.splitlines() if verbose or grave else ():
        page.indented(sentence)
    page.indented(f"{check} · {finding.confidence}", "dim")
    if verbose:
        page.indented(f"from {', '.join(finding.origins)}", "dim")
    for number, remedy in enumerate(finding.remedies, 1):
        print_remedy(page, number, remedy, verbose=verbose)
    page.blank()


def chart(finding: Finding, room: int, *, verbose: bool) -> Iterator[str]:
    """Yield the bars of a finding's numbers, and the table of candidate timeouts."""
    observed = finding.observed
    if observed.get("client_count") is not None and observed.get("server_count") is not None:
        hosts = " + ".join(observed.get("client_hosts") or [str(observed.get("client"))])
        ends = [(f"at {finding.server}", observed["server_count"]), (f"at {hosts}", observed["client_count"])]
        yield from bars(ends, room)
    if rows := observed.get("by_account"):
        yield from shares([(row["bind_dn"], row["connections"]) for row in rows], room, verbose=verbose)
    elif rows := observed.get("by_client"):
        yield from shares([(row["client"], row["connections"]) for row in rows], room, verbose=verbose)
    yield from candidates(observed, verbose=verbose)


def shares(rows: list[tuple[str, int]], room: int, *, verbose: bool) -> Iterator[str]:
    """Yield the largest shares, all of them with -v."""
    shown = rows if verbose else rows[:SHARES]
    yield from bars(shown, room)
    if len(rows) > len(shown):
        others = sum(count for _, count in rows[len(shown) :])
        yield f"and {len(rows) - len(shown)} more with {others}"


def print_remedy(page: Page, number: int, remedy: Remedy, *, verbose: bool) -> None:
    """Print a remedy; the first one with its commands, the others with -v."""
    needs = "" if remedy.needs == "none" else f", needs a {remedy.needs}"
    page.numbered(number, [remedy.title, f"at {remedy.target}{needs}"], "bold")
    if remedy.kind == "advice":
        page.indented(remedy.text, deeper=3)
        return
    if number > 1 and not verbose:
        return
    page.indented(remedy.changes, deeper=3)
    lines = remedy.text.count("\n") + 1
    if lines > LONG and not verbose:
        page.indented(f"risk: {remedy.risk}", deeper=3)
        page.indented(f"commands: {lines} lines (-v shows them; ldapdiag indexes --script writes a plan)", deeper=3)
        return
    print_commands(page, "", remedy.text)
    if verbose:
        page.indented(f"risk: {remedy.risk}", deeper=3)
        print_commands(page, "verify:", remedy.verify)
        print_commands(page, "undo:", remedy.undo)


def print_commands(page: Page, title: str, text: str) -> None:
    """Print commands at the left edge, so that they can be pasted."""
    if title:
        page.indented(title, deeper=3)
    page.blank()
    page.verbatim(text)
    page.blank()
