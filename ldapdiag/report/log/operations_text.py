"""The lines of all operations but searches, TLS and refusals in a log's report: only what matters, a line each.

other time  modify uid=?,ou=people,dc=example: 600 in 3.33 h (99 %), p99 20.1 s, worst 20.3 s · uid=sync (10.1.1.1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.log.security import by_client
from ldapdiag.analysis.log.workload import busiest_workers
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND
from ldapdiag.report.log.quantities import day_and_time, duration
from ldapdiag.wording import counted, number, percent

if TYPE_CHECKING:
    from ldapdiag.analysis.log.operations import OperationGroup
    from ldapdiag.analysis.log.workload import BusiestWorkers, Workload
    from ldapdiag.report.log.quantities import AccountNames
    from ldapdiag.report.page import Page

FEW = 3
LEAST_SHARE = 0.01
"""Of the time of all operations."""
LEAST_P99 = 100 * MILLISECOND
LEAST_WORST = SECOND
"""A single one may take all the time."""
MOST_FAILED = 0.5
"""Of the results; others are on the line of results."""


def print_operations(page: Page, work: Workload, names: AccountNames) -> None:
    """Print the operations that take time or fail, and how connections were secured or refused."""
    shown = [one for one in work.targets if matters(one)]
    for place, one in enumerate(shown[:FEW]):
        who = _who(one, names, too_many=work.segment.attribution.full)
        page.packed("" if place else "other time", [_line(one), *who], "bold")
    if len(shown) > FEW:
        page.packed("", [f"and {counted(len(shown) - FEW, 'more kind')} of operation: see --format json"], "bold")
    _print_security(page, work)
    workers = busiest_workers(work.segment)
    if workers is not None and (workers.busy >= workers.threads or workers.queued):
        page.packed("workers", _busiest(workers), "bold")


def _busiest(workers: BusiestWorkers) -> list[str]:
    """Return the most busy threads and the longest queue, each with the time of its interval."""
    _, busy_at = day_and_time(workers.busy_since * SECOND)
    _, queued_at = day_and_time(workers.queued_since * SECOND)
    busy = f"at most {workers.busy} of {workers.threads} busy at {busy_at}"
    queued = f"at most {counted(workers.queued, 'operation')} queued at {queued_at}"
    return [busy, queued] if workers.queued else [busy]


def matters(group: OperationGroup) -> bool:
    """Return whether operations are slow and take 1 % of all time, or most of them fail; failed BINDs have a line."""
    worst = group.slowest.etime if group.slowest else 0
    if group.share >= LEAST_SHARE and (group.p99 >= LEAST_P99 or worst >= LEAST_WORST):
        return True
    return group.operation != "bind" and group.failed > MOST_FAILED * group.answered


def _line(group: OperationGroup) -> str:
    worst = f", worst {duration(group.slowest.etime)}" if group.slowest else ""
    failed = f", {number(group.failed)} failed" if group.failed else ""
    missing = group.unanswered + group.abandoned
    lost = f", {number(missing)} without result" if missing else ""
    took = f"{number(group.answered)} in {duration(group.etime)} ({percent(group.share)})"
    return f"{group.described}: {took}, p99 {duration(group.p99)}{worst}{failed}{lost}"


def _who(group: OperationGroup, names: AccountNames, *, too_many: bool) -> list[str]:
    """Return the account and client with the most time, and the number of others; `too_many`: not all are listed."""
    unlisted = too_many and sum(one.count for one in group.requesters) < group.answered
    if not group.requesters:
        return ["too many clients and accounts to list"] if unlisted else []
    first, *others = group.requesters
    more = f", {number(len(others))} more" if others else ""
    return [f"{names(first.account)} ({first.client}){more}{', others not listed' if unlisted else ''}"]


def _print_security(page: Page, work: Workload) -> None:
    security = work.security
    if secured := list(security.secured.items())[:FEW]:
        items = [f"{counted(count, 'connection')} {version} {cipher}" for (version, cipher), count in secured]
        page.packed("TLS", items, "bold")
    if security.refused:
        clients = by_client(security.refused)
        reason = security.refused[0].what
        page.packed(
            "refused", [f"{counted(sum(clients.values()), 'connection')} of {named(clients)}: {reason}"], "bold"
        )


def in_the_clear(work: Workload) -> list[str]:
    """Return how many passwords were sent without TLS, if there were any."""
    clients = by_client(work.security.clear_binds)
    return [f"{number(sum(clients.values()))} without TLS"] if clients else []


def named(clients: dict[str, int]) -> str:
    """Return the one client, or how many there are."""
    return next(iter(clients)) if len(clients) == 1 else counted(len(clients), "client")
