"""The tables of a log's report: searches, clients and accounts, close codes.

NumberTable: right-aligned columns of numbers and a name, with a bar after the first column where there is room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.log.spellings import OTHER_NAME, UNKNOWN_NAME
from ldapdiag.report.charts.terminal import bar, shortened
from ldapdiag.report.log.tables import OF_REQUESTERS
from ldapdiag.report.log.times import course, parts_of, pictures, trend_of
from ldapdiag.report.neutral import cell_len, neutral
from ldapdiag.report.page import packed
from ldapdiag.report.table import Column
from ldapdiag.servers.close_reasons import CloseKind
from ldapdiag.wording import counted, duration, number, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.report.log.quantities import AccountNames
    from ldapdiag.report.page import Page
    from ldapdiag.report.table import Plain

MOST_CLOSES = 3
LEAST_SHARE = 0.01
MOST_TOTALS = 3


class SearchRows:
    """The table of searches on a page: a row of numbers each, and below it scope, base, account and client."""

    def __init__(self, page: Page, document: Mapping[str, Any], names: AccountNames) -> None:
        self.page = page
        self.names = names
        self.parts = parts_of(document)
        self.shapes: Sequence[Plain] = document["searches"]["shapes"]
        self.filters: Sequence[Plain] = document["searches"]["filters"]
        self.too_many = "attribution" in document["caps_hit"]
        """Not all clients and accounts are listed."""
        self.often = Counter(one["shape"] for one in self.shapes)
        self.times: dict[str, float] = {}
        for shape in self.shapes:
            self.times[shape["shape"]] = self.times.get(shape["shape"], 0.0) + shape["etime_seconds"]

    def show(self, top: int, columns: Sequence[Column]) -> None:
        """Print the first rows, the filters with many bases, and the number of the others."""
        shown = self.shapes[:top]
        trends = [trend_of(one, self.parts) for one in shown]
        table = NumberTable(self.page, columns, shown)
        fits = (table.fitting(one["shape"], pictures(trend)) for one, trend in zip(shown, trends, strict=True))
        table.header("filter", "search time over the log" if any(fits) else "")
        for place, (one, trend) in enumerate(zip(shown, trends, strict=True)):
            picture = table.row(place, one["shape"], pictures(trend))
            for line in packed([*self.below(one), *course(trend, picture)], self.page.room - table.deeper):
                self.page.indented(line, "dim", deeper=table.deeper)
        self.totals()
        if rest := self.shapes[top:]:
            total = duration(sum(one["etime_seconds"] for one in rest))
            self.page.indented(f"and {counted(len(rest), 'more kind')} of search, {total} in total")

    def below(self, search: Plain) -> list[str]:
        """Return where the searches go, and who sends them."""
        if not search["answered"] and not search["requesters"]:
            who = "without result: client and account are not counted"
        else:
            listed = sum(requester["etime_seconds"] for requester in search["requesters"])
            missing = max(self.times[search["shape"]] - listed, 0.0) if self.too_many else None
            who = _main_requester(search["requesters"], self.names, missing)
        return [_where(search), f"all bases: {who}" if self.often[search["shape"]] > 1 else who, *_examined(search)]

    def totals(self) -> None:
        """Print filters that take much of the time below many bases, and no more than half of it below any of them."""
        most: dict[str, float] = {}
        for one in self.shapes:
            if one["scope"] != "base":
                most[one["shape"]] = max(most.get(one["shape"], 0.0), one["etime_seconds"])
        wide = (one for one in self.filters if one["share"] >= LEAST_SHARE)
        spread = [one for one in wide if 2 * most.get(one["shape"], 0.0) < one["etime_seconds"]]
        for one in spread[:MOST_TOTALS]:
            took = f"{duration(one['etime_seconds'])}, {percent(one['share'])}"
            bases = counted(one["bases"], "base")
            self.page.indented(f"{one['shape']} below {bases} together: {counted(one['count'], 'search')}, {took}")


def print_requesters(page: Page, kind: str, requesters: Sequence[Plain], top: int, total: float) -> None:
    """Print clients or accounts as ordered; connections that are not listed by name are in those of the rest."""
    shown = [
        {"share": requester["etime_seconds"] / total if total else 0, **requester} for requester in requesters[:top]
    ]
    if not shown:
        return
    table = NumberTable(page, OF_REQUESTERS, shown)
    table.header(kind)
    unlisted = any(requester["connections"] is None for requester in requesters)
    for place, one in enumerate(shown):
        rest = f", with the connections of each {kind} that has no number here"
        table.row(place, f"{one['name']}{rest if unlisted and one['name'] == OTHER_NAME else ''}")
    if len(requesters) > top:
        page.indented(f"and {number(len(requesters) - top)} more")


def print_closes(page: Page, closes: Sequence[Plain]) -> None:
    """Print the most frequent close codes of connections, with their meanings and clients."""
    shown, rest = closes[:MOST_CLOSES], closes[MOST_CLOSES:]
    width = max(len(number(one["count"])) for one in shown)
    texts = []
    for one in shown:
        word = f"{one['code']}: " if one["code"] else ""
        texts.append(f"{number(one['count']):>{width}} {word}{one['meaning']}{_clients_of(one)}")
    if rest:
        codes = ", ".join(one["code"] or "none" for one in rest)
        texts.append(f"and {number(sum(one['count'] for one in rest))} more: {codes}")
    page.listed("closes", texts, "bold")


def _clients_of(closes: Plain) -> str:
    """Return the clients of a close code, unless it is a clean close."""
    clients = closes["by_client"]
    if closes["kind"] == CloseKind.CLEAN or not clients:
        return ""
    client, count = next(iter(clients.items()))
    if count == closes["count"]:
        return f" ({client})"
    return f" ({number(count)} from {client})" if count * 2 >= closes["count"] else f" ({len(clients)} clients)"


def _where(search: Plain) -> str:
    """Return scope and base; the rows of searches without a request and of all others have none."""
    if search["shape"] == search["base"] == search["scope"]:
        return "requests not in the log" if search["shape"] == UNKNOWN_NAME else "other filters, counted together"
    return f"{search['scope']} {search['base'] or 'root'}"


def _examined(search: Plain) -> Iterator[str]:
    """Yield how many entries the server visited, by which indexes, and the pages, where the log has them."""
    if "visited" not in search:
        return
    first, *others = search["used_indexes"]
    by = f" by {' and '.join(first['indexes'])}" if first["indexes"] else ""
    more = f", {number(len(others))} more" if others else ""
    lacking = f" (no index for {', '.join(first['preventing'])})" if first["preventing"] else ""
    visited = counted(search["visited"], "entry", "entries")
    yield f"visited {visited} to return {number(search['entries'])}{by}{lacking}{more}"
    if search["pages"]:
        yield f"{counted(search['pages'], 'page')}, {number(search['pages_from_disk'])} from disk"


def _main_requester(requesters: Sequence[Plain], names: AccountNames, missing: float | None) -> str:
    """Return the account and client with the most time, and the number of others.

    `missing`: seconds of those that are not listed, because there were too many; None: all are listed.
    """
    if not requesters:
        return "client and account unknown" if missing is None else "too many clients and accounts to list"
    first, *others = requesters
    total = sum(requester["etime_seconds"] for requester in requesters) + (missing or 0)
    share = f" {percent(first['etime_seconds'] / total)}" if (others or missing) and total else ""
    more = f", {number(len(others))} more" if others else ""
    unlisted = ", others not listed" if missing else ""
    return f"{names(first['account'])} ({first['client']}){share}{more}{unlisted}"


GAP = "  "
BAR = 8
WIDEST = 9
"""Columns of a cell without a header."""
LEAST_NAME = 34
"""Columns for a name beside its numbers; with fewer, all names are printed below."""
NARROW = 40
"""Columns after the margin; with no more, lines below a row are indented less."""
LINES = 2
"""Lines of a name below its numbers."""


def _cell(column: Column, row: Plain) -> str:
    """Return a cell; text without a header, as notes are, has little room."""
    return column.words(row) if column.label else shortened(neutral(column.words(row)), WIDEST)


class NumberTable:
    """A table on a page. Bars are relative to the largest value, and start at zero."""

    def __init__(
        self, page: Page, shown: Sequence[Column], rows: Sequence[Plain], *, bar_of: str = "etime_seconds"
    ) -> None:
        self.page = page
        columns = [(one.label, [_cell(one, row) for row in rows]) for one in shown]
        values = [row[bar_of] for row in rows]
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
        return next((picture for picture in pictures if cell_len(picture) <= left), "")

    def _row(self, cells: Sequence[str], length: str, name: str) -> str:
        first, *others = cells
        return GAP.join([f"{first} {length:{BAR}}" if self._bars else first, *others, name]).rstrip()
