"""Values as the page prints them: lengths and coordinates of SVG, and ticks.

Tables of a page: a caption, columns with their alignment, rows of text, and how many rows are not shown.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.report.table import HTML, Table
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

WIDTH, HEIGHT = 1000, 200
"""Units of the box that lines and areas are drawn in; it is stretched to the page."""


def percent(share: float) -> str:
    """Return a part of the width, from 0.0 to 1.0, as a length of SVG."""
    return f"{100 * share:.6g}%"


def points(places: Iterable[tuple[float, float]]) -> str:
    """Return points, as parts of the width and the height from the lower left corner, as coordinates of SVG."""
    return " ".join(f"{WIDTH * x:.6g},{HEIGHT * (1 - y):.6g}" for x, y in places)


def tick(value: float) -> str:
    """Return the label of a tick, without its unit."""
    return number(int(value)) if value == int(value) else number(value)


Column = tuple[str, bool]
"""A heading, and whether the column has numbers."""
ROWS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTable:
    """A table; the first cell of a row is its heading."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    more: int = 0
    """Rows that are not shown."""
    what: str = "rows are"
    """What they are, with the verb."""


def table(
    caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Any]], *, most: int = ROWS, what: str = "rows are"
) -> PageTable:
    """Return a table of at most so many rows."""
    rows = iter(rows)
    shown = list(islice(rows, most))
    return PageTable(caption=caption, columns=columns, rows=shown, more=sum(1 for _ in rows), what=what)


def page_tables(document: Mapping[str, Any], tables: Iterable[Table]) -> list[PageTable]:
    """Return tables of a document that have rows; titles name the values of the document, as in `Plan of {server}`."""
    found = (_page_table(document, one) for one in tables)
    return [one for one in found if one.rows]


def _page_table(document: Mapping[str, Any], of: Table) -> PageTable:
    columns, rows = of.cells(HTML, document)
    headings = [(column.label, column.unit.is_number) for column in columns]
    return table(of.title.format_map(document), headings, rows, most=of.most, what=of.what)
