"""The changes since a baseline on the screen: how many of each kind, and the earlier findings that are none now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.report.changes import FORMER, changes_as_data, count_parts, former_lines
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.baseline.changes import Changes
    from ldapdiag.report.page import Page

ROWS = 8
"""Earlier findings of each kind, and notes, that are printed without -v."""
STYLES = {"gone": "green", "not seen": "bold"}


def parts_since(changes: Changes | None) -> list[str]:
    """Return the parts of the line on all changes; nothing without a baseline."""
    data = changes_as_data(changes)
    return [] if data is None else list(count_parts(data))


def print_former(page: Page, changes: Changes | None, *, verbose: bool) -> None:
    """Print the earlier findings that are gone or not seen, each with the reason, and what limits the comparison."""
    data = changes_as_data(changes)
    if data is None:
        return
    for became in FORMER:
        _print_some(page, became, STYLES[became], former_lines(data, became), verbose=verbose)
    _print_some(page, "baseline", "bold", data["notes"], verbose=verbose)


def _print_some(page: Page, label: str, style: str, lines: Sequence[str], *, verbose: bool) -> None:
    shown = lines if verbose else lines[:ROWS]
    page.listed(label, shown, style)
    if len(lines) > len(shown):
        page.indented(f"and {number(len(lines) - len(shown))} more (-v shows them)")
