"""The time of builds, as intervals from rates that were measured."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterable

Rate = tuple[int, int]
"""Entries per second, at least and at most."""


def build_seconds(entries: int, rates: Iterable[Rate]) -> tuple[int, int]:
    """Return for how many seconds builds run one after another, at least and at most; a rate for each."""
    counts = Counter(rates)
    return (
        sum(count * entries // fast for (_, fast), count in counts.items()),
        sum(-(-count * entries // slow) for (slow, _), count in counts.items()),
    )


def interval(bounds: tuple[int, int]) -> str:
    """Return bounds in words."""
    return f"{number(bounds[0])} to {number(bounds[1])}"
