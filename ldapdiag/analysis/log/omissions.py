"""Omissions: what a table of a log may lack because it was full, and the bound of what it lacks.

A full table keeps its costliest rows (evidence/log/pruning.py). What is not listed in it cost no more than the bound;
what is listed may have cost so much more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    what: str
    """What one of its rows is about."""
    most: int
    """The most that one which is not listed may have: nanoseconds, or a number of `unit`."""
    unit: str
    """Empty: nanoseconds."""

    @property
    def units(self) -> str | None:
        """Return the plural of the unit, where it is not regular."""
        return IRREGULAR.get(self.unit)


def omissions(segment: Segment) -> Iterator[Omission]:
    """Yield the tables that were full, with their bounds."""
    for table, what in SECONDS.items():
        rows = getattr(segment, table)
        if rows.full:
            yield Omission(table=table, what=what, most=rows.omitted, unit="")
    for table, (what, unit) in COUNTS.items():
        rows = getattr(segment, table)
        if rows.full:
            yield Omission(table=table, what=what, most=rows.omitted, unit=unit)
