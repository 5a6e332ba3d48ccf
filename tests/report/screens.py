"""The report on a terminal of a size, or in a pipe, and the rows that such a terminal shows of it."""

from __future__ import annotations

from functools import cache
from io import StringIO
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, chop_cells

import documents
import healthy_site
import storage_site
from command import INCIDENT
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import Diagnosis, diagnose
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.report.as_text import Screen
from ldapdiag.report.indexes.as_text import IndexScreen
from ldapdiag.report.page import PIPED, Page
from ldapdiag.report.storage.as_text import StorageScreen
from ldapdiag.sources.gathering import gather

if TYPE_CHECKING:
    from pathlib import Path

SCREENS = {ReportKind.ALL: Screen, ReportKind.INDEXES: IndexScreen, ReportKind.STORAGE: StorageScreen}
SIZES: dict[str, tuple[int, int | None]] = {"80x24": (80, 24), "100x40": (100, 40), "piped": (PIPED, None)}


@cache
def situation(name: str) -> Diagnosis:
    """Return the diagnosis of a situation: incident, all-clear, thin-evidence, index-audit, storage."""
    if name == "all-clear":
        return diagnose(healthy_site.bundle(), installed_checks())
    if name == "storage":
        return with_storage(storage_site.probe())
    if name == "index-audit":
        return audited(INCIDENT.parent / "audit")
    return diagnosed(INCIDENT if name == "incident" else INCIDENT / "ldap" / "ss-tiepmnaO.txt")


SITUATIONS = ("incident", "all-clear", "thin-evidence", "index-audit", "storage")


def diagnosed(*evidence: Path) -> Diagnosis:
    """Return the diagnosis of evidence."""
    return diagnose(gather([str(one) for one in evidence]), installed_checks())


def audited(*evidence: Path) -> Diagnosis:
    """Return the audit of evidence."""
    return diagnose(
        gather([str(one) for one in evidence]), installed_checks(ReportKind.INDEXES), kind=ReportKind.INDEXES
    )


def with_storage(*more: Any, whole: bool = True) -> Diagnosis:
    """Return the diagnosis of a server's disks, with further facts; not the whole: without what shows the disks."""
    bundle = storage_site.bundle(*more, whole=whole)
    return diagnose(bundle, installed_checks(ReportKind.STORAGE), kind=ReportKind.STORAGE)


def lines_of(diagnosis: Diagnosis, size: str = "80x24", *, verbose: bool = False) -> list[str]:
    """Return the lines of a report at a size."""
    width, height = SIZES[size]
    stream = StringIO()
    screen = SCREENS[diagnosis.kind]
    screen(Page(stream, width, height), documents.of(diagnosis), verbose=verbose).show()
    return stream.getvalue().splitlines()


def rows_of(lines: list[str], width: int = 80) -> list[str]:
    """Return the rows of a terminal on which lines stand; a line wider than the terminal has several."""
    return [row for line in lines for row in (chop_cells(line, width) if cell_len(line) > width else [line])]
