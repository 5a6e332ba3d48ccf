"""The tables of an index plan: what to add, the searches that no index helps, and the indexes that none used.

The table of candidate idle timeouts: what each would cut and free, by replay of the access log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.candidates import timeout
from ldapdiag.report.html.values import PageTable, page_tables, table
from ldapdiag.report.tables.of_indexes import OF_A_PAGE, captioned
from ldapdiag.wording import duration, number, rounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SERVERS = 10


def index_tables(plans: Sequence[Mapping[str, Any]]) -> Sequence[PageTable]:
    """Return the tables of each server, without empty ones."""
    return [one for plan in plans[:SERVERS] for one in page_tables(captioned(plan), OF_A_PAGE)]


MOST = 5
"""Findings of a page with such a table."""


def candidate_tables(findings: Iterable[Mapping[str, Any]]) -> Sequence[Sequence[PageTable]]:
    """Return the tables of each finding: one of a finding with a replay, none of others."""
    left, found = MOST, []
    for finding in findings:
        tables = _candidate_tables(finding) if left else ()
        found.append(tables)
        left -= len(tables)
    return found


def _candidate_tables(finding: Mapping[str, Any]) -> Sequence[PageTable]:
    """Return the timeouts that the access log is long enough to judge."""
    observed = finding["observed"]
    period = observed.get("log_seconds") or 0
    rows = [row for row in observed.get("replay") or () if row["timeout_seconds"] < period]
    if not rows:
        return ()
    columns = [("Idle timeout", False), ("Live connections cut a day", True), ("Most connections at once", True)]
    return [
        table(
            f"Idle timeouts, replayed on {duration(period)} of access log",
            [*columns, ("Descriptor-hours freed", True), ("First cut", False)],
            (_row(row, observed["recommended_seconds"]) for row in rows),
        )
    ]


def _row(row: Mapping[str, Any], recommended: int | None) -> list[str]:
    name = timeout(row["timeout_seconds"])
    low, high = row["cut_per_day"], row["most_cut_per_day"]
    client = row["first_client"]
    return [
        f"{name} (recommended)" if row["timeout_seconds"] == recommended else name,
        rounded(high) if low == high else f"{rounded(low)} to {rounded(high)}",
        "not known" if row["peak"] is None else number(row["peak"]),
        f"{row['freed_seconds'] / 3600:,.1f}",
        "" if client is None else f"{row['first_account'] or 'anonymous'} from {client}",
    ]
