"""Omissions: what a table of a log may lack because it was full, and the bound of what it lacks.

A full table keeps its costliest rows (evidence/log/pruning.py). What is not listed in it cost no more than the bound;
what is listed may have cost so much more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import counted, duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.log.segment import Segment

SECONDS = {
    "shapes": "a filter and base",
    "targets": "a target of other operations",
    "attribution": "a combination of operation, client, account and result code",
}
"""Tables whose bound is a time in nanoseconds, and what is in their rows."""
COUNTS = {
    "clients": ("a client", "record of a connection"),
    "accounts": ("an account", "connection"),
    "refused": ("a refused client", "connection"),
    "clear_binds": ("a client and DN with BINDs in the clear", "BIND"),
    "not_indexed": ("an attribute without an index", "message"),
    "modified": ("a modified attribute", "MODIFY"),
    "noticed": ("a filter in the errors log", "search"),
    "lookups": ("an indexed attribute", "lookup"),
}
"""Tables whose bound is a number."""
IRREGULAR = {"record of a connection": "records of connections", "MODIFY": "MODIFYs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """A table that was full."""

    table: str
    """Its name in `caps_hit`."""
    most: int
    """The most that one which is not listed may have: nanoseconds, or a number of `unit`."""
    unit: str
    """Empty: nanoseconds."""


def omissions(segment: Segment) -> Iterator[Omission]:
    """Yield the tables that were full, with their bounds."""
    for table in SECONDS:
        rows = getattr(segment, table)
        if rows.full:
            yield Omission(table=table, most=rows.omitted, unit="")
    for table, (_, unit) in COUNTS.items():
        rows = getattr(segment, table)
        if rows.full:
            yield Omission(table=table, most=rows.omitted, unit=unit)


def bound_in_words(table: str, most_seconds: float | None, most: int | None) -> str:
    """Return how much one that a table does not list may have."""
    if table in SECONDS:
        return f"{SECONDS[table]} that is not listed has at most {duration(most_seconds or 0)}"
    what, unit = COUNTS[table]
    return f"{what} that is not listed has at most {counted(most or 0, unit, IRREGULAR.get(unit))}"
