"""The tables of an index plan: what to add, the searches that no index helps, and the indexes that none used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.html.tables import PageTable, table
from ldapdiag.report.html.values import duration
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
