"""The tables of `ldapdiag indexes`; on a page they are those of one server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.table import (
    BASE,
    COUNT,
    CSV,
    HTML,
    NAMES,
    PAGES,
    SECONDS,
    Column,
    Table,
    listed,
    only_csv,
    rows_at,
    words,
)
from ldapdiag.report.tables.of_diagnosis import COMMON

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.report.table import Plain

SENT_BY = 4
"""Accounts and clients named in a row."""
LISTS = {
    "not_built": "A configured index would help these searches if it were built",
    "no_index_helps": "No index helps these searches",
    "indexed_later": "Not judged: an index that answers them was, or may have been, added or built later",
    "perhaps_pages": "Not judged: each result may be a page of a larger one",
    "not_worth_an_index": "Not worth an index",
}


def _searches(plan: Plain) -> Iterator[dict[str, Any]]:
    """Yield the searches that the plan does not change, with the list that they are in."""
    for name in (*LISTS, "harmless"):
        for row in plan[name]:
            yield {"list": name} | row


def _senders(row: Mapping[str, Any]) -> str:
    return listed((*row["accounts"], *row["clients"]), SENT_BY)


SENDERS = Column("", "Sent by", words(_senders), PAGES)
PLAN = Table(
    (
        *only_csv("server backend"),
        Column("attribute", "Attribute"),
        Column("types", "Index types to add", NAMES),
        Column("backend", "Database", on=PAGES),
        *only_csv("sure"),
        Column("saves_seconds", "Saves", SECONDS),
        Column("saves.least", "At least", SECONDS, (CSV, HTML)),
        Column("saves.most", "At most", SECONDS, (CSV, HTML)),
        *only_csv("after_seconds.least after_seconds.most"),
        Column("searches", "Searches", COUNT),
        SENDERS,
        *only_csv("shapes slows clients accounts configured"),
    ),
    rows_at("plan"),
    within="indexes",
    title="{caption} {server}: what is refused now first, then the most time saved",
    most=30,
    what="indexes are",
)
SEARCHES = Table(
    (
        *only_csv("server list"),
        Column("shape", "Filter"),
        *only_csv("base scope"),
        BASE,
        Column("searches", "Searches", COUNT),
        Column("etime_seconds", "Time", SECONDS),
        SENDERS,
        *only_csv("noted cause part"),
        Column("reason", "Reason"),
    ),
    _searches,
    within="indexes",
    most=30,
    what="filters are",
)
UNUSED = Table(
    (
        *only_csv("server backend"),
        Column("attribute", "Attribute"),
        Column("types", "Index types", NAMES),
        Column("backend", "Database", on=PAGES),
        *only_csv("log_seconds"),
    ),
    rows_at("not_used"),
    within="indexes",
    title="Indexes that no search of the log used, at {server}",
    most=30,
    what="indexes are",
)

TABLES = {
    "plan": PLAN,
    "searches": SEARCHES,
    "unused": UNUSED,
    **COMMON,
}
OF_A_PAGE = (
    PLAN,
    *(SEARCHES._replace(rows=rows_at(key), title=f"{title}, at {{server}}") for key, title in LISTS.items()),
    UNUSED,
)


def captioned(plan: Plain) -> Plain:
    """Return the plan of a server with the caption of its table."""
    certain = plan["configured"]
    return {
        **plan,
        "caption": f"{'Index' if certain else 'Possible (its index configuration was not read) index'} plan of",
    }
