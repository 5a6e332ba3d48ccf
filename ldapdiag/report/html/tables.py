"""Tables of a page: a caption, columns with their alignment, rows of text, and how many rows are not shown."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
