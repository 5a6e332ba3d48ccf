"""NumberTable: right-aligned columns of numbers and a name, with a bar after the first column where there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from ldapdiag.report.charts.terminal import bar, shortened
from ldapdiag.report.neutral import neutral

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.report.page import Page

GAP = "  "
BAR = 8
LEAST_NAME = 34
"""Columns for a name beside its numbers; with fewer, all names are printed below."""
NARROW = 40
"""Columns after the margin; with no more, lines below a row are indented less."""
LINES = 2
"""Lines of a name below its numbers."""


class NumberTable:
    """A table on a page. Bars are relative to the largest value, and start at zero."""

    def __init__(self, page: Page, columns: Sequence[tuple[str, Sequence[str]]], values: Sequence[int]) -> None:
        self.page = page
        widths = [max(len(name), *map(len, cells)) for name, cells in columns]
        while sum(widths) + len(GAP) * (len(widths) - 1) > page.room:
            widths.pop()
        self._widths = [width for width in widths if width]
        self._columns = [one for one, width in zip(columns, widths, strict=False) if width]
        used = sum(self._widths) + len(GAP) * len(self._widths)
        self._bars = [bar(value, max(values), BAR) for value in values] if page.room - used - BAR > LEAST_NAME else []
        room = page.room - used - (BAR + 1 if self._bars else 0)
        self._free = room
        self._room = room if room >= LEAST_NAME else 0
        self.deeper = 5 if page.room > NARROW else 1
        """Indentation of the lines that belong to a row."""

    def header(self, name: str, pictures: str = "") -> None:
        """Print the column headers; `pictures`: what the pictures show, which stand behind a name."""
        cells = [column.rjust(width) for (column, _), width in zip(self._columns, self._widths, strict=True)]
        shown = ", ".join(filter(None, [name if self._room else "", pictures]))
        self.page.indented(self._row(cells, "", shown if len(shown) <= self._free else ""), "dim")

    def row(self, place: int, name: str, pictures: Sequence[str] = ()) -> str:
        """Print a row, with its name beside the numbers if it fits, else below; and the first picture that fits there.

        Return that picture.
        """
        cells = [cells[place].rjust(width) for (_, cells), width in zip(self._columns, self._widths, strict=True)]
        name = neutral(name)
        beside = cell_len(name) <= self._room
        shown = name if beside else ""
        picture = self.fitting(name, pictures)
        shown = GAP.join(filter(None, [shown, picture]))
        self.page.row(self._row(cells, self._bars[place] if self._bars else "", shown))
        if not beside:
            self.page.indented(shortened(name, LINES * (self.page.room - self.deeper)), deeper=self.deeper)
        return picture

    def fitting(self, name: str, pictures: Sequence[str]) -> str:
        """Return the first picture that fits into the row of a name; empty: none does."""
        width = cell_len(neutral(name))
        left = self._free - len(GAP) - (width if width <= self._room else 0)
        return next((one for one in pictures if cell_len(one) <= left), "")

    def _row(self, cells: Sequence[str], length: str, name: str) -> str:
        first, *others = cells
        return GAP.join([f"{first} {length:{BAR}}" if self._bars else first, *others, name]).rstrip()
