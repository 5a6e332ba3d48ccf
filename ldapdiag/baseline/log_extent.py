"""How much the access log of a server covers: what is rare in a log is not found in a much shorter one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterable

ENOUGH, LEAST_OPERATIONS = 0.5, 0.1
"""Shares of what the baseline's log covers, below which a finding that the present log lacks is not gone. Too little is
less than ENOUGH of the time and of the operations (a batch takes less time with a new index); operations
vary by day and night, so alone they count only far below.
"""
LARGEST = 1e18
"""Numbers below are compared; not those that only a file has which no report wrote, as of 400 digits."""
ACCESS_LOG = "access-log"
"""The kind of fact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogExtent:
    """The time and the operations of an access log."""

    seconds: float
    operations: float

    def lacks(self, before: LogExtent) -> str:
        """Return how much less this is than the earlier log, as part of a sentence; empty if it is enough."""
        if self.seconds < ENOUGH * before.seconds and self.operations < ENOUGH * before.operations:
            return f"covers {_time(self.seconds)}, and in the baseline {_time(before.seconds)}"
        if self.operations < LEAST_OPERATIONS * before.operations:
            return (
                f"has {number(int(self.operations))} operations, and in the baseline {number(int(before.operations))}"
            )
        return ""


def log_extents(series: object) -> dict[str, LogExtent]:
    """Return the extent of each server's access log by the series of a report; what has another form is left out."""
    return dict(_extents(series)) if isinstance(series, list) else {}


def _extents(series: list[object]) -> Iterable[tuple[str, LogExtent]]:
    for one in series:
        if not isinstance(one, Mapping) or one.get("name") != "operations":
            continue
        step, values = one.get("step_seconds"), one.get("values")
        if not _is_count(step) or not isinstance(values, list) or not all(map(_is_count, values)):
            continue
        yield str(one.get("server")), LogExtent(seconds=step * len(values), operations=sum(values))


def _is_count(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and 0 <= value < LARGEST


def _time(seconds: float) -> str:
    for size, name in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {name}"
    return f"{seconds:,.0f} s"
