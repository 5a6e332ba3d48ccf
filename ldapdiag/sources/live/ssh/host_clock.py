"""The offset of a host's clock, narrowed by each timestamp that the host sends."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING

from ldapdiag.sources.captures.manifest import ClockOffset

if TYPE_CHECKING:
    from datetime import datetime

SECOND = timedelta(seconds=1)


@dataclass(slots=True)
class HostClock:
    """Bounds, in seconds, on how far the host's clock is ahead of the local one."""

    least: float = -inf
    most: float = inf

    def add(self, timestamp: datetime, sent: datetime, received: datetime) -> None:
        """Narrow the bounds by a timestamp in whole seconds, taken after `sent` and before `received` (local clock).

        A timestamp outside the bounds means that a clock was set; the bounds start anew from it.
        """
        least, most = (timestamp - received).total_seconds(), (timestamp + SECOND - sent).total_seconds()
        narrowed = max(least, self.least), min(most, self.most)
        self.least, self.most = narrowed if narrowed[0] <= narrowed[1] else (least, most)

    @property
    def offset(self) -> ClockOffset | None:
        """Return the offset and its uncertainty; None before the first timestamp."""
        if self.most == inf:
            return None
        return ClockOffset(seconds=(self.least + self.most) / 2, uncertainty_seconds=(self.most - self.least) / 2)
