"""The report on a terminal of a size, or in a pipe, and the rows that such a terminal shows of it."""

from __future__ import annotations

from functools import cache
from io import StringIO
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells
from rich.console import Console

import healthy_site
from command import INCIDENT
from ldapdiag.catalogue import index_checks, installed_checks
from ldapdiag.diagnosis import Diagnosis, diagnose
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.report.as_text import Screen
from ldapdiag.report.indexes.as_text import IndexScreen
from ldapdiag.report.page import PIPED, Page
from ldapdiag.sources.gathering import gather

if TYPE_CHECKING:
    from pathlib import Path

SIZES: dict[str, tuple[int, int | None]] = {"80x24": (80, 24), "100x40": (100, 40), "piped": (PIPED, None)}


@cache
def situation(name: str) -> Diagnosis:
    """Return the diagnosis of a situation: incident, all-clear, thin-evidence, index-audit."""
    if name == "all-clear":
        return diagnose(healthy_site.bundle(), installed_checks())
    if name == "index-audit":
        return audited(INCIDENT.parent / "audit")
    return diagnosed(INCIDENT if name == "incident" else INCIDENT / "ldap" / "ss-tiepmnaO.txt")


SITUATIONS = ("incident", "all-clear", "thin-evidence", "index-audit")


def diagnosed(*evidence: Path) -> Diagnosis:
    """Return the diagnosis of evidence."""
    return diagnose(gather([str(one) for one in evidence]), installed_checks())


def audited(*evidence: Path) -> Diagnosis:
    """Return the audit of evidence."""
    return diagnose(gather([str(one) for one in evidence]), index_checks(), kind=ReportKind.INDEXES)


def lines_of(diagnosis: Diagnosis, size: str = "80x24", *, verbose: bool = False) -> list[str]:
    """Return the lines of a report at a size."""
    width, height = SIZES[size]
    stream = StringIO()
    screen = IndexScreen if diagnosis.kind is ReportKind.INDEXES else Screen
    console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
    screen(Page(console, height), diagnosis, verbose=verbose).show()
    return stream.getvalue().splitlines()


def rows_of(lines: list[str], width: int = 80) -> list[str]:
    """Return the rows of a terminal on which lines stand; a line wider than the terminal has several."""
    return [row for line in lines for row in (chop_cells(line, width) if cell_len(line) > width else [line])]
