"""The changes since a baseline as text: how many of each, what became of one finding, and which ones have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.baseline.changes import Change
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.baseline.changes import ChangedFinding, Changes, FormerFinding
    from ldapdiag.report.page import Page

ROWS = 8
"""Earlier findings of each kind, and notes, that are printed without -v."""
SHOWN_BEFORE = (Change.WORSE, Change.BETTER)


def print_counts(page: Page, changes: Changes | None) -> None:
    """Print how many findings have changed in each way since the baseline."""
    if changes is not None:
        page.packed("since", list(count_parts(changes)), "bold")


def count_parts(changes: Changes) -> Iterator[str]:
    """Yield the time of the baseline, and how many findings have changed in each way."""
    yield f"{changes.taken_at:%d %b %H:%M %Z}" if changes.taken_at else "a baseline without a time"
    counted = [f"{number(count)} {change}" for change, count in changes.counts.items() if count]
    yield from counted or ["no finding then, none now"]


def change_word(changed: ChangedFinding) -> str:
    """Return what became of a finding, as in `worse: 268 before, now 402`."""
    if changed.change not in SHOWN_BEFORE:
        return str(changed.change)
    if changed.number is None or changed.now is None or changed.number == changed.now:
        return f"{changed.change}: {changed.severity} before" if changed.severity is not None else str(changed.change)
    return f"{changed.change}: {plain(changed.number)} before, now {plain(changed.now)}"


def plain(value: float) -> str:
    """Return a number as it is printed: whole ones without a fraction."""
    return number(int(value)) if value == int(value) else f"{value:,.4g}"


def print_former(page: Page, changes: Changes | None, *, verbose: bool) -> None:
    """Print the earlier findings that are gone or not seen, each with the reason, and what limits the comparison."""
    if changes is None:
        return
    for label, style, former in (("gone", "green", changes.gone), ("not seen", "bold", changes.not_seen)):
        _print_some(page, label, style, [_line(one) for one in former], verbose=verbose)
    _print_some(page, "baseline", "bold", list(changes.notes), verbose=verbose)


def _print_some(page: Page, label: str, style: str, lines: Sequence[str], *, verbose: bool) -> None:
    shown = lines if verbose else lines[:ROWS]
    page.listed(label, list(shown), style)
    if len(lines) > len(shown):
        page.indented(f"and {number(len(lines) - len(shown))} more (-v shows them)")


def _line(former: FormerFinding) -> str:
    finding = former.finding
    return f"{finding.severity}: {finding.title}  ({finding.check}; {former.reason})"
