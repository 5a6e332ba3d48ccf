"""The tables of `ldapdiag storage` on a page."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from ldapdiag.report.html.values import PageTable, table
from ldapdiag.report.storage.rows import NUMBERS, tables

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLES = 40
ROWS = 60


def storage_tables(document: Mapping[str, Any]) -> list[PageTable]:
    """Return the tables of volumes and settings, and what the charts of a probe do not show."""
    return [
        table(one.title, [(name, name in NUMBERS) for name in one.columns], one.rows, most=ROWS)
        for one in islice(tables(document, beside_charts=True), TABLES)
    ]
