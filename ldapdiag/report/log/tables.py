"""The tables of a log's report: searches, clients and accounts, close codes.

NumberTable: right-aligned columns of numbers and a name, with a bar after the first column where there is room.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.cells import cell_len

from ldapdiag.analysis.log.spellings import OTHER_NAME, UNKNOWN_NAME
from ldapdiag.report.charts.terminal import bar, shortened
from ldapdiag.report.log.quantities import duration
from ldapdiag.report.log.sort import Sort
from ldapdiag.report.log.times import course, pictures
from ldapdiag.report.neutral import neutral
from ldapdiag.report.page import packed
from ldapdiag.servers.close_reasons import CloseKind
from ldapdiag.wording import counted, number, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.analysis.log.searches import Requester, SearchGroup
    from ldapdiag.analysis.log.workload import CloseCount, SearchTotals
    from ldapdiag.report.log.quantities import AccountNames
    from ldapdiag.report.page import Page

MOST_CLOSES = 3
LEAST_SHARE = 0.01
MOST_TOTALS = 3
WIDEST_NOTES = 9


def print_searches(
    page: Page,
    searches: Sequence[SearchGroup],
    totals: Sequence[SearchGroup],
    top: int,
    names: AccountNames,
    sort: Sort,
    *,
    too_many: bool,
) -> None:
    """Print searches: a row of numbers each, and below it scope, base, account and client.

    `totals`: the searches of each filter below all its bases; `too_many`: not all clients and accounts are listed.
    """
    shown = searches[:top]
    often = Counter(one.shape for one in searches)
    times: Counter[str] = Counter()
    for one in searches:
        times[one.shape] += one.etime
    columns = [
        ("share", [percent(one.share) for one in shown]),
        ("time", [duration(one.etime) for one in shown]),
        ("count", [number(one.count) for one in shown]),
        _slowness(shown, sort),
        ("", [_notes(one) for one in shown]),
    ]
    table = NumberTable(page, columns, [one.etime for one in shown])
    is_drawn = any(table.fitting(one.shape, pictures(one.trend)) for one in shown)
    table.header("filter", "search time over the log" if is_drawn else "")
    for place, search in enumerate(shown):
        picture = table.row(place, search.shape, pictures(search.trend))
        listed = sum(one.etime for one in search.requesters)
        missing = max(times[search.shape] - listed, 0) if too_many else None
        who = _main_requester(search.requesters, names, missing)
        if not search.answered and not search.requesters:
            who = "without result: client and account are not counted"
        parts = [
            _where(search),
            f"all bases: {who}" if often[search.shape] > 1 else who,
            *course(search.trend, picture),
        ]
        for line in packed(parts, page.room - table.deeper):
            page.indented(line, "dim", deeper=table.deeper)
    _print_totals(page, totals, searches)
    rest = searches[top:]
    if rest:
        kinds = f"{counted(len(rest), 'more kind')} of search"
        page.indented(f"and {kinds}, {duration(sum(one.etime for one in rest))} in total")


def _print_totals(page: Page, totals: Sequence[SearchGroup], searches: Sequence[SearchGroup]) -> None:
    """Print filters that take much of the time below many bases, and no more than half of it below any one of them."""
    most: Counter[str] = Counter()
    for one in searches:
        if one.scope != "base":
            most[one.shape] = max(most[one.shape], one.etime)
    spread = [one for one in totals if one.share >= LEAST_SHARE and 2 * most[one.shape] < one.etime]
    for one in spread[:MOST_TOTALS]:
        what = f"{counted(one.count, 'search')}, {duration(one.etime)}, {percent(one.share)}"
        page.indented(f"{one.shape} below {counted(one.bases, 'base')} together: {what}")


def _slowness(shown: Sequence[SearchGroup], sort: Sort) -> tuple[str, list[str]]:
    """Return the column of the slowest search, or of the quantile that is sorted by."""
    if sort is Sort.P99:
        return "p99", [duration(one.etimes.p99) for one in shown]
    return "worst", [duration(one.slowest.etime) if one.slowest else "" for one in shown]


def print_requesters(page: Page, kind: str, requesters: Sequence[SearchTotals], top: int, total: int) -> None:
    """Print clients or accounts as ordered; connections that are not listed by name are in those of the rest."""
    shown = requesters[:top]
    if not shown:
        return
    columns = [
        ("share", [percent(one.etime / total if total else 0) for one in shown]),
        ("time", [duration(one.etime) for one in shown]),
        ("searches", [number(one.count) for one in shown]),
        ("connections", ["" if one.connections is None else number(one.connections) for one in shown]),
    ]
    table = NumberTable(page, columns, [one.etime for one in shown])
    table.header(kind)
    unlisted = any(one.connections is None for one in requesters)
    for place, one in enumerate(shown):
        rest = unlisted and one.name == OTHER_NAME
        table.row(
            place, f"{one.name}, with the connections of each {kind} that has no number here" if rest else one.name
        )
    if len(requesters) > top:
        page.indented(f"and {number(len(requesters) - top)} more")


def print_closes(page: Page, closes: Sequence[CloseCount]) -> None:
    """Print the most frequent close codes of connections, with their meanings and clients."""
    shown = closes[:MOST_CLOSES]
    width = max(len(number(one.count)) for one in shown)
    texts = []
    for one in shown:
        word = f"{one.code}: " if one.code else ""
        texts.append(f"{number(one.count):>{width}} {word}{one.meaning.text}{_clients_of(one)}")
    rest = closes[MOST_CLOSES:]
    if rest:
        texts.append(f"and {number(sum(one.count for one in rest))} more: {_codes(rest)}")
    page.listed("closes", texts, "bold")


def _clients_of(closes: CloseCount) -> str:
    """Return the clients of a close code, unless it is a clean close."""
    if closes.meaning.kind is CloseKind.CLEAN or not closes.clients:
        return ""
    client, count = next(iter(closes.clients.items()))
    if count == closes.count:
        return f" ({client})"
    return f" ({number(count)} from {client})" if count * 2 >= closes.count else f" ({len(closes.clients)} clients)"


def _codes(closes: Iterable[CloseCount]) -> str:
    return ", ".join(one.code or "none" for one in closes)


def _notes(search: SearchGroup) -> str:
    """Return the letters or words of a search's notes, each once, the most frequent first."""
    words = dict.fromkeys(word for notes in search.notes for word in notes.split(","))
    return shortened(neutral(" ".join(words)), WIDEST_NOTES)


def _where(search: SearchGroup) -> str:
    """Return scope and base; the rows of searches without a request and of all others have none."""
    if search.unidentified:
        return "requests not in the log" if search.shape == UNKNOWN_NAME else "other filters, counted together"
    return f"{search.scope} {search.base or 'root'}"


def _main_requester(requesters: Sequence[Requester], names: AccountNames, missing: int | None) -> str:
    """Return the account and client with the most time, and the number of others.

    `missing`: nanoseconds of those that are not listed, because there were too many; None: all are listed.
    """
    if not requesters:
        return "client and account unknown" if missing is None else "too many clients and accounts to list"
    first, *others = requesters
    total = sum(one.etime for one in requesters) + (missing or 0)
    share = f" {percent(first.etime / total)}" if (others or missing) and total else ""
    more = f", {number(len(others))} more" if others else ""
    return f"{names(first.account)} ({first.client}){share}{more}{', others not listed' if missing else ''}"


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
