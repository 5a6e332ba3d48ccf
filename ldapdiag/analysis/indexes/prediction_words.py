"""Predicted times in words: always with their bounds, and never quicker than the fastest search of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.wording import duration

GAIN = 0.99
"""What is left of a time is no gain from here on."""

if TYPE_CHECKING:
    from ldapdiag.analysis.indexes.search_coverage import PredictedTime


def time_with(after: PredictedTime, before: int, fastest: int) -> str:
    """Return the average time with an index: `0.4 ms (0.3 to 16 ms)`, `under 0.1 ms, or no gain (up to 140 ms)`.

    `before` is the average without it, `fastest` that of the fastest searches in the log. Nanoseconds.
    """
    floor = min(fastest, before)
    least, expected, most = (duration(max(each, floor) / SECOND) for each in after)
    under = after.expected < floor and not expected.startswith("under")
    shown = f"under {expected}" if under else expected
    if after.most >= GAIN * before:
        return f"{shown}, or no gain" + (f" (up to {most})" if most != expected else "")
    if least == most:
        return shown
    low = after.least < floor or least.startswith("under")
    return f"{shown} (up to {most})" if low else f"{shown} ({between(max(after.least, floor), after.most)})"


def saved_between(before: int, after: PredictedTime) -> str:
    """Return the bounds of the time that is saved, in parentheses after a space; empty if they are equal."""
    least, most = before - after.most, before - after.least
    shown = between(least, most)
    return f" ({shown})" if " to " in shown else ""


def between(least: int, most: int) -> str:
    """Return `0.3 to 16 ms`, `12 ms to 1.3 s`, `0 to 4 s`; one time if both are printed alike. Nanoseconds."""
    low, high = duration(least / SECOND), duration(most / SECOND)
    if low == high:
        return high
    value, _, unit = low.rpartition(" ")
    if low.startswith("under") or not least:
        return f"0 to {high}"
    return f"{value} to {high}" if high.endswith(f" {unit}") else f"{low} to {high}"
