"""Parts of several documents."""

from __future__ import annotations

from typing import TypedDict

From = TypedDict("From", {"from": str})
Period = TypedDict("Period", {"from": str, "to": str})
Counts = dict[str, int]


class Gap(TypedDict):
    """What could not be read, why, and how to mend it."""

    target: str
    reason: str
    how: str | None
