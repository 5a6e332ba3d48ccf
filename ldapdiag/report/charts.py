"""Charts for a terminal. Every bar starts at zero, so that its length tells the truth."""

from __future__ import annotations

FULL, HALF = "━", "╸"


def bar(value: float, largest: float, width: int) -> str:
    """Return a bar as long as the value's part of the largest; anything above zero shows at least half a cell."""
    if value <= 0 or largest <= 0:
        return ""
    halves = max(1, round(2 * width * value / largest))
    return FULL * (halves // 2) + HALF * (halves % 2)
