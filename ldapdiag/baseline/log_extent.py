"""How much the access log of a server covers: what is rare in a log is not found in a much shorter one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeGuard

from ldapdiag.baseline.chance import HOUR, LARGEST, Measure, Measured, difference
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterable

ENOUGH, LEAST_OPERATIONS = 0.5, 0.1
"""Shares of what the baseline's log covers, below which a finding that the present log lacks is not gone. Too little is
less than ENOUGH of the time and of the operations (a batch takes less time with a new index); operations
vary by day and night, so alone they count only far below.
"""
AS_MANY = 0.9
"""Share of the operations below which a finding is not gone that a check reports from so many events on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogExtent:
    """The time and the operations of an access log."""

    seconds: float
    operations: float
    begin: datetime | None = None

    def lacks(self, before: LogExtent, least: float = LEAST_OPERATIONS) -> str:
        """Return how much less this is than the earlier log, as part of a sentence; empty if it is enough.

        `least` is the share of the operations that is enough.
        """
        if self.seconds < ENOUGH * before.seconds and self.operations < ENOUGH * before.operations:
            return f"covers {_time(self.seconds)}, and in the baseline {_time(before.seconds)}"
        if self.operations < least * before.operations:
            return (
                f"has {number(int(self.operations))} operations, and in the baseline {number(int(before.operations))}"
            )
        return ""

    def differs(self, before: LogExtent) -> str:
        """Return how much more or less traffic this shows than the earlier log, in words; empty: as much."""
        if not before.seconds or not self.seconds or not difference(before.traffic, self.traffic):
            return ""
        return f"{self.rate}, and in the baseline {before.rate}"

    @property
    def traffic(self) -> Measured:
        """Return the operations an hour."""
        rate = Measure(value=self.operations * HOUR / self.seconds, events=self.operations)
        return Measured(key="operations", measures=(rate,))

    @property
    def rate(self) -> str:
        """Return the operations an hour, and the day of the week, in words."""
        day = f" (from a {self.begin:%A})" if self.begin else ""
        return f"{number(round(self.traffic.measures[0].value))} operations an hour{day}"


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
        extent = LogExtent(seconds=step * len(values), operations=sum(values), begin=time_of(one.get("from")))
        yield str(one.get("server")), extent


def time_of(value: object) -> datetime | None:
    """Return a time of a report; None if it is none."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


def _is_count(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and 0 <= value < LARGEST


def _time(seconds: float) -> str:
    for size, name in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {name}"
    return f"{seconds:,.0f} s"
