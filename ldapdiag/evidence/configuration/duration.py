"""Durations as OpenDS and its forks write them: `0 seconds`, `300000 ms`, `5 m`, `1 h 30 m`."""

from __future__ import annotations

import re

LONGEST = 200
PART = re.compile(
    r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*(ms|milliseconds?|s|seconds?|m|minutes?|h|hours?|d|days?|w|weeks?)\b",
    re.ASCII | re.IGNORECASE,
)
SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def seconds(text: str) -> int | None:
    """Return a duration in whole seconds, at least 1 unless it is 0 (which means off); None if it is not a duration."""
    if len(text) > LONGEST:
        return None
    total, end = 0.0, 0
    while found := PART.match(text, end):
        unit = found[2].lower()
        total += float(found[1]) * SECONDS["ms" if unit.startswith(("ms", "mil")) else unit[0]]
        end = found.end()
    if not end or text[end:].strip():
        return None
    return max(1, int(total)) if total else 0
