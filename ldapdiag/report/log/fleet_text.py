"""The fleet view as text: a row for each server that differs, then what differs, and the balance.

server   connections             operations  search time  unindexed  errors   peak
ds3      17 %        ━━━━━━━━         8.0 M       31.4 h      4.1 %   0.1 %    760  lacks an index

The sentences of the fleet view: what differs, the balance, silent servers, clients that use one server only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.report.charts.terminal import bar, shortened
from ldapdiag.report.log.quantities import day_and_time
from ldapdiag.report.neutral import neutral
from ldapdiag.wording import counted, duration, number, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
        ("search time", [duration(one.workload.search_etime / SECOND) for one in shown]),
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


FEW = 3


def differences(fleet: Comparison) -> Iterator[str]:
    """Yield the searches and versions that differ."""
    for one in fleet.searches:
        what = f"{one.server}: {one.group.shape} below {one.group.place}"
        here, there = duration(one.group.etimes.p50 / SECOND), duration(one.their_median / SECOND)
        where = f"on {counted(len(one.others), 'other')}" if len(one.others) > 1 else f"on {one.others[0]}"
        if one.lacks_index:
            yield (
                f"{what} is unindexed here ({number(one.group.unindexed)} of {number(one.group.answered)}), indexed "
                f"{where}: {here} against {there}; see ldapdiag indexes"
            )
        else:
            yield f"{what} takes {here} (median), {where} {there}"
    if fleet.versions:
        each = (f"{version}: {_few(names)}" for version, names in fleet.versions.items())
        yield f"versions: {'; '.join(each)}"


def balance_sentences(fleet: Comparison) -> Iterator[str]:
    """Yield which servers have more than their share, and which have none; or why that is not compared."""
    if fleet.balance is None:
        yield from _not_compared(fleet)
        return
    for one in fleet.balance.overloaded:
        clients = ", ".join(
            f"{client.address} ({number(client.opened)})"
            for client in one.replica.workload.clients[:FEW]
            if client.opened
        )
        yield (
            f"{one.replica.name} has {percent(one.connections)} of the connections and {percent(one.operations)} of "
            f"the operations (even: {percent(fleet.balance.even)}); most are of {clients}"
        )
    if idle := [one.replica.name for one in fleet.balance.idle]:
        yield f"without load: {_few(idle)}"
    if not fleet.balance.overloaded:
        yield f"no server has twice the even share of {percent(fleet.balance.even)}"


def _not_compared(fleet: Comparison) -> Iterator[str]:
    if len(fleet.replicas) < 2:
        yield "not compared: there is one server"
    elif fleet.fleet.common is None:
        yield "not compared: the logs have too little time in common"
    else:
        yield "not compared: fewer than 100 connections in all logs"


def silence_sentences(fleet: Comparison) -> Iterator[str]:
    """Yield when servers have no record while others have."""
    for replica in fleet.replicas:
        for span in replica.silences[:FEW]:
            (day, begin), (_, end) = day_and_time(span.begin), day_and_time(span.end)
            length = duration(span.length // SECOND)
            yield (
                f"{replica.name} has no record from {day} {begin} to {end} UTC ({length}), while others "
                "have: it had no load, or that part of its log is missing"
            )


def client_sentences(fleet: Comparison) -> Iterator[str]:
    """Yield the clients that use one server only, where others use several."""
    every = {client.address for one in fleet.replicas for client in one.workload.clients if client.opened}
    if len(fleet.with_affinity) * 2 > len(every) or not fleet.with_affinity:
        return
    first = (
        f"{one.client} {one.server} ({counted(one.connections, 'connection')}, {percent(one.share)} of its)"
        for one in fleet.with_affinity[:FEW]
    )
    yield f"{counted(len(fleet.with_affinity), 'client')} use one server only: {', '.join(first)}"


def move_sentences(fleet: Comparison) -> Iterator[str]:
    """Yield which clients moved from one server to another, and when; or why that is not judged."""
    if fleet.moved is None and fleet.fleet.common is not None:
        yield "moves of clients are not judged: a log has more clients than its table keeps"
    for one in fleet.moved or ():
        who = one.clients[0] if len(one.clients) == 1 else counted(len(one.clients), "client")
        day, time = day_and_time(one.begin)
        within = f" (within {duration((one.end - one.begin) / SECOND)})" if len(one.clients) > 1 else ""
        silence = f", when {one.source} has no record" if one.silent else ""
        names = "" if len(one.clients) == 1 else f": {_few(one.clients)}"
        yield f"{who} moved from {one.source} to {one.target} at {day} {time} UTC{within}{silence}{names}"


def _few(names: Sequence[str]) -> str:
    more = [f"and {number(len(names) - FEW)} more"] if len(names) > FEW else []
    return ", ".join([*names[:FEW], *more])
