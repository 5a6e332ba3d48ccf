"""IdleAges: how many live connections and ghosts had been idle for how long, in bins that show the timeout.

    edges    0  5  10 … 115 120      150   180 …                960
             | narrow bins |          bins that reach the oldest |
               four times the upper bound of the timeout

One width suffices where it shows the timeout; else the bins are narrow up to four times its upper bound.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.analysis.idle.bounds import PathBounds
    from ldapdiag.analysis.pairing.direction import Direction

MOST_BINS = 70
MOST_NARROW = 46
WIDTHS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400)
"""Seconds. Wider ones are a day doubled."""
AROUND = 4
"""Times the upper bound of the timeout: the narrow bins end there."""
FEWEST_BELOW = 4
"""Bins below the upper bound; with fewer, the picture does not show which ages are on which side of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleAges:
    """Idle times (TCP) at the end of the snapshots: a number per bin, never one per socket."""

    edges: tuple[int, ...]
    """Seconds, ascending from 0: a bin contains the ages from its edge up to, but without, the next one."""
    live: tuple[int, ...]
    """Connections of each bin, one less than the edges."""
    ghosts: tuple[int, ...]
    longest_live: float | None
    bounds: PathBounds | None
    """The idle timeout on the path."""

    @property
    def observed(self) -> dict[str, Any]:
        """Return the values by the keys of docs/contract.md."""
        lower, upper = self.bounds.bracket if self.bounds else (None, None)
        return {
            "edges_seconds": list(self.edges),
            "live": list(self.live),
            "ghosts": list(self.ghosts),
            "longest_live_seconds": self.longest_live,
            "lower_seconds": lower,
            "upper_seconds": upper,
            "box_action": self.bounds.action if self.bounds else None,
        }


def idle_ages(directions: Iterable[Direction], bounds: PathBounds | None) -> IdleAges | None:
    """Count the ages of all live connections and ghosts of these directions; None where no table shows an age."""
    times = [direction.idle_times for direction in directions]
    live = [max(0.0, age) for time in times for age in time.live]
    ghosts = [max(0.0, age) for time in times for age in time.ghosts]
    if not live and not ghosts:
        return None
    oldest = max(max(live, default=0.0), max(ghosts, default=0.0))
    edges = bin_edges(oldest, bounds.bracket[1] if bounds else None)
    return IdleAges(
        edges=edges,
        live=_counts(live, edges),
        ghosts=_counts(ghosts, edges),
        longest_live=max(live, default=None),
        bounds=bounds,
    )


def bin_edges(oldest: float, upper: float | None) -> tuple[int, ...]:
    """Return the edges of at most MOST_BINS bins that contain all ages up to the oldest."""
    width = _width(oldest, MOST_BINS)
    if not upper or upper >= FEWEST_BELOW * width or oldest < AROUND * upper:
        return tuple(range(0, _after(oldest, width) + 1, width))
    narrow = _width(AROUND * upper, MOST_NARROW)
    detail = math.ceil(AROUND * upper / narrow) * narrow
    wide = _width(oldest, MOST_BINS - detail // narrow - 2, multiple_of=narrow)
    begin = _after(detail, wide)
    end = max(_after(oldest, wide), begin + wide)
    return (*range(0, detail, narrow), detail, *range(begin, end + 1, wide))


def _width(seconds: float, most: int, *, multiple_of: int = 1) -> int:
    """Return the least width of at most so many bins from 0 that contain an age."""
    widths = (width for width in WIDTHS if width % multiple_of == 0)
    for width in widths:
        if _after(seconds, width) <= most * width:
            return width
    width = WIDTHS[-1]
    while _after(seconds, width) > most * width or width % multiple_of:
        width *= 2
    return width


def _after(seconds: float, width: int) -> int:
    """Return the first multiple of a width that is above an age."""
    return (math.floor(seconds / width) + 1) * width


def _counts(ages: Sequence[float], edges: Sequence[int]) -> tuple[int, ...]:
    counts = [0] * (len(edges) - 1)
    for age in ages:
        counts[bisect_right(edges, age) - 1] += 1
    return tuple(counts)
