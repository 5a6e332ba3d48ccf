"""How far a host's clock is ahead of ours, narrowed by every moment it tells."""

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
    """The least and the most seconds that the host's clock can be ahead of ours."""

    least: float = -inf
    most: float = inf

    def hear(self, told: datetime, asked: datetime, heard: datetime) -> None:
        """Take a moment, cut to whole seconds, which the host told after we asked and before we heard it.

        A moment that cannot be, for a clock was set meanwhile, begins anew.
        """
        least, most = (told - heard).total_seconds(), (told + SECOND - asked).total_seconds()
        narrowed = max(least, self.least), min(most, self.most)
        self.least, self.most = narrowed if narrowed[0] <= narrowed[1] else (least, most)

    @property
    def offset(self) -> ClockOffset | None:
        """Return what is known so far; None before the host told any moment."""
        if self.most == inf:
            return None
        return ClockOffset(seconds=(self.least + self.most) / 2, uncertainty_seconds=(self.most - self.least) / 2)
