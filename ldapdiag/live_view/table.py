"""The table of clients, accounts or searches of a live view: the columns that have room, the rows around the choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.live_view.searches import SearchRow
from ldapdiag.live_view.view import Shown
from ldapdiag.report.neutral import neutral
from ldapdiag.wording import duration, number, rounded

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.live_view.server import LiveRow
    from ldapdiag.live_view.view import View

    Column = tuple[str, int, Callable[[Any], str]]

UNKNOWN = "-"
OLD, WORSE, WRONG, CHOSEN = "dim", "bold yellow", "bold red", "reverse"
GROWN = "^ "
WIDE = 76
"""Columns from which a row has its rate since the start or its entries, and its accounts or its base."""
LEAST_NAME, LEAST_OTHERS = 15, 10
COUNTS: tuple[Column, ...] = (
    ("CONNS", 7, lambda row: number(row.connections)),
    ("/MIN", 8, lambda row: minute_rate(row.per_second)),
)
SINCE_START: tuple[Column, ...] = (("/MIN ALL", 9, lambda row: minute_rate(row.since_start)),)
BOTH_ENDS: tuple[Column, ...] = (
    ("HELD", 6, lambda row: count(row.ends.held if row.ends else None)),
    ("GHOSTS", 7, lambda row: count(row.ends.ghosts if row.ends else None)),
    ("SEVERED", 8, lambda row: count(row.ends.severed if row.ends else None)),
)
TIMES: tuple[Column, ...] = (
    ("S/S", 7, lambda row: load(row.load)),
    ("/S", 7, lambda row: rounded(row.per_second)),
    ("MEAN", 9, lambda row: duration(row.mean_seconds)),
    ("UNINDEXED", 10, lambda row: count(row.unindexed)),
)
ENTRIES: tuple[Column, ...] = (("ENTRIES", 8, lambda row: rounded(row.entries)),)


class ListColumns(NamedTuple):
    """The columns of a list."""

    name: str
    others: str
    narrow: tuple[Column, ...]
    wide: tuple[Column, ...]
    prefers_name: bool = False
    """A long name takes the room of the others, else half of it."""


LAYOUTS = {
    Shown.CLIENTS: ListColumns("CLIENT", "ACCOUNTS", (*COUNTS, *BOTH_ENDS), (*COUNTS, *SINCE_START, *BOTH_ENDS)),
    Shown.ACCOUNTS: ListColumns("ACCOUNT", "CLIENTS", COUNTS, (*COUNTS, *SINCE_START)),
    Shown.SEARCHES: ListColumns("FILTER", "BASE", TIMES, (*TIMES, *ENTRIES), prefers_name=True),
}


def table(view: View, width: int, height: int, *, is_old: bool) -> list[Text]:
    """Return the head of the table, and as many rows as have room; those of an old source are dim."""
    layout, is_wide = LAYOUTS[view.lists], width >= WIDE
    columns = layout.wide if is_wide else layout.narrow
    visible = max(1, height - 1)
    view.offset = max(min(view.offset, view.cursor), view.cursor - visible + 1, 0)
    rows = view.rows[view.offset : view.offset + visible]
    room = max(LEAST_NAME, width - len(GROWN) - sum(wide for _, wide, _ in columns))
    longest = max((cell_len(neutral(one.name)) for one in rows), default=0)
    shares = is_wide and room > 2 * LEAST_NAME and not layout.prefers_name
    name = min(max(LEAST_NAME, longest + 1), room // 2 if shares else room)
    others = room - name - 2 if is_wide and room - name - 2 >= LEAST_OTHERS else 0
    head = f"{'':{len(GROWN)}}{layout.name:{name}}" + "".join(f"{title:>{wide}}" for title, wide, _ in columns)
    lines = [Text(head + (f"  {layout.others}" if others else ""), "underline")]
    for place, row in enumerate(rows, view.offset):
        style = OLD if is_old else WRONG if row.wrong else WORSE if row.has_grown else ""
        text = set_cell_size(_row(row, columns, name, others), width)
        lines.append(Text(text, f"{style} {CHOSEN}".strip() if place == view.cursor else style))
    return lines


def _row(row: LiveRow | SearchRow, columns: tuple[Column, ...], name: int, others: int) -> str:
    text = (GROWN if row.has_grown else " " * len(GROWN)) + set_cell_size(neutral(row.name), name)
    text += "".join(f"{cell(row):>{wide}}" for _, wide, cell in columns)
    if not (others and row.others):
        return text
    more = f" +{len(row.others) - 1:,}" if len(row.others) > 1 else ""
    first = neutral(row.others[0]) if isinstance(row, SearchRow) else short(row.others[0])
    return f"{text}  {set_cell_size(first, min(cell_len(first), others - len(more)))}{more}"


def short(name: str) -> str:
    """Return the first value of a DN, or an address: a row has no room for all of it."""
    first = name.partition(",")[0]
    return neutral(first.partition("=")[2] or first)


def count(value: int | None) -> str:
    """Return a number that may be unknown."""
    return UNKNOWN if value is None else number(value)


def load(value: float) -> str:
    """Return seconds of search time in each second."""
    return "<0.001" if 0 < value < 0.001 else rounded(value)


def minute_rate(value: float | None) -> str:
    """Return a rate for each minute with its sign."""
    if value is None:
        return UNKNOWN
    minute = 60 * value
    return "0" if abs(minute) < 0.05 else f"{'+' if minute > 0 else '-'}{rounded(abs(minute))}"
