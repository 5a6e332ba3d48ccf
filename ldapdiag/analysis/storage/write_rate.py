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
        """Return what a window of so many seconds means in changes; None: of a minute."""
        base = f"The access log has {counted(self.changes, 'change')} in {self.seconds:,.0f} s"
        if not self.changes:
            return f"{base}: little is at risk."
        span = f"{window_seconds} s" if window_seconds else "a minute"
        within = self.per_second * (window_seconds or 60)
        return f"{base}, {rounded(self.per_second)} per second on average: {rounded(within)} in {span}."


def write_rate(traffic: Traffic | None) -> WriteRate | None:
    """Return the rate of a server's access logs; None without a log of 10 s or more."""
    if traffic is None or traffic.seconds < SHORTEST:
        return None
    changes = sum(traffic.segment.operations[kind] for kind in (ADD, MODIFY, DELETE, MODRDN))
    return WriteRate(changes=changes, seconds=traffic.seconds)
