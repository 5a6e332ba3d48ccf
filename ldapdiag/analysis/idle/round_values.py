"""Round values: the seconds that administrators set."""

from __future__ import annotations

ROUND_SECONDS = (5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 600, 900, 1200, 1800, 3600, 5400, 7200)
ROUND_HOURS = tuple(hours * 3600 for hours in (3, 4, 6, 8, 12, 24))
ROUND_VALUES = ROUND_SECONDS + ROUND_HOURS


def at_least(seconds: float) -> int:
    """Return the smallest round value that is not below this; the largest above that."""
    return next((value for value in ROUND_VALUES if value >= seconds), ROUND_VALUES[-1])


def at_most(seconds: float) -> int | None:
    """Return the largest round value that is not above this; None below the smallest."""
    return max((value for value in ROUND_VALUES if value <= seconds), default=None)
