"""Values as the page prints them: lengths of SVG, durations, ticks, and times in UTC.

Tables of a page: a caption, columns with their alignment, rows of text, and how many rows are not shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from ldapdiag.wording import duration as short_duration
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH, HEIGHT = 1000, 200
"""Units of the box that lines and areas are drawn in; it is stretched to the page."""

AS_MINUTES, AS_HOURS, AS_DAYS = 600, 7200, 172_800
"""Seconds from which a duration is printed in minutes, hours and days."""


def percent(share: float) -> str:
    """Return a part of the width, from 0.0 to 1.0, as a length of SVG."""
    return f"{100 * share:.6g}%"


def points(places: Iterable[tuple[float, float]]) -> str:
    """Return points, as parts of the width and the height from the lower left corner, as coordinates of SVG."""
    return " ".join(f"{WIDTH * x:.6g},{HEIGHT * (1 - y):.6g}" for x, y in places)


def tick(value: float) -> str:
    """Return the label of a tick, without its unit."""
    return number(int(value)) if value == int(value) else number(value)


def duration(seconds: float) -> str:
    """Return a duration with its unit: 0.7 ms, 30 s, 16 min, 4.2 h, 3.1 d."""
    if seconds <= 0:
        return "0 s"
    if seconds < AS_MINUTES:
        return short_duration(seconds)
    unit, name = (60, "min") if seconds < AS_HOURS else (3600, "h") if seconds < AS_DAYS else (86_400, "d")
    return f"{seconds / unit:,.3g} {name}" if seconds / unit < 999.5 else f"{seconds / unit:,.0f} {name}"


def shown_time(text: str | None) -> str:
    """Return a time of the report (ISO 8601, UTC) to the second; a text that is none unchanged, for None nothing."""
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M:%S UTC") if text else ""
    except ValueError:
        return text or ""


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
