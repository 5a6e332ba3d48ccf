"""The tables of `ldapdiag log`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from ldapdiag.report.tables.names import LogTable
from ldapdiag.report.tables.table import TableColumns, rows_at, rows_within

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COUNTS = "count answered abandoned unanswered etime_seconds wait_seconds share p50_seconds p95_seconds p99_seconds"
WORST = "worst.etime_seconds worst.time worst.connection worst.operation"
SEEN = "first_seen last_seen since until growth.growing"
INTERVALS = (
    "operations operation_seconds searches search_seconds slow failed_binds opened closed open busy_workers queued"
)


def _intervals(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the intervals of the time axis as rows."""
    axis = document["timeline"]
    if axis is None:
        return
    begin, step = datetime.fromisoformat(axis["from"]), timedelta(seconds=axis["step_seconds"])
    arrays = {name: axis[name] for name in INTERVALS.split() if name in axis}
    for place in range(len(axis["operations"])):
        at = (begin + place * step).isoformat().replace("+00:00", "Z")
        yield {"from": at, **{name: values[place] for name, values in arrays.items()}}


TABLES = {
    LogTable.SEARCHES: TableColumns(
        rows_at("searches.shapes"),
        f"shape base scope {COUNTS} {SEEN} entries notes unindexed errors clients accounts {WORST} worst.filter",
    ),
    LogTable.REQUESTERS: TableColumns(
        rows_within("searches.shapes", "requesters"),
        "shape base scope client account count etime_seconds noted refused",
    ),
    LogTable.TARGETS: TableColumns(
        rows_at("targets"), f"operation target name {COUNTS} entries errors {WORST} worst.dn"
    ),
    LogTable.FAILURES: TableColumns(rows_at("failures"), "operation target client account err count etime_seconds"),
    LogTable.CLIENTS: TableColumns(
        rows_at("connections.clients"),
        "client opened operations closed_without_operation "
        "used_again.count used_again.longest_seconds used_again.longest_ended",
    ),
    LogTable.IDLE_TIMES: TableColumns(
        rows_at("connections.idle_times"),
        "client account used_again.count used_again.p50_seconds used_again.p99_seconds used_again.longest_seconds "
        "used_again.longest_ended open_at_end.count open_at_end.longest_seconds",
    ),
    LogTable.CLOSES: TableColumns(rows_at("connections.closes"), "code meaning kind count by_client"),
    LogTable.FAILED_BINDS: TableColumns(rows_at("failed_binds"), "dn client err count"),
    LogTable.TIMELINE: TableColumns(_intervals, f"from {INTERVALS}"),
    LogTable.SERVERS: TableColumns(
        rows_at("fleet.servers"),
        "name connections connection_share operations operation_share search_seconds time_share unindexed_share "
        "error_share peak idle silences",
    ),
    LogTable.DIFFERING_SEARCHES: TableColumns(
        rows_at("fleet.differing_searches"),
        "server shape base scope answered unindexed lacks_index median_seconds others others_median_seconds",
    ),
}
