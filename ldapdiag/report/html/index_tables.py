"""The tables of an index plan: what to add, the searches that no index helps, and the indexes that none used.

The table of candidate idle timeouts: what each would cut and free, by replay of the access log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.candidates import timeout
from ldapdiag.report.html.values import PageTable, duration, table
from ldapdiag.wording import number, rounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SERVERS = 10
ROWS = 30
NAMES = 4
SENT_BY = ("Sent by", False)
"""Accounts and clients."""

LISTS = (
    ("no_index_helps", "No index helps these searches"),
    ("not_built", "A configured index would help these searches if it were built"),
    ("not_worth_an_index", "Not worth an index"),
)


def index_tables(plans: Sequence[Mapping[str, Any]]) -> Sequence[PageTable]:
    """Return the tables of each server, without empty ones."""
    return [one for plan in plans[:SERVERS] for one in _tables(plan) if one.rows]


def _tables(plan: Mapping[str, Any]) -> Iterator[PageTable]:
    columns = [
        ("Attribute", False),
        ("Index types to add", False),
        ("Saves", True),
        ("At least", True),
        ("At most", True),
    ]
    caption = "Index plan of" if plan["configured"] else "Possible plan (its index configuration was not read) of"
    yield table(
        f"{caption} {plan['server']}, the most time saved first",
        [*columns, ("Searches", True), SENT_BY],
        map(_planned, plan["plan"]),
        most=ROWS,
        what="indexes are",
    )
    for key, name in LISTS:
        yield table(
            f"{name}, at {plan['server']}",
            [
                ("Filter", False),
                ("Base", False),
                ("Searches", True),
                ("Time", True),
                SENT_BY,
                ("Reason", False),
            ],
            map(_search, plan[key]),
            most=ROWS,
            what="filters are",
        )
    yield table(
        f"Indexes that no search of the log used, at {plan['server']}",
        [("Attribute", False), ("Index types", False), ("Database", False)],
        ([one["attribute"], ", ".join(one["types"]), one["backend"] or ""] for one in plan["not_used"]),
        most=ROWS,
        what="indexes are",
    )


def _planned(row: Mapping[str, Any]) -> list[str]:
    saves = (row["saves_seconds"], row["saves"]["least"], row["saves"]["most"])
    shown = (", ".join(row["types"]), *map(duration, saves), number(row["searches"]))
    return [row["attribute"], *shown, _senders(row)]


def _senders(row: Mapping[str, Any]) -> str:
    who = [*row["accounts"], *row["clients"]]
    more = f" and {len(who) - NAMES:,} more" if len(who) > NAMES else ""
    return f"{', '.join(who[:NAMES])}{more}"


def _search(row: Mapping[str, Any]) -> list[str]:
    place = f"{row['base'] or '(root)'} {row['scope']}"
    shown = (number(row["searches"]), duration(row["etime_seconds"]), _senders(row))
    return [row["shape"], place, *shown, row["reason"] or ""]


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
