"""WriteRate: how many changes a server acknowledges, by its access log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.operation_kinds import ADD, DELETE, MODIFY, MODRDN
from ldapdiag.wording import counted, rounded

if TYPE_CHECKING:
    from ldapdiag.analysis.log.traffic import Traffic

SHORTEST = 10.0
"""Seconds of a log that show a rate."""
UNITS = (("a second", 1), ("a minute", 60), ("an hour", 3_600), ("a day", 86_400))


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRate:
    """The changes in an access log: ADD, MODIFY, DELETE and MODRDN operations of clients."""

    changes: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Return the average."""
        return self.changes / self.seconds

    def sentence(self, window_seconds: int | None) -> str:
        """Return what a window of so many seconds means in changes; None: its length is not known."""
        base = f"The access log has {counted(self.changes, 'change')} in {self.seconds:,.0f} s"
        if not self.changes:
            return f"{base}: little is at risk."
        if window_seconds is None:
            unit, length = next((one for one in UNITS if one[1] * self.per_second >= 1), UNITS[-1])
            return f"{base}, on average {rounded(length * self.per_second)} in {unit}."
        within = self.per_second * window_seconds
        some = f"about {rounded(within)}" if within >= 1 else "less than one"
        return f"{base}, on average {some} in {window_seconds} s."


def write_rate(traffic: Traffic | None) -> WriteRate | None:
    """Return the rate of a server's access logs; None without a log of 10 s or more."""
    if traffic is None or traffic.seconds < SHORTEST:
        return None
    changes = sum(traffic.segment.operations[kind] for kind in (ADD, MODIFY, DELETE, MODRDN))
    return WriteRate(changes=changes, seconds=traffic.seconds)
