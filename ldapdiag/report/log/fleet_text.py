"""The fleet view as text: a row for each server that differs, then what differs, and the balance.

server   connections             operations  search time  unindexed  errors   peak
ds3      17 %        ━━━━━━━━         8.0 M       31.4 h      4.1 %   0.1 %    760  lacks an index

The sentences of the fleet view: what differs, the balance, silent servers, clients that use one server only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.timeline import DAY
from ldapdiag.report.charts.terminal import bar, shortened
from ldapdiag.report.log.quantities import day_and_time_of, instant, per_second
from ldapdiag.report.log.tables import servers_with_marks
from ldapdiag.report.neutral import cell_len, neutral
from ldapdiag.wording import counted, duration, number, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.report.page import Page
    from ldapdiag.report.table import Plain

ROWS = 12
"""Servers in the table; of more, those that differ come first."""
LONGEST_NAME = 24
BAR = 10
"""Columns."""
NOTICED = 300
"""Seconds of a silence: where longer ones would not be noticed, that is stated."""
LINES = 5
"""Lines of each kind of difference."""


def print_fleet(page: Page, document: Plain) -> None:
    """Print the servers side by side; at most 40 lines, however many there are."""
    fleet = document["fleet"]
    ordered = sorted(servers_with_marks(fleet), key=lambda server: (not server["differs"], -_load(server)))
    shown, others = ordered[:ROWS], ordered[ROWS:]
    _print_table(page, sorted(shown, key=lambda server: server["name"]))
    if others:
        loads = [server["connection_share"] for server in others if server["connection_share"] is not None]
        extremes = f"{_share(min(loads))} to {_share(max(loads))}" if len(loads) == len(others) else ""
        between = f", each with {extremes} of the connections" if extremes else ""
        page.indented(f"and {counted(len(others), 'more server')}{between}")
    page.blank()
    for label, sentences in _sentences(document, ordered):
        _print_some(page, label, list(sentences))


def fleet_sentences(document: Plain) -> Iterator[str]:
    """Yield the same sentences for a page, the first of each kind."""
    for _, sentences in _sentences(document, servers_with_marks(document["fleet"])):
        all_of_them = list(sentences)
        for sentence in all_of_them[:LINES]:
            yield f"{sentence}."
        if len(all_of_them) > LINES:
            yield f"And {number(len(all_of_them) - LINES)} more (--format json lists all)."


def _sentences(document: Plain, servers: Sequence[Plain]) -> Iterator[tuple[str, Iterator[str]]]:
    fleet = document["fleet"]
    yield "differs", differences(fleet)
    yield "times", time_sentences(fleet)
    yield "balance", balance_sentences(servers, fleet)
    yield "silent", silence_sentences(fleet)
    yield "moved", move_sentences(fleet)
    yield "clients", client_sentences(fleet, len(document["connections"]["by_client"]))


def _load(server: Plain) -> float:
    """Return what servers are ordered by: the share of connections, else the operations."""
    share = server["connection_share"]
    return float(server["operations"] if share is None else share)


def _print_some(page: Page, label: str, sentences: list[str]) -> None:
    for place, sentence in enumerate(sentences[:LINES]):
        page.labelled("" if place else label, sentence, "bold", most=2)
    if len(sentences) > LINES:
        page.indented(f"and {number(len(sentences) - LINES)} more (--format json lists all)")


def _print_table(page: Page, shown: list[Plain]) -> None:
    names = [shortened(neutral(server["name"]), LONGEST_NAME) for server in shown]
    columns = [
        ("operations", [number(server["operations"]) for server in shown]),
        ("search time", [duration(server["search_seconds"]) for server in shown]),
        ("unindexed", [_part(server["unindexed_share"]) for server in shown]),
        ("errors", [_part(server["error_share"]) for server in shown]),
        ("peak", [number(server["peak"]) for server in shown]),
    ]
    shares = [server["connection_share"] for server in shown]
    if known := [share for share in shares if share is not None]:
        bars = ["" if share is None else f"{_share(share):>6} {bar(share, max(known), BAR):{BAR}}" for share in shares]
        columns.insert(0, ("connections", bars))
    marks = [", ".join(server["differs"]) for server in shown]
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


def _share(share: float) -> str:
    return percent(share) if share >= 0.01 or not share else f"{share:.1%}".replace("%", " %")


def _part(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}".replace("%", " %")


FEW = 3


def differences(fleet: Plain) -> Iterator[str]:
    """Yield the searches and versions that differ."""
    for search in fleet["differing_searches"]:
        base = counted(search["bases"], "base") if search["bases"] > 1 else search["base"] or "the root"
        what = f"{search['server']}: {search['shape']} below {base} ({search['scope']})"
        here, there = duration(search["median_seconds"]), duration(search["others_median_seconds"])
        others = search["others"]
        where = f"on {counted(len(others), 'other')}" if len(others) > 1 else f"on {others[0]}"
        if search["lacks_index"]:
            yield (
                f"{what} is unindexed here ({number(search['unindexed'])} of {number(search['answered'])}), indexed "
                f"{where}: {here} against {there}; see ldapdiag indexes"
            )
        else:
            yield f"{what} takes {here} (median), {where} {there}; {_wait(search)}"
    if versions := fleet["servers_by_version"]:
        yield f"versions: {'; '.join(f'{version}: {_few(names)}' for version, names in versions.items())}"


def _wait(search: Plain) -> str:
    """Return which part of what a search takes longer is a wait."""
    if search["wait_seconds"] is None or search["others_wait_seconds"] is None:
        return "the logs do not say how long it waited for a worker thread"
    waits, longer = (
        max(0.0, search[here] - search[there])
        for here, there in (("wait_seconds", "others_wait_seconds"), ("median_seconds", "others_median_seconds"))
    )
    return f"{duration(min(waits, longer))} of the {duration(longer)} more are the wait for a worker thread"


def time_sentences(fleet: Plain) -> Iterator[str]:
    """Yield whose clocks differ, which logs are of another time, and which have no record."""
    half = [one for one in fleet["servers"] if one["clock"] and one["clock"]["half"] and one["clock"]["shifted"]]
    if half:
        shifts = sorted(server["clock"]["ahead_seconds"] for server in half)
        names = _few([server["name"] for server in half])
        yield (
            "clocks (or time zones of logs, --zone; or jobs that are meant to come later): "
            f"{names} {'is' if len(half) == 1 else 'are'} {duration(shifts[len(shifts) // 2])} ahead of half "
            "of the servers; which are right is not known, and the former are shifted here"
        )
    for server in fleet["servers"]:
        clock = server["clock"]
        if clock and clock["shifted"] and not clock["half"]:
            what = "its clock" if clock["has_zone"] else "its clock, or the time zone of its log (--zone),"
            ahead = duration(abs(clock["ahead_seconds"]))
            yield (
                f"{server['name']}: {what} is {ahead} {'behind' if clock['ahead_seconds'] < 0 else 'ahead'} "
                f"(by {duration(clock['uncertainty_seconds'])} more or less), and its times are shifted here: "
                f"{counted(clock['clients'], 'client')} begin and end to use it so ({counted(clock['uses'], 'time')}), "
                "and so does its log"
            )
        if server["not_compared"]:
            yield f"{server['name']}: load and moves of clients not compared: {server['not_compared']}"
    yield from _edge_sentence(fleet)
    if names := fleet["servers_without_records"]:
        yield f"without a record in the log: {_few(names)}"


def _edge_sentence(fleet: Plain) -> Iterator[str]:
    """Yield whose logs begin late or end early, with the time that all have in common."""
    others = "half of the others or more" if len(fleet["servers"]) > 2 else "the other"
    found = [
        f"{server['name']} {does} {duration(server[key])} {than} {others}"
        for key, does, than in (("begins_late_seconds", "begins", "after"), ("ends_early_seconds", "ends", "before"))
        for server in sorted(fleet["servers"], key=lambda one: -one[key])
        if server[key]
    ]
    if found:
        (day, begin), (last_day, end) = day_and_time_of(fleet["compared_from"]), day_and_time_of(fleet["compared_to"])
        until = end if day == last_day else f"{last_day} {end}"
        yield (
            f"compared from {day} {begin} to {until} UTC: the log of {_few(found)} (no load, or that part is missing)"
        )


def balance_sentences(servers: Sequence[Plain], fleet: Plain) -> Iterator[str]:
    """Yield which servers have more than their share, and which have none; or why that is not compared."""
    if fleet["even_share"] is None:
        yield from _not_compared(fleet)
        return
    even = percent(fleet["even_share"])
    uneven = [server for server in servers if "uneven" in server["differs"]]
    for server in sorted(uneven, key=lambda one: -max(one["connection_share"], one["operation_share"])):
        clients = ", ".join(f"{client['client']} ({number(client['opened'])})" for client in server["clients"])
        yield (
            f"{server['name']} has {percent(server['connection_share'])} of the connections and "
            f"{percent(server['operation_share'])} of the operations (even: {even}); most are of {clients}"
        )
    if idle := [server for server in fleet["servers"] if server["idle"]]:
        total = sum(server["operations"] for server in fleet["servers"])
        few = [f"{server['name']} ({number(server['operations'])})" for server in idle]
        yield f"idle from the beginning to the end: {_few(few)} of {counted(total, 'operation')}"
    if not uneven:
        yield f"no server has twice the even share of {even}"


def _not_compared(fleet: Plain) -> Iterator[str]:
    if len(fleet["servers"]) < 2:
        yield "not compared: there is one server"
    elif fleet["compared_from"] is None:
        yield "not compared: the logs have too little time in common"
    else:
        yield "not compared: fewer than 100 connections in all logs"


def silence_sentences(fleet: Plain) -> Iterator[str]:
    """Yield when servers have no answer while others go on."""
    for server in fleet["servers"]:
        for (first, last), usual in list(zip(server["silences"], server["usual_per_second"], strict=True))[:FEW]:
            (day, begin), (_, end) = day_and_time_of(first), day_and_time_of(last)
            length = duration((instant(last) - instant(first)) // SECOND)
            yield (
                f"{server['name']} has no answer from {day} {begin} to {end} UTC ({length}), usual are "
                f"{per_second(round(usual * DAY), DAY * SECOND)}, while others go on: it had no load, or that part of "
                "its log is missing"
            )
    unseen = [
        f"{server['name']} ({'any' if least is None else f'under {duration(least)}'})"
        for server in fleet["servers"]
        for least in [server["shortest_silence_seconds"]]
        if not server["idle"] and not server["not_compared"] and (least is None or least > NOTICED)
    ]
    if unseen:
        yield f"on average too few answers for silences to be noticed: {_few(unseen)}"


def client_sentences(fleet: Plain, clients: int) -> Iterator[str]:
    """Yield the clients that use one server only, where others of all `clients` use several."""
    found = fleet["clients_of_one_server"]
    if len(found) * 2 > clients or not found:
        return
    first = (
        f"{one['client']} {one['server']} ({counted(one['connections'], 'connection')}, {percent(one['share'])} of its)"
        for one in found[:FEW]
    )
    yield f"{counted(len(found), 'client')} use{'s' * (len(found) == 1)} one server only: {', '.join(first)}"


def move_sentences(fleet: Plain) -> Iterator[str]:
    """Yield which clients moved from one server to another, and when; or why that is not judged."""
    if fleet["moved_clients"] is None and fleet["compared_from"] is not None:
        yield "moves of clients are not judged: a log has more clients than its table keeps"
    for move in fleet["moved_clients"] or ():
        clients = move["clients"]
        who = clients[0] if len(clients) == 1 else counted(len(clients), "client")
        day, time = day_and_time_of(move["begin"])
        length = duration((instant(move["end"]) - instant(move["begin"])) / SECOND)
        within = f" (within {length})" if len(clients) > 1 else ""
        silence = f", when {move['from']} has no record" if move["silent"] else ""
        names = "" if len(clients) == 1 else f": {_few(clients)}"
        yield f"{who} moved from {move['from']} to {move['to']} at {day} {time} UTC{within}{silence}{names}"


def _few(names: Sequence[str]) -> str:
    more = [f"and {number(len(names) - FEW)} more"] if len(names) > FEW else []
    return ", ".join([*names[:FEW], *more])
