"""The lines of all operations but searches, TLS and refusals in a log's report: only what matters, a line each.

other time  modify uid=?,ou=people,dc=example: 600 in 3.33 h (99 %), p99 20.1 s, worst 20.3 s · uid=sync (10.1.1.1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.log.operations import NO_FAILURE
from ldapdiag.report.log.quantities import day_and_time_of
from ldapdiag.wording import are, counted, duration, number, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.report.log.quantities import AccountNames
    from ldapdiag.report.page import Page
    from ldapdiag.report.table import Plain

FEW = 3
LEAST_SHARE = 0.01
"""Of the time of all operations."""
LEAST_P99 = 0.1
LEAST_WORST = 1.0
"""Seconds; a single one may take all the time."""
MOST_FAILED = 0.5
"""Of the results; others are on the line of results."""


def print_operations(page: Page, document: Plain, names: AccountNames) -> None:
    """Print the operations that take time or fail, and how connections were secured or refused."""
    shown = [target for target in document["targets"] if matters(target)]
    for place, one in enumerate(shown[:FEW]):
        who = _who(one, names, too_many="attribution" in document["caps_hit"])
        page.packed("" if place else "other time", [_line(one), *who], "bold")
    if len(shown) > FEW:
        page.packed("", [f"and {counted(len(shown) - FEW, 'more kind')} of operation: see --format json"], "bold")
    _print_security(page, document)
    workers = document["workers"]
    if workers is not None and (workers["busy"] >= workers["threads"] or workers["queued"]):
        page.packed("workers", _busiest(workers), "bold")


def load_sentences(document: Plain) -> Iterator[str]:
    """Yield how long operations waited, how busy the threads were, and what the server did for itself, for a page."""
    if waited := waiting(document):
        yield f"{waited}."
    if document["workers"] is not None:
        yield f"Worker threads: {', '.join(_busiest(document['workers']))}."
    if count := document["internal_operations"]:
        yield f"{counted(count, 'operation')} of the server itself {are(count)} internal, and counted apart."


def waiting(document: Plain) -> str:
    """Return how long operations waited for a worker thread, from 1 % of their time on."""
    waits = document["waits"]
    if not waits["etime_seconds"] or waits["seconds"] * 100 < waits["etime_seconds"]:
        return ""
    share = int(waits["seconds"] * 100 / waits["etime_seconds"])
    said = f"{share} % of the time was spent waiting for a worker thread"
    if not waits["longest_seconds"]:
        return said
    return f"{said}; longest wait {duration(waits['longest_seconds'])} at {day_and_time_of(waits['longest_time'])[1]}"


def _busiest(workers: Plain) -> list[str]:
    """Return the most busy threads and the longest queue, each with the time of its interval."""
    busy = f"at most {workers['busy']} of {workers['threads']} busy at {day_and_time_of(workers['busy_since'])[1]}"
    queued = (
        f"at most {counted(workers['queued'], 'operation')} queued at {day_and_time_of(workers['queued_since'])[1]}"
    )
    return [busy, queued] if workers["queued"] else [busy]


def matters(target: Plain) -> bool:
    """Return whether operations are slow and take 1 % of all time, or most of them fail; failed BINDs have a line."""
    worst = target["worst"]["etime_seconds"] if target["worst"] else 0
    if (
        target["answered"]
        and target["share"] >= LEAST_SHARE
        and (target["p99_seconds"] >= LEAST_P99 or worst >= LEAST_WORST)
    ):
        return True
    return bool(target["operation"] != "bind" and _failed(target) > MOST_FAILED * target["answered"])


def _failed(target: Plain) -> int:
    return sum(count for err, count in target["errors"].items() if int(err) not in NO_FAILURE)


def _line(target: Plain) -> str:
    worst = f", worst {duration(target['worst']['etime_seconds'])}" if target["worst"] else ""
    failed = f", {number(count)} failed" if (count := _failed(target)) else ""
    missing = target["unanswered"] + target["abandoned"]
    lost = f", {number(missing)} without result" if missing else ""
    took = f"{number(target['answered'])} in {duration(target['etime_seconds'])} ({percent(target['share'])})"
    name = f"{target['operation']} {target['name'] or target['target']}".rstrip()
    return f"{name}: {took}, p99 {duration(target['p99_seconds'])}{worst}{failed}{lost}"


def _who(target: Plain, names: AccountNames, *, too_many: bool) -> list[str]:
    """Return the account and client with the most time, and the number of others; `too_many`: not all are listed."""
    unlisted = too_many and sum(requester["count"] for requester in target["requesters"]) < target["answered"]
    if not target["requesters"]:
        return ["too many clients and accounts to list"] if unlisted else []
    first, *others = target["requesters"]
    more = f", {number(len(others))} more" if others else ""
    return [f"{names(first['account'])} ({first['client']}){more}{', others not listed' if unlisted else ''}"]


def _print_security(page: Page, document: Plain) -> None:
    if secured := document["tls"]["connections"][:FEW]:
        items = [f"{counted(one['count'], 'connection')} {one['version']} {one['cipher']}" for one in secured]
        page.packed("TLS", items, "bold")
    if refused := document["refused"]:
        clients = by_client(refused)
        count = counted(sum(clients.values()), "connection")
        page.packed("refused", [f"{count} of {named(clients)}: {refused[0]['reason']}"], "bold")


def in_the_clear(document: Plain) -> list[str]:
    """Return how many passwords were sent without TLS, if there were any."""
    clients = by_client(document["tls"]["binds_in_clear"])
    return [f"{number(sum(clients.values()))} without TLS"] if clients else []


def by_client(rows: Iterable[Plain]) -> dict[str, int]:
    """Return the counts of each client."""
    totals: dict[str, int] = {}
    for row in rows:
        totals[row["client"]] = totals.get(row["client"], 0) + row["count"]
    return totals


def named(clients: dict[str, int]) -> str:
    """Return the one client, or how many there are."""
    return next(iter(clients)) if len(clients) == 1 else counted(len(clients), "client")
