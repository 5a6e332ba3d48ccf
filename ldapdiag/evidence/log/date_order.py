"""Whether 05/11/2026 is the fifth of November or May 11: the dates of a file decide it, or nothing does.

A date with a number above 12 decides. Else the order of the events may: those of one day show whether the file goes
forwards or backwards in time, and its days have to go the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

Stamp = tuple[int, int, int, int]
"""First and second number of a date, its year, and the seconds of the day."""

MONTHS = 12


def day_first(stamps: Iterable[Stamp]) -> bool | None:
    """Return whether the day is the first number; None if both readings are possible."""
    forwards = backwards = 0
    possible = {True: [0, 0], False: [0, 0]}
    """Steps to a later and to an earlier day, if the day is the first number."""
    before: Stamp | None = None
    for stamp in stamps:
        if stamp[0] > MONTHS >= stamp[1] or stamp[1] > MONTHS >= stamp[0]:
            return stamp[0] > MONTHS
        if before and before[:3] == stamp[:3]:
            forwards += stamp[3] > before[3]
            backwards += stamp[3] < before[3]
        elif before:
            for is_first, steps in possible.items():
                steps[_date(stamp, is_first) < _date(before, is_first)] += 1
        before = stamp
    if forwards and backwards:
        return None
    allowed = [is_first for is_first, steps in possible.items() if _is_one_way(steps, forwards, backwards)]
    return allowed[0] if len(allowed) == 1 else None


def _is_one_way(steps: list[int], forwards: int, backwards: int) -> bool:
    """Return whether the days go one way, the same as the events of one day."""
    later, earlier = steps[0] + forwards, steps[1] + backwards
    return not (later and earlier)


def _date(stamp: Stamp, is_first: bool) -> tuple[int, int, int]:  # noqa: FBT001  a reading of the date
    one, two, year, _ = stamp
    return (year, two, one) if is_first else (year, one, two)
