"""The fleet view as text: a row for each server that differs, then what differs, and the balance.

server   connections             operations  search time  unindexed  errors   peak
ds3      17 %        ━━━━━━━━         8.0 M       31.4 h      4.1 %   0.1 %    760  lacks an index
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from ldapdiag.report.charts.terminal import bar, shortened
from ldapdiag.report.log.fleet_sentences import (
    balance_sentences,
    client_sentences,
    differences,
    move_sentences,
    silence_sentences,
)
from ldapdiag.report.log.quantities import duration
from ldapdiag.report.neutral import neutral
from ldapdiag.wording import counted, number, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.fleet.comparison import Comparison
    from ldapdiag.analysis.fleet.replicas import Replica
    from ldapdiag.report.page import Page

ROWS = 12
"""Servers in the table; of more, those that differ come first."""
LONGEST_NAME = 24
BAR = 10
"""Columns."""
LINES = 5
"""Lines of each kind of difference."""


def print_fleet(page: Page, fleet: Comparison) -> None:
    """Print the servers side by side; at most 40 lines, however many there are."""
    notable = fleet.notable
    shown = sorted(fleet.replicas, key=lambda one: (one.name not in notable, -fleet.load_of(one)))[:ROWS]
    _print_table(page, fleet, sorted(shown, key=lambda one: one.name))
    if rest := len(fleet.replicas) - len(shown):
        loads = [fleet.share_of(one) for one in fleet.replicas if one not in shown]
        between = (
            f", each with {_share(min(loads))} to {_share(max(loads))} of the connections" if fleet.balance else ""
        )
        page.indented(f"and {counted(rest, 'more server')}{between}")
    page.blank()
    for label, sentences in (
        ("differs", differences(fleet)),
        ("balance", balance_sentences(fleet)),
        ("silent", silence_sentences(fleet)),
        ("moved", move_sentences(fleet)),
        ("clients", client_sentences(fleet)),
    ):
        _print_some(page, label, list(sentences))


def _print_some(page: Page, label: str, sentences: list[str]) -> None:
    for place, sentence in enumerate(sentences[:LINES]):
        page.labelled("" if place else label, sentence, "bold", most=2)
    if len(sentences) > LINES:
        page.indented(f"and {number(len(sentences) - LINES)} more (--format json lists all)")


def _print_table(page: Page, fleet: Comparison, shown: list[Replica]) -> None:
    names = [shortened(neutral(one.name), LONGEST_NAME) for one in shown]
    columns = [
        ("operations", [number(sum(one.workload.segment.operations)) for one in shown]),
        ("search time", [duration(one.workload.search_etime) for one in shown]),
        ("unindexed", [_part(one.unindexed) for one in shown]),
        ("errors", [_part(one.errors) for one in shown]),
        ("peak", [number(one.workload.segment.peak) for one in shown]),
    ]
    if fleet.balance:
        most = max(fleet.share_of(one) for one in shown)
        shares = [f"{_share(share):>6} {bar(share, most, BAR):{BAR}}" for share in map(fleet.share_of, shown)]
        columns.insert(0, ("connections", shares))
    marks = [", ".join(_marks(fleet, one)) for one in shown]
    width = max(map(cell_len, ["server", *names]))
    room = page.room - width - max(map(len, marks))
    while columns and sum(max(len(name), *map(len, cells)) + 2 for name, cells in columns) > room:
        columns.pop()
    page.indented(_row("server", width, [(name, [name, *cells]) for name, cells in columns], 0, ""), "dim")
    for place, name in enumerate(names):
        page.row(_row(name, width, [(head, [head, *cells]) for head, cells in columns], place + 1, marks[place]))


def _row(name: str, width: int, columns: list[tuple[str, list[str]]], place: int, marks: str) -> str:
    """Return one row, its cells aligned with those of all others."""
    cells = [
        cells[place].ljust(longest) if head == "connections" else cells[place].rjust(longest)
        for head, cells in columns
        for longest in [max(map(len, cells))]
    ]
    return "  ".join([name + " " * (width - cell_len(name)), *cells, marks]).rstrip()


def _marks(fleet: Comparison, one: Replica) -> Iterator[str]:
    """Yield in a few words why a server is notable."""
    if one.name in {search.server for search in fleet.searches if search.lacks_index}:
        yield "lacks an index"
    elif one.name in {search.server for search in fleet.searches}:
        yield "slower"
    if fleet.balance and one in [share.replica for share in fleet.balance.overloaded]:
        yield "uneven"
    if fleet.balance and one in [share.replica for share in fleet.balance.idle]:
        yield "idle"
    if one.silences:
        yield "silent"


def _share(share: float) -> str:
    return percent(share) if share >= 0.01 or not share else f"{share:.1%}".replace("%", " %")


def _part(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}".replace("%", " %")
